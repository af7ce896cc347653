"""Learning end to end: what memories say is known when they are stored, and goes with them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory
from remanence.errors import InvalidInput
from remanence.model.clock import FixedClock

NOW = datetime(2024, 6, 15, 12, tzinfo=UTC)
DAY = timedelta(days=1)
ANA: dict[str, Any] = {"user_id": "ana"}


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture(params=["sqlite", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock) -> Iterator[Memory]:
    is_file = request.param == "sqlite"
    place = tmp_path / "memory.db" if is_file else request.getfixturevalue("postgres_url")
    with Memory(place, clock=clock) as opened:
        yield opened


def _said(memory: Memory, text: str, **more: Any) -> str:
    return memory.add(text, **{"user_id": "ana", "speaker": "Ana", "kind": "message"} | more).id


def _lives(memory: Memory, **asked: Any) -> list[str]:
    told = memory.facts.about("Ana", predicate="lives in", **ANA, **asked)
    return [fact.object for fact in told]


def test_a_memory_is_known_when_it_is_stored(memory: Memory) -> None:
    said = _said(memory, "I live in Lisbon.")
    [fact] = memory.facts.about("Ana", **ANA)
    assert (fact.subject, fact.predicate, fact.object) == ("Ana", "lives in", "Lisbon")
    assert fact.sources == (said,)
    assert [one.memory for one in memory.graph.mentions("Lisbon", **ANA)] == [said]
    assert memory.stats().claims == 1


def test_facts_follow_their_memory(memory: Memory, clock: FixedClock) -> None:
    said = _said(memory, "I live in Lisbon.")
    clock.at = NOW + DAY
    memory.update(said, text="I live in Porto.")
    assert _lives(memory) == ["Porto"]
    assert _lives(memory, known_at=NOW) == ["Lisbon"]
    clock.at = NOW + 2 * DAY
    memory.forget(said)
    assert _lives(memory) == []
    assert _lives(memory, known_at=NOW + DAY) == ["Porto"]
    clock.at = NOW + 3 * DAY
    memory.update(said, state="active")
    assert _lives(memory) == ["Porto"]
    memory.forget(said, erase=True)
    assert _lives(memory) == _lives(memory, known_at=NOW) == []
    assert (memory.stats().entities, memory.stats().claims) == (0, 0)


def test_what_an_erased_memory_had_superseded_comes_back(memory: Memory, clock: FixedClock) -> None:
    _said(memory, "I live in Lisbon.")
    clock.at = NOW + DAY
    later = _said(memory, "I moved to Porto.")
    assert _lives(memory) == ["Porto"]
    memory.forget(later, erase=True)
    assert _lives(memory) == ["Lisbon"]


def test_an_edit_of_other_fields_leaves_facts_alone(memory: Memory, clock: FixedClock) -> None:
    said = _said(memory, "I live in Lisbon.")
    [before] = memory.facts.about("Ana", **ANA)
    clock.at = NOW + DAY
    memory.update(said, importance=0.9, metadata={"a": 1})
    memory.pin(said)
    assert memory.facts.about("Ana", **ANA) == [before]


def test_erasing_a_scope_takes_what_callers_stated_along(memory: Memory) -> None:
    memory.facts.add("Ana", "likes", "tea", **ANA)
    memory.facts.add("Ben", "likes", "tea", user_id="ben")
    memory.graph.add("Harbour", "place", **ANA)
    memory.forget(user_id="ana", erase=True)
    assert memory.facts.find(**ANA) == []
    assert memory.graph.entities(**ANA) == []
    assert len(memory.facts.find(user_id="ben")) == 1


def test_a_repeated_request_learns_nothing_twice(memory: Memory) -> None:
    for _ in range(2):
        memory.add("I live in Lisbon.", user_id="ana", speaker="Ana", idempotency_key="k")
    assert memory.stats().claims == 1


def test_who_says_i(memory: Memory) -> None:
    memory.add("I live in Rome.", user_id="ana", speaker="Carla")
    memory.add("I live in Oslo.", user_id="ana")
    memory.add("I live in Bern.")
    assert [f.object for f in memory.facts.about("Carla", **ANA)] == ["Rome"]
    assert [f.object for f in memory.facts.about("ana", **ANA)] == ["Oslo"]
    assert [f.object for f in memory.facts.about("user")] == ["Bern"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"role": "assistant", "speaker": None}, "the assistant's words"),
        ({"role": "tool"}, "role tool"),
        ({"role": "system"}, "role system"),
        ({"kind": "summary"}, "a summary"),
        ({"kind": "reflection"}, "a reflection"),
    ],
)
def test_what_is_not_heard_is_counted(memory: Memory, fields: dict[str, Any], reason: str) -> None:
    _said(memory, "I live in Lisbon.", **fields)
    assert memory.facts.find(**ANA) == []
    assert memory.facts.refused() == {reason: 1}


def test_a_named_assistant_is_heard(memory: Memory) -> None:
    _said(memory, "I live in Lisbon.", role="assistant", speaker="Rem")
    assert [f.object for f in memory.facts.about("Rem", **ANA)] == ["Lisbon"]


def test_questions_and_suppositions_are_refused_and_counted(memory: Memory) -> None:
    _said(memory, "Do I live in Lisbon?")
    _said(memory, "If I lived in Lisbon, I would swim every day.")
    assert memory.facts.find(**ANA) == []
    assert set(memory.facts.refused()) == {"question", "hypothetical"}


def test_each_switch_works_alone(tmp_path: Path) -> None:
    def known(**settings: Any) -> tuple[int, int]:
        with Memory(tmp_path / f"{len(list(tmp_path.iterdir()))}.db", **settings) as memory:
            said = _said(memory, "I live in Lisbon with Maria.")
            spoken = memory.graph.entities(**ANA)
            assert memory.get(said).text
            return len(memory.facts.find(**ANA)), sum(node.mentions for node in spoken)

    assert known() == (1, 2)
    assert known(extract_entities=False) == (1, 0)
    assert known(infer_relations=False) == (0, 2)
    assert known(extract_entities=False, infer_relations=False) == (0, 0)


def test_memories_of_before_are_read_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, extract_entities=False, infer_relations=False) as memory:
        for n in range(450):
            memory.add(f"My {n}. note: I live in Lisbon.", user_id="ana", speaker="Ana")
        assert memory.facts.learn(**ANA) == 0
    steps: list[tuple[int, int]] = []
    with Memory(path) as memory:
        memory.facts.add("Ana", "likes", "tea", **ANA)
        assert memory.facts.learn(**ANA, progress=lambda *at: steps.append(at)) == 450
        [lives] = memory.facts.about("Ana", predicate="lives in", **ANA)
        assert len(lives.sources) == 450
        assert memory.facts.learn(**ANA) == 450
        assert memory.stats().claims == 451
    assert steps[-1] == (450, 450)


def test_reading_again_keeps_what_was_taken_back(memory: Memory, clock: FixedClock) -> None:
    _said(memory, "I live in Lisbon.")
    clock.at = NOW + DAY
    [fact] = memory.facts.about("Ana", **ANA)
    memory.facts.retract(fact.id)
    memory.facts.learn(**ANA)
    assert _lives(memory) == []
    clock.at = NOW + 2 * DAY
    _said(memory, "I do live in Lisbon again.")
    assert _lives(memory) == ["Lisbon"]


def test_extract_keeps_nothing(memory: Memory) -> None:
    reading = memory.facts.extract("I live in Lisbon. Is it nice?", speaker="Ana", at=NOW)
    assert [(s.subject.text, s.predicate, s.value) for s in reading.statements] == [
        ("Ana", "lives in", "Lisbon")
    ]
    assert reading.refused == {"question": 1}
    assert memory.stats().claims == 0


def test_a_model_that_is_not_there_is_named(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="llm_url"):
        memory.facts.learn(**ANA, model=True)
    with pytest.raises(InvalidInput, match="llm_url"):
        memory.facts.extract("I live in Lisbon.", model=True)


def test_a_snapshot_takes_found_facts_along(memory: Memory, clock: FixedClock) -> None:
    said = _said(memory, "I live in Lisbon.")
    memory.snapshot("before", **ANA)
    clock.at = NOW + DAY
    memory.update(said, text="I live in Porto.")
    clock.at = NOW + 2 * DAY
    memory.snapshots.restore("before", **ANA)
    assert _lives(memory) == ["Lisbon"]


@pytest.mark.parametrize(
    "changes",
    [
        {"trust": 0.9},
        {"kind": "semantic"},
        {"role": "user"},
        {"importance": 0.9},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_was_taken_back_stays_so_until_it_is_said_again(
    memory: Memory, clock: FixedClock, changes: dict[str, Any]
) -> None:
    said = _said(memory, "I live in Lisbon.")
    clock.at = NOW + DAY
    memory.facts.retract(memory.facts.about("Ana", **ANA)[0].id)
    clock.at = NOW + 2 * DAY
    memory.update(said, **changes)
    memory.facts.learn(**ANA)
    assert _lives(memory) == []


def test_reading_again_changes_neither_ids_nor_the_past(memory: Memory, clock: FixedClock) -> None:
    said = _said(memory, "I live in Lisbon.")
    [fact] = memory.facts.about("Ana", **ANA)
    clock.at = NOW + DAY
    memory.pin(said)
    memory.facts.learn(**ANA)
    assert memory.facts.get(fact.id) == fact
    assert _lives(memory, known_at=NOW) == ["Lisbon"]


def test_a_text_that_changes_while_it_is_read_is_not_believed(memory: Memory) -> None:
    said = _said(memory, "I live in Lisbon.")
    records = [memory.get(said)]
    learner = memory.parts.learner

    def slowly(records: Any) -> Any:
        found = learner.learn(records)
        memory.update(said, text="I live in Porto.")
        return found

    memory.parts.writer.learn_again(records, slowly)
    assert _lives(memory) == ["Porto"]


def test_what_others_archive_meanwhile_hides_nothing(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", infer_relations=False) as memory:
        made = memory.add_many([f"Person{n} lives in Lisbon." for n in range(500)], **ANA)
    with Memory(tmp_path / "memory.db") as memory:
        done: list[int] = []

        def archive(at: int, total: int) -> None:
            if not done:
                memory.forget([one.id for one in made[:150]])
            done.append(at)

        memory.facts.learn(**ANA, progress=archive)
        assert len(memory.facts.find(predicate="lives in", limit=1000, **ANA)) == 350


def test_a_batch_is_told_in_its_order(memory: Memory, clock: FixedClock) -> None:
    texts = ["I live in Porto.", "I moved to Lisbon."]
    memory.add_messages([{"name": "Ana", "content": text} for text in texts], **ANA)
    clock.at = NOW + DAY
    assert _lives(memory) == ["Lisbon"]


@pytest.mark.parametrize("undo", ["retract", "correct", "merge", "unmerge"])
def test_an_erased_memory_leaves_no_words_in_what_was_said_of_its_facts(
    memory: Memory, clock: FixedClock, undo: str
) -> None:
    said = _said(memory, "My sister Zebulonia lives in Quuxville.")
    clock.at = NOW + DAY
    [fact] = memory.facts.about("Zebulonia", predicate="lives in", **ANA)
    if undo == "retract":
        memory.facts.retract(fact.id, reason="quux reason")
    elif undo == "correct":
        memory.facts.correct(fact.id, valid_from="2020")
    else:
        memory.graph.add("Carol", "person", **ANA)
        memory.graph.merge("Zebulonia", "Carol", reason="quux reason", **ANA)
        if undo == "unmerge":
            memory.graph.unmerge("Zebulonia", reason="quux reason", **ANA)
    memory.forget(said, erase=True)
    told = repr(list(memory.parts.store.knowledge.scan(memory.tenant))).lower()
    if undo == "correct":  # what a caller stated is the caller's
        memory.facts.retract(memory.facts.about("Zebulonia", **ANA)[0].id, erase=True)
        told = repr(list(memory.parts.store.knowledge.scan(memory.tenant))).lower()
    assert "quux" not in told
    assert "zebulonia" not in told


def test_messages_of_one_moment_are_told_in_their_order(memory: Memory) -> None:
    texts = ["I live in Porto.", "Actually, I live in Lisbon."]
    memory.add_messages([{"name": "Ana", "content": t, "at": NOW - DAY} for t in texts], **ANA)
    assert _lives(memory) == ["Lisbon"]


def test_hearsay_does_not_take_the_place_of_ones_own_words(
    memory: Memory, clock: FixedClock
) -> None:
    _said(memory, "I live in Lisbon.")
    clock.at = NOW + DAY
    _said(memory, "Bob thinks I live in Oslo.")
    _said(memory, "Ana lives in Bern.", role="assistant", speaker="Rem")
    assert _lives(memory) == ["Lisbon"]
