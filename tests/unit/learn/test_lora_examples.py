"""What is taught: from facts, feedback and memories, and from what not."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from remanence.errors import InvalidInput
from remanence.learn.lora.examples import (
    Example,
    digest,
    distinct,
    from_facts,
    from_feedback,
    from_memories,
    write_chat,
)
from remanence.learn.lora.questions import question
from remanence.model.knowledge import Fact, FactKind, Standing
from remanence.model.memory import Feedback, Kind, MemoryRecord, State
from remanence.model.predicates import PREDICATES

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def id_of(number: int) -> str:
    return str(UUID(int=number))


def memory(number: int, text: str = "Ana keeps two goats in the orchard", **more: Any) -> Any:
    given = {"tenant": "t", "happened_at": NOW, "created_at": NOW, "updated_at": NOW, **more}
    return MemoryRecord(id=id_of(number), text=text, **given)


def fact(number: int, predicate: str = "lives in", object: str = "Lisbon", **more: Any) -> Fact:
    given: dict[str, Any] = {
        "subject": "Ana",
        "subject_id": "ana",
        "text": "",
        "kind": FactKind.FACT,
        "confidence": 1.0,
        "trust": 1.0,
        "standing": Standing.HOLDS,
        "recorded_at": NOW + timedelta(seconds=number),
        "claims": (id_of(number),),
        **more,
    }
    return Fact(id=id_of(number), predicate=predicate, object=object, **given)


def useful(number: int, query: str | None, minutes: int = 0, useful: bool = True) -> Feedback:
    at = NOW + timedelta(minutes=minutes)
    return Feedback(id=id_of(number), useful=useful, query=query, at=at)


UNFIT = [
    {"state": State.QUARANTINED},
    {"state": State.ARCHIVED},
    {"state": State.SUPERSEDED},
    {"trust": 0.49},
]


def test_a_fact_becomes_a_question_and_its_answer() -> None:
    [one] = from_facts([fact(1, sources=(id_of(7),))], {id_of(7): memory(7)})
    assert (one.question, one.answer) == ("Where does Ana live?", "Lisbon")
    assert one.memories == (id_of(7),)
    assert one.facts == (id_of(1),)
    assert "Lisbon" not in one.id


def test_several_objects_make_one_answer_whatever_the_order() -> None:
    facts = [fact(2, "likes", "chess"), fact(1, "likes", "tea")]
    [one] = from_facts(facts, {})
    assert one.answer == "tea, chess"
    assert from_facts(facts[::-1], {}) == [one]
    [fewer] = from_facts(facts[:1], {})
    assert fewer.id != one.id


@pytest.mark.parametrize("unfit", UNFIT)
def test_what_is_not_trusted_is_never_taught(unfit: dict[str, Any]) -> None:
    bad = memory(7, **unfit)
    assert from_facts([fact(1, sources=(id_of(7),))], {id_of(7): bad}) == []
    assert from_feedback([useful(7, "goats?")], {id_of(7): bad}) == []
    assert from_memories([bad]) == []


def test_a_fact_that_is_doubted_or_whose_memory_is_gone_is_left_out() -> None:
    assert from_facts([fact(1, standing=Standing.DISPUTED)], {}) == []
    assert from_facts([fact(1, trust=0.4)], {}) == []
    assert from_facts([fact(1, sources=(id_of(9),))], {}) == []


def test_the_last_word_on_a_memory_counts_and_the_latest_that_helped() -> None:
    memories = {id_of(n): memory(n, f"note number {n}") for n in (1, 2)}
    said = [useful(1, "what?", 1), useful(2, "what?", 2), useful(1, None, 3)]
    assert [one.answer for one in from_feedback(said, memories)] == ["note number 2"]
    taken_back = [*said, useful(2, "what?", 4, useful=False)]
    assert [one.answer for one in from_feedback(taken_back, memories)] == ["note number 1"]


def test_a_memory_is_asked_for_by_its_first_words() -> None:
    [one] = from_memories([memory(1)])
    assert one.question == 'What do you remember that begins "Ana keeps …"?'
    assert one.answer == "Ana keeps two goats in the orchard"
    assert from_memories([memory(1, kind=Kind.MESSAGE), memory(2, "too short")]) == []
    texts = ["Ana keeps two goats here", "Ana keeps bees in the loft", "Ana keeps two cats"]
    asked = {one.question for one in from_memories(memory(n, t) for n, t in enumerate(texts))}
    assert len(asked) == 3
    [changed] = from_memories([replace(memory(1), version=2)])
    assert changed.id != one.id


def test_a_question_is_asked_once() -> None:
    twice = [
        Example(id="a", question="Who? ", answer="1"),
        Example(id="b", question="who?", answer="2"),
    ]
    assert [one.id for one in distinct(twice)] == ["a"]
    assert digest(twice) != digest(twice[:1])


def test_every_known_predicate_has_a_question() -> None:
    for name in (*PREDICATES, "favourite colour", "collects"):
        asked = question("Ana", name)
        assert "Ana" in asked
        assert asked.endswith("?")
    assert question("Ana", "sister") == "Who is Ana's sister?"
    assert question("Ana", "email") == "What is Ana's email?"


def test_the_export_is_chats_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl"
    told = from_facts([fact(1), fact(2, "works as", 'a "baker"\nof rye')], {})
    assert write_chat(path, told) == 2
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [list(one) for one in lines] == [["messages"], ["messages"]]
    assert lines[0]["messages"] == [
        {"role": "user", "content": "Where does Ana live?"},
        {"role": "assistant", "content": "Lisbon"},
    ]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(InvalidInput, match="nothing to teach"):
        write_chat(path, [])
