"""The result cache: right keys, no texts, and no belief in what others put there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remanence import Memory
from remanence.backends.cache.local import LocalCache
from remanence.errors import EmbedderError
from remanence.model.clock import FixedClock
from remanence.model.filter import parse_filter
from remanence.model.hit import Hits, Understanding
from remanence.model.memory import Kind, State
from remanence.model.query import Query
from remanence.model.scope import Reach
from remanence.recall.answer import Answer, found_in
from remanence.recall.freshness import Freshness
from remanence.recall.question import Question
from remanence.recall.ranker import Ranker
from remanence.recall.results import ResultCache

NOW = datetime(2026, 3, 4, 23, 59, 30, tzinfo=UTC)
TEXTS = ("Ana moved to Lisbon in May", "Ana keeps two cats", "Bruno plays the cello")
QUESTION = "Where does Ana live?"


class Spy(LocalCache):
    """A cache that shows what was last put there."""

    key = ""
    value = b""

    def put(self, values: Any, ttl_s: float) -> None:
        [(self.key, self.value)] = values.items()
        super().put(values, ttl_s)

    def plant(self, saved: Any) -> None:
        value = saved if isinstance(saved, bytes) else orjson.dumps(saved)
        super().put({self.key: value}, 60)


class Searcher:
    """A memory's recall behind a result cache; counts the searches that were really made."""

    def __init__(self, memory: Memory, cache: LocalCache, **changed: Any) -> None:
        self.parts = memory.parts
        ranker = changed.pop("ranker", self.parts.recall.ranker)
        embedder = changed.pop("embedder", self.parts.embedder)
        store = changed.pop("store", self.parts.store)
        freshness = changed.pop("freshness", Freshness())
        self.results = ResultCache(cache, store, embedder, ranker, freshness, **changed)
        self.searches = 0
        self.degraded: tuple[str, ...] = ()

    def __call__(self, query: Query, *, live: bool = True) -> Hits:
        question = Question(query.text, query.now)
        return self.results.hits(query, question, live, lambda: self._answer(query, question))

    def _answer(self, query: Query, question: Question) -> Answer:
        self.searches += 1
        recall = self.parts.recall
        scenes = recall.scenes(query)
        people = {s.columns.lexicons.speakers.names[n] for s in scenes for n in s.people}
        understood = Understanding(terms=tuple(question.terms), people=tuple(sorted(people)))
        if question.period:
            understood = replace(understood, since=question.period.start, until=question.period.end)
        chosen = recall.chosen(query, recall.rank(query, scenes)) if scenes else None
        found = found_in(chosen, recall.ranker) if chosen else ()
        return Answer(found=found, understood=understood, degraded=self.degraded)


@pytest.fixture(scope="module")
def model() -> Iterator[Memory]:
    """A memory of three texts for one user and a secret of another tenant, in one store."""
    with Memory(":memory:", clock=FixedClock(NOW), tenant="acme") as memory:
        for n, text in enumerate(TEXTS):
            memory.add(
                text,
                user_id="u",
                session_id=f"s{n}",
                agent_id=f"a{n}",
                speaker="Ana Silva",
                happened_at=NOW - timedelta(days=n + 1),
                metadata={"team": "sales" if n else "legal"},
            )
        memory.add("Carla's own note on cats", user_id="v")
        yield memory


@pytest.fixture
def memory() -> Iterator[Memory]:
    """The same, for tests that write."""
    with Memory(":memory:", clock=FixedClock(NOW), tenant="acme") as memory:
        for text in TEXTS:
            memory.add(text, user_id="u", speaker="Ana Silva")
        memory.add("Carla's own note on cats", user_id="v")
        yield memory


@pytest.fixture
def cache() -> Spy:
    return Spy(1_000_000)


def query(**changed: Any) -> Query:
    return replace(
        Query(text=QUESTION, reach=Reach(tenant="acme", user_id="u"), now=NOW), **changed
    )


def test_the_second_search_comes_from_the_cache_and_is_the_same(model: Memory, cache: Spy) -> None:
    search = Searcher(model, cache)
    first, second = search(query()), search(query())
    assert search.searches == 1
    assert len(first) == len(TEXTS)
    assert list(first) == list(second)
    assert second.understood == first.understood
    assert second.understood.people == ("Ana Silva",)
    assert second.degraded == ()


def test_processes_that_share_a_cache_share_results(model: Memory, cache: Spy) -> None:
    one, other = Searcher(model, cache), Searcher(model, cache)
    assert list(one(query())) == list(other(query()))
    assert other.searches == 0


def test_no_word_of_a_memory_is_in_the_cache(model: Memory, cache: Spy) -> None:
    Searcher(model, cache)(query(text="pets"))
    saved = cache.value.lower()
    assert saved
    for word in " ".join(TEXTS).lower().split():
        assert f'"{word}'.encode() not in saved
        assert len(word) < 4 or word.encode() not in saved


@pytest.mark.parametrize(
    "write",
    [
        lambda m, one: m.add("Ana lives in Porto now", user_id="u"),
        lambda m, one: m.update(one, text="Ana left Lisbon"),
        lambda m, one: m.update(one, importance=0.9),
        lambda m, one: m.forget(one),
        lambda m, one: m.forget(one, erase=True),
    ],
    ids=["add", "text", "importance", "archive", "erase"],
)
def test_any_write_to_what_is_reached_is_seen_at_once(
    memory: Memory, cache: Spy, write: Callable[[Memory, str], object]
) -> None:
    search = Searcher(memory, cache)
    before = search(query())
    write(memory, before[0].memory.id)
    after = search(query())
    assert search.searches == 2
    assert list(after) != list(before)


def test_writes_elsewhere_cost_nothing(memory: Memory, cache: Spy) -> None:
    search = Searcher(memory, cache)
    search(query())
    memory.add("another user's", user_id="v")
    memory.add("nobody's")
    search(query())
    assert search.searches == 1


def test_a_new_partition_in_reach_is_seen_at_once(memory: Memory, cache: Spy) -> None:
    search = Searcher(memory, cache)
    wide = query(reach=Reach(tenant="acme", user_id="u", include_shared=True))
    search(wide)
    memory.add("Ana lives in Porto")
    assert "Ana lives in Porto" in [hit.memory.text for hit in search(wide)]


def test_memories_are_read_afresh(memory: Memory, cache: Spy) -> None:
    search = Searcher(memory, cache)
    first = search(query())[0].memory
    memory.parts.store.archive.note_uses("acme", [(first.id, NOW)])
    assert search(query())[0].memory.uses == first.uses + 1
    assert search.searches == 1


CHANGES: dict[str, Any] = {
    "text": "Where do the cats live?",
    "reach": Reach(tenant="acme", user_id="v"),
    "limit": 2,
    "kinds": (Kind.EPISODIC,),
    "states": tuple(State),
    "since": NOW - timedelta(days=2),
    "until": NOW,
    "known_at": NOW,
    "where": parse_filter({"team": "sales"}),
    "min_score": -1.0,
    "min_confidence": 0.0,
    "min_trust": 0.5,
    "time_weight": 0.2,
    "diversity": 0.3,
    "apart": ("another",),
}


def test_the_changes_below_are_all_there_are() -> None:
    assert set(CHANGES) == {f.name for f in fields(Query)} - {"now"}


@pytest.mark.parametrize("name", CHANGES)
def test_every_part_of_a_query_has_a_say_in_the_key(model: Memory, cache: Spy, name: str) -> None:
    search = Searcher(model, cache)
    search(query())
    first, changed = cache.key, query(**{name: CHANGES[name]})
    once = search(changed)
    assert search.searches == 2
    assert cache.key != first
    assert list(search(changed)) == list(once)
    assert search.searches == 2


@pytest.mark.parametrize(
    "where",
    [
        {"n": 1},
        {"n": "1"},
        {"n": True},
        {"n": 1.5},
        {"n": None},
        {"n": 2**62},
        {"or": [{"n": 1}]},
        {"not": {"n": 1}},
        {"text": {"contains": "n"}},
        {"field.source": "n"},
        {"source": "n"},
        {"field.created_at": {"gt": NOW}},
    ],
    ids=str,
)
def test_filters_that_differ_have_keys_that_differ(model: Memory, where: dict[str, Any]) -> None:
    caches = Spy(1_000_000), Spy(1_000_000)
    for spy, given_where in zip(caches, (where, {"n": 7}), strict=True):
        Searcher(model, spy)(query(where=parse_filter(given_where)))
    assert caches[0].key
    assert caches[0].key != caches[1].key


def test_who_ranks_and_who_embeds_has_a_say_in_the_key(model: Memory, cache: Spy) -> None:
    class Other:
        fingerprint = replace(model.parts.embedder.fingerprint, digest="f" * 64)

    recall = model.parts.recall
    table = dict.fromkeys(recall.ranker.names, (0.0, 1.0, 0.5))
    keys = set()
    for changed in (
        {},
        {"freshness": Freshness(recency=0.4)},
        {"ranker": Ranker.from_table(table, recall.ranker.base)},
        {"embedder": Other()},
    ):
        Searcher(model, cache, **changed)(query())
        keys.add(cache.key)
    assert len(keys) == 4


def test_a_restored_store_has_other_keys(model: Memory, cache: Spy) -> None:
    class Restored:
        upkeep, recall = SimpleNamespace(identity="another"), model.parts.store.recall

    Searcher(model, cache)(query())
    first = cache.key
    Searcher(model, cache, store=Restored())(query())
    assert cache.key.startswith("another:{acme}:s:")
    assert first.startswith(f"{model.parts.store.upkeep.identity}:{{acme}}:s:")


def test_a_time_the_caller_gave_has_a_say_in_the_key(model: Memory, cache: Spy) -> None:
    search = Searcher(model, cache)
    search(query(), live=False)
    search(query(), live=False)
    assert search.searches == 1
    search(query(now=NOW + timedelta(microseconds=1)), live=False)
    search(query(now=NOW.astimezone(timezone(timedelta(hours=1)))), live=False)
    assert search.searches == 3


def test_the_clock_alone_makes_no_new_key_until_it_changes_what_is_meant(
    model: Memory, cache: Spy
) -> None:
    search = Searcher(model, cache)
    for seconds in (0, 20, 40):
        search(query(now=NOW + timedelta(seconds=seconds)))
    assert search.searches == 1
    for seconds in (0, 20, 40):  # midnight comes before the last
        yesterday = query(text="What did Ana say yesterday?", now=NOW + timedelta(seconds=seconds))
        found = search(yesterday)
        assert found.understood.since == search(yesterday).understood.since
    assert search.searches == 3


def test_degraded_results_are_not_kept(model: Memory, cache: Spy) -> None:
    search = Searcher(model, cache)
    search.degraded = ("vectors: the model is missing",)
    assert search(query()).degraded == search.degraded
    assert cache.stats().entries == 0


def test_without_an_embedder_nothing_is_kept(model: Memory, cache: Spy) -> None:
    class Missing:
        @property
        def fingerprint(self) -> Any:
            raise EmbedderError("no model")

    search = Searcher(model, cache, embedder=Missing())
    assert search(query())
    assert cache.stats().entries == 0


@pytest.mark.parametrize(
    "where",
    [
        {"field.uses": {"gte": 1}},
        {"not": {"or": [{"team": "sales"}, {"field.uses": 0}]}},
    ],
)
def test_filters_by_use_are_not_kept(model: Memory, cache: Spy, where: dict[str, Any]) -> None:
    Searcher(model, cache)(query(where=parse_filter(where)))
    assert cache.stats().entries == 0


def test_results_expire(model: Memory) -> None:
    now = 0.0
    cache = LocalCache(1_000_000, clock=lambda: now)
    search = Searcher(model, cache, ttl_s=5)
    search(query())
    now = 5.0
    search(query())
    assert search.searches == 2


def test_results_too_large_to_be_worth_it_are_not_kept(
    model: Memory, cache: Spy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remanence.recall.results.LARGEST", 500)
    search = Searcher(model, cache)
    assert search(query())
    assert cache.stats().entries == 0


def test_an_empty_result_is_a_result(model: Memory, cache: Spy) -> None:
    search = Searcher(model, cache)
    nothing = query(min_score=1e9)
    assert search(nothing) == search(nothing) == []
    assert search.searches == 1


def _row(**changed: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    places = ("partition", "key", "score", "span", "similarity", "signals", "details")

    def change(saved: dict[str, Any]) -> dict[str, Any]:
        [(name, value)] = changed.items()
        saved["hits"][0][places.index(name)] = value
        return saved

    return change


def _top(**changed: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda saved: saved | changed


JUNK: dict[str, Callable[[dict[str, Any]], Any]] = {
    "empty": lambda saved: b"",
    "not json": lambda saved: b"\xff\x00",
    "cut": lambda saved: orjson.dumps(saved)[:-3],
    "too deep": lambda saved: b"[" * 100_000,
    "a list": lambda saved: [],
    "null": lambda saved: None,
    "another format": _top(format=1),
    "another key": _top(key="x"),
    "people not names": _top(people=[1]),
    "people not asked for": _top(people=["Mallory"]),
    "people a text": _top(people="Ana"),
    "no confidence": _top(confidence=None),
    "confidence a number": _top(confidence=0.5),
    "confidence too high": _top(confidence=[1.5, {}]),
    "confidence below zero": _top(confidence=[-0.5, {}]),
    "confidence a text": _top(confidence=["1", {}]),
    "confidence of something else": _top(confidence=[0.5, {"<b>": 1.0}]),
    "confidence of texts": _top(confidence=[0.5, {"vector": "<b>"}]),
    "hits none": _top(hits=None),
    "hits an object": _top(hits={"a": 1}),
    "a hit that is a number": _top(hits=[1]),
    "a hit too short": _top(hits=[[1, 2]]),
    "more hits than asked for": lambda saved: saved | {"hits": saved["hits"] * 20},
    "the same hit twice": lambda saved: saved | {"hits": saved["hits"][:1] * 2},
    "no such memory": _row(key=10**6),
    "key below zero": _row(key=-1),
    "key too large": _row(key=2**63),
    "key a float": _row(key=1.0),
    "key a text": _row(key="1"),
    "key true": _row(key=True),
    "no such partition": _row(partition=10**6),
    "partition true": _row(partition=True),
    "partition null": _row(partition=None),
    "score a text": _row(score="1"),
    "score null": _row(score=None),
    "score true": _row(score=True),
    "score infinite": lambda saved: orjson.dumps(_row(score=7e7)(saved)).replace(
        b"70000000.0", b"1e999"
    ),
    "span backwards": _row(span=[5, 2]),
    "span below zero": _row(span=[-5, 2]),
    "span of one": _row(span=[1]),
    "span a text": _row(span="ab"),
    "similarity a text": _row(similarity="1"),
    "signals null": _row(signals=None),
    "signals too few": _row(signals=[1.0]),
    "signals too many": _row(signals=[1.0] * 200),
    "signals of text": lambda saved: _row(signals=["<b>"] * len(saved["hits"][0][5]))(saved),
    "details an object": _row(details={"x": 1.0}),
}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
def test_junk_is_a_miss(model: Memory, cache: Spy, junk: Callable[[dict[str, Any]], Any]) -> None:
    search = Searcher(model, cache)
    right = search(query())
    cache.plant(junk(orjson.loads(cache.value)))
    assert list(search(query())) == list(right)
    assert search.searches == 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**63) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)


@pytest.mark.slow
@given(junk=st.binary() | JSON, place=st.integers(0, 7))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_junk_is_an_error_or_a_memory_out_of_reach(model: Memory, junk: Any, place: int) -> None:
    cache = Spy(1_000_000)
    search = Searcher(model, cache)
    own = {hit.memory.id for hit in search(query())}
    saved = orjson.loads(cache.value)
    if not isinstance(junk, bytes) and place < 7:
        saved["hits"][0][place] = junk
        junk = saved
    cache.plant(junk)
    assert {hit.memory.id for hit in search(query())} <= own


def test_planted_hits_must_be_as_sure_as_is_asked(model: Memory, cache: Spy) -> None:
    search = Searcher(model, cache)
    right = search(query(min_confidence=0.5))
    cache.plant(orjson.loads(cache.value) | {"confidence": [0.1, {}]})
    assert list(search(query(min_confidence=0.5))) == list(right)
    assert search.searches == 2


@pytest.mark.parametrize(
    "narrow",
    [
        {"kinds": (Kind.SEMANTIC,)},
        {"states": (State.ARCHIVED,)},
        {"since": NOW},
        {"until": NOW - timedelta(days=9)},
        {"known_at": NOW - timedelta(days=1)},
        {"reach": Reach(tenant="acme", user_id="u", agent_id="none")},
        {"reach": Reach(tenant="acme", user_id="u", session_id="none")},
        {"where": parse_filter({"team": "nobody"})},
        {"limit": 2},
    ],
    ids=str,
)
def test_planted_hits_must_satisfy_the_query(
    model: Memory, cache: Spy, narrow: dict[str, Any]
) -> None:
    search = Searcher(model, cache)
    search(query())
    planted = orjson.loads(cache.value)
    right = list(search(query(**narrow)))
    cache.plant(planted | {"key": cache.key})
    assert list(search(query(**narrow))) == right
    assert search.searches == 3
