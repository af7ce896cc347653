"""Remembering: add, add_many, add_messages, update, pin, history, and idempotency keys."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from remanence import Kind, Memory, State
from remanence.errors import Conflict, InvalidInput, NotFound
from support.reaching import Reached

WHEN = datetime(2024, 5, 1, 9, 30, tzinfo=UTC)
PASSAGE = (
    "The {0} bird of the {0} island sings at dawn, builds its nest in old walls and eats seeds. "
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, reached: Reached) -> Iterator[Memory]:
    path = tmp_path_factory.mktemp("adding") / "memory.db"
    with Memory(path) as opened, reached(opened) as memory:
        yield memory


@pytest.fixture
def user(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)[:200]


def test_everything_given_comes_back(kept: Memory, user: str) -> None:
    given: dict[str, Any] = {
        "user_id": user,
        "agent_id": "writer",
        "session_id": "s1",
        "kind": "semantic",
        "importance": 0.8,
        "happened_at": WHEN,
        "source": "crm",
        "actor": "importer",
        "origin": "https://example.org/1",
        "trust": 0.7,
        "metadata": {"team": "sales", "tags": ["a", "b"], "deep": {"n": 1, "x": None, "y": 1.5}},
        "pinned": True,
        "speaker": "Ana",
        "role": "user",
        "external_id": "D1:3",
    }
    record = kept.get(kept.add("Ana moved to Lisbon", **given).id)
    assert record.text == "Ana moved to Lisbon"
    assert {name: getattr(record, name) for name in given} == given
    assert (record.state, record.version, record.tenant) == (State.ACTIVE, 1, "default")


def test_what_is_left_out_has_a_sane_default(kept: Memory, user: str) -> None:
    before = datetime.now(UTC)
    record = kept.add("The sky is blue", user_id=user)
    assert record.kind == Kind.EPISODIC
    assert before <= record.created_at == record.happened_at <= datetime.now(UTC)
    assert (record.trust, record.pinned, record.metadata) == (1.0, False, {})
    assert record.agent_id is record.session_id is record.source is record.external_id is None


def test_importance_is_computed_when_not_given(kept: Memory, user: str) -> None:
    chatter = kept.add("ok, thanks!", user_id=user)
    weighty = kept.add("Remember: I am allergic to penicillin, never give me any", user_id=user)
    assert 0 <= chatter.importance < weighty.importance <= 1
    assert kept.add("ok, thanks!", user_id=user, importance=0).importance == 0


@pytest.mark.parametrize(
    "text",
    [
        "  spaces around  ",
        "two\nlines\r\nand\ttabs",
        "Zoë's naïve café — “quoted” ½",
        "👩‍👩‍👧‍👦 family and 🏳️‍🌈 flag",
        "e\u0301 stays decomposed",
        "'; DROP TABLE memories; --",
        '{"json": [1, 2]} <b>&amp;</b> %s \\x00',
        "\u202eright to left\u202c and zero\u200bwidth",
    ],
)
def test_a_text_comes_back_unchanged(kept: Memory, user: str, text: str) -> None:
    assert kept.get(kept.add(text, user_id="unchanged").id).text == text


def test_times_are_kept_to_the_microsecond_and_in_utc(kept: Memory, user: str) -> None:
    local = datetime(2024, 5, 1, 9, 30, 0, 123457, tzinfo=timezone(timedelta(hours=5, minutes=45)))
    record = kept.get(kept.add("lunch", user_id=user, happened_at=local).id)
    assert record.happened_at == local
    assert record.happened_at.utcoffset() == timedelta(0)


@pytest.mark.parametrize("year", [1, 1900, 9999])
def test_distant_times_are_kept_and_found(kept: Memory, year: int) -> None:
    user = f"in {year}"
    moment = datetime(year, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    record = kept.add("the comet passed", user_id=user, happened_at=moment)
    assert kept.get(record.id).happened_at == moment
    assert [hit.memory.id for hit in kept.search("comet", user_id=user, since=moment)] == [
        record.id
    ]
    assert kept.search("comet", user_id=user, until=moment) == []
    assert [found.id for found in kept.find(user_id=user, since=moment)] == [record.id]


def test_iso_text_is_taken_for_a_time(kept: Memory, user: str) -> None:
    record = kept.add("lunch", user_id=user, happened_at="2024-05-01T09:30:00+00:00")  # type: ignore[arg-type]
    assert record.happened_at == WHEN


def test_metadata_is_a_copy(kept: Memory, user: str) -> None:
    metadata = {"tags": ["a"]}
    record = kept.add("tagged", user_id=user, metadata=metadata)
    metadata["tags"].append("b")
    assert record.metadata == {"tags": ["a"]} == kept.get(record.id).metadata


def test_members_of_enums_are_kept_as_their_values(kept: Memory, user: str) -> None:
    class Team(StrEnum):
        SALES = "sales"

    record = kept.add("enum", user_id=user, source=Team.SALES, metadata={"team": Team.SALES})
    assert record == kept.get(record.id)
    assert type(record.source) is str


def test_a_long_text_is_one_memory_with_the_passage_that_matches(kept: Memory, user: str) -> None:
    fillers = ["red", "green", "grey", "black"]
    text = "".join(PASSAGE.format(f"{colour} {n}") for colour in fillers for n in range(40))
    middle = len(text) // 2
    answer = "The lighthouse keeper hid the brass key under the third stone. "
    text = text[:middle] + answer + text[middle:]
    record = kept.add(text, user_id=user)
    kept.add("The postman walks along the harbour", user_id=user)
    [first, second] = kept.search("where did the keeper hide the key?", user_id=user)
    assert first.memory.id == record.id
    assert first.memory.text == text
    assert "brass key" in first.passage
    assert len(first.passage) < len(text) / 2
    assert second.memory.id != record.id
    assert kept.count(user_id=user) == 2


def test_several_are_added_together(kept: Memory, user: str) -> None:
    records = kept.add_many(
        ["I like pizza", {"text": "The sky is blue", "kind": "semantic", "agent_id": "b"}],
        user_id=user,
        agent_id="a",
    )
    assert [record.text for record in records] == ["I like pizza", "The sky is blue"]
    assert [record.kind for record in records] == [Kind.EPISODIC, Kind.SEMANTIC]
    assert [record.agent_id for record in records] == ["a", "b"]
    assert kept.add_many([]) == []
    assert len({record.id for record in records}) == 2


def test_several_are_added_or_none(kept: Memory, user: str) -> None:
    with pytest.raises(InvalidInput, match="empty"):
        kept.add_many(["fine", "also fine", "  "], user_id=user)
    with pytest.raises(InvalidInput, match="'colour'"):
        kept.add_many([{"text": "fine"}, {"text": "fine", "colour": "red"}], user_id=user)
    with pytest.raises(InvalidInput, match=r"messages\[1\]"):
        kept.add_messages([{"content": "fine"}, {"content": ""}], user_id=user)
    assert kept.count(user_id=user) == 0


def test_messages_keep_who_said_what_when(kept: Memory, user: str) -> None:
    [first, second] = kept.add_messages(
        [
            {"role": "user", "name": "Ana", "content": "Hello", "at": WHEN, "id": "D1:1"},
            {"role": "assistant", "content": [{"type": "text", "text": "Good day"}]},
        ],
        user_id=user,
        session_id="s1",
        source="chat",
    )
    assert (first.speaker, first.role, first.happened_at) == ("Ana", "user", WHEN)
    assert (first.external_id, first.session_id, first.source) == ("D1:1", "s1", "chat")
    assert first.kind == second.kind == Kind.MESSAGE
    assert second.text == "Good day"
    assert kept.search("hello Ana", user_id=user, limit=1)[0].memory.external_id == "D1:1"


def test_the_neighbours_of_a_conversation_help(kept: Memory, user: str) -> None:
    kept.add_messages(
        [
            {"role": "user", "name": "Ana", "content": "What did your doctor say?"},
            {"role": "user", "name": "Ben", "content": "Nothing to worry about."},
        ],
        user_id=user,
        session_id="s1",
    )
    kept.add("Completely unrelated: the train left at noon", user_id=user)
    found = [hit.memory.speaker for hit in kept.search("what did the doctor say?", user_id=user)]
    assert set(found[:2]) == {"Ana", "Ben"}


def test_update_changes_fields_and_keeps_the_old_ones(kept: Memory, user: str) -> None:
    record = kept.add("Ana lives in Porto", user_id=user, importance=0.5, metadata={"a": 1})
    changed = kept.update(
        record.id, text="Ana lives in Faro", importance=0.9, actor="Ben", reason="she moved"
    )
    assert (changed.text, changed.importance, changed.version) == ("Ana lives in Faro", 0.9, 2)
    assert changed.metadata == {"a": 1}
    assert changed == kept.get(record.id)
    [made, revised] = kept.history(record.id)
    assert (made.version, revised.version) == (1, 2)
    assert (revised.verb, revised.actor, revised.reason) == ("updated", "Ben", "she moved")
    assert revised.before == {"text": "Ana lives in Porto", "importance": 0.5}


def test_an_updated_text_is_found_by_its_new_words_only(kept: Memory, user: str) -> None:
    record = kept.add("Ana bought a tuba", user_id=user)
    kept.add("Ben plays the piano", user_id=user)
    kept.update(record.id, text="Ana bought a bicycle")
    assert kept.search("bicycle", user_id=user)[0].memory.id == record.id
    assert kept.count(user_id=user, filters={"text": {"contains": "tuba"}}) == 0
    by_word = {hit.signals["words"] for hit in kept.search("tuba", user_id=user)}
    assert len(by_word) == 1


def test_updating_to_what_it_is_does_nothing(kept: Memory, user: str) -> None:
    record = kept.add("Ana lives in Porto", user_id=user)
    assert kept.update(record.id, text="Ana lives in Porto").version == 1
    assert len(kept.history(record.id)) == 1


@pytest.mark.parametrize("field", ["id", "tenant", "user_id", "version", "created_at", "colour"])
def test_some_fields_cannot_be_changed(kept: Memory, user: str, field: str) -> None:
    record = kept.add("fixed", user_id="fixed")
    with pytest.raises((InvalidInput, TypeError), match=field):
        kept.update(record.id, **{field: "x"})
    assert kept.get(record.id) == record


def test_update_without_a_change_says_so(kept: Memory, user: str) -> None:
    with pytest.raises(InvalidInput, match="what to change"):
        kept.update(kept.add("x", user_id=user).id)


def test_pin_and_unpin(kept: Memory, user: str) -> None:
    record = kept.add("my name is Ana", user_id=user)
    assert kept.pin(record.id).pinned
    assert not kept.pin(record.id, False).pinned
    assert [revision.version for revision in kept.history(record.id)] == [1, 2, 3]


def test_the_same_key_gives_the_first_record(kept: Memory, user: str) -> None:
    request: dict[str, Any] = {"user_id": user, "happened_at": WHEN, "metadata": {"b": 1, "a": 2}}
    first = kept.add("once only", idempotency_key=user, **request)
    again = kept.add("once only", idempotency_key=user, **request)
    assert again == first
    assert kept.count(user_id=user) == 1


@pytest.mark.parametrize("other", [{"text": "another"}, {"importance": 0.1}, {"user_id": "else"}])
def test_the_same_key_for_another_request_is_a_conflict(
    kept: Memory, user: str, other: dict[str, Any]
) -> None:
    request = {"text": "once only", "user_id": user}
    kept.add(**request, idempotency_key=user)
    with pytest.raises(Conflict, match="another request"):
        kept.add(**request | other, idempotency_key=user)
    assert kept.count(user_id=user) == 1
    assert kept.count(user_id="else") == 0


def test_keys_work_for_batches_and_conversations(kept: Memory, user: str) -> None:
    for _ in range(2):
        texts = kept.add_many(["one", "two"], user_id=user, idempotency_key=f"{user}-many")
        turns = kept.add_messages(
            [{"content": "three"}], user_id=user, idempotency_key=f"{user}-turns"
        )
    assert kept.count(user_id=user) == 3
    assert [record.text for record in texts + turns] == ["one", "two", "three"]


def test_a_key_outlives_the_process(tmp_path: Path) -> None:
    for _ in range(2):
        with Memory(tmp_path / "memory.db") as memory:
            memory.add("once only", idempotency_key="k")
            assert memory.count() == 1


def test_an_id_that_is_not_here(kept: Memory) -> None:
    for id in ("00000000-0000-7000-8000-000000000000", "nonsense", ""):
        with pytest.raises(NotFound, match="no memory"):
            kept.get(id)
        with pytest.raises(NotFound):
            kept.update(id, text="x")
        with pytest.raises(NotFound):
            kept.history(id)


def test_a_chat_log_as_an_api_wrote_it(kept: Memory, user: str) -> None:
    call: dict[str, Any] = {"role": "assistant", "tool_calls": [{"id": "c1"}]}
    turns = kept.add_messages(
        [
            {"role": "user", "name": "", "id": "", "content": "What is on the picture?"},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
            call,
            call | {"content": None, "refusal": None, "annotations": [], "audio": None},
            {"role": "tool", "tool_call_id": "c1", "content": " \n"},
            {"role": "", "content": "A kite", "function_call": None},
        ],
        user_id=user,
    )
    assert [turn.text for turn in turns] == ["What is on the picture?", "A kite"]
    assert (turns[0].speaker, turns[0].external_id, turns[1].role) == (None, None, None)


@pytest.mark.parametrize("turn", [{"role": "user"}, {"content": ["text"]}, {"content": [{}, 5]}])
def test_a_turn_that_may_have_lost_its_text_is_refused(
    kept: Memory, user: str, turn: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput, match=r"messages\[0\]"):
        kept.add_messages([turn], user_id=user)


def test_a_message_may_be_as_long_as_the_setting_says() -> None:
    with Memory(":memory:", embedder="no-such-model", max_text=1_200_000) as memory:
        [turn] = memory.add_messages([{"content": "word " * 220_000}])
        assert len(turn.text) == 1_100_000


@pytest.mark.parametrize("name", ["می\u200cخواهم", "👩\u200d💻"])
def test_names_may_hold_joiners(kept: Memory, name: str) -> None:
    assert kept.add("mine", user_id=name).user_id == name
    for bare in ("\u200d", "a\u200b", "a\u202eb"):
        with pytest.raises(InvalidInput, match="printable"):
            kept.add("mine", user_id=bare)
