"""Which block is meant: the one that is seen, or one whose history is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from remanence.errors import InvalidInput, NotFound
from remanence.layers.blocks.stored import (
    GONE,
    Content,
    addresses,
    block_of,
    content_of,
    deleted,
    rank,
)
from remanence.model.block import Block, block_label, block_limit
from remanence.model.document import Address, Document, Edition, Shelf
from remanence.model.memory import Metadata
from remanence.model.scope import Reach, check_name
from remanence.ports.store import Documents

USUAL_LIMIT = 2_048  # of a block that is made without saying one


class Whose(NamedTuple):
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
        return Content(limit=self.limit) if not self.seen else content_of(self._value)

    @property
    def block(self) -> Block:
        """The block as callers see it."""
        return block_of(self.address, self.content, self.document if self.seen else None)

    @property
    def _value(self) -> Metadata:
        assert self.document is not None
        return self.document.value


class Finder:
    """Looks blocks up for a user and an agent. `limits` are the labels that everybody has."""

    def __init__(self, store: Documents, tenant: str, limits: Mapping[str, int]) -> None:
        self._store = store
        self._tenant = tenant
        self.limits = {block_label(label): block_limit(n) for label, n in limits.items()}

    def seen(self, whose: Whose, known_at: datetime | None = None) -> Target:
        """The block that is seen, or where the first write of it goes; else `NotFound`."""
        found = self._then(self._documents(whose), known_at)
        alive = next((one for one in found if not deleted(one)), None)
        return self.exact(whose, found) if alive is None else self.target(alive)

    def traced(self, whose: Whose) -> Target:
        """The most specific block that there is or was.

        So undo brings back one that was deleted, and never changes the one that shows through.
        """
        found = self._documents(whose)
        return self.target(found[0]) if found else self.exact(whose, found)

    def exact(self, whose: Whose, found: Sequence[Document] | None = None) -> Target:
        """Where a block of exactly this owner stands or, if its label may be written, would."""
        address = addresses(*whose)[0]
        known = self._documents(whose) if found is None else found
        own = next((one for one in known if one.address == address), None)
        if found is not None and whose.label not in self.limits:
            raise NotFound(f"There is no block {whose.label!r} here; make it with create.")
        return Target(address, own, self.limits.get(whose.label, USUAL_LIMIT))

    def every(
        self, user_id: str | None, agent_id: str | None, known_at: datetime | None = None
    ) -> list[Target]:
        """Every block that this user and agent may see, the most specific of a label last."""
        check_name("agent_id", agent_id)
        reach = Reach(tenant=self._tenant, user_id=user_id, include_shared=user_id is not None)
        agents = [None] if agent_id is None else [agent_id, None]
        found = list(self._store.walk_shelf(reach, Shelf.BLOCK, agents=agents))
        found.sort(key=lambda one: one.updated_at, reverse=True)
        alive = [one for one in self._then(found, known_at) if not deleted(one)]
        alive.sort(key=lambda one: rank(one.address), reverse=True)
        return [self.target(one) for one in alive]

    def target(self, document: Document) -> Target:
        """A document as the place of a block."""
        limit = self.limits.get(document.address.name, USUAL_LIMIT)
        return Target(document.address, document, limit)

    def editions(self, target: Target) -> list[Edition]:
        """Every version of the block at that place, oldest first."""
        return self._store.editions(self._tenant, target.address)

    def _documents(self, whose: Whose) -> list[Document]:
        return self._store.documents(self._tenant, addresses(*whose))

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
