"""What a memory or a block would be without some of its changes. Pure functions."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, NamedTuple

from remanence.layers.blocks.stored import GONE, Content, content_of
from remanence.model.document import Edition
from remanence.model.memory import MemoryRecord, Revision
from remanence.model.purge import Blame
from remanence.remember.draft import same
from remanence.remember.past import COMPARED

VERB = "purged"


class Undone(NamedTuple):
    """New values for fields, and the fields that somebody else changed since."""

    changes: dict[str, Any]
    kept: list[str]


class Return(NamedTuple):
    """The version that a block goes back to, 0 for none, and what it said then."""

    version: int
    content: Content


def original(record: MemoryRecord, history: Sequence[Revision], name: str) -> Any:
    """The value that a field had when the memory came in."""
    told = (one.before[name] for one in history if name in one.before)
    return next(told, getattr(record, name))


def guilty(history: Sequence[Revision], blame: Blame) -> set[int]:
    """The versions that are to be undone; never what a purge did, nor the insertion."""
    return {one.version for one in history[1:] if one.verb != VERB and blame.did(one.at, one.actor)}


def undone(record: MemoryRecord, history: Sequence[Revision], versions: Container[int]) -> Undone:
    """The record's fields as they would be without these versions.

    A field is given back only where the last that changed it is to be undone. One that a purge gave
    back already is what it should be.
    """
    changes: dict[str, Any] = {}
    kept: list[str] = []
    for name in COMPARED:
        line = [one for one in history if name in one.before]
        at = len(line)
        while at and line[at - 1].version in versions:
            at -= 1
        if at < len(line):
            value = line[at].before[name]
            if not same(value, getattr(record, name)):
                changes[name] = value
        elif _overruled(line, versions):
            kept.append(name)
    return Undone(changes, kept)


def block_return(editions: Sequence[Edition], blame: Blame) -> Return | None:
    """Where a block goes back to; None where somebody else, or a purge, edited it since."""
    at = len(editions)
    while at and _is_guilty(editions[at - 1], blame):
        at -= 1
    if at == len(editions):
        return None
    before = editions[at - 1] if at else None
    content = GONE if before is None else content_of(before.value)
    return Return(0 if before is None or content.deleted else before.version, content)


def block_overruled(editions: Sequence[Edition], blame: Blame) -> bool:
    """Whether there is an edit to be undone that somebody else has edited over."""
    versions = {one.version for one in editions if _is_guilty(one, blame)}
    return bool(versions) and _overruled(editions, versions)


def _is_guilty(edition: Edition, blame: Blame) -> bool:
    return edition.verb != VERB and blame.did(edition.at, edition.author)


def _overruled(line: Sequence[Revision | Edition], versions: Container[int]) -> bool:
    """Whether others changed what was to be undone, and no purge came first."""
    last = max((n for n, one in enumerate(line) if one.version in versions), default=None)
    return last is not None and last + 1 < len(line) and line[last + 1].verb != VERB
