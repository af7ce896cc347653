from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remanence.language import words
from remanence.language.words import (
    MAX_TERM_BYTES,
    TERMS_VERSION,
    fold,
    is_stop_word,
    stop_terms,
    terms,
    word_spans,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ana's cats were running", ["ana", "cat", "were", "run"]),
        ("café CAFÉ cafe\u0301", ["cafe", "cafe", "cafe"]),
        ("don't can’t we'll I'm", ["dont", "cant", "we", "i"]),
        ("O'Brien l'amour", ["obrien", "amour"]),
        ("3.5 in 2023 at 10:30pm or 10:00", ["3·5", "in", "2023", "at", "10·30", "pm", "or", "10"]),
        ("10am, the 7th; $1,000,000", ["10", "am", "the", "7", "1000000"]),
        ("1.2.3 and 192.168.0.1", ["1", "2", "3", "and", "192", "168", "0", "1"]),
        ("foo_bar foo.bar@x.org", ["foo", "bar", "foo", "bar", "x", "org"]),
        ("我在2023年去了北京", ["我在", "2023", "年去", "去了", "了北", "北京"]),
        ("猫 東京タワー", ["猫", "東京", "京タ", "タワ", "ワー"]),
        ("서울에 갔다", ["서울", "울에", "갔다"]),
        ("ＦＵＬＬ ｗｉｄｔｈ", ["full", "width"]),
        ("Straße Łódź søster", ["strass", "lodz", "soster"]),
        ("great 👍🏽 ❤️ 🇵🇹", ["great", "👍", "❤", "🇵🇹"]),
        ("", []),
        (" \n ... !?", []),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("собаками", "собака"),
        ("ёлка", "елка"),
        ("Αθλητής", "αθλητη"),
        ("लड़के", "लड़का"),
        ("الكتاب", "كتاب"),
    ],
)
def test_each_script_has_its_stemmer(one: str, other: str) -> None:
    assert terms(one) == terms(other)


@settings(max_examples=1_000)
@given(st.text("a19 .,:'p_", max_size=40))
def test_a_long_text_is_read_in_stretches_with_the_same_words(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "_STRETCH", 3)
        found = terms(text)
    assert found == terms(text)


@given(st.text())
def test_a_term_survives_a_tokenizer_that_splits_ascii(text: str) -> None:
    for term in terms(text):
        assert term
        assert not re.search(r"\s", term)
        assert re.fullmatch(r"[a-z0-9\u0080-\U0010ffff]+", term)
        assert len(term.encode()) <= MAX_TERM_BYTES


@given(st.text(alphabet="abcxyz '’.,:0123456789é猫", max_size=60))
def test_terms_do_not_depend_on_case_or_apostrophe(text: str) -> None:
    assert terms(text) == terms(text.upper().lower())
    assert terms(text.replace("’", "'")) == terms(text)


def test_a_giant_word_is_cut() -> None:
    assert [len(term) for term in terms("x" * 100_000)] == [MAX_TERM_BYTES]
    assert [len(term.encode()) for term in terms("ж" * 1000)] == [MAX_TERM_BYTES]


@pytest.mark.parametrize(
    "word", ["The", "what's", "WHAT’S", "don't", "did", "Which", "está", "nicht"]
)
def test_stop_words(word: str) -> None:
    assert is_stop_word(word)


@pytest.mark.parametrize(
    "word", ["Ana", "die", "son", "pour", "may", "war", "like", "mia", "", "?"]
)
def test_words_with_content(word: str) -> None:
    assert not is_stop_word(word)


def test_stop_terms_are_terms() -> None:
    assert {"the", "dont", "what", "becaus"} <= stop_terms()


def test_version_names_algorithm_and_stemmer() -> None:
    assert re.fullmatch(r"words-\d+/snowball-[\d.]+", TERMS_VERSION)


def test_word_spans() -> None:
    text = "Ana's café, 猫です 👍"
    assert [text[a:b] for a, b in word_spans(text)] == ["Ana's", "café", "猫", "で", "す", "👍"]


@given(st.text())
def test_word_spans_are_ordered_and_apart(text: str) -> None:
    edges = [edge for span in word_spans(text) for edge in span]
    assert edges == sorted(edges)
    assert all(start < end for start, end in word_spans(text))


def test_fold() -> None:
    assert fold("José ÅNGSTRÖM") == "jose angstrom"
