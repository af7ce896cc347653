"""The Embedder port: text in, unit vectors and token codes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from remanence.model.embedding import Embedding, Fingerprint, QueryEmbedding, Span


class Embedder(Protocol):
    """Turns text into vectors. Thread-safe; the same text gives the same vector in any batch.

    Every failure is an `EmbedderError`. Text longer than `max_tokens` is cut there, so callers
    split first; the empty text has a vector as well.
    """

    @property
    def fingerprint(self) -> Fingerprint:
        """Who makes these vectors; constant for the life of the embedder."""

    @property
    def max_tokens(self) -> int:
        """How many tokens of a text are read, special tokens left out of the count."""

    def spans(self, text: str) -> Sequence[Span]:
        """Where each of the model's tokens stands in `text`, in characters, in order."""

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """One embedding per text, in order. Length-bucketed inside; any number of texts."""

    def embed_query(self, text: str) -> QueryEmbedding:
        """The question's vector and its content tokens."""

    def close(self) -> None:
        """Release what is held; safe to call twice."""
