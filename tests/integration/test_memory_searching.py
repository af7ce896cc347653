"""Recalling: what search gives, in which order, with which conditions, and why not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory
from remanence.errors import InvalidInput, NotFound
from remanence.model.clock import FixedClock
from support.reaching import Reached

NOW = datetime(2024, 6, 15, 12, tzinfo=UTC)
FACTS = {
    "Ana moved to Lisbon in the spring": "which city does Ana live in?",
    "Ben is allergic to peanuts": "what food must Ben avoid?",
    "The office wifi password is on the blue card": "how do I connect to the internet at work?",
    "Our cat Miso sleeps on the radiator": "where does the cat like to nap?",
    "The quarterly report is due on Friday": "when is the deadline for the report?",
    "Carla plays the violin in an orchestra": "which instrument does Carla play?",
    "The car needs new winter tyres": "what does the automobile need?",
    "Dmitri's favourite colour is green": "what colour does Dmitri prefer?",
    "The bakery opens at six in the morning": "from what time can I buy bread?",
    "Python is a programming language": "which language is used for coding?",
}
TEAMS = ("sales", "support")


@pytest.fixture(scope="module")
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture(scope="module")
def kept(
    tmp_path_factory: pytest.TempPathFactory, clock: FixedClock, reached: Reached
) -> Iterator[Memory]:
    """Ten facts, and three hundred notes of Ana's that differ in everything one can filter by."""
    path = tmp_path_factory.mktemp("searching") / "memory.db"
    with Memory(path, clock=clock) as opened, reached(opened) as memory:
        memory.add_many(list(FACTS))
        memory.add_many([_note(n) for n in range(300)], user_id="ana")
        yield memory


def _note(n: int) -> dict[str, Any]:
    return {
        "text": f"Note {n} about the garden: water plant number {n}",
        "kind": "semantic" if n % 10 == 0 else "episodic",
        "happened_at": NOW - timedelta(days=n),
        "trust": 0.2 if n % 20 == 0 else 0.9,
        "agent_id": "gardener" if n % 25 == 0 else None,
        "session_id": f"s{n // 100}",
        "metadata": {"n": n, "team": TEAMS[n % 2], "rare": n % 50 == 0},
    }


@pytest.mark.parametrize("fact", FACTS)
def test_each_question_finds_its_own_fact(kept: Memory, fact: str) -> None:
    hits = kept.search(FACTS[fact])
    assert hits[0].memory.text == fact
    assert len(hits) == len(FACTS)
    assert hits.degraded == ()


@pytest.mark.parametrize("question", [*FACTS.values(), "zebra", "?", "the", "a b c", "🦓"])
def test_signals_and_details_add_up_to_the_score(kept: Memory, question: str) -> None:
    for hit in kept.search(question, all_users=True, limit=50):
        assert sum(hit.signals.values()) == pytest.approx(hit.score, abs=1e-4)
        assert sum(hit.details.values()) == pytest.approx(hit.score, abs=1e-4)
        assert 0 <= hit.relevance <= 1


def test_the_best_comes_first_and_nothing_twice(kept: Memory) -> None:
    hits = kept.search("water the garden plant number 7", user_id="ana", limit=300)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert len({hit.memory.id for hit in hits}) == 300


def test_the_same_question_gives_the_same_answer(kept: Memory) -> None:
    first, second = (kept.search("garden plants", user_id="ana") for _ in range(2))
    assert [(hit.memory.id, hit.score) for hit in first] == [
        (hit.memory.id, hit.score) for hit in second
    ]


CONDITIONS: dict[str, tuple[dict[str, Any], Any]] = {
    "none": ({}, lambda n: True),
    "kinds": ({"kinds": "semantic"}, lambda n: n % 10 == 0),
    "two kinds": ({"kinds": ["semantic", "episodic"]}, lambda n: True),
    "since": ({"since": NOW - timedelta(days=40)}, lambda n: n <= 40),
    "until": ({"until": NOW - timedelta(days=260)}, lambda n: n > 260),
    "as_of": ({"as_of": NOW - timedelta(days=260)}, lambda n: n >= 260),
    "both": (
        {"since": NOW - timedelta(days=150), "until": NOW - timedelta(days=100)},
        lambda n: 100 < n <= 150,
    ),
    "min_trust": ({"min_trust": 0.5}, lambda n: n % 20 != 0),
    "agent": ({"agent_id": "gardener"}, lambda n: n % 25 == 0),
    "session": ({"session_id": "s2"}, lambda n: n >= 200),
    "metadata": ({"filters": {"team": "support"}}, lambda n: n % 2 == 1),
    "rare": ({"filters": {"rare": True}}, lambda n: n % 50 == 0),
    "range": ({"filters": {"n": {"gte": 290, "$lt": 297}}}, lambda n: 290 <= n < 297),
    "in": ({"filters": {"n": {"in": [1, 2, 299, 5000]}}}, lambda n: n in (1, 2, 299)),
    "or": ({"filters": {"or": [{"n": 3}, {"n": {"gt": 297}}]}}, lambda n: n == 3 or n > 297),
    "not": ({"filters": {"not": {"n": {"lt": 298}}}}, lambda n: n >= 298),
    "text": ({"filters": {"text": {"contains": "NUMBER 29"}}}, lambda n: str(n).startswith("29")),
    "field": ({"filters": {"field.trust": {"lt": 0.5}}}, lambda n: n % 20 == 0),
    "mixed": (
        {"kinds": "semantic", "min_trust": 0.5, "filters": {"team": "sales"}},
        lambda n: n % 10 == 0 and n % 20 != 0,
    ),
    "nothing": ({"filters": {"team": "nobody"}}, lambda n: False),
}


@pytest.mark.parametrize("name", CONDITIONS)
@pytest.mark.parametrize("limit", [1, 5, 200])
def test_as_many_come_back_as_match_up_to_the_limit(kept: Memory, name: str, limit: int) -> None:
    arguments, matches = CONDITIONS[name]
    expected = {n for n in range(300) if matches(n)}
    # A question about something else: the filter alone decides what may come back.
    for question in ("water the garden", "quarterly finances of the company"):
        hits = kept.search(question, user_id="ana", limit=limit, **arguments)
        found = [hit.memory.metadata["n"] for hit in hits]
        assert len(found) == min(limit, len(expected))
        assert set(found) <= expected


@pytest.mark.parametrize(
    "name", [n for n in CONDITIONS if n not in ("as_of", "min_trust", "mixed")]
)
def test_find_and_count_agree_with_search(kept: Memory, name: str) -> None:
    arguments, matches = CONDITIONS[name]
    expected = [n for n in range(300) if matches(n)]
    found = kept.find(user_id="ana", limit=1000, **arguments)
    assert [record.metadata["n"] for record in found] == expected  # newest first
    assert kept.count(user_id="ana", **arguments) == len(expected)


def test_find_pages_in_both_orders(kept: Memory) -> None:
    pages = [kept.find(user_id="ana", limit=100, offset=offset) for offset in (0, 100, 200, 300)]
    newest = [record.metadata["n"] for page in pages for record in page]
    assert newest == list(range(300))
    oldest = kept.find(user_id="ana", limit=3, newest_first=False)
    assert [record.metadata["n"] for record in oldest] == [299, 298, 297]


def test_known_at_leaves_out_what_was_learned_later(tmp_path: Path) -> None:
    clock = FixedClock(NOW - timedelta(days=30))
    with Memory(tmp_path / "memory.db", clock=clock) as memory:
        early = memory.add("Ana works at Acme", happened_at=NOW - timedelta(days=400))
        clock.at = NOW
        memory.add("Ana worked at Globex before", happened_at=NOW - timedelta(days=500))
        then = memory.search("where did Ana work?", known_at=NOW - timedelta(days=10))
        assert [hit.memory.id for hit in then] == [early.id]
        assert len(memory.search("where did Ana work?", known_at=NOW)) == 2


def test_now_is_what_relative_dates_count_from(tmp_path: Path) -> None:
    weights = tmp_path / "ranker.json"
    table = {"vector": [0.3, 0.1, 1], "words": [0.2, 0.2, 1], "time": [0, 1, 2]}
    weights.write_text(json.dumps({"table": table, "base": 0}))
    with Memory(tmp_path / "memory.db", clock=FixedClock(NOW), ranker=weights) as memory:
        days = [{"text": "It rained", "happened_at": NOW - timedelta(days=n)} for n in range(200)]
        memory.add_many(days)
        for now in (NOW, NOW - timedelta(days=100)):
            hits = memory.search("did it rain yesterday?", now=now)
            assert hits[0].memory.happened_at == now - timedelta(days=1)
            assert hits[0].signals["time"] > hits[1].signals["time"]
            assert hits.understood.since is not None
            assert hits.understood.since <= now - timedelta(days=1) < hits.understood.until


def test_a_question_about_the_past_is_not_buried_by_the_present(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", clock=FixedClock(NOW)) as memory:
        old = memory.add("We sailed around Corsica", happened_at=NOW - timedelta(days=396))
        news = (f"We went to the office by bus, day {n}" for n in range(60))
        memory.add_many(news)
        for question in ("where did we sail in May 2023?", "where did we sail last year?"):
            hits = memory.search(question)
            assert hits[0].memory.id == old.id
            assert {hit.signals["recency"] for hit in hits} == {0}
        assert memory.search("where did we sail?")[-1].signals["recency"] > 0


def test_recency_breaks_ties_and_time_weight_turns_it(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", clock=FixedClock(NOW)) as memory:
        old = memory.add("Standup moved", happened_at=NOW - timedelta(days=5), importance=0.5)
        new = memory.add("Standup moved", happened_at=NOW, importance=0.5)
        hits = memory.search("standup")
        assert [hit.memory.id for hit in hits] == [new.id, old.id]
        steep, flat = (
            {h.memory.id: h.signals["recency"] for h in memory.search("standup", time_weight=w)}
            for w in (10, 0)
        )
        assert steep[old.id] < 1e-6 < flat[old.id] == pytest.approx(flat[new.id])


def test_importance_adds_to_the_score(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", clock=FixedClock(NOW)) as memory:
        low = memory.add("The key is under the mat", importance=0.1)
        high = memory.add("The key is under the mat", importance=0.9)
        hits = memory.search("where is the key?")
        assert [hit.memory.id for hit in hits] == [high.id, low.id]
        assert hits[0].signals["importance"] > hits[1].signals["importance"]


def test_min_score_keeps_the_best(kept: Memory) -> None:
    hits = kept.search("which city does Ana live in?")
    bar = (hits[0].score + hits[1].score) / 2
    assert [
        hit.memory.id for hit in kept.search("which city does Ana live in?", min_score=bar)
    ] == [hits[0].memory.id]
    assert kept.search("which city does Ana live in?", min_score=1e6) == []


def test_diversity_prefers_what_is_new(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        for n in range(5):
            memory.add(f"Ana likes pizza with mushrooms{'!' * n}")
        memory.add("Ana likes to swim in the sea")
        plain = [hit.memory.text for hit in memory.search("what pizza does Ana like?", limit=2)]
        varied = memory.search("what pizza does Ana like?", limit=2, diversity=0.9)
        assert all("pizza" in text for text in plain)
        assert "sea" in varied[1].memory.text
        assert len(memory.search("pizza", limit=6, diversity=1.0)) == 6


def test_states_are_active_unless_asked(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        ids = {
            state: memory.add(f"the {state} parrot").id
            for state in ("active", "archived", "superseded", "quarantined")
        }
        for state, id in ids.items():
            memory.update(id, state=state)
        assert [hit.memory.id for hit in memory.search("parrot")] == [ids["active"]]
        for state, id in ids.items():
            assert [hit.memory.id for hit in memory.search("parrot", states=state)] == [id]
        assert len(memory.search("parrot", states="any")) == 4
        assert memory.count(states=["archived", "superseded"]) == 2
        assert memory.find() == [memory.get(ids["active"])]


def test_users_are_apart_unless_asked(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        for user in ("ana", "ben", None):
            memory.add(f"the parrot of {user or 'everybody'}", user_id=user)

        def seen(**scope: Any) -> list[str]:
            texts = [hit.memory.text.split()[-1] for hit in memory.search("parrot", **scope)]
            assert len(memory.find(**scope)) == memory.count(**scope) == len(texts)
            return sorted(texts)

        assert seen(user_id="ana") == ["ana"]
        assert seen() == ["everybody"]
        assert seen(user_id="ana", include_shared=True) == ["ana", "everybody"]
        assert seen(all_users=True) == ["ana", "ben", "everybody"]
        assert seen(user_id="nobody") == []
        with pytest.raises(InvalidInput, match="not both"):
            memory.search("parrot", user_id="ana", all_users=True)


def test_the_limit_holds_over_several_users(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        for user in range(5):
            memory.add_many([f"parrot {n} of user {user}" for n in range(4)], user_id=f"u{user}")
        assert len(memory.search("parrot", all_users=True, limit=13)) == 13
        assert len(memory.search("parrot", all_users=True, limit=50)) == 20


def test_the_best_of_several_users_comes_first(tmp_path: Path) -> None:
    """Scores of different users' memories can be compared, however few each of them has."""
    with Memory(tmp_path / "memory.db") as memory:
        for number, fact in enumerate(FACTS):
            memory.add(fact, user_id=f"user {number}")
        for fact, question in FACTS.items():
            assert memory.search(question, all_users=True)[0].memory.text == fact


def test_shared_memories_compete_fairly_with_ones_own(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        memory.add_many(list(FACTS))
        memory.add("The printer is out of paper", user_id="ana")
        for fact, question in FACTS.items():
            hits = memory.search(question, user_id="ana", include_shared=True)
            assert hits[0].memory.text == fact


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("安娜在里斯本工作，喜欢喝咖啡", "里斯本"),
        ("我的猫叫做小白", "猫叫什么"),
        ("アナはリスボンに引っ越しました", "リスボン"),
        ("ฉันชอบกินข้าวผัดที่ตลาด", "ข้าวผัด"),
        ("나는 서울에서 태어났다", "서울"),
        ("Zoë dîne au café Müller", "cafe muller"),
        ("Résumé for Ångström", "résumé"),
        ("We celebrated with 🎂 and 🎈", "🎂"),
        ("Анна переехала в Лиссабон", "Лиссабон"),
        ("ανακοίνωση για την Αθήνα", "Αθήνα"),
    ],
)
def test_every_script_is_found_by_its_words(languages: Memory, text: str, question: str) -> None:
    languages.add(text, user_id=text)
    for n in range(5):
        languages.add(f"another note, number {n}, in English", user_id=text)
    assert languages.search(question, user_id=text)[0].memory.text == text


@pytest.fixture(scope="module")
def languages(tmp_path_factory: pytest.TempPathFactory, reached: Reached) -> Iterator[Memory]:
    path = tmp_path_factory.mktemp("languages") / "memory.db"
    with Memory(path) as opened, reached(opened) as memory:
        yield memory


def test_why_not_names_the_stage(kept: Memory) -> None:
    ask = "water plant number 7"
    record = kept.find(user_id="ana", filters={"n": 250})[0]

    def stage(**arguments: Any) -> str:
        return kept.why_not(ask, record.id, **arguments).stage

    assert stage() == "scope"
    for name in ("kinds", "min_trust", "agent", "session", "metadata", "since", "text"):
        arguments, matches = CONDITIONS[name]
        if not matches(250):
            assert stage(user_id="ana", **arguments) == "filter"
    far = kept.why_not(ask, record.id, user_id="ana")
    assert far.stage in ("rank", "pool", "candidates")
    assert far.explanation
    assert stage(user_id="ana", min_score=1e6, limit=300) == "min_score"
    returned = kept.why_not(ask, record.id, user_id="ana", limit=300)
    assert returned.stage == "returned"
    assert returned.signals is not None
    assert sum(returned.signals.values()) == pytest.approx(returned.score, abs=1e-4)


@pytest.mark.parametrize("diversity", [0.0, 0.9])
def test_why_not_agrees_with_search(kept: Memory, diversity: float) -> None:
    arguments: dict[str, Any] = {"all_users": True, "limit": 3, "diversity": diversity}
    ask = "which city does Ana live in?"
    found = {hit.memory.id for hit in kept.search(ask, **arguments)}
    others = [*kept.find(), *kept.find(user_id="ana", limit=20)]
    for record in others:
        returned = kept.why_not(ask, record.id, **arguments).stage == "returned"
        assert returned == (record.id in found)


def test_why_not_explains_conditions_by_name(kept: Memory) -> None:
    record = kept.find(user_id="ana", filters={"n": 250})[0]
    for arguments, name in (
        ({"kinds": "procedural"}, "kinds"),
        ({"since": NOW}, "since"),
        ({"known_at": NOW - timedelta(days=1)}, "known_at"),
        ({"filters": {"team": "support"}}, "filters"),
        ({"states": "archived"}, "state"),
        ({"agent_id": "nobody"}, "agent_id"),
    ):
        found = kept.why_not("plant", record.id, user_id="ana", **arguments)
        assert found.stage == "filter"
        assert name in found.explanation


def test_why_not_of_a_low_rank_and_of_an_unknown_id(kept: Memory) -> None:
    ask = "which city does Ana live in?"
    last = kept.search(ask)[-1].memory
    found = kept.why_not(ask, last.id, limit=2)
    assert (found.stage, found.rank) == ("rank", len(FACTS))
    with pytest.raises(NotFound):
        kept.why_not(ask, "00000000-0000-7000-8000-000000000000")


def test_what_was_understood_is_told(kept: Memory) -> None:
    understood = kept.search("What happened to Ana in May 2024?", user_id="ana").understood
    assert understood.since == datetime(2024, 5, 1, tzinfo=UTC)
    assert understood.until == datetime(2024, 6, 1, tzinfo=UTC)
    assert any("ana" in term for term in understood.terms)


def test_an_empty_memory_answers_with_nothing(memory: Memory) -> None:
    assert memory.search("anything") == []
    assert memory.find() == []
    assert memory.count() == 0
    assert memory.search("anything", all_users=True) == []


def test_similarity_of_texts_and_of_memories(kept: Memory) -> None:
    [cat, dog] = kept.add_many(["A cat sleeps", "A kitten naps"], user_id="similar")
    near = kept.similarity("A cat sleeps", "A kitten naps")
    assert near > kept.similarity("A cat sleeps", "The tax office sent a letter")
    assert kept.similarity(cat.id, dog.id) == pytest.approx(near, abs=1e-6)
    assert kept.similarity("same", "same") == pytest.approx(1, abs=1e-3)
