"""Associations in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from remanence.errors import InvalidInput, NotFound
from remanence.model.memory import Association, Related, State, unit_interval
from remanence.store.postgres.arrays import uuids
from remanence.store.postgres.database import Database
from remanence.store.postgres.session import Session
from remanence.store.rows import (
    RECORD_WIDTH,
    STATE_CODES,
    Row,
    micros,
    moment,
    packed_id,
    spelled_id,
)

_CHUNK = 500
_DIRECTIONS = {"out": "related_out", "in": "related_in", "both": "related_both"}


class PostgresLinks:
    """The Links port."""

    _database: Database

    def associate(self, tenant: str, link: Association) -> Association:
        """Add the link, or give an existing one the new strength; `NotFound` if an end is."""
        unit_interval("strength", link.strength)
        if not self._database.is_tenant(tenant):
            raise _not_found(link.source)
        return self._database.write(tenant, lambda session: put_link(session, link))

    def related(
        self, tenant: str, id: str, *, type: str | None, direction: str, limit: int
    ) -> list[Related]:
        """Linked memories that are active, strongest first; `NotFound` if the one asked is."""
        if direction not in _DIRECTIONS:
            raise InvalidInput(f"direction is 'out', 'in' or 'both', not {direction!r}.")

        def work(session: Session) -> list[Related]:
            (key,) = _keys(session, "places_by_id", id)
            asked = {"key": key, "type": type, "active": STATE_CODES[State.ACTIVE], "most": limit}
            rows = session.rows(_DIRECTIONS[direction], **asked)
            return [self._related(session, row) for row in rows]

        found = self._database.read(tenant, work)
        if found is None:
            raise _not_found(id)
        return found

    def strengthen(
        self,
        tenant: str,
        pairs: Sequence[tuple[str, str]],
        type: str,
        at: datetime,
        *,
        gain: float,
        daily: float,
    ) -> int:
        """Draw memories closer that were used together; how many links."""
        told = {"type": type, "at": micros(at), "gain": gain, "daily": daily}
        packed = [(packed_id(a), packed_id(b)) for a, b in sorted(set(pairs))]

        def work(session: Session) -> int:
            wanted = {id for pair in packed for id in pair if id is not None}
            keys = {id: key for id, _, key in session.rows("lock_by_id", ids=uuids(wanted))}
            there = [(keys[a], keys[b]) for a, b in packed if a in keys and b in keys]
            for source, target in there:
                session.run("strengthen_link", source=source, target=target, **told)
            return len(there)

        return self._database.write(tenant, work) if self._database.is_tenant(tenant) else 0

    def dissociate(self, tenant: str, source: str, target: str, type: str | None) -> int:
        """Remove links from source to target; how many there were."""
        if not self._database.is_tenant(tenant):
            return 0
        return self._database.write(tenant, lambda session: cut_link(session, source, target, type))

    def links(self, tenant: str) -> Iterator[Association]:
        """Every association of the tenant, read in chunks."""
        after: Row = (0, "", 0)
        while rows := self._links_after(tenant, after):
            yield from map(_association, rows)
            after = rows[-1][:3]

    def pointing(self, tenant: str, targets: Sequence[str], type: str) -> list[str]:
        """Ids of the memories with a link of that type to one of `targets`, in order of key."""
        return self._across("pointing", tenant, targets, type)

    def pointed(self, tenant: str, sources: Sequence[str], type: str) -> list[str]:
        """Ids of the memories that one of `sources` has such a link to, in order of key."""
        return self._across("pointed", tenant, sources, type)

    def _across(self, name: str, tenant: str, ids: Sequence[str], type: str) -> list[str]:
        packed = {packed_id(id) for id in ids}
        asked = {"ids": uuids(id for id in packed if id is not None), "type": type}
        found = self._database.read(tenant, lambda session: session.rows(name, **asked))
        return [spelled_id(id) for _, id in found or []]

    def _links_after(self, tenant: str, after: Row) -> list[tuple[Any, ...]]:
        asked = dict(zip(("source", "type", "target"), after, strict=True))
        return (
            self._database.read(
                tenant, lambda session: session.rows("links_after", **asked, most=_CHUNK)
            )
            or []
        )

    def _related(self, session: Session, row: Row) -> Related:
        type, strength, outgoing, since = row[RECORD_WIDTH:]
        memory = self._database.record(session, row)
        return Related(
            memory=memory,
            type=type,
            strength=strength,
            outgoing=bool(outgoing),
            since=moment(since),
        )


def put_link(session: Session, link: Association) -> Association:
    """Add the link inside a transaction, or give an existing one the new strength."""
    strength = unit_interval("strength", link.strength)
    source, target = _keys(session, "lock_by_id", link.source, link.target)
    told = {"strength": strength, "created": micros(link.created_at), "type": link.type}
    created = session.value("put_link", source=source, target=target, **told)
    return replace(link, strength=strength, created_at=moment(created))


def cut_link(session: Session, source: str, target: str, type: str | None) -> int:
    """Remove links from source to target inside a transaction; how many there were."""
    try:
        start, end = _keys(session, "lock_by_id", source, target)
    except NotFound:
        return 0
    return len(session.rows("delete_links", source=start, target=end, type=type))


def _keys(session: Session, name: str, *ids: str) -> list[int]:
    packed = [packed_id(id) for id in ids]
    rows = session.rows(name, ids=uuids(packed))
    found = {id: key for id, _, key in rows}
    for id, spelled in zip(packed, ids, strict=True):
        if id not in found:
            raise _not_found(spelled)
    return [found[id] for id in packed]


def _not_found(id: str) -> NotFound:
    return NotFound(f"There is no memory {id} here.")


def _association(row: Row) -> Association:
    _, type, _, source, target, strength, created = row
    return Association(
        source=spelled_id(source),
        target=spelled_id(target),
        type=type,
        strength=strength,
        created_at=moment(created),
    )
