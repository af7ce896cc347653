"""Associations between memories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from remanence.errors import Conflict, InvalidInput, NotFound
from remanence.model.memory import Association, Related, State, unit_interval
from remanence.model.write import Batch
from remanence.store.core.database import D, Database, Session, StorePart
from remanence.store.rows import RECORD_WIDTH, STATE_CODES, Row, micros, moment, spelled_id

_DIRECTIONS = {"out": "related_out", "in": "related_in", "both": "related_both"}


class StoredLinks(StorePart[D]):
    """The Links port."""

    def associate(self, tenant: str, link: Association) -> Association:
        """Add the link, or give an existing one the new strength; `NotFound` if an end is."""
        return self._database.write(tenant, lambda session: put_link(self._database, session, link))

    def related(
        self, tenant: str, id: str, *, type: str | None, direction: str, limit: int
    ) -> list[Related]:
        """Linked memories that are active, strongest first; `NotFound` if the one asked is."""
        if direction not in _DIRECTIONS:
            raise InvalidInput(f"direction is 'out', 'in' or 'both', not {direction!r}.")
        asked = {"type": type, "active": STATE_CODES[State.ACTIVE], "most": limit}

        def work(session: Session) -> list[Related]:
            (key,) = _keys(self._database, session, id)
            rows = session.rows(_DIRECTIONS[direction], key=key, **asked)
            return [self._related(session, row) for row in rows]

        found = self._database.read(tenant, work)
        if found is None:
            raise not_found(id)
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
        wanted = sorted(set(pairs))

        def work(session: Session) -> int:
            ids = {id for pair in wanted for id in pair}
            places = self._database.places(session, ids, lock=True)
            there = [(places[a][1], places[b][1]) for a, b in wanted if {a, b} <= places.keys()]
            for source, target in there:
                session.run("strengthen_link", source=source, target=target, **told)
            return len(there)

        return self._database.write(tenant, work) if self._database.is_tenant(tenant) else 0

    def dissociate(self, tenant: str, source: str, target: str, type: str | None) -> int:
        """Remove links from source to target; how many there were."""
        if not self._database.is_tenant(tenant):
            return 0
        return self._database.write(
            tenant, lambda session: cut_link(self._database, session, source, target, type)
        )

    def scan(self, tenant: str) -> Iterator[Association]:
        """Every association of the tenant, read in chunks."""
        start = {"source": 0, "type": "", "target": 0}
        return self._paged(tenant, "links_after", lambda _, row: _association(row), start)

    def pointing(self, tenant: str, targets: Sequence[str], type: str) -> list[str]:
        """Ids of the memories with a link of that type to one of `targets`, in order of key."""
        return self._across("pointing", tenant, targets, type)

    def pointed(self, tenant: str, sources: Sequence[str], type: str) -> list[str]:
        """Ids of the memories that one of `sources` has such a link to, in order of key."""
        return self._across("pointed", tenant, sources, type)

    def _across(self, name: str, tenant: str, ids: Sequence[str], type: str) -> list[str]:
        found = self._database.read(
            tenant, lambda session: session.rows(name, ids=session.memory_ids(ids), type=type)
        )
        return [spelled_id(id) for _, id in found or []]

    def _related(self, session: Session, row: Row) -> Related:
        type, strength, outgoing, since = row[RECORD_WIDTH:]
        return Related(
            memory=self._database.record(session, row),
            type=type,
            strength=strength,
            outgoing=bool(outgoing),
            since=moment(since),
        )


def put_link(database: Database, session: Session, link: Association) -> Association:
    """Add the link inside a transaction, or give an existing one the new strength."""
    strength = unit_interval("strength", link.strength)
    source, target = _keys(database, session, link.source, link.target, lock=True)
    told = {"type": link.type, "strength": strength, "created": micros(link.created_at)}
    created = session.value("put_link", source=source, target=target, **told)
    return replace(link, strength=strength, created_at=moment(created))


def put_links(database: Database, session: Session, batch: Batch) -> None:
    """Put the links of a batch inside its transaction, after those it removes are gone."""
    for cut in batch.unlinked:
        cut_link(database, session, *cut)
    if batch.beside is not None:
        _check_beside(session, batch.links, batch.beside)
    for link in batch.links:
        put_link(database, session, link)


def _check_beside(session: Session, links: Sequence[Association], known: frozenset[str]) -> None:
    for type in {link.type for link in links}:
        targets = [link.target for link in links if link.type == type]
        found = session.rows("pointing", ids=session.memory_ids(targets), type=type)
        if not known.issuperset(spelled_id(id) for _, id in found):
            raise Conflict("Somebody else linked to the same memories meanwhile; look again.")


def cut_link(
    database: Database, session: Session, source: str, target: str, type: str | None
) -> int:
    """Remove links from source to target inside a transaction; how many there were."""
    try:
        start, end = _keys(database, session, source, target, lock=True)
    except NotFound:
        return 0
    return len(session.rows("delete_links", source=start, target=end, type=type))


def not_found(id: str) -> NotFound:
    """The error that names a memory which is not there."""
    return NotFound(f"There is no memory {id} here.")


def _keys(database: Database, session: Session, *ids: str, lock: bool = False) -> list[int]:
    places = database.places(session, ids, lock=lock)
    for id in ids:
        if id not in places:
            raise not_found(id)
    return [places[id][1] for id in ids]


def _association(row: Row) -> Association:
    _, type, _, source, target, strength, created = row
    return Association(
        source=spelled_id(source),
        target=spelled_id(target),
        type=type,
        strength=strength,
        created_at=moment(created),
    )
