from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from remanence.backends.embedding.cache import CachedEmbedder
from remanence.model.embedding import Embedding, Fingerprint, QueryEmbedding, Span


class CountingEmbedder:
    fingerprint = Fingerprint("counting", "0", 4, "mean")
    max_tokens = 8

    def __init__(self) -> None:
        self.seen: list[str] = []

    def spans(self, text: str) -> Sequence[Span]:
        return [(0, len(text))]

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        self.seen.extend(texts)
        return [
            Embedding(np.eye(4, dtype=np.float32)[0], np.zeros((1, 16), np.uint8)) for _ in texts
        ]

    def embed_query(self, text: str) -> QueryEmbedding:
        self.seen.append(text)
        vector = np.eye(4, dtype=np.float32)[0]
        return QueryEmbedding(vector, np.zeros((0, 128), np.float32), ())

    def close(self) -> None:
        self.seen.append("closed")


@pytest.fixture
def inner() -> CountingEmbedder:
    return CountingEmbedder()


def test_a_text_is_embedded_once(inner: CountingEmbedder) -> None:
    cached = CachedEmbedder(inner, max_bytes=100_000)
    assert len(cached.embed(["a", "b", "a"])) == 3
    assert len(cached.embed(["b", "c"])) == 2
    assert inner.seen == ["a", "b", "c"]
    assert (cached.hits, cached.misses) == (1, 3)


def test_questions_are_kept_apart_from_texts(inner: CountingEmbedder) -> None:
    cached = CachedEmbedder(inner, max_bytes=100_000)
    cached.embed(["a"])
    cached.embed_query("a")
    cached.embed_query("a")
    assert inner.seen == ["a", "a"]


def test_the_least_recently_used_text_goes_first(inner: CountingEmbedder) -> None:
    cached = CachedEmbedder(inner, max_bytes=100_000)
    cached.embed(["a"])
    two_entries = 2 * 2 * cached.bytes
    cached = CachedEmbedder(inner, max_bytes=two_entries)
    for text in ("a", "b", "a", "c"):
        cached.embed([text])
    inner.seen.clear()
    cached.embed(["a", "b"])
    assert inner.seen == ["b"]
    assert cached.bytes <= two_entries


def test_a_text_larger_than_the_budget_is_answered_and_not_kept(inner: CountingEmbedder) -> None:
    cached = CachedEmbedder(inner, max_bytes=1000)
    assert len(cached.embed(["x" * 5000])) == 1
    assert cached.bytes == 0


def test_what_is_shared_cannot_be_changed(inner: CountingEmbedder) -> None:
    [embedding] = CachedEmbedder(inner, max_bytes=100_000).embed(["a"])
    with pytest.raises(ValueError, match="read-only"):
        embedding.vector[0] = 2


def test_closing_forgets_and_closes_the_inner_one(inner: CountingEmbedder) -> None:
    cached = CachedEmbedder(inner, max_bytes=100_000)
    cached.embed(["a"])
    cached.close()
    assert cached.bytes == 0
    assert inner.seen[-1] == "closed"
