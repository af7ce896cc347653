from __future__ import annotations

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.errors import InvalidInput
from remanence.language.chunking import Piece, pieces
from remanence.language.words import word_spans

Spans = list[tuple[int, int]]


def tokens(text: str) -> Spans:
    """Wordpieces of up to four letters; a character beyond the BMP is two tokens on one span."""
    found: Spans = []
    for match in re.finditer(r"[\u3040-\u9fff]|(?:(?![\u3040-\u9fff])\w){1,4}|[^\w\s]", text):
        found += [match.span()] * (2 if ord(match[0][0]) > 0xFFFF else 1)
    return found


def inside(spans: Spans, start: int, end: int) -> int:
    return sum(start <= low < end for low, _ in spans)


def passages(text: str, spans: Spans, size: int = 512, overlap: int = 50) -> list[Piece]:
    """Each passage whole, as its words may fill it and its tokens do."""
    limits = {"max_tokens": size, "passage_size": size, "passage_overlap": overlap}
    return pieces(text, spans, words=10**6, overlap=0, **limits)


sentences = st.lists(
    st.sampled_from(
        [
            "word ",
            "longerword ",
            "end. ",
            "\n\n",
            "猫です。",
            "😀",
            "x" * 30,
            "3.5 ",
            '"quote!" ',
            "\t",
        ]
    ),
    max_size=120,
).map("".join)


@given(sentences, st.integers(2, 40), st.integers(0, 1))
def test_passages_cover_the_text_in_order_within_size(text: str, size: int, overlap: int) -> None:
    spans = tokens(text)
    found = passages(text, spans, size, overlap)
    assert found[0].start == 0
    assert found[-1].end == len(text)
    assert all(a.start < b.start <= a.end < b.end for a, b in pairwise(found))
    assert all(inside(spans, p.start, p.end) <= size for p in found)


@given(sentences, st.integers(1, 12), st.integers(0, 11), st.integers(2, 30))
def test_pieces_cover_each_passage_in_order_within_limits(
    text: str, words: int, overlap: int, max_tokens: int
) -> None:
    spans = tokens(text)
    overlap = min(overlap, words - 1)
    limits = {"passage_size": 40, "passage_overlap": 5}
    found = pieces(text, spans, words=words, overlap=overlap, max_tokens=max_tokens, **limits)
    cover = passages(text, spans, 40, 5)
    assert sorted({piece.passage for piece in found}) == list(range(len(cover)))
    for number, passage in enumerate(cover):
        own = [piece for piece in found if piece.passage == number]
        assert (own[0].start, own[-1].end) == (passage.start, passage.end)
        assert all(a.start < b.start <= a.end < b.end for a, b in pairwise(own))
    for piece in found:
        assert inside(spans, piece.start, piece.end) <= max_tokens
        starts = [start for start, _ in word_spans(text)]
        assert sum(piece.start <= start < piece.end for start in starts) <= words


@given(st.text(max_size=200))
def test_a_short_text_is_one_passage_and_one_piece(text: str) -> None:
    spans = tokens(text)[:60]
    if len(word_spans(text)) <= 80:
        assert passages(text, spans) == [Piece(0, 0, len(text))]
        assert pieces(text, spans) == [Piece(0, 0, len(text))]


@pytest.mark.parametrize("text", ["", "\n" * 50, "😀" * 300, "猫" * 1000, "x" * 5000, "!" * 2000])
def test_odd_texts_are_covered(text: str) -> None:
    found = pieces(text, tokens(text))
    assert found[0].start == 0
    assert found[-1].end == len(text)


def test_no_tokens_at_all() -> None:
    assert pieces("some text", []) == [Piece(0, 0, 9)]


def test_cuts_fall_after_sentences_where_one_ends_near() -> None:
    text = "One two three four five six seven eight nine. " * 40
    found = pieces(text, tokens(text))
    assert all(text[piece.start : piece.end].endswith("nine. ") for piece in found)


def test_a_paragraph_end_wins_over_a_sentence_end() -> None:
    text = "a b c d " * 10 + "e.\n\nf g. h i j k l m n o p q r"
    assert passages(text, tokens(text), 46, 1)[0].end == text.index("f g")


def test_a_decimal_point_ends_no_sentence() -> None:
    text = "a b c d e f g 3.5 h i j k l m"
    assert passages(text, tokens(text), 9, 1)[0].end == text.index("3.5")


def test_words_are_not_cut_while_they_fit() -> None:
    text = "abcdefgh " * 30
    found = pieces(text, tokens(text), words=80, max_tokens=9, overlap=2)
    assert all(text[piece.start : piece.end].split()[-1] == "abcdefgh" for piece in found)


def test_pieces_overlap_by_words() -> None:
    text = " ".join(f"w{number}" for number in range(200))
    first, second = (text[p.start : p.end].split() for p in pieces(text, tokens(text))[:2])
    assert len(first) == 80
    assert first[-20:] == second[:20]


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (10, 10), (10, -1)])
def test_impossible_sizes_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(InvalidInput, match="smaller overlap"):
        passages("text", [(0, 4)], size, overlap)


@pytest.mark.slow
def test_a_megabyte_takes_linear_time() -> None:
    text = "The quick brown fox jumps over the lazy dog. " * 22_000
    spans = tokens(text)
    begun = time.thread_time()
    assert len(pieces(text, spans)) > 1000
    assert time.thread_time() - begun < 5
