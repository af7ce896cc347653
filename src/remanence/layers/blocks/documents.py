"""Blocks as documents: which one a caller means, what it says, what edits make of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import unified_diff
from typing import Any, NamedTuple

from remanence.errors import InvalidInput, NotFound
from remanence.model.block import Block, BlockVersion, block_label, block_limit
from remanence.model.document import Address, Document, Edition, Shelf
from remanence.model.memory import Metadata
from remanence.model.ports.store import Documents
from remanence.model.scope import Reach, check_name

USUAL_LIMIT = 2_048  # of a block that is made without saying one
SETTINGS = ("limit", "description", "read_only", "deleted")
TOLD = ("value", "limit", "description", "read_only")  # what a version that is not deleted says


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What one version of a block says, whoever owns it."""

    value: str = ""
    limit: int = 0
    description: str = ""
    read_only: bool = False
    deleted: bool = False


GONE = Content(deleted=True)


def addresses(label: str, user_id: str | None, agent_id: str | None) -> list[Address]:
    """Where a caller's block of that label may be, the most specific place first."""
    name = block_label(label)
    check_name("user_id", user_id)
    check_name("agent_id", agent_id)
    places = [(user_id, agent_id), (user_id, None), (None, agent_id), (None, None)]
    return [
        Address(shelf=Shelf.BLOCK, name=name, user_id=user, agent_id=agent)
        for user, agent in dict.fromkeys(places)
    ]


def stored(content: Content, shows: int | None = None) -> dict[str, Any]:
    """The content as a document's value."""
    shown = {} if shows is None else {"shows": shows}
    if content.deleted:
        return {"deleted": True, **shown}
    return {**_told(content), **shown}


def content_of(value: Metadata) -> Content:
    """What a document's or an edition's value says."""
    if value.get("deleted"):
        return GONE
    return Content(**{name: value[name] for name in TOLD})


def version_of(edition: Edition) -> BlockVersion:
    """An edition as an entry of a block's history."""
    content = content_of(edition.value)
    return BlockVersion(
        version=edition.version,
        verb=edition.verb,
        at=edition.at,
        author=edition.author,
        reason=edition.reason,
        deleted=content.deleted,
        shows=edition.value.get("shows"),
        **_told(content),
    )


def deleted(document: Document) -> bool:
    """Whether all that is left is a history that undo can bring back."""
    return bool(document.value.get("deleted"))


class BlockKey(NamedTuple):
    """A label, and the user and agent who ask for it."""

    label: str
    user_id: str | None
    agent_id: str | None


class Target(NamedTuple):
    """The place that an edit reads and writes; a deleted block still is a document."""

    address: Address
    document: Document | None
    limit: int

    @property
    def version(self) -> int:
        """The version of the document, which the next one must follow."""
        return 0 if self.document is None else self.document.version

    @property
    def seen(self) -> int:
        """The version of the block, 0 if there is none."""
        return 0 if self.document is None or deleted(self.document) else self.document.version

    @property
    def content(self) -> Content:
        """What the block says; nothing yet, if there is none."""
        if self.document is None or deleted(self.document):
            return Content(limit=self.limit)
        return content_of(self.document.value)

    @property
    def block(self) -> Block:
        """The block as callers see it."""
        return Block(
            label=self.address.name,
            version=self.seen,
            user_id=self.address.user_id,
            agent_id=self.address.agent_id,
            updated_at=self.document.updated_at if self.document and self.seen else None,
            **_told(self.content),
        )


class Finder:
    """Looks blocks up for a user and an agent. `limits` are the labels that everybody has."""

    def __init__(self, store: Documents, tenant: str, limits: Mapping[str, int]) -> None:
        self._store = store
        self._tenant = tenant
        self.limits = {block_label(label): block_limit(n) for label, n in limits.items()}

    def seen(self, whose: BlockKey, known_at: datetime | None = None) -> Target:
        """The block that is seen, or where the first write of it goes; else `NotFound`."""
        found = self._then(self._documents(whose), known_at)
        alive = next((one for one in found if not deleted(one)), None)
        return self.exact(whose, found) if alive is None else self._target(alive)

    def traced(self, whose: BlockKey) -> Target:
        """The most specific block that there is or was.

        So undo brings back one that was deleted, and never changes the one that shows through.
        """
        found = self._documents(whose)
        return self._target(found[0]) if found else self.exact(whose, found)

    def exact(self, whose: BlockKey, found: Sequence[Document] | None = None) -> Target:
        """Where a block of exactly this owner stands or, if its label may be written, would."""
        address = addresses(*whose)[0]
        known = self._documents(whose) if found is None else found
        own = next((one for one in known if one.address == address), None)
        if found is not None and whose.label not in self.limits:
            raise NotFound(f"There is no block {whose.label!r} here; make it with create.")
        return Target(address, own, self.limits.get(whose.label, USUAL_LIMIT))

    def every(self, whose: BlockKey, known_at: datetime | None = None) -> list[Target]:
        """Every block that this user and agent may see, the most specific of a label last."""
        check_name("agent_id", whose.agent_id)
        shared = whose.user_id is not None
        reach = Reach(tenant=self._tenant, user_id=whose.user_id, include_shared=shared)
        agents = list(dict.fromkeys([whose.agent_id, None]))
        found = list(self._store.walk_shelf(reach, Shelf.BLOCK, agents=agents))
        found.sort(key=lambda one: one.updated_at, reverse=True)
        alive = [one for one in self._then(found, known_at) if not deleted(one)]
        alive.sort(key=_owned, reverse=True)
        return [self._target(one) for one in alive]

    def _target(self, document: Document) -> Target:
        limit = self.limits.get(document.address.name, USUAL_LIMIT)
        return Target(document.address, document, limit)

    def editions(self, target: Target) -> list[Edition]:
        """Every version of the block at that place, oldest first."""
        return self._store.editions(self._tenant, target.address)

    def _documents(self, whose: BlockKey) -> list[Document]:
        return self._store.get(self._tenant, addresses(*whose))

    def _then(self, found: Sequence[Document], moment: datetime | None) -> Sequence[Document]:
        """The documents as they were at a moment; those that were not there yet left out."""
        if moment is None:
            return found
        then = (self._at(document, moment) for document in found)
        return [document for document in then if document is not None]

    def _at(self, document: Document, moment: datetime) -> Document | None:
        if document.updated_at <= moment:
            return document
        written = [
            e for e in self._store.editions(self._tenant, document.address) if e.at <= moment
        ]
        if not written:
            return None
        last = written[-1]
        return replace(document, value=last.value, version=last.version, updated_at=last.at)


def content_at(label: str, editions: Sequence[Edition], version: object) -> Content:
    """What the block said at a version; 0 is no block at all."""
    if isinstance(version, bool) or not isinstance(version, int) or version < 0:
        raise InvalidInput(f"A version is a number, 0 or more; got {str(version)[:20]!r}.")
    if version == 0:
        return GONE
    for edition in editions:
        if edition.version == version:
            return content_of(edition.value)
    newest = editions[-1].version if editions else 0
    raise NotFound(f"The block {label!r} has no version {version}; its newest is {newest}.")


def _owned(document: Document) -> tuple[bool, bool]:
    """Sorts the most specific owner first."""
    return document.address.user_id is None, document.address.agent_id is None


def _told(content: Content) -> dict[str, Any]:
    return {name: getattr(content, name) for name in TOLD}


def difference(label: str, before: Content, after: Content, names: tuple[str, str]) -> str:
    """A unified diff of the values; settings that changed stand above them. Empty if none did."""
    changed = [name for name in SETTINGS if getattr(before, name) != getattr(after, name)]
    if before.deleted or after.deleted:
        changed = ["deleted"]
    was, now = ([*_settings(side, changed), *_lines(side.value)] for side in (before, after))
    first, last = (f"{label} {name}" for name in names)
    return "\n".join(unified_diff(was, now, first, last, lineterm=""))


def _lines(value: str) -> list[str]:
    return value.split("\n") if value else []


def _settings(content: Content, names: list[str]) -> Iterator[str]:
    for name in names:
        if name != "deleted":
            yield f"[{name}: {getattr(content, name)}]"
        elif content.deleted:
            yield "[no block]"


UNDO = "undo"
REDO = "redo"


def appended(value: str, text: str) -> str:
    """The text on a line of its own at the end."""
    return f"{value}\n{text}" if value else text


def replaced(label: str, value: str, old: str, new: str) -> str:
    """The one place that says `old` says `new`."""
    times = _occurrences(value, old)
    if times == 1:
        return value.replace(old, new)
    advice = (
        "give more of the text around the one place you mean"
        if times
        else "read the block and give the text exactly as it stands, with its spaces and lines"
    )
    raise InvalidInput(
        f"{old[:60]!r} occurs {times} times in the block {label!r} and must occur exactly once; "
        f"{advice}."
    )


def inserted(label: str, value: str, text: str, line: int) -> str:
    """The text before the line of that number, counted from 0; -1 puts it at the end."""
    lines = value.split("\n") if value else []
    whole = isinstance(line, int) and not isinstance(line, bool)
    if not whole or not -1 <= line <= len(lines):
        held = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
        raise InvalidInput(
            f"line {str(line)[:20]} is out of range: the block {label!r} has {held}; "
            f"give 0 to {len(lines)}, or -1 for the end."
        )
    lines.insert(len(lines) if line == -1 else line, text)
    return "\n".join(lines)


def check_fits(label: str, value: str, limit: int) -> None:
    """Refuse a value that is longer than the block's limit."""
    over = len(value) - limit
    if over > 0:
        raise InvalidInput(
            f"The block {label!r} takes at most {limit:,} characters and would have "
            f"{len(value):,}, {over:,} too many; shorten it with replace or rethink, or raise "
            "the limit with configure."
        )


def _occurrences(value: str, old: str) -> int:
    """How often it occurs, counting those that overlap: each is a place that could be meant."""
    times, at = 0, value.find(old)
    while at >= 0:
        times, at = times + 1, value.find(old, at + 1)
    return times


class EditStep(NamedTuple):
    """What undo and redo need of an edition; `shows` is the version that one of them went to."""

    version: int
    verb: str
    shows: int | None


class UndoPlace(NamedTuple):
    """Where undo and redo lead from here; None where there is nothing that way."""

    undo: int | None
    redo: int | None


def place(steps: Iterable[EditStep]) -> UndoPlace:
    """Where a block stands after these editions, oldest first.

    The line of versions begins with 0, no block at all. An edit cuts off what was undone.
    """
    line, at = [0], 0
    for step in steps:
        if step.verb in (UNDO, REDO) and step.shows in line:
            at = line.index(step.shows)
        else:
            line[at + 1 :] = [step.version]
            at += 1
    return UndoPlace(
        undo=line[at - 1] if at else None, redo=line[at + 1] if at + 1 < len(line) else None
    )


class EditResult(NamedTuple):
    """What an edit makes of a block; `shows` is the version that an undo or redo went to."""

    content: Content
    shows: int | None = None
