"""The pipeline of a search, from a checked query to explained hits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from remanence.language.words import terms
from remanence.model import deadline
from remanence.model.embedding import Fingerprint, FloatArray, QueryEmbedding
from remanence.model.fork_safety import computing
from remanence.model.hit import Hits
from remanence.model.memory import State
from remanence.model.ports.embedder import Embedder
from remanence.model.ports.store import Keys, Store
from remanence.model.ports.vector_index import Nearest, VectorIndex
from remanence.model.query import ALL, Query
from remanence.recall.adaptation import Adapting, learned_shares
from remanence.recall.adapter import Adapter
from remanence.recall.adapters import PLAIN, Adapted, Adapters
from remanence.recall.answer import Answer, FoundHit, found_in, hits_of, memories_of
from remanence.recall.candidates import POOL, Lures, Pool, choose_pool
from remanence.recall.columns import Columns
from remanence.recall.conditions import Mask, PiecesOf, ReadPartition, allowed, microseconds
from remanence.recall.confidence import NOTHING, confidence_of
from remanence.recall.evidence import MOST_TOKENS, Evidence, no_evidence, read_evidence, worthiest
from remanence.recall.freshness import Freshness, standing
from remanence.recall.lexical import WordScores
from remanence.recall.links import LEADERS, LinkReader, joined, raised
from remanence.recall.past import Past
from remanence.recall.postings import Rows
from remanence.recall.question import Question, Wordings
from remanence.recall.ranked import Ranked, diversified
from remanence.recall.ranker import Ranker
from remanence.recall.results import ResultCache
from remanence.recall.scene import Scene
from remanence.recall.signals import extents_of, measure
from remanence.recall.summaries import apart, are_summaries, covered, held_back, leading
from remanence.recall.views import View, Views, only_trusted

# In a small partition every cosine is at hand; in a large one the best few are read and scored.
SMALL = 4_000
ALL_OF = 1_000
BY_VECTOR = 120
# A term that occurs more than once in so many memories is too common to be worth reading.
COMMON = 25
FEW = 2_000
MANY = 20_000
WAITING = (
    "vectors: some memories wait for theirs and are found by their words alone; `rem reembed` or "
    "memory.reembed() makes them now"
)
# How many more than the limit are looked at for variety.
VARIETY = 3


@dataclass(eq=False)
class Recall:
    """Finds memories: candidates from the store and the index, ranked by the linear ranker."""

    store: Store
    embedder: Embedder
    index_for: Callable[[Fingerprint], VectorIndex]
    ranker: Ranker
    freshness: Freshness
    views_budget: int
    results: ResultCache | None = None

    def __post_init__(self) -> None:
        self._index: VectorIndex | None = None
        self._index_lock = threading.Lock()
        self.adapters = Adapters(self.store, self.embedder, self.ranker)
        self.views = Views(self.store.recall, self.views_budget)
        self._links = LinkReader(self.store)
        self._adapting = Adapting(self.store.recall, self.vectors)

    @property
    def index(self) -> VectorIndex | None:
        """The vector index, once a search has needed it."""
        return self._index

    def vectors(self) -> VectorIndex:
        """The vector index of the present embedder, made on first use."""
        with self._index_lock:
            if self._index is None:
                self._index = self.index_for(self.embedder.fingerprint)
            return self._index

    def search(self, query: Query, *, live: bool = False) -> Hits:
        """The memories that answer best, best first, each with its signals.

        `live` says that the query's `now` is the clock's and not the caller's.
        """
        question, past = Question.of(query.text, query.now), self.past_of(query)
        if past is not None:  # seldom asked for, so it is not worth caching
            answer = self._answer(query, question, PLAIN, past)
            return hits_of(answer, memories_of(past, answer.found))
        adapted = self.adapters.of(query.reach)
        if self.results is not None:
            return self.results.hits(
                query, question, live, lambda: self._answer(query, question, adapted), adapted.mark
            )
        answer = self._answer(query, question, adapted)
        return hits_of(answer, memories_of(self.store.recall, answer.found))

    def _answer(
        self, query: Query, question: Question, adapted: Adapted, past: Past | None = None
    ) -> Answer:
        wordings = Wordings(self.embedder)
        scenes = self._scenes(query, question, wordings, adapted, past)
        found: tuple[FoundHit, ...] = ()
        sure = NOTHING
        if scenes:
            with computing():
                ranked = self.rank(query, scenes)
                sure = confidence_of(ranked)
                if sure.reaches(query.min_confidence):
                    found = found_in(self.chosen(query, ranked), self.ranker)
        people = {s.columns.lexicons.speakers.names[n] for s in scenes for n in s.people}
        told = [*wordings.lost, *(s.degraded for s in scenes if s.degraded), *adapted.troubles]
        if not wordings.lost and any(scene.bare.any() for scene in scenes):
            told.append(WAITING)
        return Answer(
            found=found,
            understood=question.understood(sorted(people)),
            degraded=tuple(dict.fromkeys(told)),
            confidence=sure,
        )

    def scenes(self, query: Query, adapted: Adapted | None = None) -> list[Scene]:
        """The pools of a search, before they are ranked; with other adapters, if so wished."""
        past = self.past_of(query)
        if adapted is None:
            adapted = self.adapters.of(query.reach) if past is None else PLAIN
        question, wordings = Question.of(query.text, query.now), Wordings(self.embedder)
        return self._scenes(query, question, wordings, adapted, past)

    def past_of(self, query: Query) -> Past | None:
        """The past that the query asks for, if it does."""
        return None if query.known_at is None else Past(self.store, query.known_at)

    def seen(
        self, partition: int, past: Past | None, min_trust: float, states: Collection[State]
    ) -> View:
        """The partition as it stands, or stood, without what is trusted less or not asked for."""
        active = set(states) <= {State.ACTIVE}
        if past is None:
            return self.views.view(partition, min_trust, every=not active)
        then = past.view(partition, self.views.view(partition, every=True))
        return only_trusted(then, min_trust, active=active)

    def rank(self, query: Query, scenes: list[Scene]) -> Ranked:
        """Every memory of the pools with its score, best first."""
        lead = leading(scenes)
        extents = extents_of(lead)
        shares = [self._shares(query, s, measure(s, extents, self.ranker.names)) for s in scenes]
        learned = [np.zeros((len(one), 0), np.float32) for one in shares]
        if any(scene.learned is not None for scene in scenes):
            learned = [learned_shares(scene) for scene in scenes]
        source = self.past_of(query) or self.store.recall
        scores = [p.sum(axis=1) + more.sum(axis=1) for p, more in zip(shares, learned, strict=True)]
        stands = [
            self._standing(scene, source, own)
            if scene in lead
            else np.zeros((len(own), 2), np.float32)
            for scene, own in zip(scenes, scores, strict=True)
        ]
        scores = [own + more.sum(axis=1) for own, more in zip(scores, stands, strict=True)]
        told = [
            np.column_stack(parts)
            for parts in zip(shares, held_back(scenes, scores), stands, learned, strict=True)
        ]
        return Ranked.of(scenes, told, self.ranker.base)

    def _standing(self, scene: Scene, source: ReadPartition, scores: FloatArray) -> FloatArray:
        scores = scores.astype(np.float32)
        return standing(scene, scores, lambda keys: source.records(scene.partition, keys))

    def chosen(self, query: Query, ranked: Ranked) -> Ranked:
        """What is returned of a ranking: the best, varied if asked, none below `min_score`."""
        enough = len(ranked)
        if query.min_score is not None:
            enough = int(np.count_nonzero(ranked.scores >= np.float64(query.min_score)))
        if query.diversity > 0:
            ranked = ranked.first(np.arange(min(enough, query.limit * VARIETY)))
            vectors = ranked.vectors() if len(ranked) else np.zeros((0, 1), np.float32)
            return ranked.first(diversified(ranked.scores, vectors, query.limit, query.diversity))
        return ranked.first(np.arange(min(enough, query.limit)))

    def _scenes(
        self,
        query: Query,
        question: Question,
        wordings: Wordings,
        adapted: Adapted,
        past: Past | None,
    ) -> list[Scene]:
        partitions = self.store.recall.partitions(query.reach)
        using = adapted.adapters
        found = (self._scene(query, question, wordings, p, using.get(p), past) for p in partitions)
        return [part for scene in found if scene is not None for part in apart(scene)]

    def _scene(
        self,
        query: Query,
        question: Question,
        wordings: Wordings,
        partition: int,
        adapter: Adapter | None,
        past: Past | None,
    ) -> Scene | None:
        deadline.check()
        view = self.seen(partition, past, query.min_trust, query.states)
        source = self.store.recall if past is None else past
        columns = view.columns
        apart = self._apart(query, columns, partition)
        mask = allowed(query, columns, source, partition)
        mask[apart] = False
        if not mask.any():
            return None
        most = min(max(FEW, len(columns) // COMMON), MANY)
        found = view.postings.of(
            list(question.readings.values()),
            lambda unknown: _postings(source, query, partition, unknown, most, columns),
        )
        words = WordScores(columns, question.terms, found, most)
        speakers = columns.lexicons.speakers
        people = frozenset(question.people(speakers, query.reach.user_id))
        plain = words.without(_name_terms(columns, people))
        asked = question.in_voice_of(speakers.names[n] for n in people)
        embedded = wordings.embedded(asked.text)
        told = mask if past is None else mask & ~np.isin(columns.key, past.retold(partition))
        nearest = self._nearest(query, columns, told, embedded, partition)
        size = max(POOL, query.limit * 3)
        times = _in_period(columns, mask, question)
        graph = _reached(view, question)
        lures = Lures(times, people, graph, question.of_time_alone)
        with computing():
            pool = choose_pool(columns, mask, plain, nearest, lures, size, query.limit)
        first = pool.rows[~are_summaries(columns, pool.rows)][:LEADERS]
        pool = joined(pool, covered(source, partition, columns, pool, plain), mask)
        tenant = query.reach.tenant
        rows, strength = self._links.linked(
            tenant, partition, columns, first, query.now, query.min_trust
        )
        pool = joined(pool, rows, mask)
        learned = None
        if adapter is not None:
            learned = self._adapting.learned(adapter, question, embedded, columns, partition)
            pool = joined(pool, self._adapting.lured(learned, columns, mask, partition), mask)
        graph = raised(graph, rows, strength, len(columns))
        weights = _token_weights(asked, words, embedded)
        if embedded is not None and len(weights) > MOST_TOKENS:
            embedded, weights = worthiest(embedded, weights)
        evidence = self._evidence(
            (past or self.store.vectors).pieces, partition, columns, pool, embedded, weights
        )
        return Scene(
            question,
            partition,
            columns,
            pool,
            plain,
            evidence,
            weights,
            people,
            graph,
            "" if nearest is None else nearest.degraded,
            learned,
            apart,
        )

    def _apart(self, query: Query, columns: Columns, partition: int) -> Rows:
        """The rows of what is to be as if it were not there."""
        known = [self.store.recall.key_of(query.reach.tenant, id) for id in query.apart]
        keys = [place[1] for place in known if place is not None and place[0] == partition]
        rows = columns.rows_of(np.array(keys, np.int64))
        return rows[rows >= 0]

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
        keys = None if columns.whole and mask.all() else np.sort(columns.key[mask])
        count = max(ALL_OF if len(columns) <= SMALL else BY_VECTOR, query.limit)
        return self.vectors().nearest(partition, embedded.vector, count, keys, exact=False)

    def _evidence(
        self,
        pieces_of: PiecesOf,
        partition: int,
        columns: Columns,
        pool: Pool,
        embedded: QueryEmbedding | None,
        weights: FloatArray,
    ) -> Evidence:
        if embedded is None:
            return no_evidence()
        rows = np.concatenate([pool.rows, columns.neighbours(pool.rows, -1)])
        fingerprint = self.embedder.fingerprint
        return read_evidence(pieces_of, fingerprint, partition, columns, rows, embedded, weights)

    def _shares(self, query: Query, scene: Scene, figures: FloatArray) -> FloatArray:
        fresh = self.freshness.shares(
            scene.question, scene.columns, scene.rows, microseconds(query.now), query.time_weight
        )
        ranker = self.ranker if scene.learned is None else scene.learned.adapter.ranker
        return np.column_stack([ranker.shares(figures), *fresh])


def _name_terms(columns: Columns, people: frozenset[int]) -> frozenset[str]:
    names = columns.lexicons.speakers.names
    return frozenset(term for n in people for term in terms(names[n]))


def _in_period(columns: Columns, mask: Mask, question: Question) -> Rows:
    period = question.period
    if period is None:
        return np.zeros(0, np.int64)
    start, end = microseconds(period.start), microseconds(period.end)
    return np.flatnonzero(mask & (columns.happened >= start) & (columns.happened < end))


def _reached(view: View, question: Question) -> FloatArray:
    """How strongly the names in the question reach each row; empty if they reach none."""
    keys, strength = view.associations.reached(question.text, len(view.columns))
    if not len(keys):
        return np.zeros(0, np.float32)
    reached = np.zeros(len(view.columns), np.float32)
    rows = view.columns.rows_of(keys)
    reached[rows[rows >= 0]] = strength[rows >= 0]
    return reached


def _token_weights(
    question: Question, words: WordScores, embedded: QueryEmbedding | None
) -> FloatArray:
    """What each token of the question is worth: the idf of its word, nothing if it says when."""
    if embedded is None:
        return np.zeros(0, np.float32)
    least = min(words.worth.values(), default=1.0)
    found = [question.worth(span, words.worth, least) for span in embedded.spans]
    return np.array(found, np.float32)


def _postings(
    source: ReadPartition,
    query: Query,
    partition: int,
    terms: Sequence[str],
    most: int,
    columns: Columns,
) -> list[Keys | None]:
    """Where terms stand; whether one is common, only those who are seen decide."""
    if query.min_trust <= 0:
        return source.postings(partition, terms, most)
    found = source.postings(partition, terms, ALL)
    seen = [None if keys is None else keys[columns.rows_of(keys) >= 0] for keys in found]
    return [None if keys is None or len(keys) > most else keys for keys in seen]
