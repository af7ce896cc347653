"""Knowledge in PostgreSQL: entities, claims about them, and the memories that speak of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from remanence.model.knowledge import Claim, Entity, Mention
from remanence.model.scope import Reach
from remanence.store.claims import (
    GIVEN,
    begins,
    claim_of,
    entity_of,
    is_narrow,
    known_ids,
    narrowed,
)
from remanence.store.conditions import Condition, joined
from remanence.store.postgres.arrays import Array, int8s, texts, uuids
from remanence.store.postgres.database import Database
from remanence.store.postgres.filters import statement
from remanence.store.postgres.forgetting import forget, unknow
from remanence.store.postgres.session import Session
from remanence.store.postgres.stating import state
from remanence.store.rows import Row, moment, spelled_id

_CHUNK = 500
_HEAD = 64  # letters of a folded name that its index has


class PostgresKnowledge:
    """The Knowledge port."""

    _database: Database

    def know(
        self,
        tenant: str,
        entities: Sequence[Entity] = (),
        claims: Sequence[Claim] = (),
        mentions: Sequence[Mention] = (),
    ) -> None:
        """Add what is not there yet, in one durable transaction; `NotFound` changes nothing."""
        if entities or claims or mentions:
            self._database.write(
                tenant,
                lambda session: state(self._database, session, tenant, entities, claims, mentions),
            )

    def unknow(self, tenant: str, claims: Sequence[str], entities: Sequence[str] = ()) -> int:
        """Erase claims, and entities with all that is said of them; how many rows went."""
        asked = uuids(known_ids(claims)), uuids(known_ids(entities))
        if not self._database.is_tenant(tenant):
            return 0
        return self._database.write(tenant, lambda session: unknow(session, *asked))

    def forget_knowledge(self, reach: Reach) -> int:
        """Erase all knowledge in reach; how many claims went."""

        def work(session: Session) -> int:
            partitions = self._database.partitions(session, reach)
            if not is_narrow(reach):
                return forget(session, partitions, inside(session, "c", partitions))
            said, spoken = within(session, "c", partitions, reach), narrowed(reach, "m")
            spoken = joined("AND", [inside(session, "n", partitions), spoken])
            return forget(session, partitions, said, spoken)

        is_known = self._database.is_tenant(reach.tenant)
        return self._database.write(reach.tenant, work) if is_known else 0

    def entities(
        self,
        reach: Reach,
        ids: Sequence[str] | None = None,
        *,
        prefix: str | None = None,
        limit: int = 1000,
        offset: int = 0,
    ) -> list[Entity]:
        """Entities in reach by folded name, ties by id."""

        def work(session: Session) -> list[Entity]:
            partitions = self._database.partitions(session, reach)
            parts = [inside(session, "e", partitions)]
            if ids is not None:
                parts.append(Condition("e.id = ANY(?)", (uuids(known_ids(ids)),)))
            if prefix:
                parts += [begins("e.head", prefix[:_HEAD]), begins("e.folded", prefix)]
            if is_narrow(reach):
                parts.append(_spoken_of(session, partitions, reach))
            elif reach.min_trust > 0:
                parts.append(joined("OR", [GIVEN, _spoken_of(session, partitions, reach)]))
            rows = _found(session, "entities_in_reach", joined("AND", parts), limit, offset)
            return [self._entity(session, row) for row in rows]

        return self._database.read(reach.tenant, work) or []

    def claims(
        self,
        reach: Reach,
        *,
        about: Sequence[str] | None = None,
        subjects: Sequence[str] | None = None,
        predicate: str | Sequence[str] | None = None,
        ids: Sequence[str] | None = None,
        memories: Sequence[str] | None = None,
        limit: int = 1000,
        offset: int = 0,
        newest_first: bool = False,
    ) -> list[Claim]:
        """Claims in reach in order of recording, ties by insertion."""

        def work(session: Session) -> list[Claim]:
            partitions = self._database.partitions(session, reach)
            parts = [within(session, "c", partitions, reach)]
            if about is not None:
                ends = _numbers(session, partitions, about)
                parts.append(Condition("c.subject = ANY(?) OR c.object = ANY(?)", (ends, ends)))
            if subjects is not None:
                ends = _numbers(session, partitions, subjects)
                parts.append(Condition("c.subject = ANY(?)", (ends,)))
            if predicate is not None:
                names = [predicate] if isinstance(predicate, str) else predicate
                parts.append(Condition("c.predicate = ANY(?)", (texts(names),)))
            if ids is not None:
                parts.append(Condition("c.id = ANY(?)", (uuids(known_ids(ids)),)))
            if memories is not None:
                parts.append(Condition("c.memory = ANY(?)", (_keys(session, memories),)))
            name = "latest_claims_in_reach" if newest_first else "claims_in_reach"
            rows = _found(session, name, joined("AND", parts), limit, offset)
            return [self._claim(session, row) for row in rows]

        return self._database.read(reach.tenant, work) or []

    def mentions(
        self, reach: Reach, entities: Sequence[str], *, limit: int = 1000, offset: int = 0
    ) -> list[Mention]:
        """Active memories in reach that speak of one of these entities, the latest first."""

        def work(session: Session) -> list[Mention]:
            partitions = self._database.partitions(session, reach)
            wanted = Condition("n.entity = ANY(?)", (_numbers(session, partitions, entities),))
            condition = joined("AND", [within(session, "m", partitions, reach), wanted])
            return [
                _mention(row)
                for row in _found(session, "mentions_in_reach", condition, limit, offset)
            ]

        return self._database.read(reach.tenant, work) or []

    def mention_counts(self, reach: Reach) -> dict[str, int]:
        """How many active memories in reach speak of each entity."""

        def work(session: Session) -> dict[str, int]:
            partitions = self._database.partitions(session, reach)
            parts = [inside(session, "n", partitions), narrowed(reach, "m")]
            rows = _found(session, "mention_counts", joined("AND", parts))
            return {spelled_id(id): count for id, count in rows}

        return self._database.read(reach.tenant, work) or {}

    def scan_knowledge(self, tenant: str) -> Iterator[Entity | Claim | Mention]:
        """Entities, claims, mentions; read in chunks, without entities that come meanwhile."""
        newest = self._database.read(tenant, lambda session: session.value("newest_entity"))
        if newest is None:
            return
        yield from self._scan(tenant, "entities_after", newest, self._entity)
        yield from self._scan(tenant, "claims_after", newest, self._claim)
        yield from self._scan_mentions(tenant, newest)

    def _scan(
        self, tenant: str, name: str, newest: int, made: Callable[[Session, Row], Any]
    ) -> Iterator[Any]:
        after = 0

        def work(session: Session) -> list[tuple[Row, Any]]:
            asked = {"after": after, "newest": newest, "most": _CHUNK}
            return [(row, made(session, row)) for row in session.rows(name, **asked)]

        while found := self._database.read(tenant, work):
            yield from (one for _, one in found)
            after = found[-1][0][0]

    def _scan_mentions(self, tenant: str, newest: int) -> Iterator[Mention]:
        asked = {"partition": 0, "memory": 0, "entity": 0}

        def work(session: Session) -> list[tuple[Any, ...]]:
            return session.rows("mentions_after", **asked, newest=newest, most=_CHUNK)

        while rows := self._database.read(tenant, work):
            yield from (_mention(row[3:]) for row in rows)
            asked = dict(zip(asked, rows[-1][:3], strict=True))

    def _entity(self, session: Session, row: Row) -> Entity:
        owner = self._database.owner(session, row[1])
        return entity_of(row, owner, self._database.digest_key)

    def _claim(self, session: Session, row: Row) -> Claim:
        owner = self._database.owner(session, row[1])
        return claim_of(row, owner, self._database.digest_key)


def inside(session: Session, table: str, partitions: Sequence[int]) -> Condition:
    """The row is in the partitions that are read."""
    alone = len(partitions) == 1
    among = "= ?" if alone else "= ANY(?)"
    values = (session.tenant, partitions[0] if alone else int8s(partitions))
    return Condition(f"{table}.tenant = ?::integer AND {table}.partition {among}", values)


def within(session: Session, table: str, partitions: Sequence[int], reach: Reach) -> Condition:
    """The row is in the partitions that are read, and of the agent and session asked for."""
    return joined("AND", [inside(session, table, partitions), narrowed(reach, table)])


def _found(session: Session, name: str, condition: Condition, *more: int) -> list[tuple[Any, ...]]:
    return session.execute(statement(name, condition), (*condition.values, *more)).fetchall()


def _numbers(session: Session, partitions: Sequence[int], ids: Iterable[str]) -> Array:
    asked = {"ids": uuids(known_ids(ids)), "partitions": int8s(partitions)}
    return int8s([number for (number,) in session.rows("entity_numbers", **asked)])


def _keys(session: Session, memories: Iterable[str]) -> Array:
    rows = session.rows("places_by_id", ids=uuids(known_ids(memories)))
    return int8s([key for _, _, key in rows])


def _spoken_of(session: Session, partitions: Sequence[int], reach: Reach) -> Condition:
    said = within(session, "c", partitions, reach)
    spoken = within(session, "m", partitions, reach)
    ends = [f"SELECT c.{end} FROM claims AS c WHERE {said.sql}" for end in ("subject", "object")]  # noqa: S608
    by = "mentions AS n JOIN memories AS m ON m.tenant = n.tenant AND m.key = n.memory"
    mentioned = f"SELECT n.entity FROM {by} WHERE m.state = 1 AND {spoken.sql}"  # noqa: S608
    found = " UNION ".join([*ends, mentioned])
    return Condition(f"e.number IN ({found})", (*said.values, *said.values, *spoken.values))


def _mention(row: Row) -> Mention:
    entity, memory, happened, session = row
    return Mention(
        entity=spelled_id(entity),
        memory=spelled_id(memory),
        happened_at=moment(happened),
        session_id=session,
    )
