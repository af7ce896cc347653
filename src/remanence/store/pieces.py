"""What a piece must look like to be stored, whatever the database."""

from __future__ import annotations

from remanence.errors import InvalidInput
from remanence.model.embedding import Fingerprint
from remanence.model.write import Piece
from remanence.store.coarse import STEP_BYTES, are_codes

MAX_PARTS = 1 << 14


def check_piece(piece: Piece, made_by: Fingerprint) -> None:
    """Refuse a piece that its embedder cannot have made."""
    if not 0 <= piece.part < MAX_PARTS:
        raise InvalidInput(f"A memory has at most {MAX_PARTS} pieces; split the text.")
    if len(piece.vector) != STEP_BYTES + made_by.dimension or not are_codes(piece.codes):
        raise InvalidInput(f"The piece's vector or codes are not of {made_by}.")
