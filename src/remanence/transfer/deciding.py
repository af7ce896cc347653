"""What a copy does about a memory that both stores may have."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Any

from remanence.model.memory import MemoryRecord
from remanence.model.write import Pieces
from remanence.transfer.entries import Entry, digest_of, item_digest, revision_digests

MOST_USES = 1000  # beyond that many at once, a memory is written anew


class Step(Enum):
    """What the copy does about one memory."""

    ADD = "add"
    PASS = "pass"  # noqa: S105
    COMPLETE = "complete"
    REPLACE = "replace"
    KEEP = "keep"


def decide(mine: Entry, theirs: Entry | None, *, overwrite: bool = False) -> Step:
    """What makes the target's memory as the source's, unless the target's moved on by itself."""
    if theirs is None:
        return Step.ADD
    if digest_of(mine) == digest_of(theirs):
        return Step.PASS
    if _is_body_alike(mine, theirs) and _is_ahead_in_the_rest(mine, theirs):
        return Step.COMPLETE if uses_lacking(mine, theirs) <= MOST_USES else Step.REPLACE
    if overwrite or _has_moved_on(mine, theirs):
        return Step.REPLACE
    return Step.KEEP


def _is_body_alike(mine: Entry, theirs: Entry) -> bool:
    return _body(mine) == _body(theirs)


def _body(entry: Entry) -> list[int]:
    unused = replace(entry.record, uses=0, used_at=None)
    return [item_digest("memory", unused.id, unused), *revision_digests(entry)]


def _is_ahead_in_the_rest(mine: Entry, theirs: Entry) -> bool:
    """Whether adding pieces and uses to the target's makes it as the source's."""
    made = {one.fingerprint for one in mine.pieces}
    if not all(one.fingerprint in made for one in theirs.pieces):
        return False
    ours, used = mine.record, theirs.record
    if ours.uses == used.uses:
        return ours.used_at == used.used_at
    return ours.uses > used.uses and (
        ours.used_at is not None and (used.used_at is None or used.used_at <= ours.used_at)
    )


def uses_lacking(mine: Entry, theirs: Entry) -> int:
    """How many uses the source's memory has beyond the target's."""
    return mine.record.uses - theirs.record.uses


def pieces_lacking(mine: Entry, theirs: Entry) -> list[Pieces]:
    """The pieces that the target does not have, or has otherwise."""
    there = set(theirs.pieces)
    return [made for made in mine.pieces if made not in there]


def _has_moved_on(mine: Entry, theirs: Entry) -> bool:
    """Whether the source's memory is the target's with further changes."""
    if mine.record.version <= theirs.record.version:
        return False
    return _body(_as_of(mine, theirs.record)) == _body(theirs)


def _as_of(entry: Entry, then: MemoryRecord) -> Entry:
    """The entry as it was in that version; when it was changed last is taken from the record."""
    values: dict[str, Any] = {"version": then.version, "updated_at": then.updated_at}
    later = [one for one in entry.history if one.version > then.version]
    for revision in reversed(later):
        values |= revision.before
    past = tuple(one for one in entry.history if one.version <= then.version)
    return replace(entry, record=replace(entry.record, **values), history=past)
