"""Asked for the value of today: the newest statement first, the older marked, and whose it is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from remanence import Memory
from remanence.model.hit import Hits
from support.reaching import Reached

ANA = {"user_id": "ana"}
START = datetime(2026, 1, 5, 9, tzinfo=UTC)


def said(memory: Memory, *texts: str, together: bool = False) -> None:
    """Each in a session of its own, a month apart; or all in one, at the same time."""
    for n, text in enumerate(texts):
        at = START if together else START + timedelta(days=30 * n)
        session = "one" if together else f"s{n}"
        memory.add_messages(
            [{"role": "user", "content": text, "at": at}], session_id=session, **ANA
        )


def texts(hits: Hits) -> list[str]:
    return [hit.memory.text for hit in hits]


PAIRS = [
    (
        "My monthly grocery budget is $400.",
        "We talked, and my monthly grocery budget was raised to $520.",
        "What is my monthly grocery budget?",
    ),
    (
        "I have 45 sources in my Zotero library.",
        "Another evening of reading, my Zotero library has 52 sources now.",
        "How many sources are in my Zotero library?",
    ),
    (
        "The application deadline for the producer role is May 10.",
        "The application deadline for the producer role was extended to May 20, a relief.",
        "When is the application deadline for the producer role?",
    ),
]


@pytest.mark.parametrize("together", [False, True], ids=["apart", "together"])
@pytest.mark.parametrize(("old", "new", "question"), PAIRS)
def test_the_newest_value_stands_first_and_the_older_is_marked(
    memory: Memory, old: str, new: str, question: str, together: bool
) -> None:
    said(memory, "I took the train to the coast.", old, new, together=together)
    hits = memory.search(question, **ANA)
    assert texts(hits)[:2] == [new, old]
    assert [hit.outdated for hit in hits[:2]] == [False, True]
    assert hits[1].details["time.superseded"] < 0
    assert abs(sum(hits[0].signals.values()) - hits[0].score) < 1e-4


def test_the_mark_comes_over_a_server_too(memory: Memory, reached: Reached) -> None:
    said(memory, *PAIRS[0][:2])
    with reached(memory) as there:
        assert [hit.outdated for hit in there.search(PAIRS[0][2], **ANA)] == [False, True]


def test_asked_of_the_past_nothing_is_outdated(memory: Memory) -> None:
    said(memory, *PAIRS[0][:2])
    for question in ("What was my grocery budget before?", "What was my original grocery budget?"):
        assert not any(hit.outdated for hit in memory.search(question, **ANA))


def test_another_matter_replaces_nothing(memory: Memory) -> None:
    said(memory, PAIRS[0][0], "I raised my monthly gym budget to $90, for the new pool.")
    hits = memory.search("What is my monthly grocery budget?", **ANA)
    assert texts(hits)[0] == PAIRS[0][0] or not hits[1].outdated


def test_what_an_assistant_says_replaces_nothing(memory: Memory) -> None:
    memory.add_messages(
        [
            {"role": "user", "content": PAIRS[0][0], "at": START},
            {"role": "assistant", "content": PAIRS[0][1], "at": START + timedelta(days=1)},
        ],
        session_id="s",
        **ANA,
    )
    assert not any(hit.outdated for hit in memory.search(PAIRS[0][2], **ANA))


def test_what_the_user_does_stands_before_what_a_brother_does(memory: Memory) -> None:
    said(memory, "I live in Lyon, near the river.", "My brother lives in Porto now.")
    for question in ("Where do I live now?", "Where do I live?"):
        assert texts(memory.search(question, **ANA))[0].startswith("I live in Lyon")
    theirs = memory.search("Where does my brother live now?", **ANA)
    assert texts(theirs)[0].startswith("My brother")
    assert not any(hit.outdated for hit in theirs)
