"""The embedder of the settings, found when it is first needed."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from remanence.config import Settings
from remanence.model.embedding import Embedding, Fingerprint, QueryEmbedding, Span
from remanence.ports.embedder import Embedder


def make_embedder(settings: Settings) -> Embedder:
    """The embedder the settings ask for: an endpoint, or a model on this machine."""
    if settings.embedder_url:
        from remanence.embedding.http import HttpEmbedder

        return HttpEmbedder(
            settings.embedder_url, settings.embedder, api_key=settings.embedder_key or None
        )
    from remanence.embedding.models import find_model
    from remanence.embedding.onnx import OnnxEmbedder

    folder = find_model(settings.embedder, settings.cache_folder)
    return OnnxEmbedder(folder, device=settings.device, threads=settings.threads or None)  # type: ignore[arg-type]


class LazyEmbedder:
    """Finds the embedder on first use, so that a memory opens without its model."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._found: Embedder | None = None

    def _embedder(self) -> Embedder:
        with self._lock:
            if self._found is None:
                self._found = make_embedder(self._settings)
            return self._found

    @property
    def fingerprint(self) -> Fingerprint:
        """The fingerprint of the embedder found."""
        return self._embedder().fingerprint

    @property
    def max_tokens(self) -> int:
        """How many tokens of a text it reads."""
        return self._embedder().max_tokens

    def spans(self, text: str) -> Sequence[Span]:
        """Where its tokens stand in the text."""
        return self._embedder().spans(text)

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """One embedding per text."""
        return self._embedder().embed(texts)

    def embed_query(self, text: str) -> QueryEmbedding:
        """The question's embedding."""
        return self._embedder().embed_query(text)

    def close(self) -> None:
        """Close it if it was ever found."""
        if self._found is not None:
            self._found.close()
