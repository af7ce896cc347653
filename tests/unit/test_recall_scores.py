"""Word scores, late interaction, ranker, freshness and variety against plain arithmetic."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import numpy as np
import pytest

from remanence.model.embedding import QueryEmbedding
from remanence.recall import evidence
from remanence.recall.columns import columns_of
from remanence.recall.evidence import token_matches, weighted, worthiest
from remanence.recall.freshness import Freshness
from remanence.recall.lexical import word_scores
from remanence.recall.question import MOST_TERMS, Question
from remanence.recall.ranked import diversified
from remanence.recall.ranker import Ranker, families

from .test_recall_columns import trait

NOW = datetime(2024, 6, 1, tzinfo=UTC)
DAY = 86_400_000_000


def test_bm25_equals_its_formula() -> None:
    columns = columns_of(
        [trait(1, "s", terms=4), trait(2, "s", 1, terms=8), trait(3, None, terms=6)]
    )
    words = word_scores(columns, ["dog"], [np.array([1, 1, 3])])
    idf = math.log1p((3 - 2 + 0.5) / (2 + 0.5))
    expected = idf * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 4 / 6))
    row = columns.rows_of(np.array([1]))
    assert words.totals[row][0] == pytest.approx(expected, rel=1e-5)
    assert words.values(row)[0, 0] == pytest.approx(expected, rel=1e-5)
    assert words.totals[columns.rows_of(np.array([2]))][0] == 0


def test_the_share_covered_weighs_rare_terms_more() -> None:
    columns = columns_of([trait(n, "s", n) for n in range(1, 11)])
    words = word_scores(columns, ["rare", "common"], [np.array([1]), np.arange(1, 9)])
    rows = columns.rows_of(np.array([1, 2, 10]))
    shares = words.share(words.values(rows) > 0)
    assert shares[0] == pytest.approx(1.0)
    assert 0 < shares[1] < 0.5
    assert shares[2] == 0


def test_names_left_out_leave_the_rest() -> None:
    columns = columns_of([trait(1)])
    words = word_scores(columns, ["ana", "dog"], [np.array([1]), np.array([], np.int64)])
    assert words.without(frozenset({"ana"})).terms == ["dog"]
    assert words.without(frozenset({"ana", "dog"})).terms == ["ana", "dog"]


def test_a_token_meets_itself_best_and_texts_without_codes_meet_nothing() -> None:
    rng = np.random.default_rng(4)
    tokens = rng.standard_normal((300, 128)).astype(np.float32)
    tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
    codes = np.packbits(tokens > 0, axis=1)
    texts = [codes[:200].tobytes(), b"", codes[200:].tobytes()]
    sizes = np.array([*map(len, texts)])
    matches = token_matches(tokens[[0, 250]], b"".join(texts), sizes)
    assert matches[1].tolist() == [0, 0]
    assert matches[0, 0] > 0.9 > 0.5 > matches[2, 0]
    assert matches[2, 1] > 0.9 > 0.5 > matches[0, 1]
    assert weighted(matches, np.array([1, 0], np.float32))[0] == pytest.approx(matches[0, 0])


def test_blocks_of_codes_change_no_match(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    tokens = rng.standard_normal((40, 128)).astype(np.float32)
    texts = [rng.bytes(16 * count) for count in (3, 0, 500, 1, 1, 97, 0, 260)]
    sizes = np.array([*map(len, texts)])
    whole = token_matches(tokens, b"".join(texts), sizes)
    for at_once in (1, 2, 64, 99, 600, 10_000):
        monkeypatch.setattr(evidence, "AT_ONCE", at_once)
        found = token_matches(tokens, b"".join(texts), sizes)
        np.testing.assert_allclose(found, whole, atol=1e-5)


def test_a_long_question_keeps_the_tokens_that_are_worth_most() -> None:
    tokens = np.arange(12, dtype=np.float32).reshape(6, 2)
    asked = QueryEmbedding(tokens[0], tokens, tuple((n, n + 1) for n in range(6)))
    weights = np.array([1, 3, 0, 3, 2, 1], np.float32)
    kept, worth = worthiest(asked, weights, most=4)
    assert kept.spans == ((0, 1), (1, 2), (3, 4), (4, 5))
    assert worth.tolist() == [1, 3, 3, 2]
    assert kept.tokens.tolist() == tokens[[0, 1, 3, 4]].tolist()
    assert worthiest(asked, weights)[0].spans == asked.spans


def test_a_pasted_text_asks_for_the_terms_of_its_beginning_and_end() -> None:
    asked = Question(" ".join(f"bo{n}" for n in range(1_000)), NOW)
    assert len(asked.terms) == MOST_TERMS
    assert (asked.terms[0], asked.terms[-1]) == ("bo0", "bo999")


def test_shares_add_up_to_the_score_by_family_too() -> None:
    ranker = Ranker.from_table({"a": (1, 2, 3), "b": (0, 1, -1), "b.x": (0, 1, 0.5)}, base=0.25)
    shares = ranker.shares(np.array([[3, 2, 4]], np.float32))[0]
    assert shares.tolist() == [3, -2, 2]
    assert families(ranker.names, shares[None]) == [{"a": 3, "b": 0}]


def test_recency_is_silent_about_the_past_and_fades_otherwise() -> None:
    now = round(NOW.timestamp() * 1e6)
    columns = columns_of([trait(1, None, now), trait(2, None, now - 10 * DAY)])
    rows = columns.rows_of(np.array([1, 2]))
    fresh = Freshness(importance=0.2, recency=0.3)
    importance, recency = fresh.shares(
        Question("What does she like?", NOW), columns, rows, now, None
    )
    assert importance.tolist() == pytest.approx([0.1, 0.1 * 0.95**10])
    assert recency.tolist() == pytest.approx([0.3, 0.3 * math.exp(-1)])
    _, silent = fresh.shares(Question("What did she do last May?", NOW), columns, rows, now, None)
    assert silent.tolist() == [0, 0]


def test_a_clock_that_ran_back_gives_no_bonus() -> None:
    now = round(NOW.timestamp() * 1e6)
    columns = columns_of([trait(1, None, now + 3650 * DAY)])
    _, recency = Freshness().shares(
        Question("What does she like?", NOW), columns, np.array([0]), now, None
    )
    assert recency.tolist() == pytest.approx([0.3])


def test_variety_passes_over_the_twin() -> None:
    scores = np.array([1.0, 0.99, 0.5], np.float32)
    vectors = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    assert diversified(scores, vectors, 2, 0.0).tolist() == [0, 1]
    assert diversified(scores, vectors, 2, 0.5).tolist() == [0, 2]
