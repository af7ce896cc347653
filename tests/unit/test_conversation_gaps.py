"""Gaps: whatever is said, forgotten and said again, each message that left is summed up once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remanence.errors import EmbedderUnavailable
from remanence.language.summary import Said, Summary
from remanence.layers.conversation import Conversations, thread
from remanence.memories.lineage import sources_of
from remanence.memories.writer import Writer
from remanence.model.clock import FixedClock, IdMaker
from remanence.model.conversation import Level
from remanence.model.embedding import Fingerprint
from remanence.model.hit import Hits
from remanence.model.memory import MemoryRecord, State
from remanence.model.scope import Reach
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import FINGERPRINT

START = datetime(2026, 3, 2, tzinfo=UTC)
REACH = Reach(tenant="t", session_id="s")


class NoEmbedder:
    """An embedder that is down: summaries are written all the same."""

    max_tokens = 128
    fingerprint: Fingerprint = FINGERPRINT

    def embed(self, texts: object) -> list[object]:
        raise EmbedderUnavailable("down")

    embed_query = spans = embed

    def close(self) -> None: ...


def first_words(turns: Sequence[Said], characters: int) -> Summary:
    return Summary(" ".join(turn.text for turn in turns)[:characters], (0,))


@contextmanager
def small() -> Iterator[tuple[SqliteStore, Writer, Conversations]]:
    """A conversation with a window of three messages, short segments, and a short look back."""
    store = SqliteStore(":memory:")
    clock = FixedClock(START)
    writer = Writer(store, NoEmbedder(), clock)  # type: ignore[arg-type]
    talks = Conversations(
        *(store, writer, Hits, "t", clock, IdMaker(), 1_000, 3, 10_000),
        extract=first_words,
    )
    with patch.object(thread, "MOST_MESSAGES", 3), patch.object(thread, "LOOKED_AT", 3):
        yield store, writer, talks
    store.close()


def summed_up(store: SqliteStore, talks: Conversations) -> Counter[str]:
    thread = talks._thread("s", None)
    found = thread.summaries(Level.SEGMENT)
    return Counter(m.id for segment in found for m in sources_of(store, segment))


says = st.tuples(st.just("say"), st.integers(1, 5), st.integers(-2, 3))
takes = st.tuples(
    st.sampled_from(["erase", "archive", "revive", "rewrite"]), st.integers(0, 40), st.just(0)
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(says | says | takes, min_size=1, max_size=25))
def test_each_message_that_left_is_in_one_segment(steps: list[tuple[str, int, int]]) -> None:
    with small() as (store, writer, talks):
        at = START
        for what, number, hours in steps:
            if what == "say":
                at += timedelta(hours=hours)
                talks.append(
                    [{"content": f"word{n}", "at": at} for n in range(number)], session_id="s"
                )
            else:
                _take(store, writer, what, number)
            counts = summed_up(store, talks)
            assert max(counts.values(), default=1) == 1
        talks.summarise("s")
        window = talks.window("s").messages
        told = talks.messages("s", limit=1_000)
        left = told[: told.index(window[0])] if window else []
        counts = summed_up(store, talks)
        assert set(counts) >= {message.id for message in left}
        assert max(counts.values(), default=1) == 1
        assert talks.summarise("s") == []


def _take(store: SqliteStore, writer: Writer, what: str, number: int) -> None:
    wanted = State.ARCHIVED if what == "revive" else State.ACTIVE
    found = store.archive.find(REACH, limit=100, newest_first=False)
    messages = [r for r in found if r.kind == "message" and r.state == wanted]
    if not messages:
        return
    record: MemoryRecord = messages[number % len(messages)]
    if what == "erase":
        writer.remove([record])
    else:
        changes = {
            "archive": {"state": State.ARCHIVED},
            "revive": {"state": State.ACTIVE},
            "rewrite": {"text": "other words"},
        }[what]
        writer.revise_all([(record, changes)], verb=what)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(0, 39))
def test_an_erased_message_is_in_no_summary_that_comes_after(count: int, place: int) -> None:
    with small() as (store, writer, talks):
        for n in range(count):
            talks.append([{"content": f"word{n}"}], session_id="s")
        told = talks.messages("s", limit=100)
        gone = told[-1 - place % len(told)]
        writer.remove([gone])
        talks.append([{"content": "last"}], session_id="s")
        assert gone.id not in summed_up(store, talks)
        texts = [r.text for r in store.archive.find(REACH, limit=100) if r.kind == "summary"]
        assert not any(gone.text in text.split() for text in texts)
