"""The estimate of tokens: against a real tokeniser, on hostile texts, and fast."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from remanence.language.tokens import count_tokens

CHAT = """Ana: Hey Ben! I finally moved to Lisbon last week, and the flat is tiny but lovely.
Ben: Congrats! How's the weather? I'm still stuck in the office until 7 on most days.
Ana: It's been sunny since Tuesday. We're going surfing on Saturday, do you want to come along?
Ben: I'd love to, but my sister's birthday is on the 14th and I promised to bake a carrot cake.
"""


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        (" ", 0),
        ("Ana", 1),
        ("Ana moved to Lisbon.", 5),
        ("internationalisation", 3),
        ("2026", 4),
        ("a\nb\n", 4),
        ("你好", 3),
        ("é", 1),
        ("🎉", 2),
        (" " * 160, 10),
        ("\ud800", 2),
    ],
)
def test_what_a_text_takes(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


def test_words_of_other_languages_take_more() -> None:
    assert count_tokens("Sie arbeitet für Versicherungen") > count_tokens(
        "Sie arbeitet fur Versicherungen"
    )


def test_an_english_text_with_a_foreign_name_stays_english() -> None:
    plain = count_tokens(CHAT * 10)
    assert count_tokens(CHAT * 10 + "José") <= plain + 4


def test_chat_is_slightly_more_than_a_real_tokeniser_says(model_folder: Path) -> None:
    tokenizer = Tokenizer.from_file(str(model_folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    real = len(tokenizer.encode(CHAT, add_special_tokens=False).ids)
    assert real <= count_tokens(CHAT) <= 1.15 * real


@given(st.text(st.characters(), max_size=400))
def test_any_text_has_a_count(text: str) -> None:
    assert 0 <= count_tokens(text) <= 2 * len(text.encode("utf-8", "surrogatepass"))


@given(st.lists(st.text(max_size=60), min_size=2, max_size=6))
def test_lines_add_up(lines: list[str]) -> None:
    apart = sum(count_tokens(line + "\n") for line in lines)
    together = count_tokens("".join(line + "\n" for line in lines))
    assert apart - len(lines) <= together <= apart


def test_it_is_fast() -> None:
    text = CHAT * 40
    taken = []
    for _ in range(20):
        started = time.process_time()
        count_tokens(text)
        taken.append(time.process_time() - started)
    assert min(taken) < 0.01
