"""Confidence: a probability whatever the figures, higher for a better match, and what it is of."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence import Memory
from remanence.recall.confidence import (
    FIGURES,
    NOTHING,
    UNKNOWN,
    WEIGHTS,
    Confidence,
    Foremost,
    confidence_of,
    figures_of,
)

MATCH = st.floats(-1, 1)
FEW = st.lists(MATCH, min_size=1, max_size=8)
TURNS = [
    {"role": "user", "name": "Ana", "content": "We got a dog at last, a beagle called Toto!"},
    {"role": "user", "name": "Ben", "content": "How lovely! I am allergic, sadly."},
    {"role": "user", "name": "Ana", "content": "I moved to Lisbon in May to work at a bakery."},
    {"role": "user", "name": "Ben", "content": "I play chess in a club on Sundays."},
]


def scene(dense: list[float], **changed: Any) -> Any:
    """What confidence looks at, with a speaker for each memory: -1 is none, 0 is named."""
    size = len(dense)
    speaker = np.array(changed.get("speaker", [-1] * size))
    heard = changed.get("heard", (True, True))
    posting = [SimpleNamespace(common=False, rows=np.zeros(int(one))) for one in heard]
    return SimpleNamespace(
        dense=np.array(dense, np.float32),
        late_covered=np.full(size, changed.get("tokens", 0.5), np.float32),
        words=SimpleNamespace(idf=np.array([1, 3], np.float32), postings=posting),
        columns=_Columns(speaker, changed.get("memories", 400)),
        rows=np.arange(size),
        speaker_named=(speaker == 0).astype(np.float32),
        people=frozenset({0}) if 0 in speaker else frozenset(),
        wordiness=changed.get("wordiness", 0.5),
        bare=np.full(size, changed.get("bare", False)),
        apart=np.zeros(0, np.int64),
    )


class _Columns:
    def __init__(self, speaker: Any, memories: int) -> None:
        self.speaker, self._memories = speaker, memories

    def __len__(self) -> int:
        return self._memories


def ranked(*scenes: Any) -> Any:
    """Their pools one after the other, as they stand."""
    sizes = [len(one.rows) for one in scenes]
    place = np.concatenate([np.arange(size) for size in sizes])
    return _Ranked(scenes, np.repeat(np.arange(len(scenes)), sizes), place)


class _Ranked:
    def __init__(self, scenes: Any, scene: Any, place: Any) -> None:
        self.scenes, self.scene, self.place = scenes, scene, place

    def __len__(self) -> int:
        return len(self.place)


def sure(dense: list[float], **changed: Any) -> float:
    value = confidence_of(ranked(scene(dense, **changed))).value
    assert value is not None
    return value


@given(FEW, MATCH, st.floats(0, 1), st.integers(1, 10**7), st.data())
def test_it_is_a_probability_and_its_signals_add_up(
    dense: list[float], tokens: float, wordiness: float, memories: int, data: st.DataObject
) -> None:
    speaker = data.draw(
        st.lists(st.integers(-1, 2), min_size=len(dense), max_size=len(dense)), label="speaker"
    )
    told = confidence_of(
        ranked(
            scene(
                dense,
                tokens=tokens,
                wordiness=wordiness,
                memories=memories,
                speaker=speaker,
                heard=(False, True),
            )
        )
    )
    assert told.value is not None
    assert 0 < told.value < 1
    odds = math.log(told.value / (1 - told.value))
    assert sum(told.signals.values()) == pytest.approx(odds, abs=1e-3)


@given(FEW, st.floats(0, 1))
def test_a_better_match_is_never_less_sure(dense: list[float], more: float) -> None:
    better = [one + more for one in dense]
    assert sure(better) >= sure(dense)
    assert sure(dense, tokens=0.5 + more) >= sure(dense)
    assert sure(dense, heard=(True, True)) >= sure(dense, heard=(True, False))


@given(st.floats(0, 1), st.floats(0, 1))
def test_what_somebody_else_said_is_less_of_an_answer(best: float, less: float) -> None:
    dense = [best, best * less]
    assert sure(dense, speaker=[0, 1]) >= sure(dense, speaker=[1, 0])


def test_how_far_behind_somebody_is_has_a_limit() -> None:
    assert sure([0.9, 0.6], speaker=[1, 0]) == sure([0.9, 0.0], speaker=[1, 0])


def test_a_new_word_says_less_in_a_small_memory() -> None:
    small, large = (
        sure([0.5], heard=(True, True), memories=size)
        - sure([0.5], heard=(True, False), memories=size)
        for size in (5, 5_000)
    )
    assert 0 <= small < large


def test_without_vectors_nothing_is_known() -> None:
    assert confidence_of(ranked(scene([0.0], bare=True))) == UNKNOWN


def test_where_nothing_is_found_it_is_zero() -> None:
    empty: Any = _Ranked((), np.zeros(0), np.zeros(0))
    assert confidence_of(empty) == NOTHING


def test_of_several_partitions_the_surest_counts() -> None:
    poor, good = scene([0.1]), scene([0.9])
    assert confidence_of(ranked(poor, good)).value == sure([0.9])


def test_what_is_not_known_is_never_too_low() -> None:
    assert UNKNOWN.reaches(1.0)
    assert [NOTHING.reaches(least) for least in (None, 0.0, 0.1)] == [True, True, False]
    assert Confidence(0.5, {}).reaches(0.5)


def test_no_figure_speaks_against_an_answer() -> None:
    assert set(WEIGHTS.names) <= set(FIGURES)
    assert (WEIGHTS.weight >= 0).all()
    assert (WEIGHTS.scale > 0).all()


def test_a_row_of_figures_is_in_the_order_of_its_names() -> None:
    one = Foremost(scene([0.25, 0.5]), np.array([0]))
    assert figures_of(one, ("tokens", "vector")).tolist() == [[0.5, 0.25]]


@pytest.fixture(scope="module")
def chat() -> Iterator[Memory]:
    with Memory(":memory:") as memory:
        memory.add_messages(TURNS, user_id="u", session_id="monday")
        yield memory


def found(chat: Memory, question: str) -> float:
    value = chat.search(question, user_id="u").confidence
    assert value is not None
    return value


@pytest.mark.parametrize(
    "question",
    ["What breed is Ana's dog?", "Where did Ana move to in May?", "When does Ben play chess?"],
)
def test_a_plain_question_has_a_high_one(chat: Memory, question: str) -> None:
    assert found(chat, question) > 0.5


@pytest.mark.parametrize(
    "question",
    [
        "Which guitar strings did the luthier recommend?",
        "How many goals were scored in the final?",
        "What is the capital gains tax on shares?",
    ],
)
def test_an_off_topic_question_has_a_low_one(chat: Memory, question: str) -> None:
    assert found(chat, question) < 0.2


def test_so_has_one_that_names_the_wrong_person(chat: Memory) -> None:
    right, wrong = (found(chat, f"When does {who} play chess in a club?") for who in ("Ben", "Ana"))
    assert wrong < right / 2
