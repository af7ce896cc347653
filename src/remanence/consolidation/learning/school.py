"""The search as training sees it: what is replayed, real pools, and what lessons are made of."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b

import numpy as np

from remanence.consolidation.learning.adapter import (
    TASTE,
    Ballot,
    Studied,
    anchor_questions,
    as_it_is,
    helped,
    mean_direction,
)
from remanence.consolidation.steps import records_of
from remanence.language.languages import query_terms
from remanence.language.words import terms
from remanence.model.embedding import FloatArray, restored
from remanence.model.learning import Experience
from remanence.model.memory import MemoryRecord, State
from remanence.model.ports.embedder import Embedder
from remanence.model.ports.store import Store
from remanence.model.query import Query
from remanence.model.scope import Reach
from remanence.recall.adapter import Adapter
from remanence.recall.adapters import PLAIN, Adapted
from remanence.recall.search import Recall
from remanence.recall.signals import extents_of, measure

# Where a reader stops looking: a useful memory below it was as good as not found.
SEEN = 10
LEADING = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A question with the memories that helped and those that did not; `at` is its last time."""

    query: str
    useful: frozenset[str]
    useless: frozenset[str]
    at: datetime


def replayed(experiences: Iterable[Experience], most: int, seed: int = 0) -> list[Experience]:
    """At most so many, oldest first: every month keeps its share, the surprising come first.

    A month that has less than its share leaves the rest to the others. Where nothing tells
    experiences apart the seed decides, so the same seed gives the same selection.
    """
    known = sorted(set(experiences), key=_order)
    torn = contradicted(known)
    months: defaultdict[tuple[int, int], list[Experience]] = defaultdict(list)
    for one in known:
        months[_month(one.at)].append(one)
    shares = _shares({month: len(found) for month, found in months.items()}, most)
    chosen: list[Experience] = []
    for month, found in months.items():
        found.sort(key=lambda one: (-surprise(one, torn), _lot(one, seed)))
        chosen += found[: shares[month]]
    return sorted(chosen, key=_order)


def surprise(one: Experience, torn: frozenset[tuple[str, str | None]]) -> int:
    """How much an experience says that the search does not know: 3 at most, 0 for nothing."""
    if (one.id, one.query) in torn:
        return 3
    if one.useful:
        return 2 if one.rank is None or one.rank > SEEN else int(one.rank > LEADING)
    return 2 if one.rank is not None and one.rank <= LEADING else 0


def contradicted(experiences: Iterable[Experience]) -> frozenset[tuple[str, str | None]]:
    """Memory and question of those that were called useful once and not useful another time."""
    told: defaultdict[tuple[str, str | None], set[bool]] = defaultdict(set)
    for one in experiences:
        told[one.id, one.query].add(one.useful)
    return frozenset(what for what, said in told.items() if len(said) > 1)


def lessons_of(experiences: Iterable[Experience]) -> list[Lesson]:
    """What each question teaches, oldest first; of contradicting words the last one counts.

    Experiences without a question teach nothing here.
    """
    told: dict[str, dict[str, bool]] = {}
    last: dict[str, datetime] = {}
    for one in sorted(experiences, key=_order):
        if one.query is not None:
            asked = " ".join(one.query.split())
            told.setdefault(asked, {})[one.id] = one.useful
            last[asked] = one.at
    lessons = [_lesson(query, said, last[query]) for query, said in told.items()]
    return sorted(lessons, key=lambda lesson: (lesson.at, lesson.query))


def lot(text: str, seed: int) -> bytes:
    """A number drawn for a text: always the same for a seed."""
    return blake2b(f"{seed} {text}".encode(errors="replace"), digest_size=8).digest()


def _lesson(query: str, said: Mapping[str, bool], at: datetime) -> Lesson:
    useful = frozenset(id for id, helped in said.items() if helped)
    return Lesson(query=query, useful=useful, useless=frozenset(said) - useful, at=at)


def _shares(counts: Mapping[tuple[int, int], int], most: int) -> dict[tuple[int, int], int]:
    """How many each month may keep: all alike, the newest first where that leaves a remainder."""
    shares = dict.fromkeys(counts, 0)
    left, open_ = most, sorted(counts, reverse=True)
    while left > 0 and open_:
        each, more = divmod(left, len(open_))
        for place, month in enumerate(open_):
            given = min(each + (place < more), counts[month] - shares[month])
            shares[month] += given
            left -= given
        open_ = [month for month in open_ if shares[month] < counts[month]]
    return shares


def _month(at: datetime) -> tuple[int, int]:
    moment = at.astimezone(UTC)
    return moment.year, moment.month


def _lot(one: Experience, seed: int) -> bytes:
    return lot(f"{one.id} {one.query} {one.useful} {one.at.isoformat()} {one.rank}", seed)


def _order(one: Experience) -> tuple[datetime, str, str, bool, float]:
    rank = math.inf if one.rank is None else one.rank
    return one.at, one.id, one.query or "", one.useful, rank


def newest(experiences: Sequence[Experience]) -> datetime | None:
    """When the last of them was."""
    return max((one.at for one in experiences), default=None)


CHUNK = 500
# A term in more memories than this is not somebody's own.
COMMON = 1_000


class School:
    """One user's memories, for training: only active ones of that user are learned from.

    A memory that was merged into another stands aside for it: what was said of the one holds for
    the other. `stood_in_for` are those.
    """

    def __init__(
        self, store: Store, recall: Recall, embedder: Embedder, tenant: str, user_id: str | None
    ) -> None:
        self._store = store
        self._recall = recall
        self._embedder = embedder
        self._reach = Reach(tenant=tenant, user_id=user_id)
        self._records: dict[str, MemoryRecord] = {}
        self._keys: dict[str, int] = {}
        self._instead: dict[str, str] = {}
        self.ranker = recall.ranker
        self._tastes = np.array([name.startswith(TASTE) for name in recall.ranker.names])
        self.partition = next(iter(store.recall.partitions(self._reach)), 0)

    def enrol(self, lessons: Sequence[Lesson]) -> list[Lesson]:
        """The lessons with a useful memory that is there and active, without what is not."""
        self._read(sorted({id for one in lessons for id in one.useful | one.useless}))
        self._read(sorted(set(self._instead.values()) - set(self._records)))
        kept = [self._enrolled(one) for one in lessons]
        return [one for one in kept if one.useful]

    @property
    def stood_in_for(self) -> frozenset[str]:
        """Memories of the lessons that others have taken the place of."""
        return frozenset(id for id, other in self._instead.items() if other in self._records)

    def _enrolled(self, lesson: Lesson) -> Lesson:
        useful, useless = self._standing(lesson.useful), self._standing(lesson.useless)
        return Lesson(query=lesson.query, useful=useful, useless=useless - useful, at=lesson.at)

    def _standing(self, ids: frozenset[str]) -> frozenset[str]:
        """Those that are there, or what they were merged into."""
        return frozenset(self._instead.get(id, id) for id in ids) & frozenset(self._records)

    def _read(self, ids: Sequence[str]) -> None:
        tenant = self._reach.tenant
        for record in records_of(self._store, tenant, ids):
            place = self._store.recall.key_of(tenant, record.id)
            if place is None or place[0] != self.partition:
                continue
            if record.state == State.ACTIVE:
                self._records[record.id] = record
                self._keys[record.id] = place[1]
            elif record.superseded_by is not None:
                self._instead[record.id] = record.superseded_by

    def study(self, lessons: Sequence[Lesson]) -> dict[str, Studied]:
        """What fitting needs of enrolled lessons, by question."""
        vectors = self._vectors([id for one in lessons for id in one.useful])
        return {one.query: self._studied(one, vectors) for one in lessons}

    def _studied(self, lesson: Lesson, vectors: dict[str, FloatArray]) -> Studied:
        asked = self._embedder.embed_query(lesson.query).vector
        near = [_nearest(vectors[id], asked) for id in sorted(lesson.useful) if id in vectors]
        return Studied(
            query=lesson.query,
            vector=asked,
            target=mean_direction(near),
            terms=tuple(query_terms(lesson.query)),
            words=self._words(lesson.useful),
            others=self._words(lesson.useless),
        )

    def _words(self, ids: frozenset[str]) -> frozenset[str]:
        return frozenset(term for id in ids for term in query_terms(self._records[id].text))

    def _vectors(self, ids: Sequence[str]) -> dict[str, FloatArray]:
        """The vectors of each memory's pieces."""
        by_key = {self._keys[id]: id for id in ids}
        found: dict[str, list[bytes]] = {}
        keys, fingerprint = sorted(by_key), self._embedder.fingerprint
        for start in range(0, len(keys), CHUNK):
            for piece in self._store.vectors.pieces(
                fingerprint, self.partition, keys[start : start + CHUNK]
            ):
                found.setdefault(by_key[piece.key], []).append(piece.vector)
        return {id: restored(packed) for id, packed in found.items()}

    def anchors(self) -> FloatArray:
        """The vectors of questions that must stay where they are."""
        return np.array([one.vector for one in self._embedder.embed(anchor_questions())])

    def known(self, lessons: Sequence[Lesson]) -> dict[str, int]:
        """How often each term of the questions stands in the user's memories."""
        asked = sorted({term for one in lessons for term in terms(one.query)})
        found = self._store.recall.postings(self.partition, asked, COMMON)
        counts = [COMMON if keys is None else len(keys) for keys in found]
        return dict(zip(asked, counts, strict=True))

    def ballot(self, lesson: Lesson, adapter: Adapter) -> Ballot | None:
        """The pool of a question under an adapter, for weighing; None if nothing is found.

        A lesson without a useful memory stands for one whose ranking is to stay as it is.
        """
        query = self._query(lesson.query, lesson.at)
        scenes = self._recall.scenes(query, Adapted({self.partition: adapter}))
        learned = scenes[0].learned if scenes else None
        if learned is None:
            return None
        scene, ranker = scenes[0], self.ranker
        ranked = self._recall.rank(query, scenes)
        scores = np.zeros(len(scene.rows), np.float32)
        scores[ranked.place] = ranked.scores
        figures = measure(scene, extents_of(scenes), ranker.names)
        keys = scene.columns.key[scene.rows]
        scores, wanted = as_it_is(scores)
        if lesson.useful:
            told = (list(self.keys(ids)) for ids in (lesson.useful, lesson.useless))
            scores, wanted = helped(scores, *(np.isin(keys, own) for own in told))
        return Ballot(
            scores=scores,
            learned=learned.figures(scene.vectors, scene.dense, scene.rows),
            signals=np.nan_to_num((figures - ranker.mean) / ranker.scale) * self._tastes,
            wanted=wanted,
        )

    def found(self, query: str, at: datetime, adapter: Adapter | None) -> list[int]:
        """The keys that a search finds, best first, with this adapter or with none."""
        asked = self._query(query, at)
        using = PLAIN if adapter is None else Adapted({self.partition: adapter})
        scenes = self._recall.scenes(asked, using)
        return self._recall.rank(asked, scenes).keys() if scenes else []

    def places(self, query: str, at: datetime, ids: Sequence[str]) -> dict[str, int]:
        """At which place a search without an adapter finds each of these memories, from 1."""
        self._read([id for id in ids if id not in self._records])
        order = {key: place for place, key in enumerate(self.found(query, at, None), start=1)}
        known = [(id, self._keys[id]) for id in ids if id in self._keys]
        return {id: order[key] for id, key in known if key in order}

    def keys(self, ids: frozenset[str]) -> frozenset[int]:
        """The keys of enrolled memories."""
        return frozenset(self._keys[id] for id in ids if id in self._keys)

    def _query(self, text: str, at: datetime) -> Query:
        return Query(text=text, reach=self._reach, now=at)


def _nearest(pieces: FloatArray, asked: FloatArray) -> FloatArray:
    return np.asarray(pieces[int(np.argmax(pieces @ asked))], np.float32)


# Ranking takes a search for each question, so of more than this share above what is wanted some
# are let go before, balanced over time all the same.
RANKED = 2


def experiences_of(store: Store, reach: Reach) -> list[Experience]:
    """All feedback on the memories of one user, or of no user."""
    return [
        Experience(id=one.id, query=one.query, useful=one.useful, at=one.at)
        for partition in store.recall.partitions(reach)
        for one in store.archive.feedback(reach.tenant, partition)
    ]


def selected(
    school: School, experiences: Sequence[Experience], most: int, seed: int
) -> list[Experience]:
    """What is replayed of them, surprising ones first; all of them if they are few."""
    if len(experiences) <= most:
        return replayed(experiences, most, seed)
    some = replayed(experiences, most * RANKED, seed)
    return replayed(ranked(school, some), most, seed)


def ranked(school: School, experiences: Sequence[Experience]) -> list[Experience]:
    """The same with the place at which a search without an adapter puts each memory."""
    asked: defaultdict[str, list[Experience]] = defaultdict(list)
    found = [one for one in experiences if one.query is None]
    for one in experiences:
        if one.query is not None:
            asked[one.query].append(one)
    for query, told in asked.items():
        places = school.places(query, told[-1].at, [one.id for one in told])
        found += [replace(one, rank=places.get(one.id)) for one in told]
    return found
