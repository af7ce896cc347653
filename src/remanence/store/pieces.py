"""What a piece must look like to be stored, whatever the database."""

from __future__ import annotations

from remanence.errors import InvalidInput
from remanence.model.embedding import CODE_BYTES, Fingerprint
from remanence.model.write import Piece

MAX_PARTS = 1 << 14
STEP_BYTES = 4  # `quantised` begins with a float32


def check_piece(piece: Piece, made_by: Fingerprint) -> None:
    """Refuse a piece that its embedder cannot have made."""
    if not 0 <= piece.part < MAX_PARTS:
        raise InvalidInput(f"A memory has at most {MAX_PARTS} pieces; split the text.")
    if len(piece.vector) != STEP_BYTES + made_by.dimension or len(piece.codes) % CODE_BYTES:
        raise InvalidInput(f"The piece's vector or codes are not of {made_by}.")
