"""The pipeline of a search, from a checked query to explained hits."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from remanence.errors import EmbedderError, NotFound
from remanence.model.embedding import Fingerprint, FloatArray, QueryEmbedding
from remanence.model.hit import Hit, Hits, Understanding, WhyNot
from remanence.model.memory import MemoryRecord
from remanence.model.query import Query
from remanence.ports.embedder import Embedder
from remanence.ports.store import Store
from remanence.ports.vector_index import Nearest, VectorIndex
from remanence.recall.candidates import POOL, Pool, choose_pool
from remanence.recall.columns import Columns
from remanence.recall.conditions import Mask, allowed, conditions, microseconds
from remanence.recall.diversity import diversified
from remanence.recall.evidence import Evidence, no_evidence, read_evidence
from remanence.recall.freshness import Freshness
from remanence.recall.lexical import Rows, WordScores
from remanence.recall.ranked import Ranked
from remanence.recall.ranker import Ranker
from remanence.recall.signals import Scene, measure
from remanence.recall.understand import Question
from remanence.recall.views import Views
from remanence.text.words import terms

BY_VECTOR = 300
POSTINGS = 20_000


class Recall:
    """Finds memories: candidates from the store and the index, ranked by the linear ranker."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        index_for: Callable[[Fingerprint], VectorIndex],
        ranker: Ranker,
        freshness: Freshness,
        views_budget: int,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._index_for = index_for
        self._ranker = ranker
        self._freshness = freshness
        self._index: VectorIndex | None = None
        self._index_lock = threading.Lock()
        self.views = Views(store, views_budget)

    @property
    def index(self) -> VectorIndex | None:
        """The vector index, once a search has needed it."""
        return self._index

    def search(self, query: Query) -> Hits:
        """The memories that answer best, best first, each with its signals."""
        question = Question(query.text, query.now)
        embedded, degraded = self._embed(query.text)
        ranked = [
            self._rank(query, question, embedded, partition)
            for partition in self._store.partitions(query.reach)
        ]
        hits = self._hits(query, [part for part in ranked if part is not None])
        return Hits(hits, understood=_understood(question, ranked), degraded=degraded)

    def scenes(self, query: Query) -> list[Scene]:
        """The pools a search would rank, for training and evaluation."""
        question = Question(query.text, query.now)
        embedded, _ = self._embed(query.text)
        scenes = (
            self._scene(query, question, embedded, partition)
            for partition in self._store.partitions(query.reach)
        )
        return [scene for scene in scenes if scene is not None]

    def why_not(self, query: Query, id: str) -> WhyNot:
        """Which stage of the search dropped a memory."""
        place = self._store.key_of(query.reach.tenant, id)
        if place is None:
            raise NotFound(f"There is no memory {id} here; check the id with `find` or `rem list`.")
        partition, key = place
        if partition not in self._store.partitions(query.reach):
            return WhyNot(
                stage="scope",
                explanation="It belongs to another user than the search looked at; "
                "pass its user_id, include_shared=True or all_users=True.",
            )
        return self._why_not_in(query, partition, key)

    def _embed(self, text: str) -> tuple[QueryEmbedding | None, tuple[str, ...]]:
        try:
            return self._embedder.embed_query(text), ()
        except EmbedderError as error:
            return None, (f"vectors: {error}",)

    def vectors(self) -> VectorIndex:
        """The vector index of the present embedder, made on first use."""
        with self._index_lock:
            if self._index is None:
                self._index = self._index_for(self._embedder.fingerprint)
            return self._index

    def _scene(
        self, query: Query, question: Question, embedded: QueryEmbedding | None, partition: int
    ) -> Scene | None:
        columns = self.views.columns(partition)
        mask = allowed(query, columns, self._store, partition)
        if not mask.any():
            return None
        found = self._store.postings(partition, question.terms, POSTINGS)
        words = WordScores(columns, question.terms, found)
        people = frozenset(question.people(columns.speakers.names))
        plain = words.without(_name_terms(columns, people))
        nearest = self._nearest(query, columns, mask, embedded, partition)
        size = max(POOL, query.limit * 3 // 2)
        pool = choose_pool(columns, mask, plain, nearest, _in_period(columns, mask, question), size)
        evidence = self._evidence(columns, pool, embedded)
        weights = _token_weights(question, words, embedded)
        return Scene(question, columns, pool, plain, evidence, weights, people)

    def _nearest(
        self,
        query: Query,
        columns: Columns,
        mask: Mask,
        embedded: QueryEmbedding | None,
        partition: int,
    ) -> Nearest | None:
        if embedded is None:
            return None
        keys = None if mask.all() else np.sort(columns.key[mask])
        count = max(BY_VECTOR, query.limit * 2)
        return self.vectors().nearest(partition, embedded.vector, count, keys)

    def _evidence(self, columns: Columns, pool: Pool, embedded: QueryEmbedding | None) -> Evidence:
        if embedded is None:
            return no_evidence()
        rows = np.concatenate([pool.rows, columns.neighbours(pool.rows, -1)])
        return read_evidence(self._store, self._embedder.fingerprint, columns, rows, embedded)

    def _rank(
        self, query: Query, question: Question, embedded: QueryEmbedding | None, partition: int
    ) -> Ranked | None:
        scene = self._scene(query, question, embedded, partition)
        return None if scene is None else self._weigh(query, scene)

    def _weigh(self, query: Query, scene: Scene) -> Ranked:
        figures = measure(scene, self._ranker.names)
        fresh = self._freshness.shares(
            scene.question, scene.columns, scene.rows, microseconds(query.now), query.time_weight
        )
        shares = np.column_stack([self._ranker.shares(figures), *fresh])
        scores = shares.sum(axis=1) + self._ranker.base
        order = np.lexsort((-scene.columns.happened[scene.rows], -scores))
        names = (*self._ranker.names, "importance", "recency")
        return Ranked(scene, order, scores, names, shares)

    def _hits(self, query: Query, ranked: list[Ranked]) -> list[Hit]:
        best = [
            (float(part.scores[place]), part, int(place))
            for part in ranked
            for place in part.order[: query.limit * 3]
        ]
        best.sort(key=lambda entry: -entry[0])
        if query.min_score is not None:
            best = [entry for entry in best if entry[0] >= query.min_score]
        if query.diversity > 0:
            best = diversified(best, query.limit, query.diversity)
        return self._fetched(best[: query.limit])

    def _fetched(self, best: list[tuple[float, Ranked, int]]) -> list[Hit]:
        keys = [int(part.scene.columns.key[part.scene.rows[place]]) for _, part, place in best]
        records = self._store.records(keys)
        return [
            self._hit(records[key], score, part, place)
            for key, (score, part, place) in zip(keys, best, strict=True)
            if key in records
        ]

    def _hit(self, record: MemoryRecord, score: float, part: Ranked, place: int) -> Hit:
        row = int(part.scene.rows[place])
        span = part.scene.evidence.passage(row)
        return Hit(
            memory=record,
            score=score,
            signals=part.signals(place, self._ranker.base),
            details=part.details(place),
            passage=record.text if span is None else record.text[span[0] : span[1]],
            similarity=float(part.scene.dense[place]) if span is not None else None,
        )

    def _why_not_in(self, query: Query, partition: int, key: int) -> WhyNot:
        columns = self.views.columns(partition)
        row = int(columns.rows_of(np.array([key]))[0])
        for name, mask in conditions(query, columns, self._store, partition):
            if row < 0 or not mask[row]:
                return WhyNot(stage="filter", explanation=f"It does not satisfy {name!r}.")
        question = Question(query.text, query.now)
        embedded, _ = self._embed(query.text)
        ranked = self._rank(query, question, embedded, partition)
        if ranked is None or row not in ranked.scene.rows:
            return _not_in_pool(ranked, row)
        return self._why_not_ranked(query, ranked, row)

    def _why_not_ranked(self, query: Query, ranked: Ranked, row: int) -> WhyNot:
        place = int(np.flatnonzero(ranked.scene.rows == row)[0])
        rank = int(np.flatnonzero(ranked.order == place)[0]) + 1
        score = float(ranked.scores[place])
        if query.min_score is not None and score < query.min_score:
            stage, why = "min_score", f"Its score {score:.2f} is below min_score."
        elif rank > query.limit:
            stage, why = "rank", f"It ranks {rank}, below the limit of {query.limit}."
        else:
            stage, why = "returned", f"It was not dropped: it ranks {rank}."
        signals = ranked.signals(place, self._ranker.base)
        return WhyNot(stage=stage, explanation=why, rank=rank, score=score, signals=signals)


def _not_in_pool(ranked: Ranked | None, row: int) -> WhyNot:
    if ranked is not None and row in ranked.scene.pool.considered:
        return WhyNot(
            stage="pool",
            explanation="It was a candidate, but others matched vector and words better "
            "before the closer look.",
        )
    return WhyNot(
        stage="candidates",
        explanation="Neither its vector, its words, its time nor a neighbour brought it up.",
    )


def _name_terms(columns: Columns, people: frozenset[int]) -> frozenset[str]:
    return frozenset(term for n in people for term in terms(columns.speakers.names[n]))


def _in_period(columns: Columns, mask: Mask, question: Question) -> Rows:
    period = question.period
    if period is None:
        return np.zeros(0, np.int64)
    start, end = microseconds(period.start), microseconds(period.end)
    return np.flatnonzero(mask & (columns.happened >= start) & (columns.happened < end))


def _token_weights(
    question: Question, words: WordScores, embedded: QueryEmbedding | None
) -> FloatArray:
    """What each token of the question is worth: the idf of its word."""
    if embedded is None:
        return np.zeros(0, np.float32)
    idf = dict(zip(words.terms, words.idf.tolist(), strict=True))
    least = min(idf.values(), default=1.0)
    weights = np.full(len(embedded.spans), least, np.float32)
    for number, (start, end) in enumerate(embedded.spans):
        if any(m.span[0] <= start and end <= m.span[1] for m in question.times):
            weights[number] = 0
            continue
        for begin, stop, its_terms in question.words:
            if begin <= start and end <= stop:
                weights[number] = max((idf.get(t, least) for t in its_terms), default=least)
    return weights


def _understood(question: Question, ranked: list[Ranked | None]) -> Understanding:
    people = {
        part.scene.columns.speakers.names[n]
        for part in ranked
        if part is not None
        for n in part.scene.people
    }
    period = question.period
    return Understanding(
        terms=tuple(question.terms),
        people=tuple(sorted(people)),
        since=period.start if period else None,
        until=period.end if period else None,
    )
