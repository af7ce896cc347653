"""A step of sleep for tests: pairs memories off, so that each batch does some of everything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from remanence.consolidation.sleep import Sleep
from remanence.consolidation.steps import Chore, ChoreResult
from remanence.model.clock import Clock, FixedClock, IdMaker
from remanence.model.memory import Association, Kind, MemoryRecord, State
from remanence.model.ports.store import Store
from remanence.model.progress import Progress
from remanence.model.scope import Reach
from remanence.model.sleep import Deed, Night, Plan, Run, SleepPolicy, Step
from remanence.model.write import Insert, Moved, Revise
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import NOW, add, claim, entity, found, memory, write

new_id = IdMaker()


@dataclass
class Pairing:
    """Plans to archive the second of each pair, to raise the first and to derive one of both.

    What is paired already has a first of higher importance, so nothing is planned twice.
    """

    store: Store
    step: Step = Step.MERGE
    spoil: Callable[[list[Deed]], list[Deed]] = field(default=lambda deeds: deeds)
    planned: Callable[[], None] = field(default=lambda: None)
    takes: int = 0

    def plan(self, night: Night, progress: Progress | None = None) -> Plan:
        """One deed for each pair that is not paired off yet."""
        pairs = list(self._pairs(night))
        deeds = [self._deed(first, second, night) for first, second in pairs]
        if progress:
            progress(len(pairs), len(pairs))
        self.planned()
        return Plan(step=self.step, deeds=tuple(self.spoil(deeds)), looked_at=2 * len(pairs))

    def _pairs(self, night: Night) -> Iterator[tuple[MemoryRecord, MemoryRecord]]:
        every = self.store.archive.find(night.reach, limit=10_000, newest_first=False)
        active = [one for one in every if one.state == State.ACTIVE and "pair" in one.metadata]
        by_pair: dict[Any, list[MemoryRecord]] = {}
        for one in active:
            by_pair.setdefault(one.metadata["pair"], []).append(one)
        yield from ((two[0], two[1]) for two in by_pair.values() if len(two) == 2)

    def _deed(self, first: MemoryRecord, second: MemoryRecord, night: Night) -> Deed:
        new = replace(
            first, id=str(new_id()), text=f"both of {first.text}", kind=Kind.SEMANTIC,
            metadata={"remanence.sources": 2}, version=1, uses=0, used_at=None,
            created_at=night.now, updated_at=night.now, origin="sleep",
        )  # fmt: skip
        told: dict[str, Any] = {"at": night.now, "verb": "merged", "actor": "sleep"}
        raised = {"importance": 0.9, "metadata": {**first.metadata, "remanence.merged": 2}}
        gone = {"state": State.ARCHIVED, "superseded_by": first.id}
        links = [(second, first, "merged_into")]
        links += [(new, one, "summarises") for one in (first, second)]
        return Deed(
            what="merge",
            why="they are a pair",
            about=(first.id, second.id),
            actions=(
                Revise(id=first.id, changes=raised, expected=first.version, **told),
                Revise(id=second.id, changes=gone, expected=second.version, **told),
                Insert(record=new),
            ),
            links=tuple(
                Association(source=a.id, target=b.id, type=type, strength=1.0, created_at=night.now)
                for a, b, type in links
            ),
            moved=(
                Moved(id=first.id, uses=second.uses, used_at=second.used_at),
                Moved(id=second.id, uses=-second.uses),
            ),
            takes=self.takes,
        )


@dataclass
class Noting(Chore):
    """A chore that makes one memory each time, and can take back a note that is none."""

    store: Store
    step: Step = Step.UPKEEP
    work: Callable[[Progress | None], None] = field(default=lambda progress: None)
    notes: int = 0

    def foresee(self, night: Night) -> Plan:
        """That it would make a note."""
        return Plan(step=self.step, notes=("one note would be made",))

    def run(self, night: Night, progress: Progress | None = None) -> ChoreResult:
        """Make it."""
        self.work(progress)
        [made] = add(self.store, memory("a note", user_id=night.reach.user_id))
        self.notes += 1
        return ChoreResult(counts={"noted": 1}, made=((made.id, made.version),))

    def undo(self, night: Night) -> int:
        """Forget the notes."""
        gone, self.notes = self.notes, 0
        return gone


def fill_pairs(store: Store, pairs: int) -> None:
    """So many pairs of memories of two users, used, linked and known to say something."""
    records = [
        memory(
            f"{side} of {n}", user_id="ana" if n % 2 else None, metadata={"pair": n, "side": side},
            importance=0.25, happened_at=NOW + timedelta(minutes=n),
        )
        for n in range(pairs)
        for side in ("left", "right")
    ]  # fmt: skip
    add(store, *records)
    used = [(one.id, NOW + timedelta(seconds=n)) for n, one in enumerate(records) if n % 3]
    store.archive.note_uses("t", used)
    for one in records[1::2]:
        who = entity("Ána", user_id=one.user_id)
        learnt = found(one, claim(who, "has", "a side", memory=one.id), names=(who,))
        write(store, learnt=(learnt,))


def state_of(store: Store) -> dict[str, Any]:
    """All that undoing must give back: records but for versions and times, links, claims.

    What a run made is left out once it is archived, and so are the links it starts.
    """
    records = {record.id: record for _, record in store.archive.scan("t")}
    made = {
        id
        for id, record in records.items()
        if record.origin == "sleep" and record.state == State.ARCHIVED
    }
    claims = store.knowledge.claims(Reach(tenant="t", all_users=True), limit=100_000)
    return {
        "records": {
            id: replace(record, version=0, updated_at=NOW)
            for id, record in records.items()
            if id not in made
        },
        "links": {
            (one.source, one.target, one.type, one.strength)
            for one in store.links.scan("t")
            if one.source not in made
        },
        "claims": {one.id: one.rested_at is None for one in claims},
    }


def opened(where: str | Path) -> Store:
    """The store at a path or URL."""
    url = str(where)
    if url.startswith("postgresql"):
        from remanence.store.postgres import PostgresStore

        return PostgresStore(url)
    return SqliteStore(url, durability="normal")


def sleeper(store: Store, *steps: Any, clock: Clock | None = None, **more: Any) -> Sleep:
    """Sleep over a store of tenant "t" with these steps, or with pairing alone."""
    chosen = steps or (Pairing(store),)
    at = clock or FixedClock(NOW)
    return Sleep(
        store, "t", at, new_id, {one.step: one for one in chosen},
        more.pop("policy", SleepPolicy()), believed=at.now, **more,
    )  # fmt: skip


def batches_of(sleep: Sleep, most: int) -> Sleep:
    """The same with at most so many actions in a batch."""
    sleep._engine.at_once = most
    return sleep


def only(runs: list[Run]) -> Run:
    """The one run there is."""
    [run] = runs
    return run
