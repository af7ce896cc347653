"""The step that merges: what says the same becomes one memory."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from remanence.consolidation.merges.groups import (
    Member,
    Repeated,
    Rivals,
    central,
    gives_way,
    grouped,
    in_time,
    mark_of,
    member_of,
    most_days,
    place_of,
    survivor_of,
)
from remanence.consolidation.merges.judgement import (
    ModelQuestions,
    brought_back,
    deeds_for,
    told_since,
)
from remanence.consolidation.steps import (
    ACTIVE_KINDS,
    Beat,
    in_reach,
    planned,
    read,
    vectors_of,
    vouched_for,
)
from remanence.language.english.agreement import Telling
from remanence.language.english.dates import has_time
from remanence.model.embedding import Fingerprint
from remanence.model.ports.language_model import LanguageModel
from remanence.model.ports.store import Keys, Store
from remanence.model.progress import Progress
from remanence.model.sleep import Deed, Night, Plan, Step

_TOGETHER = 512  # memories whose texts are in hand at a time


@dataclass(eq=False)
class Merging:
    """Plans to merge near-duplicates: a survivor stays as it is, the others are archived.

    Candidates are found by the words they have in common, so the work grows with the number of
    memories and not with its square; then every two of a group must agree (`agreement`) and be
    alike by their vectors. Texts that are equal but for case and marks need no vectors. What was
    said before and after something else of the same thing stays apart (`rivals`), and so does what
    somebody brought back after a merge. With a model, memories that rules cannot judge are put to
    it.
    """

    step = Step.MERGE

    store: Store
    fingerprint: Callable[[], Fingerprint | None]
    model: LanguageModel | None = None

    def plan(self, night: Night, progress: Progress | None = None) -> Plan:
        """What to merge into what; the partitions of the reach one after another."""
        fingerprint = self.fingerprint()

        def decide(partition: int, beat: Beat) -> tuple[list[Deed], int]:
            one = _OnePartition(self.store, partition, night, fingerprint, beat)
            found = list(one.deeds())
            if night.use_model and self.model is not None:
                asking = ModelQuestions(
                    self.store, self.model, partition, night, fingerprint, one.rivals
                )
                found += asking.deeds({id for deed in found for id in deed.about})
            return found, one.looked_at

        return planned(self.step, self.store, night, progress, decide)


@dataclass(eq=False)
class _OnePartition:
    store: Store
    partition: int
    night: Night
    fingerprint: Fingerprint | None
    beat: Beat

    def __post_init__(self) -> None:
        self.looked_at = 0
        self.rivals = Rivals()

    def deeds(self) -> Iterator[Deed]:
        for buckets in _together(self._buckets()):
            self.beat()
            yield from self._merged(buckets)

    def _buckets(self) -> Iterator[list[int]]:
        """Keys of memories that share all the words that tell."""
        keys, marks = array("q"), array("Q")
        wanted = in_reach(self.store, self.partition, self.night.reach, ACTIVE_KINDS)
        for key, record in read(self.store, self.partition, wanted, _TOGETHER):
            self.looked_at += 1
            if self.looked_at % _TOGETHER == 0:
                self.beat()
            self.rivals.add(record)
            mark = mark_of(record)
            if mark is not None:
                keys.append(key)
                marks.append(mark)
        yield from _runs(np.asarray(keys, np.int64), np.asarray(marks, np.uint64))

    def _merged(self, buckets: Sequence[list[int]]) -> Iterator[Deed]:
        texts = self._texts(buckets)
        firsts = [one.members[0].key for found in texts if len(found) > 1 for one in found]
        vectors = vectors_of(self.store, self.fingerprint, self.partition, firsts)
        groups = [g for found in texts for g in grouped(found, vectors, self.night.policy.alike)]
        several = [group for group in groups if sum(len(one.members) for one in group) > 1]
        members = [member for group in several for one in group for member in one.members]
        tenant = self.night.reach.tenant
        stay = vouched_for(self.store, tenant, [one.id for one in members])
        returned = brought_back(self.store, tenant, members)
        for group in several:
            for together in self._stretches(group, returned):
                survivor = survivor_of(together, central(group, vectors))
                giving = (one for one in together if gives_way(one, survivor))
                others = [one for one in giving if one.id not in stay]
                if others:
                    yield from deeds_for(self.store, self.night, survivor, others)

    def _stretches(
        self, group: Sequence[Repeated], returned: Container[str]
    ) -> Iterator[list[Member]]:
        """Those of a group's members that may be one, by the times they are of."""
        every = (member for one in group for member in one.members)
        members = [one for one in every if one.id not in returned]
        days = most_days(group[0].kind, group[0].telling, self.night.policy.days_apart)
        rivals = self.rivals.of({one.telling.text for one in group}, group[0].agent)
        since = {} if days is None else told_since(self.store, self.night.reach.tenant, members)
        return (some for some in in_time(members, days, rivals, since) if len(some) > 1)

    def _texts(self, buckets: Sequence[list[int]]) -> list[list[Repeated]]:
        """Each bucket's texts, with the memories that have them word for word."""
        of = {key: number for number, bucket in enumerate(buckets) for key in bucket}
        found: list[dict[object, Repeated]] = [{} for _ in buckets]
        timed: dict[str, bool] = {}
        for key, record in read(self.store, self.partition, of, _TOGETHER):
            if record.text not in timed:
                timed[record.text] = has_time(record.text)
            place = place_of(record)
            said = (record.text, place, record.happened_at if timed[record.text] else None)
            texts = found[of[key]]
            if said not in texts:
                telling = Telling(record.text, record.happened_at)
                texts[said] = Repeated(telling, record.kind, record.agent_id, place)
            texts[said].members.append(member_of(key, record))
        return [list(texts.values()) for texts in found]


def _runs(keys: Keys, marks: NDArray[np.uint64]) -> Iterator[list[int]]:
    """The keys that share a mark with others, mark by mark, in order of their first key."""
    order = np.argsort(marks, kind="stable")
    starts = np.flatnonzero(np.diff(marks[order], prepend=~marks[order[:1]]))
    ends = np.append(starts[1:], len(marks))
    several = np.flatnonzero(ends - starts > 1)
    for run in several[np.argsort(keys[order[starts[several]]])]:
        yield keys[order[starts[run] : ends[run]]].tolist()


def _together(buckets: Iterable[list[int]]) -> Iterator[list[list[int]]]:
    """The buckets so many at a time that about as many memories are in hand as there may be."""
    held: list[list[int]] = []
    for bucket in buckets:
        held.append(bucket)
        if sum(map(len, held)) >= _TOGETHER:
            yield held
            held = []
    if held:
        yield held
