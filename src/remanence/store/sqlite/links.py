"""Associations in SQLite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

import apsw

from remanence.errors import InvalidInput, NotFound
from remanence.model.memory import Association, Related, State, unit_interval
from remanence.store.rows import (
    RECORD_WIDTH,
    STATE_CODES,
    Row,
    micros,
    moment,
    packed_id,
    spelled_id,
)
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.numbers import bound
from remanence.store.sqlite.statements import fetch_all, fetch_value, run

_CHUNK = 500
_DIRECTIONS = {"out": "related_out", "in": "related_in", "both": "related_both"}


class SqliteLinks:
    """The Links port."""

    _database: Database

    def associate(self, tenant: str, link: Association) -> Association:
        """Add the link, or give an existing one the new strength; `NotFound` if an end is."""
        with self._database.writing() as connection:
            return put_link(self._database, connection, tenant, link)

    def related(
        self, tenant: str, id: str, *, type: str | None, direction: str, limit: int
    ) -> list[Related]:
        """Linked memories that are active, strongest first; `NotFound` if the one asked is."""
        if direction not in _DIRECTIONS:
            raise InvalidInput(f"direction is 'out', 'in' or 'both', not {direction!r}.")
        with self._database.reading() as connection:
            asked = {
                "key": _key(self._database, connection, tenant, id),
                "type": type,
                "active": STATE_CODES[State.ACTIVE],
                "limit": limit,
            }
            rows = fetch_all(connection, _DIRECTIONS[direction], asked)
            return [self._related(connection, row) for row in rows]

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
        done = 0
        with self._database.writing() as connection:
            for pair in pairs:
                source, target = (_end(self._database, connection, tenant, id) for id in pair)
                if source is not None and target is not None:
                    run(connection, "strengthen_link", told | {"source": source, "target": target})
                    done += 1
        return done

    def dissociate(self, tenant: str, source: str, target: str, type: str | None) -> int:
        """Remove links from source to target; how many there were."""
        with self._database.writing() as connection:
            return cut_link(self._database, connection, tenant, source, target, type)

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
        with self._database.reading() as connection:
            ends = [_end(self._database, connection, tenant, id) for id in ids]
            asked = (bound([end for end in ends if end is not None]), type)
            return [spelled_id(id) for _, id in run(connection, name, asked)]

    def _links_after(self, tenant: str, after: Row) -> list[Row]:
        with self._database.reading() as connection:
            values = (*after, tenant, _CHUNK)
            return list(run(connection, "links_after", values))

    def _related(self, connection: apsw.Connection, row: Row) -> Related:
        type, strength, outgoing, since = row[RECORD_WIDTH:]
        memory = self._database.record(connection, row)
        return Related(
            memory=memory,
            type=type,
            strength=strength,
            outgoing=bool(outgoing),
            since=moment(since),
        )


def put_link(
    database: Database, connection: apsw.Connection, tenant: str, link: Association
) -> Association:
    """Add the link inside a transaction, or give an existing one the new strength."""
    strength = unit_interval("strength", link.strength)
    source, target = (_key(database, connection, tenant, id) for id in (link.source, link.target))
    values = (source, link.type, target, strength, micros(link.created_at))
    created = fetch_value(connection, "put_link", values)
    return replace(link, strength=strength, created_at=moment(created))


def cut_link(
    database: Database,
    connection: apsw.Connection,
    tenant: str,
    source: str,
    target: str,
    type: str | None,
) -> int:
    """Remove links from source to target inside a transaction; how many there were."""
    ends = [_end(database, connection, tenant, id) for id in (source, target)]
    if None in ends:
        return 0
    if type is None:
        run(connection, "delete_links", ends)
    else:
        run(connection, "delete_link", (*ends, type))
    return connection.changes()


def _key(database: Database, connection: apsw.Connection, tenant: str, id: str) -> int:
    key = _end(database, connection, tenant, id)
    if key is None:
        raise NotFound(f"There is no memory {id} here.")
    return key


def _end(database: Database, connection: apsw.Connection, tenant: str, id: str) -> int | None:
    place = database.locate(connection, tenant, packed_id(id))
    return None if place is None else place[1]


def _association(row: Row) -> Association:
    _, type, _, source, target, strength, created = row
    return Association(
        source=spelled_id(source),
        target=spelled_id(target),
        type=type,
        strength=strength,
        created_at=moment(created),
    )
