"""Conversations over a file and over a server: window, search, summaries, forgetting, isolation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from remanence import Memory
from remanence.errors import Conflict, InvalidInput, LanguageModelError, NotFound
from remanence.language.fences import Fence, fenced
from remanence.layers.conversation import Conversations, as_chat
from remanence.memories.lineage import SOURCES
from remanence.model.clock import FixedClock, IdMaker
from remanence.model.memory import MemoryRecord
from remanence.model.ports.language_model import Reply
from remanence.recall.columns import KINDS
from support.reaching import Afar, afar

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
SERVED = {"opened"}
WINDOW: dict[str, Any] = {"window_messages": 10, "window_tokens": 500}
Opened = Callable[..., Memory]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Afar]:
    clock, path = FixedClock(START), tmp_path_factory.mktemp("server") / "memory.db"
    with Memory(path, clock=clock, **WINDOW) as memory, afar(memory, clock) as served:
        yield served


@pytest.fixture
def opened(kept_in: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    """Opens memories on one store, of any tenant."""
    with ExitStack() as stack:
        if kept_in == "server":
            there: Afar = request.getfixturevalue("server")
            there.clock_at(START)
            yield lambda tenant="own": there.of(f"{tenant} {tmp_path.name}")
            return
        place: str | Path = tmp_path / "memory.db"
        if kept_in == "postgres":
            place = request.getfixturevalue("postgres_url")
        yield lambda **settings: stack.enter_context(
            Memory(place, clock=FixedClock(START), **WINDOW, **settings)
        )


@pytest.fixture
def memory(opened: Opened) -> Memory:
    return opened()


@pytest.fixture
def talks(memory: Memory) -> Conversations:
    return memory.conversations


def said(number: int, text: str | None = None, **more: Any) -> dict[str, Any]:
    """A message of a long talk about a journey, a minute after the one before."""
    speaker = ("user", "assistant")[number % 2]
    at = START + timedelta(minutes=number)
    text = (
        text or f"On day {number} we go to Town{number} by train and it costs {number + 100} euros."
    )
    return {"role": speaker, "content": text, "at": at, "id": f"m{number}", **more}


def journey(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [said(number) for number in range(start, start + count)]


def chatter(count: int, start: int = 0) -> list[dict[str, Any]]:
    """Messages that say nothing worth a summary."""
    dull = "Well, that sounds really nice to me, I think so too and it is fine."
    return [said(number, dull) for number in range(start, start + count)]


def summaries(memory: Memory, level: str = "segment", **scope: Any) -> list[MemoryRecord]:
    scope = scope or {"user_id": "ana", "session_id": "s1"}
    found = memory.find(kinds="summary", filters={"level": level}, limit=1_000, **scope)
    return found[::-1]


def covered(memory: Memory, records: list[MemoryRecord]) -> list[str]:
    """The external ids of what segments link to, in order."""
    linked = [memory.related(r.id, type="summarises", direction="out") for r in records]
    each = [sorted(link.memory.happened_at for link in links) for links in linked]
    return [f"m{(at - START) // timedelta(minutes=1)}" for times in each for at in times]


def test_messages_are_in_the_conversation_however_they_came(
    memory: Memory, talks: Conversations
) -> None:
    memory.add_messages([said(0)], user_id="ana", session_id="s1")
    talks.append([said(1)], user_id="ana", session_id="s1")
    told = talks.messages("s1", user_id="ana")
    assert [record.external_id for record in told] == ["m0", "m1"]
    found = talks.get("s1", user_id="ana")
    assert (found.messages, found.first, found.last) == (
        2,
        told[0].happened_at,
        told[1].happened_at,
    )


def test_titles_and_metadata_are_optional(talks: Conversations) -> None:
    with pytest.raises(NotFound):
        talks.get("s1", user_id="ana")
    assert talks.describe("s1", title="Journey", user_id="ana").messages == 0
    talks.append(journey(1), user_id="ana", session_id="s1")
    talks.append([said(5)], user_id="ana", session_id="s2")
    talks.append([said(3)], session_id="s3")
    talks.describe("s1", metadata={"team": 7}, user_id="ana")
    first, second = talks.list(user_id="ana")
    assert (first.session_id, first.title) == ("s2", None)
    assert (second.session_id, second.title, second.metadata) == ("s1", "Journey", {"team": 7})
    assert [c.session_id for c in talks.list()] == ["s3"]
    assert [c.session_id for c in talks.list(all_users=True, limit=2, offset=1)] == ["s3", "s1"]
    with pytest.raises(InvalidInput):
        talks.describe("s1", user_id="ana")


def test_older_messages_are_read_page_by_page(talks: Conversations) -> None:
    at_once = [said(n) | {"at": START} for n in range(25)]
    talks.append(at_once, user_id="ana", session_id="s1")
    pages: list[list[MemoryRecord]] = [talks.messages("s1", user_id="ana", limit=10)]
    while page := talks.messages("s1", user_id="ana", limit=10, before=pages[0][0].id):
        pages.insert(0, page)
    assert [r.external_id for page in pages for r in page] == [f"m{n}" for n in range(25)]
    assert talks.messages("s1", user_id="ana", before=START) == []
    with pytest.raises(NotFound):
        talks.messages("s2", user_id="ana", before=pages[0][0].id)


def test_tool_calls_come_back_as_they_went(talks: Conversations) -> None:
    call = {"id": "c1", "type": "function"}
    call["function"] = {"name": "weather", "arguments": '{"city": "Lisbon"}'}  # type: ignore[assignment]
    chat = [
        {"role": "user", "content": "How is the weather?", "name": "Ana"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "Sunny, 24 degrees", "tool_call_id": "c1"},
        {"role": "assistant", "content": "It is sunny."},
    ]
    stored = talks.append(chat, user_id="ana", session_id="s1")
    assert stored[1].text == 'weather(city="Lisbon")'
    assert [as_chat(r) for r in talks.messages("s1", user_id="ana")] == chat
    assert [as_chat(r) for r in talks.window("s1", user_id="ana").messages] == chat
    narrow = talks.window("s1", user_id="ana", max_messages=2)
    assert [r.role for r in narrow.messages] == ["assistant"]


def test_the_window_overflows_into_summaries(memory: Memory, talks: Conversations) -> None:
    for number in range(60):
        talks.append([said(number)], user_id="ana", session_id="s1")
    window = talks.window("s1", user_id="ana")
    assert [r.external_id for r in window.messages] == [f"m{n}" for n in range(50, 60)]
    assert (window.left, window.tokens <= 500) == (50, True)
    segments = summaries(memory)
    assert covered(memory, segments) == [f"m{n}" for n in range(48)]
    first = segments[0]
    assert first.metadata["messages"] == 16
    assert first.happened_at == START + timedelta(minutes=15)
    assert (first.origin, first.role, first.session_id) == ("summary", None, "s1")
    assert "Town" in first.text
    assert len(first.text) < 0.3 * sum(len(said(n)["content"]) for n in range(16))
    assert window.summary == "\n".join(segment.text for segment in segments)
    assert [r.metadata["messages"] for r in talks.summarise("s1", user_id="ana")] == [2, 50]
    assert talks.summarise("s1", user_id="ana") == []


def test_summaries_roll_up(memory: Memory, talks: Conversations) -> None:
    talks.append(journey(100), user_id="ana", session_id="s1")
    (whole,) = summaries(memory, "conversation")
    assert whole.metadata[SOURCES] == 5
    assert whole.metadata["messages"] == 80
    assert len(whole.text) <= 1_200
    assert talks.summary("s1", user_id="ana") == whole.text
    talks.append(journey(100, 100), user_id="ana", session_id="s1")
    (grown,) = summaries(memory, "conversation")
    assert grown.id == whole.id
    assert grown.metadata["messages"] == 176
    assert {link.memory.id for link in memory.related(grown.id, direction="out")} == {
        segment.id for segment in summaries(memory)
    }


def test_what_a_summary_inherits(memory: Memory, talks: Conversations) -> None:
    talks.append(journey(10), user_id="ana", session_id="s1", trust=0.7, agent_id="bot")
    talks.append(journey(20, 10), user_id="ana", session_id="s1", trust=0.7, agent_id="bot")
    (segment,) = summaries(memory)
    sources = [link.memory for link in memory.related(segment.id, direction="out")]
    assert segment.trust == 0.7
    assert segment.importance == max(source.importance for source in sources)
    assert segment.agent_id == "bot"
    assert memory.search("Town3", user_id="ana", session_id="s1", kinds="summary")
    assert memory.search("Town3", user_id="ana", session_id="s2", kinds="summary") == []


def test_search_in_the_window_or_everywhere(talks: Conversations) -> None:
    talks.append([said(0, "My parrot is called Coco")], user_id="ana", session_id="old")
    talks.append([said(1, "My cat is called Minka")], user_id="ana", session_id="s1")
    talks.append(journey(30, 2), user_id="ana", session_id="s1")
    talks.append([said(40, "My dog is called Rex")], user_id="ana", session_id="s1")

    def texts(**how: Any) -> list[str]:
        hits = talks.search("What is my pet called?", user_id="ana", limit=30, **how)
        return [hit.memory.text for hit in hits if "is called" in hit.memory.text]

    asked = {"session_id": "s1"}
    pets = ["My cat is called Minka", "My dog is called Rex", "My parrot is called Coco"]
    assert set(pets) <= set(texts())
    assert set(pets[:2]) <= set(texts(within="conversation", **asked))
    assert pets[2] not in texts(within="conversation", **asked)
    assert texts(within="window", **asked) == [pets[1]]
    window = talks.search("Town", user_id="ana", within="window", limit=50, **asked)
    assert len(window) == 10
    assert len(talks.search("Town", user_id="ana", within="window", limit=3, **asked)) == 3
    late = START + timedelta(minutes=40)
    assert len(talks.search("Town", user_id="ana", within="window", since=late, **asked)) == 1
    assert talks.search("Town", user_id="tom", within="window", **asked) == []


@pytest.mark.parametrize("erase", [False, True])
@pytest.mark.usefixtures("here")
def test_a_summary_goes_with_its_message(
    memory: Memory, talks: Conversations, tmp_path: Path, erase: bool
) -> None:
    talks.append([said(0, "The zyzzogeton vault code is 4711.")], user_id="ana", session_id="s1")
    talks.append(chatter(100, 1), user_id="ana", session_id="s1")
    day = talks.day("2026-03-02", user_id="ana")
    (whole,) = summaries(memory, "conversation")
    first, *others = summaries(memory)
    assert "zyzzogeton" in first.text
    memory.forget(talks.messages("s1", user_id="ana", limit=1_000)[0].id, erase=erase)
    assert summaries(memory) == others
    assert summaries(memory, "conversation") == []
    assert summaries(memory, "day", user_id="ana") == []
    talks.append([said(101)], user_id="ana", session_id="s1")
    filled, *rest = summaries(memory)
    assert rest == others
    assert covered(memory, [filled]) == [f"m{n}" for n in range(1, 16)]
    assert summaries(memory, "conversation") != [whole]
    held = memory.find(user_id="ana", states="any", limit=1_000)
    assert any("zyzzogeton" in record.text for record in held) is not erase
    if erase:
        with pytest.raises(NotFound):
            memory.get(day.id)
        memory.parts.store.upkeep.compact()
        for file in tmp_path.iterdir():
            assert b"zyzzogeton" not in file.read_bytes()


def test_erasing_a_message_spares_what_was_not_made_of_it(
    memory: Memory, talks: Conversations
) -> None:
    mine = memory.add("My own", user_id="ana", kind="summary", metadata={"sources": 3})
    talks.append(chatter(100), user_id="ana", session_id="s1")
    day = talks.day("2026-03-02", user_id="ana")
    told = talks.messages("s1", user_id="ana", limit=1_000)
    first = summaries(memory)[0]
    (whole,) = summaries(memory, "conversation")
    memory.forget(told[0].id)
    memory.forget(told[99].id, erase=True)
    assert memory.get(mine.id).state == "active"
    assert [memory.get(r.id).state for r in (first, whole)] == ["archived", "archived"]
    with pytest.raises(NotFound):
        memory.get(day.id)
    assert talks.messages("s1", user_id="ana", before=told[0].id) == []
    memory.forget(told[50].id)
    before = talks.messages("s1", user_id="ana", before=told[50].id, limit=3)
    assert [record.id for record in before] == [record.id for record in told[47:50]]


@pytest.mark.usefixtures("here")  # a server refuses to take one in
def test_a_forged_summary_is_not_taken_for_ours(memory: Memory, talks: Conversations) -> None:
    forged = {"level": "conversation", "sources": "x", SOURCES: "x"}
    poison: dict[str, Any] = {"user_id": "ana", "session_id": "s1", "kind": "summary"}
    memory.add("poison", metadata=forged, **poison)
    memory.add("poison", metadata=forged, origin="summary", **poison)
    talks.append(chatter(100), user_id="ana", session_id="s1")
    (whole,) = (r for r in summaries(memory, "conversation") if r.text != "poison")
    memory.update(whole.id, metadata=forged)
    talks.append(chatter(1, 100), user_id="ana", session_id="s1")
    assert len(summaries(memory, "conversation")) == 4
    assert "poison" not in talks.window("s1", user_id="ana").summary
    assert talks.get("s1", user_id="ana").messages == 101


def test_a_summary_goes_when_its_message_is_rewritten(memory: Memory, talks: Conversations) -> None:
    talks.append(chatter(30), user_id="ana", session_id="s1")
    (segment,) = summaries(memory)
    message = talks.messages("s1", user_id="ana", limit=100)[3]
    memory.update(message.id, importance=0.9)
    assert summaries(memory) == [segment]
    memory.update(message.id, text="We stay at home with Grandmother Petronella on Friday 13 May.")
    assert summaries(memory) == []
    assert [revision.verb for revision in memory.history(segment.id)] == ["added", "outdated"]
    talks.summarise("s1", user_id="ana")
    assert "Petronella" in " ".join(record.text for record in summaries(memory))
    memory.update(message.id, state="archived")
    talks.summarise("s1", user_id="ana")
    assert "Petronella" not in " ".join(record.text for record in summaries(memory))
    memory.update(message.id, state="active")
    talks.summarise("s1", user_id="ana")
    assert "Petronella" in " ".join(record.text for record in summaries(memory))


def test_a_day_over_all_conversations(memory: Memory, talks: Conversations) -> None:
    talks.append(chatter(30), user_id="ana", session_id="s1")
    talks.append([said(31, "Tom gave me a red bicycle.")], user_id="ana", session_id="s2")
    talks.append([said(2_000)], user_id="ana", session_id="s2")
    day = talks.day(date(2026, 3, 2), user_id="ana")
    assert (day.metadata["level"], day.metadata["messages"], day.session_id) == ("day", 31, None)
    assert "bicycle" in day.text
    assert len(day.text) <= 800
    assert talks.day(START, user_id="ana") == day
    talks.append([said(32, "Then Grandmother Petronella called.")], user_id="ana", session_id="s2")
    again = talks.day("2026-03-02", user_id="ana")
    assert (again.id, again.metadata["messages"]) == (day.id, 32)
    for asked in ({"day": "2026-03-01", "user_id": "ana"}, {"day": "2026-03-02"}):
        with pytest.raises(NotFound):
            talks.day(**asked)
    with pytest.raises(InvalidInput):
        talks.day("yesterday", user_id="ana")
    last = {"content": "The end", "at": "9999-12-31T23:00:00Z"}
    talks.append([last], user_id="ana", session_id="s9")
    assert talks.day("9999-12-31", user_id="ana").metadata["messages"] == 1


def test_an_append_is_done_once_for_a_key(memory: Memory, talks: Conversations) -> None:
    first = talks.append(journey(30), user_id="ana", session_id="s1", idempotency_key="k")
    segments = summaries(memory)
    assert talks.append(journey(30), user_id="ana", session_id="s1", idempotency_key="k") == first
    assert talks.get("s1", user_id="ana").messages == 30
    assert summaries(memory) == segments
    with pytest.raises(Conflict):
        talks.append(journey(2), user_id="ana", session_id="s1", idempotency_key="k")


def test_nothing_that_was_recalled_is_stored_again(memory: Memory, talks: Conversations) -> None:
    talks.append([said(0, "I live in Lisbon.")], user_id="ana", session_id="s1")
    recalled = "\n".join(
        fenced(name, hit.memory.text)
        for name in Fence
        for hit in talks.search("Where do I live?", user_id="ana")
    )
    for turn in range(50):
        stored = talks.append([said(turn + 1, recalled)], user_id="ana", session_id="s1")
        assert stored == []
    assert memory.count(user_id="ana") == 1
    (kept,) = talks.append(
        [said(60, f"{recalled}\n\nAnd where does Tom live?")], user_id="ana", session_id="s1"
    )
    assert kept.text == "And where does Tom live?"


@pytest.mark.parametrize("erase", [False, True])
def test_a_conversation_is_forgotten_whole(
    memory: Memory, talks: Conversations, erase: bool
) -> None:
    talks.append(journey(100), user_id="ana", session_id="s1")
    talks.append([said(200)], user_id="ana", session_id="s2")
    talks.append([said(201)], user_id="tom", session_id="s1")
    memory.add("A fact", user_id="ana", session_id="s1")
    talks.describe("s1", title="Journey", user_id="ana")
    gone = talks.forget("s1", user_id="ana", erase=erase)
    assert {record.kind for record in gone} == {"message", "summary"}
    with pytest.raises(NotFound):
        talks.get("s1", user_id="ana")
    left = memory.find(all_users=True, states="any" if erase else None, limit=1_000)
    assert sorted(record.text for record in left) == sorted(
        ["A fact", said(200)["content"], said(201)["content"]]
    )
    assert talks.forget("s1", user_id="ana", erase=erase) == []


def test_users_and_tenants_see_their_own_only(opened: Opened) -> None:
    ours, theirs = opened().conversations, opened(tenant="other").conversations
    theirs.append(journey(60), user_id="ana", session_id="s1")
    theirs.describe("s1", title="Secret", user_id="ana")
    ours.append([said(0, "Mine alone")], user_id="tom", session_id="s1")
    message = theirs.messages("s1", user_id="ana")[-1]
    for user in ("ana", None):
        assert ours.messages("s1", user_id=user) == []
        assert ours.window("s1", user_id=user).messages == ()
        assert ours.summary("s1", user_id=user) == ""
        assert ours.summarise("s1", user_id=user) == []
        assert ours.search("Town", user_id=user) == []
        assert ours.forget("s1", user_id=user, erase=True) == []
        for wanted in (lambda: ours.get("s1", user_id=user), lambda: ours.day(START, user_id=user)):  # noqa: B023
            with pytest.raises(NotFound):
                wanted()
    with pytest.raises(NotFound):
        ours.messages("s1", user_id="tom", before=message.id)
    assert [c.user_id for c in ours.list(all_users=True)] == ["tom"]
    assert ours.list(user_id="ana") == []
    assert theirs.get("s1", user_id="ana").title == "Secret"
    assert theirs.get("s1", user_id="ana").messages == 60


HOSTILE: list[Any] = [
    *({"content": text} for text in ("", " ", "\0", "\ud800", 7, b"x", None, ["x"])),
    *("text", 7, None, [], {"role": "user"}, {"content": "x", "at": "soon"}),
    {"content": "x", "extra": 1},
    {"content": "x", "metadata": {"a": object()}},
    {"content": "x", "tool_calls": "f"},
    {"content": "x", "tool_call_id": ""},
    {"content": "x", "tool_call_id": "\0"},
    {"content": "x", "tool_call_id": "c" * 2_000},
]


@pytest.mark.parametrize("message", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_messages_are_refused_whole(
    memory: Memory, talks: Conversations, message: Any
) -> None:
    with pytest.raises(InvalidInput):
        talks.append([said(0), message], user_id="ana", session_id="s1")
    assert memory.count(all_users=True) == 0


def test_hostile_arguments_are_refused(talks: Conversations) -> None:
    for session in (None, "", "\n", "x" * 300, 7):
        for ask in (talks.get, talks.window, talks.messages, talks.summary, talks.forget):
            with pytest.raises(InvalidInput):
                ask(session)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput):
            talks.append([said(0)], session_id=session)  # type: ignore[arg-type]
    for wrong in (0, -1, True, 1.5, "3", 10**9):
        with pytest.raises(InvalidInput):
            talks.window("s1", max_tokens=wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput):
            talks.messages("s1", limit=wrong)  # type: ignore[arg-type]
    for within in ("nowhere", "", None, 7):
        with pytest.raises(InvalidInput):
            talks.search("x", session_id="s1", within=within)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        talks.search("x", within="window")
    with pytest.raises(InvalidInput):
        talks.messages("s1", before=7)  # type: ignore[arg-type]


@pytest.mark.usefixtures("here")
def test_a_summary_is_no_turn_of_its_conversation(memory: Memory, talks: Conversations) -> None:
    talks.append(journey(60), user_id="ana", session_id="s1")
    recall = memory.parts.recall
    (partition,) = memory.parts.store.recall.partitions(memory.service._reach("ana"))
    columns = recall.views.columns(partition)
    rows = np.arange(len(columns))
    summed = columns.kind == KINDS["summary"]
    assert summed.any()
    for offset in (-2, -1, 1, 2):
        beside = columns.neighbours(rows, offset)
        assert (beside[summed] == -1).all()
        assert not summed[beside[beside >= 0]].any()


def test_many_messages_at_once_are_summed_up_step_by_step(
    memory: Memory, talks: Conversations
) -> None:
    talks.append(journey(300), user_id="ana", session_id="s1")
    assert len(summaries(memory)) == 8
    talks.append([said(300)], user_id="ana", session_id="s1")
    assert len(summaries(memory)) == 16
    talks.summarise("s1", user_id="ana")
    assert covered(memory, summaries(memory)) == [f"m{n}" for n in range(291)]


class Author:
    """A model that knows one sentence."""

    name = "author"

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked = 0

    def reply(self, messages: Any, **options: Any) -> Reply:
        self.asked += 1
        if not self.text:
            raise LanguageModelError("The model is down; start it.")
        return Reply(text=self.text)

    def stream(self, messages: Any, **options: Any) -> Iterator[str | Reply]:
        yield self.reply(messages)

    def close(self) -> None: ...


def with_model(memory: Memory, model: Author) -> Conversations:
    kept, parts = memory.settings, memory.parts
    return Conversations(
        *(parts.store, parts.writer, memory.search, memory.tenant, FixedClock(START), IdMaker()),
        *(kept.max_text, kept.window_messages, kept.window_tokens, model),
    )


@pytest.mark.usefixtures("here")
def test_a_model_writes_summaries_anew_when_asked(memory: Memory) -> None:
    model = Author("user: the code of the Zyzzogeton vault is 4711.")
    talks = with_model(memory, model)
    talks.append(
        [said(0, "The code of the Zyzzogeton vault is 4711.")], user_id="ana", session_id="s1"
    )
    talks.append(chatter(99, 1), user_id="ana", session_id="s1")
    (whole,) = summaries(memory, "conversation")
    assert model.asked == 0
    written = talks.summarise("s1", user_id="ana")
    assert model.asked == 7
    first, *others = summaries(memory)
    assert (first.text, first.metadata["model"]) == (model.text, "author")
    assert [revision.verb for revision in memory.history(first.id)] == ["added", "summarised"]
    assert not any("model" in record.metadata for record in others)
    (anew,) = summaries(memory, "conversation")
    assert anew.id != whole.id
    assert "Zyzzogeton" in anew.text
    assert {first.id, anew.id} <= {record.id for record in written}
    day = talks.day("2026-03-02", user_id="ana")
    assert "Zyzzogeton" in day.text


@pytest.mark.usefixtures("here")
def test_a_model_that_is_down_changes_nothing(memory: Memory) -> None:
    model = Author("")
    talks = with_model(memory, model)
    talks.append(journey(60), user_id="ana", session_id="s1")
    before = summaries(memory)
    talks.summarise("s1", user_id="ana")
    assert model.asked > 0
    assert summaries(memory)[: len(before)] == before
    assert talks.summarise("s1", user_id="ana", refine=False) == []


@pytest.mark.usefixtures("here")
def test_a_model_whose_text_does_not_hold_is_asked_once(memory: Memory) -> None:
    model = Author("Somebody called Beelzebub bought 99 elephants.")
    talks = with_model(memory, model)
    talks.append(journey(60), user_id="ana", session_id="s1")
    before = [record.text for record in summaries(memory)]
    talks.summarise("s1", user_id="ana")
    asked = model.asked
    assert asked > 0
    talks.summarise("s1", user_id="ana")
    assert model.asked == asked
    assert [record.text for record in summaries(memory)][: len(before)] == before
