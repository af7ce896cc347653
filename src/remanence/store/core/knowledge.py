"""Knowledge: entities, claims about them, and the memories that speak of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar

from remanence.model.knowledge import Claim, Entity, Mention
from remanence.model.scope import Reach
from remanence.store.claims import GIVEN, claim_of, entity_of, is_narrow, narrowed
from remanence.store.conditions import Condition, joined
from remanence.store.core.database import D, Database, Session, StorePart
from remanence.store.core.learning import (
    Telling,
    erase_silent,
    known_memory,
    memories_of,
    spoken_of,
)
from remanence.store.rows import Row, moment, spelled_id

T = TypeVar("T")


class StoredKnowledge(StorePart[D]):
    """The Knowledge port; a dialect says how what is told is put into its tables.

    `_telling` does so. `_spoken` joins `mentions AS n` with `memories AS m`.
    """

    _spoken: ClassVar[str]
    _telling: ClassVar[type[Telling]]

    @abstractmethod
    def _about(self, session: Any, numbers: Sequence[int], said: Condition | None) -> Condition:
        """The claim is about one of these entities; `said` is what it says, on `claims AS t`."""

    @abstractmethod
    def _begins(self, prefix: str) -> Condition:
        """The folded name of `entities AS e` begins so."""

    def know(
        self,
        tenant: str,
        entities: Sequence[Entity] = (),
        claims: Sequence[Claim] = (),
        mentions: Sequence[Mention] = (),
    ) -> None:
        """Add what is not there yet, in one durable transaction; `NotFound` changes nothing."""

        def work(session: Session) -> None:
            session.share_writing()
            telling = self._telling(session, tenant, self._database.digest_key)
            memories = memories_of(session, _named(claims, mentions))
            partitions = self._partitions(session, entities, claims)
            telling.entities = [(partitions[one.user_id or ""], one) for one in entities]
            for claim in claims:
                telling.state(claim, partitions, memories)
            for mention in mentions:
                memory = known_memory(mention.memory, memories)
                telling.mentions.append((memory.partition, memory.key, mention.entity))
            moved = telling.partitions()
            session.hold_partitions(moved)
            telling.run()
            session.announce_knowledge(moved)

        if entities or claims or mentions:
            self._database.write(tenant, work)

    def unknow(self, tenant: str, claims: Sequence[str], entities: Sequence[str] = ()) -> int:
        """Erase claims, and entities with all that is said of them; how many rows went."""

        def work(session: Session) -> int:
            asked = {"claims": session.ids_of(claims), "entities": session.ids_of(entities)}
            found = session.rows("partitions_of_knowledge", **asked)
            return _unknown(session, [at for (at,) in found], **asked) if found else 0

        return self._database.write(tenant, work) if self._database.is_tenant(tenant) else 0

    def forget(self, reach: Reach) -> int:
        """Erase all knowledge in reach; how many claims went."""

        def work(session: Session) -> int:
            partitions = self._database.partitions(session, reach)
            session.hold_partitions(partitions)
            forgotten = self._forget_narrow if is_narrow(reach) else self._forget_all
            return forgotten(session, partitions, reach)

        is_tenant = self._database.is_tenant(reach.tenant)
        return self._database.write(reach.tenant, work) if is_tenant else 0

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

        def work(session: Session, partitions: Sequence[int]) -> list[Entity]:
            parts = [self._database.of_partitions(session, "e", partitions)]
            if ids is not None:
                parts.append(session.among("e.id", session.ids_of(ids)))
            if prefix:
                parts.append(self._begins(prefix))
            if is_narrow(reach):
                parts.append(self._spoken_of(session, partitions, reach))
            elif reach.min_trust > 0:
                parts.append(joined("OR", [GIVEN, self._spoken_of(session, partitions, reach)]))
            rows = session.matching("find_entities", joined("AND", parts), limit, offset)
            return [self._entity(session, row) for row in rows]

        return self._read(reach, work) or []

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

        def work(session: Session, partitions: Sequence[int]) -> list[Claim]:
            parts = [within(self._database, session, "c", partitions, reach)]
            if about is not None:
                ends = self._numbers(session, partitions, about)
                parts.append(self._about(session, ends, _saying(session, "t", predicate)))
            if subjects is not None:
                ends = self._numbers(session, partitions, subjects)
                parts.append(session.among("c.subject", session.array_of(ends)))
            if (said := _saying(session, "c", predicate)) is not None:
                parts.append(said)
            if ids is not None:
                parts.append(session.among("c.id", session.ids_of(ids)))
            if memories is not None:
                keys = [key for _, key in self._database.places(session, memories).values()]
                parts.append(session.among("c.memory", session.array_of(keys)))
            name = "find_latest_claims" if newest_first else "find_claims"
            rows = session.matching(name, joined("AND", parts), limit, offset)
            return [self._claim(session, row) for row in rows]

        return self._read(reach, work) or []

    def mentions(
        self, reach: Reach, entities: Sequence[str], *, limit: int = 1000, offset: int = 0
    ) -> list[Mention]:
        """Active memories in reach that speak of one of these entities, the latest first."""

        def work(session: Session, partitions: Sequence[int]) -> list[Mention]:
            wanted = session.array_of(self._numbers(session, partitions, entities))
            condition = within(self._database, session, "m", partitions, reach)
            rows = session.matching("find_mentions", condition, limit, offset, first=(wanted,))
            return [_mention(row) for row in rows]

        return self._read(reach, work) or []

    def mention_counts(self, reach: Reach) -> dict[str, int]:
        """How many active memories in reach speak of each entity."""

        def work(session: Session, partitions: Sequence[int]) -> dict[str, int]:
            parts = [self._database.of_partitions(session, "n", partitions), narrowed(reach, "m")]
            rows = session.matching("mention_counts", joined("AND", parts))
            return {spelled_id(id): count for id, count in rows}

        return self._read(reach, work) or {}

    def scan(self, tenant: str) -> Iterator[Entity | Claim | Mention]:
        """Entities, claims, mentions; read in chunks, without entities that come meanwhile."""
        newest = self._database.read(tenant, lambda session: session.value("newest_entity"))
        if newest is None:
            return
        asked = {"newest": newest}
        yield from self._paged(tenant, "entities_after", self._entity, {"number": 0}, **asked)
        yield from self._paged(tenant, "claims_after", self._claim, {"key": 0}, **asked)
        start = {"partition": 0, "memory": 0, "entity": 0}
        yield from self._paged(
            tenant, "mentions_after", lambda _, row: _mention(row[3:]), start, **asked
        )

    def _forget_narrow(self, session: Session, partitions: list[int], reach: Reach) -> int:
        """Erase what an agent or a session said, and what nothing speaks of then."""
        of_claims = within(self._database, session, "c", partitions, reach)
        here = self._database.of_partitions(session, "n", partitions)
        of_mentions = joined("AND", [here, narrowed(reach, "m")])
        said = session.matching("erase_claims_in_reach", of_claims)
        spoken = session.matching("erase_mentions_in_reach", of_mentions)
        session.removed |= bool(said)
        erase_silent(session, spoken_of(said) | {entity for _, entity in spoken})
        session.announce_knowledge({row[0] for row in (*said, *spoken)})
        return len(said)

    def _forget_all(self, session: Session, partitions: list[int], reach: Reach) -> int:
        """Erase all that is known in these partitions."""
        every = {"partitions": session.array_of(partitions)}
        here = self._database.of_partitions(session, "c", partitions)
        said = session.matching("erase_claims_in_reach", here)
        session.run("erase_mentions_in", **every)
        named = session.rows("erase_entities_in", **every)
        session.removed |= bool(named)
        session.announce_knowledge({partition for (partition,) in named})
        return len(said)

    def _partitions(
        self, session: Session, entities: Sequence[Entity], claims: Sequence[Claim]
    ) -> dict[str, int]:
        """Partitions by user: an entity brings its own along, a claim must find one."""
        made = self._database.partitions_for(session, {one.user_id or "" for one in entities})
        others = {one.user_id or "" for one in claims} - made.keys()
        return made | self._database.known_partitions(session, list(others))

    def _read(self, reach: Reach, work: Callable[[Session, list[int]], T]) -> T | None:
        return self._database.read(
            reach.tenant, lambda session: work(session, self._database.partitions(session, reach))
        )

    def _numbers(
        self, session: Session, partitions: Sequence[int], ids: Sequence[str]
    ) -> list[int]:
        wanted = session.among("e.id", session.ids_of(ids))
        condition = joined("AND", [wanted, self._database.of_partitions(session, "e", partitions)])
        return [number for (number,) in session.matching("numbers_of", condition)]

    def _spoken_of(self, session: Session, partitions: Sequence[int], reach: Reach) -> Condition:
        said = within(self._database, session, "c", partitions, reach)
        spoken = within(self._database, session, "m", partitions, reach)
        ends = [
            f"SELECT c.{end} FROM claims AS c WHERE {said.sql}"  # noqa: S608
            for end in ("subject", "object")
        ]
        mentioned = f"SELECT n.entity FROM {self._spoken} WHERE m.state = 1 AND {spoken.sql}"  # noqa: S608
        found = " UNION ".join([*ends, mentioned])
        return Condition(f"e.number IN ({found})", (*said.values, *said.values, *spoken.values))

    def _entity(self, session: Session, row: Row) -> Entity:
        owner = self._database.owner(session, row[1])
        return entity_of(row, owner, self._database.digest_key)

    def _claim(self, session: Session, row: Row) -> Claim:
        owner = self._database.owner(session, row[1])
        return claim_of(row, owner, self._database.digest_key)


def within(
    database: Database, session: Session, table: str, partitions: Sequence[int], reach: Reach
) -> Condition:
    """The row is in the partitions that are read, and of the agent and session asked for."""
    return joined(
        "AND", [database.of_partitions(session, table, partitions), narrowed(reach, table)]
    )


def _named(claims: Sequence[Claim], mentions: Sequence[Mention]) -> list[str]:
    """The memories that claims and mentions name."""
    sources = [claim.memory for claim in claims if claim.memory is not None]
    return [*sources, *(mention.memory for mention in mentions)]


def _unknown(session: Session, partitions: list[int], *, claims: Any, entities: Any) -> int:
    session.hold_partitions(partitions)
    named = {number for (number,) in session.rows("numbers_of_entities", ids=entities)}
    numbers = session.array_of(sorted(named))
    said = session.rows("erase_claims", ids=claims)
    said += session.rows("erase_claims_about", numbers=numbers)
    gone = len(said) + len(session.rows("erase_mentions_about", numbers=numbers))
    gone += len(session.rows("erase_entities", numbers=numbers))
    gone += erase_silent(session, spoken_of(said) - named)
    session.removed |= gone > 0
    session.announce_knowledge(partitions)
    return gone


def _saying(
    session: Session, table: str, predicate: str | Sequence[str] | None
) -> Condition | None:
    if predicate is None:
        return None
    if isinstance(predicate, str):
        return Condition(f"{table}.predicate = ?", (predicate,))
    return session.among(f"{table}.predicate", session.texts_of(predicate))


def _mention(row: Row) -> Mention:
    entity, memory, happened, session = row
    return Mention(
        entity=spelled_id(entity),
        memory=spelled_id(memory),
        happened_at=moment(happened),
        session_id=session,
    )
