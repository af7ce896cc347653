"""Knowledge in SQLite: how it is told, looked for, and follows its memories."""

from __future__ import annotations

from collections.abc import Sequence

from remanence.model.knowledge import Learnt
from remanence.store.claims import begins, knowledge_id
from remanence.store.conditions import Condition, joined
from remanence.store.core.knowledge import StoredKnowledge
from remanence.store.core.learning import Memory, Telling, erase_silent, memories_of
from remanence.store.rows import Row, packed_id
from remanence.store.sqlite.database import Database
from remanence.store.sqlite.session import Session, run, run_many


class SqliteTelling(Telling):
    """What one transaction adds, row by row."""

    def _put_entities(self, new: Sequence[Row], changed: Sequence[Row]) -> None:
        self._each("insert_entity", new)
        self._each("retell_entity", changed)

    def _put_mentions(self, rows: Sequence[Row]) -> None:
        self._each("insert_mention", rows)

    def _put_claims(self, rows: Sequence[Row]) -> None:
        self._each("insert_claim", rows)

    def _each(self, name: str, rows: Sequence[Row]) -> None:
        run_many(self._session.connection, name, rows)


class Learning:
    """What one batch does to what is known of its memories.

    `inserted` are keys of memories that are new, `announced` of all that the feed has already.
    """

    def __init__(self, database: Database, session: Session) -> None:
        self._database = database
        self._session = session
        self._connection = session.connection
        self._touched: set[int] = set()
        self.inserted: set[int] = set()
        self.announced: set[int] = set()

    def learn(self, learnt: Sequence[Learnt]) -> None:
        """Put what memories say in the place of what was found in them before."""
        session = self._session
        found = memories_of(session, [one.memory for one in learnt])
        given = {packed_id(one.memory): one for one in learnt}
        there = [(one, found[id]) for id, one in given.items() if id is not None and id in found]
        kept = [(one, at) for one, at in there if one.version in (None, at.version)]
        self._replace([pair for pair in kept if pair[1].key not in self.inserted])
        telling = SqliteTelling(session, session.tenant, self._database.digest_key, only_named=True)
        for one, memory in kept:
            telling.tell(one, memory, self._database.owner(session, memory.partition)[1])
        telling.run()
        session.announce_knowledge({at.partition for _, at in kept if at.key not in self.announced})

    def leave(self, key: int) -> None:
        """A memory is about to go: what it speaks of may be spoken of no more."""
        self._touch([key])

    def rest(self, key: int, at: int) -> None:
        """What a memory says counts no longer."""
        run(self._connection, "rest_claims", (at, key))

    def wake(self, key: int) -> None:
        """What a memory says counts again."""
        run(self._connection, "wake_claims", (key,))

    def sweep(self) -> None:
        """Erase the entities touched that nothing is said of any more."""
        erase_silent(self._session, self._touched)

    def _touch(self, keys: Sequence[int]) -> None:
        rows = self._session.rows("entities_of_memories", numbers=self._session.array_of(keys))
        self._touched.update(number for (number,) in rows)

    def _replace(self, kept: Sequence[tuple[Learnt, Memory]]) -> None:
        """Clear what was found in these memories before; former texts' claims only retire.

        What callers state of a memory is not found in it, and stays.
        """
        keys, session = [memory.key for _, memory in kept], self._session
        if not keys:
            return
        self._touch(keys)
        afresh = session.array_of([memory.key for one, memory in kept if one.afresh])
        session.removed |= bool(session.rows("erase_present_claims_of", keys=afresh))
        again = [
            (knowledge_id("claim", claim.id), at.key) for one, at in kept for claim in one.claims
        ]
        run_many(self._connection, "delete_claim_of_memory", again)
        retired = [(memory.updated_at, memory.key) for one, memory in kept if not one.afresh]
        run_many(self._connection, "retire_claims", retired)
        session.run("delete_mentions_of_memories", keys=session.array_of(keys))


class SqliteKnowledge(StoredKnowledge[Database]):
    """The Knowledge port."""

    _spoken = "mentions AS n JOIN memories AS m ON m.key = n.memory"
    _telling = SqliteTelling

    def _about(self, session: Session, numbers: Sequence[int], said: Condition | None) -> Condition:
        return about(session, numbers, said)

    def _begins(self, prefix: str) -> Condition:
        return begins("e.folded", prefix)


def about(session: Session, numbers: Sequence[int], said: Condition | None) -> Condition:
    """The claim is about one of these entities; by either end apart, as each has its index."""
    wanted = session.array_of(numbers)
    ends = [session.among(f"t.{end}", wanted) for end in ("subject", "object")]
    ends = [end if said is None else joined("AND", [end, said]) for end in ends]
    found = " UNION ".join(f"SELECT t.key FROM claims AS t WHERE {one.sql}" for one in ends)  # noqa: S608
    values = tuple(value for one in ends for value in one.values)
    return Condition(f"c.key IN ({found})", values)
