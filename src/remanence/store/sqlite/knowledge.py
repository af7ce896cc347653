"""Knowledge in SQLite: entities, claims about them, and the memories that speak of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import apsw
import orjson

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
from remanence.store.rows import Row, moment, spelled_id
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.erasing import Eraser
from remanence.store.sqlite.filters import statement
from remanence.store.sqlite.learning import Learning
from remanence.store.sqlite.numbers import bound, bound_ids
from remanence.store.sqlite.statements import fetch_all, fetch_value

_CHUNK = 500


class SqliteKnowledge:
    """The Knowledge port."""

    _database: Database
    _eraser: Eraser

    def know(
        self,
        tenant: str,
        entities: Sequence[Entity] = (),
        claims: Sequence[Claim] = (),
        mentions: Sequence[Mention] = (),
    ) -> None:
        """Add what is not there yet, in one durable transaction; `NotFound` changes nothing."""
        with self._learning(tenant) as (_, learning):
            learning.know(entities, claims, mentions)

    def unknow(self, tenant: str, claims: Sequence[str], entities: Sequence[str] = ()) -> int:
        """Erase claims, and entities with all that is said of them; how many rows went."""
        with self._learning(tenant) as (connection, learning):
            said = fetch_all(connection, "claims_by_id", _asked(claims, tenant))
            named = fetch_all(connection, "tenants_entities", _asked(entities, tenant))
            gone = learning.erase_claims(said)
            gone += learning.erase_entities([number for number, _ in named])
            learning.announce({row[1] for row in chain(said, named)})
            return gone + learning.sweep()

    def forget_knowledge(self, reach: Reach) -> int:
        """Erase all knowledge in reach; how many claims went."""
        with self._learning(reach.tenant) as (connection, learning):
            partitions = self._database.partitions(connection, reach)
            said = _found(connection, "forgotten_claims", _within("c", partitions, reach))
            spoken = _found(connection, "forgotten_mentions", _within("m", partitions, reach))
            named = fetch_all(connection, "entities_of_partitions", (bound(partitions),))
            gone = learning.erase_claims(said)
            learning.erase_mentions(spoken)
            if is_narrow(reach):
                learning.sweep()
                learning.announce({row[1] for row in said} | {row[2] for row in spoken})
            else:
                learning.erase_entities([number for number, _ in named])
                learning.announce({partition for _, partition in named})
            return gone

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
        with self._database.reading() as connection:
            partitions = self._database.partitions(connection, reach)
            parts = [_inside("e", partitions)]
            if ids is not None:
                parts.append(_among("e.id", bound_ids(known_ids(ids))))
            if prefix:
                parts.append(begins("e.folded", prefix))
            if is_narrow(reach):
                parts.append(_spoken_of(partitions, reach))
            elif reach.min_trust > 0:
                parts.append(joined("OR", [GIVEN, _spoken_of(partitions, reach)]))
            rows = _found(connection, "find_entities", joined("AND", parts), limit, offset)
            return [self._entity(connection, row) for row in rows]

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
        with self._database.reading() as connection:
            partitions = self._database.partitions(connection, reach)
            parts, said = [_within("c", partitions, reach)], _of_predicates("c", predicate)
            if about is not None:
                ends = _numbers(connection, partitions, about)
                parts.append(_about(ends, _of_predicates("t", predicate)))
            if subjects is not None:
                parts.append(_of_subjects(_numbers(connection, partitions, subjects)))
            if said is not None:
                parts.append(said)
            if ids is not None:
                parts.append(_among("c.id", bound_ids(known_ids(ids))))
            if memories is not None:
                parts.append(_found_in(memories))
            name = "find_latest_claims" if newest_first else "find_claims"
            rows = _found(connection, name, joined("AND", parts), limit, offset)
            return [self._claim(connection, row) for row in rows]

    def mentions(
        self, reach: Reach, entities: Sequence[str], *, limit: int = 1000, offset: int = 0
    ) -> list[Mention]:
        """Active memories in reach that speak of one of these entities, the latest first."""
        with self._database.reading() as connection:
            partitions = self._database.partitions(connection, reach)
            wanted = bound(_numbers(connection, partitions, entities))
            condition = _within("m", partitions, reach)
            asked = (wanted, *condition.values, limit, offset)
            rows = connection.execute(statement("find_mentions", condition), asked)
            return [_mention(row) for row in rows]

    def mention_counts(self, reach: Reach) -> dict[str, int]:
        """How many active memories in reach speak of each entity."""
        with self._database.reading() as connection:
            partitions = self._database.partitions(connection, reach)
            parts = [_inside("n", partitions), narrowed(reach, "m")]
            rows = _found(connection, "mention_counts", joined("AND", parts))
            return {spelled_id(id): count for id, count in rows}

    def scan_knowledge(self, tenant: str) -> Iterator[Entity | Claim | Mention]:
        """Entities, claims, mentions; read in chunks, without entities that come meanwhile."""
        with self._database.reading() as connection:
            newest = fetch_value(connection, "newest_entity")
        yield from self._scan("entities_after", 1, self._entity, newest, tenant)
        yield from self._scan("claims_after", 1, self._claim, newest, tenant)
        yield from self._scan("mentions_after", 2, lambda _, row: _mention(row[2:]), newest, tenant)

    def _scan(
        self,
        name: str,
        width: int,
        made: Callable[[apsw.Connection, Row], Any],
        newest: int,
        tenant: str,
    ) -> Iterator[Any]:
        after: Row = (0,) * width
        while True:
            with self._database.reading() as connection:
                rows = fetch_all(connection, name, (*after, newest, tenant, _CHUNK))
                found = [made(connection, row) for row in rows]
            yield from found
            if len(rows) < _CHUNK:
                return
            after = rows[-1][:width]

    def _entity(self, connection: apsw.Connection, row: Row) -> Entity:
        owner = self._database.owner(connection, row[1])
        return entity_of(row, owner, self._database.digest_key)

    def _claim(self, connection: apsw.Connection, row: Row) -> Claim:
        owner = self._database.owner(connection, row[1])
        return claim_of(row, owner, self._database.digest_key)

    @contextmanager
    def _learning(self, tenant: str) -> Iterator[tuple[apsw.Connection, Learning]]:
        with self._database.writing() as connection:
            learning = Learning(self._database, connection, tenant)
            yield connection, learning
        self._eraser.after_write(learning.erased)


def _found(
    connection: apsw.Connection, name: str, condition: Condition, *more: int
) -> Sequence[Row]:
    asked = (*condition.values, *more)
    rows: Sequence[Row] = connection.execute(statement(name, condition), asked).fetchall()
    return rows


def _asked(ids: Sequence[str], tenant: str) -> tuple[apsw.CArrayBinding | None, str]:
    return bound_ids(known_ids(ids)), tenant


def _inside(table: str, partitions: Sequence[int]) -> Condition:
    if len(partitions) == 1:
        return Condition(f"{table}.partition = ?", (partitions[0],))
    listed = orjson.dumps(partitions).decode()
    return Condition(f"{table}.partition IN (SELECT value FROM json_each(?))", (listed,))  # noqa: S608


def _within(table: str, partitions: Sequence[int], reach: Reach) -> Condition:
    return joined("AND", [_inside(table, partitions), narrowed(reach, table)])


def _among(column: str, values: apsw.CArrayBinding | None) -> Condition:
    return Condition(f"{column} IN (SELECT value FROM carray(?))", (values,))  # noqa: S608


def _numbers(
    connection: apsw.Connection, partitions: Sequence[int], ids: Sequence[str]
) -> list[int]:
    wanted = _among("e.id", bound_ids(known_ids(ids)))
    condition = joined("AND", [wanted, _inside("e", partitions)])
    return [number for (number,) in _found(connection, "numbers_of", condition)]


def _of_predicates(table: str, predicate: str | Sequence[str] | None) -> Condition | None:
    if predicate is None:
        return None
    if isinstance(predicate, str):
        return Condition(f"{table}.predicate = ?", (predicate,))
    names = orjson.dumps(list(predicate)).decode()
    return Condition(f"{table}.predicate IN (SELECT value FROM json_each(?))", (names,))  # noqa: S608


def _about(numbers: Sequence[int], said: Condition | None = None) -> Condition:
    ends = [_among(f"t.{end}", bound(numbers)) for end in ("subject", "object")]
    ends = [end if said is None else joined("AND", [end, said]) for end in ends]
    found = " UNION ".join(f"SELECT t.key FROM claims AS t WHERE {one.sql}" for one in ends)  # noqa: S608
    return Condition(f"c.key IN ({found})", tuple(value for one in ends for value in one.values))


def _of_subjects(numbers: Sequence[int]) -> Condition:
    return _among("c.subject", bound(numbers))


def _found_in(memories: Sequence[str]) -> Condition:
    wanted = _among("t.id", bound_ids(known_ids(memories)))
    found = f"SELECT t.key FROM memories AS t WHERE {wanted.sql}"  # noqa: S608
    return Condition(f"c.memory IN ({found})", wanted.values)


def _spoken_of(partitions: Sequence[int], reach: Reach) -> Condition:
    said, spoken = _within("c", partitions, reach), _within("m", partitions, reach)
    ends = [f"SELECT c.{end} FROM claims AS c WHERE {said.sql}" for end in ("subject", "object")]  # noqa: S608
    by = "mentions AS n JOIN memories AS m ON m.key = n.memory"
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
