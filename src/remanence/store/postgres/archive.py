"""Memories in PostgreSQL: a batch planned row by row, done in a fixed number of statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import psycopg

from remanence.errors import Conflict, InvalidInput
from remanence.model.embedding import Fingerprint
from remanence.model.memory import MemoryRecord, same_json
from remanence.model.write import Action, Batch, Insert, Pieces, Remove, Revise, Written
from remanence.store.claims import NO_MEMORY
from remanence.store.conditions import Label, labels
from remanence.store.core.archive import (
    StoredArchive,
    check_expected,
    check_terms,
    erase,
    keep,
    repeated,
)
from remanence.store.core.documents import shelve
from remanence.store.core.links import not_found, put_links
from remanence.store.documents import ready
from remanence.store.postgres.arrays import (
    NEVER,
    Kinds,
    arrays,
    byteas,
    columns,
    entries,
    float8s,
    int8s,
    texts,
    uuids,
)
from remanence.store.postgres.database import Database
from remanence.store.postgres.knowledge import Held, Learning
from remanence.store.postgres.session import Session, announce
from remanence.store.postgres.vectors import Placing, Unemployed, employ
from remanence.store.quotas import added_by
from remanence.store.rows import (
    RECORD_WIDTH,
    Row,
    before_text,
    micros,
    micros_or_none,
    packed_id,
    required_id,
    revised,
    row_of,
    values_text,
)
from remanence.store.words import Analysis

# The order of `row_of`, after the key.
_COLUMNS: Kinds = {
    "key": int8s, "id": uuids, "partition": int8s, "kind": int8s, "state": int8s,
    "happened_at": int8s, "created_at": int8s, "updated_at": int8s, "terms": int8s,
    "characters": int8s, "flags": int8s, "said_from": int8s, "said_to": int8s,
    "importance": float8s, "trust": float8s, "pinned": int8s, "version": int8s,
    "agent_id": texts, "session_id": texts, "role": texts, "speaker": texts, "external_id": texts,
    "source": texts, "actor": texts, "origin": texts, "superseded_by": uuids, "digest": byteas,
    "metadata": texts, "text": texts,
}  # fmt: skip
HISTORY: Kinds = {
    "memory": int8s, "version": int8s, "verb": texts, "at": int8s, "actor": texts,
    "reason": texts, "before": texts,
}  # fmt: skip
_USES: Kinds = {"keys": int8s, "counts": int8s, "lasts": int8s}


class Writing:
    """The actions of one batch, inside one transaction."""

    def __init__(
        self, database: Database, session: Session, batch: Batch, analysis: Analysis
    ) -> None:
        self._database = database
        self._analysis = analysis
        self._session = session
        self._batch = batch
        self._held: dict[bytes | None, Held] = {}
        self._gone: list[Held] = []
        self._keys: list[int] = []
        self._partitions: Mapping[str, int] = {}
        self._changed: list[tuple[int, int]] = []
        self._placing = Placing({})

    def run(self) -> Written:
        """Do all that the batch asks, or raise."""
        known = self._begin()
        if known is not None:
            return known
        done = [self._act(action) for action in self._batch.actions]
        records = tuple(record for record in done if record is not None)
        self._store()
        put_links(self._database, self._session, self._batch)
        self._move_uses()
        shelve(self._database, self._session, self._batch.tenant, ready(self._batch.documents))
        keep(self._session, self._batch, records)
        erase(self._database, self._session, [one.before for one in self._gone if one.before])
        self._learn()
        more: Counter[int] = Counter()
        for held in (*self._held.values(), *self._gone):
            more[held.partition] += (held.now is not None) - (held.before is not None)
        announce(self._session, self._changed, more)
        return Written(records=records)

    def _learn(self) -> None:
        """Last, as it holds the partitions."""
        learning = Learning(
            self._session, self._batch, self._database.digest_key, self._held, self._gone
        )
        told = set(self._changed)
        read = {at for at, key in learning.run() if (at, key) not in told}
        self._changed += [(at, NO_MEMORY) for at in sorted(read)]

    def _begin(self) -> Written | None:
        """Lock and read all that the plan needs, in one round trip where nothing is new."""
        session, actions = self._session, self._batch.actions
        session.share_writing()
        terms = session.run("meta", name="terms_version")
        employed = session.run("employed")
        keys = session.run("new_keys", count=sum(isinstance(one, Insert) for one in actions))
        ids = {packed_id(one.id) for one in actions if not isinstance(one, Insert)}
        ids |= {packed_id(id) for link in self._batch.links for id in (link.source, link.target)}
        ids |= {packed_id(one.memory) for one in self._batch.learnt}
        ids |= {packed_id(one.id) for one in self._batch.moved}
        ids |= {
            packed_id(id) for source, target, _ in self._batch.unlinked for id in (source, target)
        }
        rows = session.run("lock_memories", ids=uuids(id for id in ids if id is not None))
        check_terms(self._database, (terms.fetchone() or (None,))[0])
        if self._batch.receipt is not None:
            known = repeated(self._database, session, self._batch.receipt)
            if known is not None:
                return known
        self._placing = Placing(dict(employed.fetchall()))
        made = (one.pieces for one in actions if not isinstance(one, Remove))
        self._placing.check(pieces for pieces in made if pieces is not None)
        self._keys = _listed(keys.fetchone())
        for row in rows.fetchall():
            record = self._database.record(session, row)
            derived = row[RECORD_WIDTH:]
            self._held[row[2]] = Held(row[0], row[1], record, record, derived=derived)
        self._partitions = self._partitions_of(actions)
        return None

    def _act(self, action: Action) -> MemoryRecord | None:
        match action:
            case Insert():
                return self._insert(action)
            case Revise():
                return self._revise(action)
            case Remove():
                self._remove(action)
                return None

    def _insert(self, action: Insert) -> MemoryRecord:
        record, id = action.record, required_id(action.record.id)
        if record.tenant != self._batch.tenant:
            raise InvalidInput("A batch writes memories of its own tenant only.")
        if id in self._held:
            raise Conflict(f"There is a memory with the id {record.id} already; use a new id.")
        partition, key = self._partitions[record.user_id or ""], self._keys.pop()
        held = Held(key, partition, None, record, _by_embedder(action.pieces))
        for past in action.history:
            told = (past.verb, micros(past.at), past.actor, past.reason, values_text(past.before))
            held.history.append((key, past.version, *told))
        self._held[id] = held
        self._changed.append((partition, key))
        return record

    def _revise(self, action: Revise) -> MemoryRecord:
        held, old = self._found(action.id)
        check_expected(action, old)
        new = held.now = revised(old, action.changes, action.at)
        if (new.text, new.speaker) != (old.text, old.speaker):
            held.spoken_anew, held.pieces = True, {}
        held.pieces |= _by_embedder(action.pieces)
        told = (action.verb, micros(new.updated_at), action.actor, action.reason)
        before = before_text(old, action.changes)
        held.history.append((held.key, new.version, *told, before))
        self._changed.append((held.partition, held.key))
        return new

    def _remove(self, action: Remove) -> None:
        held, _ = self._found(action.id)
        held.now = None
        self._gone.append(held)
        del self._held[packed_id(action.id)]
        self._changed.append((held.partition, held.key))

    def _found(self, id: str) -> tuple[Held, MemoryRecord]:
        held = self._held.get(packed_id(id))
        if held is None or held.now is None:
            raise not_found(id)
        return held, held.now

    def _store(self) -> None:
        gone = [held for held in self._gone if held.before is not None]
        self._erase(gone)
        new, changed = [], []
        for held in self._held.values():
            if held.before is None:
                new.append(held)
                self._placing.place(held.partition, held.key, held.pieces.values())
            elif held.history:
                changed.append(held)
                self._placing.replace(
                    held.partition, held.key, held.pieces.values(), text_changed=held.spoken_anew
                )
        self._words_and_rows(gone, changed, new)
        self._label(
            "delete_labels", [(held, held.before) for held in (*gone, *_relabelled(changed))]
        )
        self._label("insert_labels", [(held, held.now) for held in (*new, *_relabelled(changed))])
        self._placing.run(self._session)
        past = [row for held in (*changed, *new) for row in held.history]
        if past:
            self._session.run("insert_history", **arrays(HISTORY, past))
        self._note_uses(new)

    def _erase(self, gone: list[Held]) -> None:
        for held in gone:
            self._placing.clear(held.partition, held.key)
        if gone:
            keys = int8s(held.key for held in gone)
            self._session.run("taint_dictionaries", keys=keys)
            for name in ("memories", "history", "uses", "feedback", "links_from", "links_to"):
                self._session.run(f"delete_{name}", keys=keys)
            self._session.run("delete_dictionary_sources", keys=keys)

    def _words_and_rows(self, gone: list[Held], changed: list[Held], new: list[Held]) -> None:
        found, key = self._analysis, self._database.digest_key
        reworded = [held for held in changed if _text(held.before) != _text(held.now)]
        self._index("delete_words", [(held, _text(held.before)) for held in (*gone, *reworded)])
        derived = {
            held.key: found.derived(held.now.text, micros(held.now.happened_at))
            for held in (*changed, *new)
            if held.now is not None and held.told_anew
        }
        for name, some in (("update_memories", changed), ("insert_memories", new)):
            rows = [
                (held.key, *row_of(held.now, held.partition, kept, key))
                for held in some
                for kept in (derived.get(held.key, held.derived),)
                if held.now is not None
            ]
            if rows:
                self._session.run(name, **arrays(_COLUMNS, rows))
        self._index("insert_words", [(held, _text(held.now)) for held in (*reworded, *new)])

    def _index(self, name: str, some: list[tuple[Held, str]]) -> None:
        terms: list[int] = []
        places: list[int] = []
        for held, text in some:
            numbers, where = entries(held.partition, held.key, self._analysis.terms(text))
            terms += numbers
            places += where
        if terms:
            self._session.run(name, terms=int8s(terms), places=int8s(places))

    def _label(self, name: str, some: list[tuple[Held, MemoryRecord | None]]) -> None:
        rows: list[tuple[int, int, Label]] = [
            (held.partition, held.key, label)
            for held, record in some
            if record is not None
            for label in labels(record.metadata)
        ]
        if rows:
            partitions, keys, found = zip(*rows, strict=True)
            names, values = columns(found)
            place = {"partitions": int8s(partitions), "keys": int8s(keys)}
            self._session.run(name, **place, names=names, values=values)

    def _note_uses(self, new: list[Held]) -> None:
        records = [(held.key, held.now) for held in new if held.now is not None]
        rows = [
            (key, one.uses, micros(one.used_at) if one.used_at else NEVER)
            for key, one in records
            if one.uses or one.used_at
        ]
        if rows:
            self._session.run("note_uses", **arrays(_USES, rows), never=NEVER)

    def _move_uses(self) -> None:
        for one in self._batch.moved:
            held = self._held.get(packed_id(one.id))
            if held is not None:
                at, instead = micros_or_none(one.used_at), micros_or_none(one.instead_of)
                told = {"key": held.key, "uses": one.uses}
                self._session.run("move_uses", **told, at=at, instead=instead)

    def _partitions_of(self, actions: Iterable[Action]) -> Mapping[str, int]:
        users = {one.record.user_id or "" for one in actions if isinstance(one, Insert)}
        return self._database.partitions_for(self._session, users) if users else {}


def _by_embedder(pieces: Pieces | None) -> dict[Fingerprint, Pieces]:
    return {} if pieces is None else {pieces.fingerprint: pieces}


def _text(record: MemoryRecord | None) -> str:
    return "" if record is None else record.text


def _relabelled(changed: list[Held]) -> list[Held]:
    return [
        held
        for held in changed
        if held.before and held.now and not same_json(held.before.metadata, held.now.metadata)
    ]


def _listed(row: Row | None) -> list[int]:
    return [] if row is None or row[0] is None else sorted(row[0].tolist(), reverse=True)


class PostgresArchive(StoredArchive[Database]):
    """The Archive port."""

    def _written(self, batch: Batch, analysis: Analysis) -> Written:
        def work(session: Session) -> Written:
            with self._database.checking_use(session, batch.tenant, lambda: added_by(batch)):
                return Writing(self._database, session, batch, analysis).run()

        while True:
            try:
                return self._database.write(batch.tenant, work)
            except Unemployed as missing:
                employ(self._database, batch.tenant, missing.fingerprints)
            except Conflict as conflict:
                if isinstance(conflict.__cause__, psycopg.Error):
                    raise self._taken(batch) or conflict from conflict
                raise

    def _add_uses(self, session: Session, used: Sequence[tuple[int, int, int]]) -> None:
        if used:
            session.run("note_uses", **arrays(_USES, used), never=NEVER)

    def _taken(self, batch: Batch) -> Conflict | None:
        """The refusal that names the id, if the memory that has it is still there."""
        ids = [one.record.id for one in batch.actions if isinstance(one, Insert)]
        found = self._database.read(
            batch.tenant, lambda session: self._database.places(session, ids)
        )
        for id in found or ():
            return Conflict(f"There is a memory with the id {id} already; use a new id.")
        return None
