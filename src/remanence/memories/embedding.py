"""From records to stored pieces; what a memory says as before keeps its identity and its time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeAlias

from remanence.language import chunking
from remanence.model import deadline
from remanence.model.embedding import Embedding, quantised
from remanence.model.knowledge import Claim, Learnt, Timespan
from remanence.model.memory import MemoryRecord
from remanence.model.ports.embedder import Embedder
from remanence.model.write import Piece, Pieces

Content: TypeAlias = tuple[str, str, str, str | None, Timespan | None, Timespan | None]

CALLER = "caller"


def recognised(learnt: Sequence[Learnt], before: Iterable[Claim]) -> list[Learnt]:
    """What was learnt, with the ids and times of claims that the same memory made already.

    So a fact keeps its id, `known_at` stays true, and what was taken back stays taken back.
    """
    known: dict[tuple[str | None, Content], Claim] = {}
    for one in before:
        if one.origin != CALLER and one.retired_at is None:
            known.setdefault((one.memory, _content(one)), one)
    return [
        replace(one, claims=tuple(_as_before(claim, known) for claim in one.claims))
        for one in learnt
    ]


def _as_before(claim: Claim, known: dict[tuple[str | None, Content], Claim]) -> Claim:
    before = known.pop((claim.memory, _content(claim)), None)
    if before is None:
        return claim
    return replace(claim, id=before.id, recorded_at=before.recorded_at)


def _content(claim: Claim) -> Content:
    return (
        claim.subject,
        claim.predicate,
        claim.value,
        claim.object,
        claim.began,
        claim.ended,
    )


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
