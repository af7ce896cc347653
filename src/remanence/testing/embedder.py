"""What every embedder must do: subclass `EmbedderSuite` and give it an `embedder` fixture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from remanence.errors import EmbedderError
from remanence.model.embedding import CODE_BITS, CODE_BYTES, Embedding
from remanence.model.ports.embedder import Embedder

TEXTS = (
    "Ana moved to Lisbon in May.",
    "",
    "   \n",
    "the of and",
    "我搬到了北京，天气很好。",
    "🎉🎉 party! 👩‍👩‍👧",
    "Qui était à l'école? Ça va — naïve café",
    "?!…",
    "a lone surrogate \ud800 and a null \x00",
    "word " * 3000,
)
QUESTION = "Where did Ana's mother O'Brien move?"


class EmbedderSuite:
    """Vectors: unit, ordered, repeatable, whatever the text and its company."""

    @pytest.fixture
    def embedder(self) -> Iterator[Embedder]:
        """The embedder under test; a test may close it."""
        raise NotImplementedError("give the suite an `embedder` fixture")

    def test_vectors_have_unit_length_and_the_dimension_of_the_fingerprint(
        self, embedder: Embedder
    ) -> None:
        vectors = np.array([embedding.vector for embedding in embedder.embed(TEXTS)])
        assert vectors.dtype == np.float32
        assert vectors.shape == (len(TEXTS), embedder.fingerprint.dimension)
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)

    def test_results_come_in_the_order_of_the_texts(self, embedder: Embedder) -> None:
        forwards = embedder.embed(TEXTS)
        backwards = embedder.embed(TEXTS[::-1])
        _assert_same(forwards, backwards[::-1])

    def test_a_text_has_the_same_vector_alone_and_in_a_batch(self, embedder: Embedder) -> None:
        together = embedder.embed(TEXTS)
        alone = [embedder.embed([text])[0] for text in TEXTS]
        _assert_same(together, alone)

    def test_a_question_has_the_vector_of_the_same_text(self, embedder: Embedder) -> None:
        question = embedder.embed_query(QUESTION)
        [text] = embedder.embed([QUESTION])
        assert np.allclose(question.vector, text.vector, atol=1e-5)

    def test_nothing_gives_nothing(self, embedder: Embedder) -> None:
        assert embedder.embed([]) == []

    def test_similar_texts_are_nearer_than_others(self, embedder: Embedder) -> None:
        texts = ["Ana lives in Lisbon", "The home of Ana is in Lisbon", "Stock prices fell sharply"]
        first, near, far = (embedding.vector for embedding in embedder.embed(texts))
        assert first @ near > first @ far

    def test_codes_are_whole_rows_of_bytes(self, embedder: Embedder) -> None:
        for embedding in embedder.embed(TEXTS):
            assert embedding.codes.dtype == np.uint8
            assert embedding.codes.shape[1:] == (CODE_BYTES,)
            assert len(embedding.codes) <= embedder.max_tokens

    def test_the_tokens_of_a_question_are_unit_vectors_with_a_place(
        self, embedder: Embedder
    ) -> None:
        question = embedder.embed_query(QUESTION)
        assert question.tokens.shape == (len(question.spans), CODE_BITS)
        assert np.allclose(np.linalg.norm(question.tokens, axis=1), 1, atol=1e-5)
        _assert_inside(question.spans, QUESTION)

    def test_codes_are_the_signs_of_the_question_tokens(self, embedder: Embedder) -> None:
        [text] = embedder.embed([QUESTION])
        signs = np.packbits(embedder.embed_query(QUESTION).tokens > 0, axis=1)
        assert np.array_equal(text.codes, signs)

    def test_an_embedder_says_whether_it_makes_codes(self, embedder: Embedder) -> None:
        [embedding] = embedder.embed([QUESTION])
        assert bool(embedder.fingerprint.codes) == bool(len(embedding.codes))

    @pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
    def test_spans_are_inside_the_text_and_in_order(self, embedder: Embedder, text: str) -> None:
        _assert_inside(embedder.spans(text), text)

    def test_spans_go_on_past_the_longest_text(self, embedder: Embedder) -> None:
        spans = embedder.spans("word " * 3000)
        assert len(spans) == 3000
        assert 0 < embedder.max_tokens < len(spans)

    def test_a_long_text_is_cut_at_max_tokens(self, embedder: Embedder) -> None:
        text = "Ana walks her dog every morning. " * 300
        cut = text[: embedder.spans(text)[embedder.max_tokens - 1][1]]
        _assert_same(embedder.embed([text]), embedder.embed([cut]))

    def test_threads_share_it(self, embedder: Embedder) -> None:
        expected = embedder.embed(TEXTS[:4])
        with ThreadPoolExecutor(8) as pool:
            for found in pool.map(embedder.embed, [TEXTS[:4]] * 16):
                _assert_same(found, expected)

    def test_the_fingerprint_stays_the_same(self, embedder: Embedder) -> None:
        before = embedder.fingerprint
        embedder.embed(TEXTS[:1])
        assert embedder.fingerprint == before
        assert before.name

    def test_close_twice_and_it_is_closed(self, embedder: Embedder) -> None:
        embedder.embed(TEXTS[:1])
        embedder.close()
        embedder.close()
        with pytest.raises(EmbedderError):
            embedder.embed(["after close"])


def _assert_same(left: Sequence[Embedding], right: Sequence[Embedding]) -> None:
    for one, other in zip(left, right, strict=True):
        assert np.allclose(one.vector, other.vector, atol=1e-5)
        assert np.array_equal(one.codes, other.codes)


def _assert_inside(spans: Sequence[tuple[int, int]], text: str) -> None:
    starts = [start for start, _ in spans]
    assert starts == sorted(starts)
    assert all(0 <= start <= end <= len(text) for start, end in spans)
