"""Summaries that hold: whoever forges, edits, cleans up or interferes, and however often."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from remanence.errors import EmbedderUnavailable
from remanence.language.tokens import count_tokens
from remanence.layers.conversation import Conversations
from remanence.layers.conversation.derivation import SummaryDerivation, drafted
from remanence.layers.conversation.summaries import MOST, telling, within
from remanence.layers.conversation.thread import Thread
from remanence.memories.lineage import SOURCES
from remanence.memories.messages import OF_MEMORY
from remanence.memories.writer import Writer
from remanence.model.clock import FixedClock, IdMaker
from remanence.model.conversation import Level
from remanence.model.embedding import Fingerprint
from remanence.model.filter import Compare
from remanence.model.hit import Hits
from remanence.model.memory import Kind, MemoryRecord, State
from remanence.model.scope import Reach
from remanence.model.validation import ORIGIN
from remanence.model.write import Remove
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import FINGERPRINT, add, memory, write

START = datetime(2026, 3, 2, tzinfo=UTC)
REACH = Reach(tenant="t", session_id="s")
ARCHIVED = {"state": State.ARCHIVED}


class NoEmbedder:
    """An embedder that is down: summaries are written all the same."""

    max_tokens = 128
    fingerprint: Fingerprint = FINGERPRINT

    def embed(self, texts: object) -> list[object]:
        raise EmbedderUnavailable("down")

    embed_query = spans = embed

    def close(self) -> None: ...


class Talk:
    """A conversation with a window of four messages."""

    def __init__(self, said: Callable[[Sequence[MemoryRecord]], object] | None = None) -> None:
        self.store = SqliteStore(":memory:")
        self.clock = FixedClock(START)
        self.writer = Writer(self.store, NoEmbedder(), self.clock)  # type: ignore[arg-type]
        self.verbs = Conversations(
            *(self.store, self.writer, Hits, "t", self.clock, IdMaker(), 10_000, 4, 10_000),
            said=said,
        )

    def say(self, count: int, text: str = "We decided on day {n} to go to Town{n}.") -> None:
        start = self.store.archive.count(REACH)
        for n in range(start, start + count):
            at = START + timedelta(seconds=n)
            self.verbs.append([{"content": text.format(n=n), "at": at}], session_id="s")

    def summaries(self, level: str = "segment") -> list[MemoryRecord]:
        where = Compare("kind", "eq", Kind.SUMMARY, field=True)
        found = self.store.archive.find(REACH, where, limit=1_000, newest_first=False)
        return [r for r in found if r.state == State.ACTIVE and r.metadata.get("level") == level]

    def oldest(self) -> MemoryRecord:
        return self.store.archive.find(REACH, limit=1, newest_first=False)[0]

    def revise(self, record: MemoryRecord, **changes: Any) -> None:
        self.writer.revise_all([(record, changes)], verb="updated")


@contextmanager
def talking(**how: Any) -> Iterator[Talk]:
    talk = Talk(**how)
    yield talk
    talk.store.close()


FORGED = [
    {"level": "conversation", "sources": "x"},
    {"level": "conversation", SOURCES: "x", "messages": "y"},
    {"level": ["conversation", "segment"], SOURCES: 1, "messages": 2**62, "from": 7},
    {"level": "segment", SOURCES: 10**15, "messages": -1},
    {"level": "segment", SOURCES: True},
]


@pytest.mark.slow
@pytest.mark.parametrize("metadata", FORGED, ids=range(len(FORGED)))
@pytest.mark.parametrize("origin", [None, ORIGIN])
def test_a_forged_summary_breaks_nothing(metadata: dict[str, Any], origin: str | None) -> None:
    forged = memory("poison", kind=Kind.SUMMARY, session_id="s", origin=origin, metadata=metadata)
    with talking() as talk:
        talk.say(10)
        add(talk.store, forged)
        talk.say(100)
        assert len(talk.verbs.messages("s", limit=1_000)) == 110
        talk.verbs.summarise("s")
        window = talk.verbs.window("s")
        assert "Town" in window.summary
        if origin is None:
            assert "poison" not in window.summary
        talk.verbs.day(START.date())


@pytest.mark.slow
@pytest.mark.parametrize("metadata", [{}, {"level": "conversation", "sources": "x"}])
def test_a_summary_whose_metadata_was_replaced_is_made_anew(metadata: dict[str, Any]) -> None:
    with talking() as talk:
        talk.say(100)
        day = talk.verbs.day(START.date())
        for record in [*talk.summaries("conversation"), day]:
            talk.revise(record, metadata=metadata)
        talk.say(1)
        made = [r for r in talk.summaries("conversation") if SOURCES in r.metadata]
        assert len(made) == 1
        assert talk.verbs.day(START.date()).id != day.id


def test_nothing_after_the_storing_fails_an_append(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    with talking(said=broken) as talk:
        talk.say(30)
        assert len(talk.summaries()) == 1
        monkeypatch.setattr(talk.verbs._summaries, "fill", broken)
        talk.say(30)
        assert len(talk.verbs.messages("s", limit=1_000)) == 60


@pytest.mark.slow
@pytest.mark.parametrize("how", ["edit", "erase"])
def test_a_change_far_back_leaves_a_short_summary(how: str) -> None:
    with talking() as talk:
        for n in range(0, 1_500, 100):
            said = [
                {
                    "content": f"On day {m} Maria went to Town{m}.",
                    "at": START + timedelta(minutes=m),
                }
                for m in range(n, n + 100)
            ]
            talk.verbs.append(said, session_id="s")
        talk.verbs.summarise("s")
        assert len(talk.summaries("conversation")) == 1
        if how == "edit":
            talk.revise(talk.oldest(), text="changed")
        else:
            talk.writer.remove([talk.oldest()])
        assert talk.summaries("conversation") == []
        assert 0 < count_tokens(talk.verbs.summary("s")) <= MOST
        assert count_tokens(talk.verbs.window("s").summary) <= MOST
        last = {"content": "hello", "at": START + timedelta(minutes=1_500)}
        talk.verbs.append([last], session_id="s")
        (whole,) = talk.summaries("conversation")
        assert talk.verbs.summary("s").startswith(whole.text)
        assert whole.metadata[SOURCES] == len(talk.summaries())


def _told(*texts: str, **fields: Any) -> list[MemoryRecord]:
    return [memory(text, kind=Kind.SUMMARY, **fields) for text in texts]


def test_what_is_told_is_bounded() -> None:
    long = "word " * 5_000
    (whole,) = _told(long)
    for texts in ([], ["newest", "older"], [long, "older"], ["字" * 5_000], [long] * 9):
        told = telling(whole, _told(*texts))
        assert count_tokens(told) <= MOST
        assert not texts or texts[0][:5] in told.split(" …", 1)[1]
    assert telling(None, _told("c", "b", "a")) == "a\nb\nc"
    assert telling(None, _told("x", metadata={OF_MEMORY: True})) == ""
    assert within("one two three", 100) == "one two three"
    assert within("one two three four five", 4) == "one two …"


@pytest.mark.slow
def test_cleaning_up_old_messages_keeps_their_summaries() -> None:
    with talking() as talk:
        talk.say(200)
        before = talk.verbs.summary("s")
        (whole,) = talk.summaries("conversation")
        old = talk.verbs.messages("s", limit=1_000)[:150]
        talk.writer.change_all(old, ARCHIVED, verb="cleaned up", leave_summaries=True)
        talk.writer.change_all(
            talk.summaries()[:5], ARCHIVED, verb="cleaned up", leave_summaries=True
        )
        assert talk.verbs.summary("s") == before
        talk.say(100)
        assert "Town0" in whole.text
        (grown,) = talk.summaries("conversation")
        assert grown.id == whole.id
        assert len(talk.summaries()) > 12
        assert talk.verbs.summarise("s")
        assert talk.verbs.summarise("s") == []
        talk.writer.outdate([talk.oldest()])
        assert talk.summaries("conversation") == []


def test_pages_go_on_before_a_forgotten_message() -> None:
    with talking() as talk:
        same = [{"content": f"at once {n}", "at": START} for n in range(10)]
        talk.verbs.append(same, session_id="s")
        talk.verbs.append([{"content": "later", "at": START + timedelta(1)}], session_id="s")
        told = talk.verbs.messages("s")
        note = add(talk.store, memory("note", session_id="s", happened_at=START))[0]
        for gone in (told[5], told[10]):
            talk.writer.change_all([gone], ARCHIVED, verb="forgot")
        left = [record for record in told if record not in (told[5], told[10])]
        assert talk.verbs.messages("s", before=told[5].id) == told[:5]
        assert talk.verbs.messages("s", before=told[5].id, limit=2) == told[3:5]
        assert talk.verbs.messages("s", before=told[10].id) == left
        assert talk.verbs.messages("s", before=told[10].id, limit=3) == left[-3:]
        assert talk.verbs.messages("s", before=note.id) == left


@pytest.mark.slow
def test_a_name_never_runs_out_of_summaries() -> None:
    with talking() as talk:
        (source,) = add(talk.store, memory("said", kind=Kind.MESSAGE, session_id="s"))
        ids = IdMaker()
        deriving = SummaryDerivation(talk.store, talk.writer, talk.clock, ids)
        draft = drafted(Level.DAY, [source], "A summary", 1.0)
        for n in range(1_100):
            made = deriving.write(draft, "day", None)
            assert made is not None
            if n % 2:
                write(talk.store, Remove(id=made.id))
            else:
                talk.writer.change_all([made], ARCHIVED, verb="outdated")
        other = SummaryDerivation(talk.store, talk.writer, talk.clock, ids)
        assert other.write(draft, "day", None) is not None
        assert deriving.write(draft, "day", None) is None


def _call(name: str, id: str, **arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": str(arguments)}
    return {"id": id, "type": "function", "function": function}


def test_what_memorys_own_tools_say_is_in_no_summary() -> None:
    ours = {"metadata": {OF_MEMORY: True}}
    called = {"role": "assistant", "content": None, "tool_calls": [_call("core_append", "c")]}
    told = "The block 'human' holds 23 of 2,048 characters now."
    answer = {"role": "tool", "content": told, "tool_call_id": "c"}
    aside = {**called, "content": "Let me note Lisbon."}
    with talking() as talk:
        for n in range(20):
            said = [{"content": f"Ana bought {n} tickets to Town{n}."}] if n > 10 else []
            talk.verbs.append([*said, called | ours, answer | ours, aside | ours], session_id="s")
        talk.verbs.summarise("s")
        segments = talk.summaries()
        left = talk.verbs.window("s").left
        assert sum(segment.metadata["messages"] for segment in segments) > left > 0
        assert not any(
            word in s.text for s in segments for word in ("block", "core_append", "note")
        )
        summary = talk.verbs.summary("s")
        assert "tickets" in summary
        assert "nothing was said" not in summary
        assert "tickets" in talk.verbs.day(START.date()).text


@pytest.mark.slow
def test_a_conversation_of_tools_alone_has_nothing_to_tell() -> None:
    called = {"role": "assistant", "content": None, "tool_calls": [_call("weather", "c")]}
    with talking() as talk:
        for _ in range(120):
            talk.verbs.append([called], session_id="s")
        assert talk.verbs.summarise("s") is not None
        assert len(talk.summaries("conversation")) == 1
        assert talk.verbs.summary("s") == ""


def test_what_others_say_between_two_counts_makes_no_level_of_trust(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with talking() as talk:
        talk.say(3)
        count = talk.store.archive.count

        def beside_others(*asked: Any) -> int:
            found = count(*asked)
            add(talk.store, memory("We go.", kind=Kind.MESSAGE, session_id="s"))
            return found

        monkeypatch.setattr(talk.store.archive, "count", beside_others)
        assert Thread(talk.store, REACH).levels() == [1.0]


def test_what_others_say_between_two_counts_hides_no_level_of_trust(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with talking() as talk:
        talk.say(2)
        add(talk.store, memory("We stay.", kind=Kind.MESSAGE, session_id="s", trust=0.3))
        count = talk.store.archive.count
        said = iter([True])

        def beside_another(*asked: Any) -> int:
            found = count(*asked)
            for _ in said:
                add(talk.store, memory("We go.", kind=Kind.MESSAGE, session_id="s"))
            return found

        monkeypatch.setattr(talk.store.archive, "count", beside_another)
        assert Thread(talk.store, REACH).levels() == [1.0, 0.3]
