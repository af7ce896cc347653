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

from remanence.consolidation.learning.lora.examples import (
    TrainingExample,
    digest,
    distinct,
    from_facts,
    from_feedback,
    from_memories,
    question,
    write_chat,
)
from remanence.consolidation.learning.lora.exclusions import holds_secret, outdated, overruled
from remanence.consolidation.learning.lora.files import replace_whole
from remanence.errors import InvalidInput, StoreError
from remanence.model.knowledge import Claim, Fact, FactKind, Standing, Timespan
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
    {"state": State.ACTIVE, "superseded_by": str(UUID(int=8))},
    {"trust": 0.49},
]
SECRET = [
    "the wifi password at home is tulip-42!",
    "My PIN is 4821",
    "the code for the gate is 4711#",
    "door code: roses",
    "The key of the staging server: a8f3kk2",
    "his number is 0470 11 22 33",
    "pay to BE68 5390 0754 7034",
    "card 4111-1111-1111-1111",
    "token=9f8e7d6c",
    "use sk-abcdefgh12345678 for now",
    "postgres://me:hunter2@db/prod",
    "the api key is in the vault",
    "account number 12345",
    "Zugang dQw4w9WgXcQABCD12345xyz",
    "What is Ana's pin? 4821",
]
OPEN = [
    "Omar writes code in Python",
    "The dress code is casual",
    "Code review on Friday at 10",
    "the flat on Oak Street is 1150 pounds a month",
    "Budget is 12,000 euros",
    "born on 2018-03-04 at 10:30",
    "worked there 2017-2018 and 2019–2023",
    "Meeting 12.03.2026 with Tomasz",
    "The key is under the mat",
    "version 3.11.7 of the parser",
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


def test_what_was_merged_into_another_still_vouches_for_a_fact() -> None:
    merged = memory(7, state=State.ARCHIVED, superseded_by=id_of(8))
    assert len(from_facts([fact(1, sources=(id_of(7),))], {id_of(7): merged})) == 1
    assert from_memories([merged]) == []


@pytest.mark.parametrize("text", SECRET)
def test_a_secret_is_never_taught(text: str) -> None:
    assert holds_secret(text)
    told = memory(7, text)
    assert from_memories([told]) == []
    assert from_feedback([useful(7, "tell me")], {id_of(7): told}) == []
    assert from_facts([fact(1, "note", text), fact(2, "note", "is tall")], {})[0].facts == (
        id_of(2),
    )


@pytest.mark.parametrize("text", OPEN)
def test_what_only_resembles_a_secret_is_taught(text: str) -> None:
    assert not holds_secret(text)


def test_a_secret_is_found_fast_in_a_long_text() -> None:
    assert not holds_secret("code key: " * 20_000)
    assert not holds_secret("a" * 200_000)


@pytest.mark.parametrize(
    "unfit",
    [
        {"text": "Thanks, that helped."},
        {"text": "How are you doing today?"},
        {"importance": 0.05},
        {"kind": Kind.REFLECTION, "origin": "sleep"},
    ],
)
def test_what_tells_nothing_is_not_a_memory_to_teach(unfit: dict[str, Any]) -> None:
    assert from_memories([memory(1, **unfit)]) == []
    assert len(from_memories([memory(1, pinned=True, importance=0.05)])) == 1


def test_a_memory_said_twice_or_the_other_way_round_is_taught_once() -> None:
    def told(number: int, text: str) -> MemoryRecord:
        record: MemoryRecord = memory(number, text)
        return replace(record, happened_at=NOW + timedelta(days=number))

    twice = [told(1, "Hala is vegetarian."), told(2, "hala is vegetarian!")]
    assert [one.answer for one in from_memories(twice)] == ["Hala is vegetarian."]
    turned = [
        told(1, "Omar prefers Python over Java."),
        told(2, "Omar likes Python more than Java"),
        told(3, "Omar prefers Java over Python."),
        told(4, "Ana prefers Python over Java."),
    ]
    assert overruled(turned) == {id_of(1), id_of(2)}
    assert [one.memories[0] for one in from_memories(turned)] == [id_of(3), id_of(4)]


def claim(number: int, value: str = "Bristol", **more: Any) -> Claim:
    given = {"predicate": "lives in", "observed_at": NOW, "recorded_at": NOW, **more}
    return Claim(
        id=id_of(number), subject="ana", value=value, text="", memory=f"m{number}", **given
    )


@pytest.mark.parametrize(
    "standing", [Standing.ENDED, Standing.DISPUTED, Standing.DOUBTED, Standing.RETRACTED]
)
def test_a_memory_whose_claim_does_not_stand_is_outdated(standing: Standing) -> None:
    moved = [fact(1, object="Bristol", standing=standing), fact(2, object="Ghent")]
    assert outdated([claim(1), claim(2, "Ghent")], moved) == {"m1"}
    again = [*moved, fact(3, object="Bristol")]
    assert outdated([claim(1), claim(2, "Ghent"), claim(3)], again) == frozenset()
    former = claim(1, retired_at=NOW)
    assert outdated([former], moved) == frozenset()


def test_what_a_memory_tells_as_past_stays_true() -> None:
    over = [fact(1, object="Bristol", standing=Standing.ENDED)]
    assert outdated([claim(1, ended=Timespan(end=NOW))], over) == frozenset()
    assert outdated([claim(1, ended=Timespan(end=NOW + timedelta(days=1)))], over) == {"m1"}


def test_a_denial_is_outdated_by_what_holds() -> None:
    denied = claim(1, denies=True)
    assert outdated([denied], []) == frozenset()
    assert outdated([denied, claim(2)], [fact(2, object="Bristol")]) == {"m1"}
    assert outdated([denied, claim(2, "Ghent")], [fact(2, object="Ghent")]) == frozenset()
    anywhere = claim(1, "", denies=True)
    assert outdated([anywhere, claim(2, "Ghent")], [fact(2, object="Ghent")]) == {"m1"}


def asked(one: Fact, text: str = "so it is", people: frozenset[str] = frozenset()) -> list[str]:
    found = replace(one, sources=(id_of(7),))
    return [one.question for one in from_facts([found], {id_of(7): memory(7, text)}, people)]


def test_a_fact_that_makes_no_good_question_is_left_out() -> None:
    assert asked(fact(1, "mother", "Ana's mother")) == []
    assert asked(fact(1, "mother", "Rosa")) == ["Who is Ana's mother?"]
    assert asked(fact(1, "age", "12")) == []
    assert asked(fact(1, "age", "12"), people=frozenset({"ana"})) == ["How old is Ana?"]
    assert asked(fact(1, "has", "six percent")) == []
    assert from_facts([fact(1, "has", "a boat")], {})[0].question == "What does Ana have?"


def test_work_at_a_school_may_be_learning() -> None:
    school = fact(1, "works at", "Freinet school")
    assert asked(school, "Ana starts at the Freinet school") == ["Where does Ana work or study?"]
    assert asked(school, "Ana has a job at the Freinet school") == ["Where does Ana work?"]
    assert asked(fact(1, "works at", "Kestrel"), "at Kestrel") == ["Where does Ana work?"]
    [lead] = from_facts([fact(1, "works as", "new team lead")], {})
    assert lead.answer == "team lead"


def test_what_somebody_did_is_asked_by_its_date() -> None:
    day = Timespan(start=NOW, end=NOW + timedelta(days=1))
    assert asked(fact(1, "did", "ran 6 km")) == []
    assert asked(fact(1, "did", "ran 6 km", began=day)) == ["What did Ana do on 2026-03-01?"]
    month = Timespan(start=NOW, end=NOW + timedelta(days=31))
    assert asked(fact(1, "did", "ran 6 km", began=month)) == ["What did Ana do in 2026-03?"]


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
        TrainingExample(id="a", question="Who? ", answer="1"),
        TrainingExample(id="b", question="who?", answer="2"),
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
        write_chat(path, [], overwrite=True)


def test_a_file_that_is_there_is_kept_unless_given_up(tmp_path: Path) -> None:
    path, told = tmp_path / "chats.jsonl", from_facts([fact(1)], {})
    path.write_text("a letter")
    path.chmod(0o644)
    with pytest.raises(InvalidInput, match="exists already; pass overwrite"):
        write_chat(path, told)
    assert path.read_text() == "a letter"
    assert write_chat(path, told, overwrite=True) == 1
    assert "Lisbon" in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_bytes(b"SQLite format 3\0 and pages")
    with pytest.raises(InvalidInput, match="is a database"):
        write_chat(path, told, overwrite=True)
    with pytest.raises(InvalidInput, match="no plain file"):
        write_chat(tmp_path, told, overwrite=True)


def test_a_file_that_cannot_be_finished_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text("a letter")

    def half(draft: Path) -> None:
        draft.write_text("half of")
        raise OSError("no space left")

    with pytest.raises(StoreError, match="no space left"):
        replace_whole(path, half)
    assert path.read_text() == "a letter"
    assert list(tmp_path.iterdir()) == [path]
