"""How a question is put: lists and counts, the first person, and each wording embedded once."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from remanence.errors import EmbedderError
from remanence.model.embedding import QueryEmbedding
from remanence.recall.question import Question, Wordings, in_first_person, wants_several

NOW = datetime(2024, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "What books has Ana read?",
        "Which cities did they visit?",
        "What kinds of music does Ana like?",
        "What are the names of her cats?",
        "Where has Ana worked?",
        "How many times did she move?",
        "What do Ana and Bob have in common?",
        "Which people in the choir were ill?",
    ],
)
def test_lists_and_counts_want_several(text: str) -> None:
    assert wants_several(text)


@pytest.mark.parametrize(
    "text",
    [
        "When did Ana move?",
        "What book did Ana read last?",
        "What bus does she take?",
        "Where does Ana have to go?",
        "Who is Ana?",
        "What did Ana have for breakfast?",
        "",
    ],
)
def test_a_single_thing_is_not_several(text: str) -> None:
    assert not wants_several(text)


@pytest.mark.parametrize(
    ("text", "people", "expected"),
    [
        ("Where does Ana work?", ["Ana"], "Where does I work?"),
        ("Where is Ana's dog?", ["Ana"], "Where is my dog?"),
        ("Where is ana’s dog?", ["Ana"], "Where is my dog?"),
        ("What did Ana Silva buy?", ["Dr. Ana Silva"], "What did I buy?"),
        ("What did Dr. Ana Silva's son buy?", ["Ana Silva"], "What did Dr. my son buy?"),
        ("Did Ana tell Bob of the flood?", ["Ana", "Bob"], "Did I tell I of the flood?"),
        ("What will Will cook?", ["Will"], "What will I cook?"),
        ("Où travaille José?", ["Jose"], "Où travaille I?"),
        ("Anabel's dog?", ["Ana"], "Anabel's dog?"),
        ("Who is Ana?", ["Ana"], "Who is Ana?"),
        ("Where is the dog?", [], "Where is the dog?"),
    ],
)
def test_people_who_speak_ask_for_themselves(text: str, people: list[str], expected: str) -> None:
    assert Question(text, NOW).in_voice_of(people).text == expected


def test_a_question_that_names_nobody_stays_itself() -> None:
    question = Question("Where is the dog?", NOW)
    assert question.in_voice_of(["Ana"]) is question


def test_a_name_without_words_names_nobody() -> None:
    assert in_first_person("Where is the dog?", [[]]) == "Where is the dog?"


class Counting:
    """An embedder that counts what it is asked, and fails when told to."""

    def __init__(self, fails: bool = False) -> None:
        self.asked: list[str] = []
        self._fails = fails

    def embed_query(self, text: str) -> QueryEmbedding:
        self.asked.append(text)
        if self._fails:
            raise EmbedderError("it is away")
        return QueryEmbedding(np.ones(2, np.float32), np.zeros((0, 128), np.float32), ())


def test_each_wording_is_embedded_once() -> None:
    embedder = Counting()
    wordings = Wordings(embedder)  # type: ignore[arg-type]
    assert wordings.embedded("a") is wordings.embedded("a")
    assert wordings.embedded("b") is not None
    assert embedder.asked == ["a", "b"]
    assert wordings.lost == ()


def test_after_a_failure_nothing_more_is_asked() -> None:
    embedder = Counting(fails=True)
    wordings = Wordings(embedder)  # type: ignore[arg-type]
    assert wordings.embedded("a") is None
    assert wordings.embedded("b") is None
    assert embedder.asked == ["a"]
    assert wordings.lost == ("vectors: it is away",)
