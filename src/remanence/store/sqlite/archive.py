"""Memories in SQLite: what a batch does inside one transaction, to them and to what is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import apsw

from remanence.errors import Conflict, InvalidInput
from remanence.model import deadline
from remanence.model.knowledge import Learnt
from remanence.model.memory import MemoryRecord, Revision, same_json
from remanence.model.write import Action, Batch, Insert, Remove, Revise, Written
from remanence.store.claims import begins, is_evidence, knowledge_id
from remanence.store.conditions import Condition, joined, labels
from remanence.store.core.archive import (
    StoredArchive,
    check_expected,
    check_terms,
    erase,
    keep,
    repeated,
)
from remanence.store.core.documents import shelve
from remanence.store.core.knowledge import StoredKnowledge
from remanence.store.core.learning import Memory, Telling, erase_silent, memories_of
from remanence.store.core.links import not_found, put_links
from remanence.store.documents import ready
from remanence.store.quotas import added_by
from remanence.store.rows import (
    RECORD_WIDTH,
    Row,
    before_text,
    both_ids,
    micros,
    micros_or_none,
    packed_id,
    revised,
    row_of,
    values_text,
)
from remanence.store.sqlite.database import Database, meta
from remanence.store.sqlite.session import Session, run, run_many, sql
from remanence.store.sqlite.vectors import Placing
from remanence.store.words import Analysis, prefixed


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


class Writing:
    """The actions of one batch, inside one transaction."""

    def __init__(
        self, database: Database, session: Session, batch: Batch, analysis: Analysis
    ) -> None:
        self._database = database
        self._batch = batch
        self._analysis = analysis
        self._session = session
        self._connection = connection = session.connection
        self._execute: Callable[[str, Row], apsw.Cursor] = connection.execute
        self._placing = Placing(connection)
        self._learning = Learning(database, session)
        self._partitions: dict[str, int] = {}
        self._removed: list[MemoryRecord] = []

    def run(self) -> Written:
        """Do all that the batch asks, or raise."""
        check_terms(self._database, meta(self._connection, "terms_version"))
        if self._batch.receipt is not None:
            known = repeated(self._database, self._session, self._batch.receipt)
            if known is not None:
                return known
        done = [self._act(action) for action in self._batch.actions]
        put_links(self._database, self._session, self._batch)
        self._learning.learn(self._batch.learnt)
        self._learning.sweep()
        self._move_uses()
        asked = ready(self._batch.documents)
        shelve(self._database, self._session, self._batch.tenant, asked)
        records = tuple(record for record in done if record is not None)
        keep(self._session, self._batch, records)
        erase(self._database, self._session, self._removed)
        self._session.removed |= bool(self._removed)
        return Written(records=records)

    def _move_uses(self) -> None:
        for one in self._batch.moved:
            place = self._database.locate(self._session, packed_id(one.id))
            if place is not None:
                told = {"key": place[1], "uses": one.uses, "at": micros_or_none(one.used_at)}
                instead = micros_or_none(one.instead_of)
                run(self._connection, "move_uses", told | {"instead": instead})

    def _act(self, action: Action) -> MemoryRecord | None:
        deadline.check()
        match action:
            case Insert():
                return self._insert(action)
            case Revise():
                return self._revise(action)
            case Remove():
                self._remove(action)
                return None

    def _insert(self, action: Insert) -> MemoryRecord:
        record = action.record
        if record.tenant != self._batch.tenant:
            raise InvalidInput("A batch writes memories of its own tenant only.")
        partition = self._partition(record.user_id)
        derived = self._analysis.derived(record.text, micros(record.happened_at))
        row = row_of(record, partition, derived, self._database.digest_key)
        key = self._insert_row(record.id, row)
        self._learning.inserted.add(key)
        self._index("insert_words", key, partition, record.text)
        self._label("insert_label", key, partition, record.metadata)
        if record.uses or record.used_at:
            used = None if record.used_at is None else micros(record.used_at)
            self._execute(sql("note_use"), (key, record.uses, used))
        for past in action.history:
            self._note(key, past)
        self._placing.place(key, action.pieces)
        self._announce(partition, key)
        return record

    def _note(self, key: int, past: Revision) -> None:
        told = (past.verb, micros(past.at), past.actor, past.reason)
        self._execute(sql("insert_history"), (key, past.version, *told, values_text(past.before)))

    def _insert_row(self, id: str, row: Row) -> int:
        own, theirs = both_ids(row[0], self._batch.tenant)
        there = self._database.locate(self._session, own)
        if there is not None:
            raise Conflict(f"There is a memory with the id {id} already; use a new id.")
        try:
            self._execute(sql("insert_memory"), row)
        except apsw.ConstraintError:  # another tenant has it, and nobody is to know
            self._execute(sql("insert_memory"), (theirs, *row[1:]))
        return self._connection.last_insert_rowid()

    def _revise(self, action: Revise) -> MemoryRecord:
        row = self._found(action.id)
        key, partition = row[0], row[1]
        old = self._database.record(self._session, row)
        check_expected(action, old)
        new = revised(old, action.changes, action.at)
        self._rewrite(row, old, new)
        spoken_anew = (new.text, new.speaker) != (old.text, old.speaker)
        self._placing.replace(key, action.pieces, text_changed=spoken_anew)
        told = (action.verb, micros(new.updated_at), action.actor, action.reason)
        before = before_text(old, action.changes)
        self._execute(sql("insert_history"), (key, new.version, *told, before))
        self._rest(key, old, new)
        self._announce(partition, key)
        return new

    def _rest(self, key: int, old: MemoryRecord, new: MemoryRecord) -> None:
        """What a memory says counts as long as the memory does, or another in its place."""
        if is_evidence(old) and not is_evidence(new):
            self._learning.rest(key, micros(new.updated_at))
        elif is_evidence(new) and not is_evidence(old):
            self._learning.wake(key)

    def _rewrite(self, found: Row, old: MemoryRecord, new: MemoryRecord) -> None:
        key, partition, derived = found[0], found[1], found[RECORD_WIDTH:]
        if (new.text, new.happened_at) != (old.text, old.happened_at):
            derived = self._analysis.derived(new.text, micros(new.happened_at))
        row = row_of(new, partition, derived, self._database.digest_key)
        if new.text != old.text:
            self._index("delete_words", key, partition, old.text)
        self._execute(sql("update_memory"), (found[2], *row[1:], key))
        if new.text != old.text:
            self._index("insert_words", key, partition, new.text)
        if not same_json(new.metadata, old.metadata):
            self._label("delete_label", key, partition, old.metadata)
            self._label("insert_label", key, partition, new.metadata)

    def _remove(self, action: Remove) -> None:
        row = self._found(action.id)
        key, partition = row[0], row[1]
        record = self._database.record(self._session, row)
        self._index("delete_words", key, partition, record.text)
        self._label("delete_label", key, partition, record.metadata)
        self._placing.clear(key)
        self._learning.leave(key)
        self._execute(sql("delete_memory"), (key,))
        self._removed.append(record)
        self._announce(partition, key)

    def _announce(self, partition: int, key: int) -> None:
        self._execute(sql("insert_change"), (partition, key))
        self._learning.announced.add(key)

    def _found(self, id: str) -> Row:
        tenant = self._batch.tenant
        found = self._execute(sql("memory_and_derived"), both_ids(packed_id(id), tenant))
        row = self._database.own_row(self._session, found, 1)
        if row is None:
            raise not_found(id)
        return row

    def _index(self, how: str, key: int, partition: int, text: str) -> None:
        terms = prefixed(partition, self._analysis.terms(text))
        self._execute(sql(how), (key, " ".join(terms)))

    def _label(self, how: str, key: int, partition: int, metadata: Mapping[str, Any]) -> None:
        for name, value in labels(metadata):
            self._execute(sql(how), (partition, name, value, key))

    def _partition(self, user: str | None) -> int:
        name = user or ""
        if name not in self._partitions:
            self._partitions |= self._database.partitions_for(self._session, [name])
        return self._partitions[name]


class SqliteArchive(StoredArchive[Database]):
    """The Archive port."""

    def _written(self, batch: Batch, analysis: Analysis) -> Written:
        def work(session: Session) -> Written:
            with self._database.checking_use(session, batch.tenant, lambda: added_by(batch)):
                return Writing(self._database, session, batch, analysis).run()

        return self._database.write(batch.tenant, work)

    def _add_uses(self, session: Session, used: Sequence[tuple[int, int, int]]) -> None:
        for one in used:
            session.put("note_use", one)
