"""From records to stored pieces: split long texts, embed all pieces in one go, pack the vectors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from remanence import deadline
from remanence.model.embedding import Embedding, quantised
from remanence.model.memory import MemoryRecord
from remanence.model.write import Piece, Pieces
from remanence.ports.embedder import Embedder
from remanence.text import chunking


def embedded(records: Sequence[MemoryRecord], embedder: Embedder) -> list[Pieces]:
    """The pieces of each record, in order; every piece is embedded with who said it."""
    split = [_split(record, embedder) for record in records]
    texts = [
        _spoken(record, record.text[piece.start : piece.end])
        for record, pieces in zip(records, split, strict=True)
        for piece in pieces
    ]
    made = iter(embedder.embed(texts))
    return [_packed(pieces, list(islice(made, len(pieces))), embedder) for pieces in split]


def _split(record: MemoryRecord, embedder: Embedder) -> list[chunking.Piece]:
    deadline.breathe()
    return chunking.pieces(
        record.text, embedder.spans(record.text), max_tokens=min(126, embedder.max_tokens)
    )


def _spoken(record: MemoryRecord, text: str) -> str:
    return f"{record.speaker}: {text}" if record.speaker else text


def _packed(
    pieces: Sequence[chunking.Piece], made: Sequence[Embedding], embedder: Embedder
) -> Pieces:
    return Pieces(
        fingerprint=embedder.fingerprint,
        pieces=tuple(
            Piece(
                part=part,
                passage=piece.passage,
                start=piece.start,
                stop=piece.end,
                vector=quantised(embedding.vector),
                codes=embedding.codes.tobytes(),
            )
            for part, (piece, embedding) in enumerate(zip(pieces, made, strict=True))
        ),
    )
