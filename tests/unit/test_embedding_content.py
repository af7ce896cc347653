from __future__ import annotations

import pytest

from remanence.backends.embedding.onnx import content_tokens


def kept(text: str, *tokens: str) -> list[str]:
    spans, at = [], 0
    for token in tokens:
        at = text.index(token, at)
        spans.append((at, at + len(token)))
        at += len(token)
    return [tokens[position] for position in content_tokens(text, spans)]


def test_stop_words_and_punctuation_are_left_out() -> None:
    assert kept("Where is Lisbon?", "Where", "is", "Lisbon", "?") == ["Lisbon"]


def test_every_piece_of_a_word_follows_the_word() -> None:
    assert kept("themselves hiking", "them", "selves", "hik", "ing") == ["hik", "ing"]


def test_a_possessive_is_no_content_but_half_a_name_is() -> None:
    assert kept("Ana's O'Brien", "Ana", "'", "s", "O", "'", "Brien") == ["Ana", "O", "Brien"]


def test_contractions_are_stop_words_as_a_whole() -> None:
    assert kept("don't sing", "don", "'", "t", "sing") == ["sing"]


@pytest.mark.parametrize(("text", "left"), [("the", ["the"]), ("?", []), ("🎉", [])])
def test_every_word_stays_when_none_carries_content(text: str, left: list[str]) -> None:
    assert kept(text, text) == left


def test_a_space_in_front_of_a_token_does_not_hide_it() -> None:
    assert content_tokens("the dog", [(0, 3), (3, 7)]) == [1]


def test_chinese_characters_are_content() -> None:
    assert kept("我搬，北京", "搬", "，", "北", "京") == ["搬", "北", "京"]
