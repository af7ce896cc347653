"""The embedder of the settings, found when it is first needed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from remanence.config import Settings, shown
from remanence.errors import EmbedderError
from remanence.model.embedding import Embedding, Fingerprint, QueryEmbedding, Span
from remanence.ports.embedder import Embedder

BY_WORDS = "Memories are found by their words alone until it is there"
_log = logging.getLogger("remanence")
_Made = TypeVar("_Made")


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


def missing_model(settings: Settings) -> str:
    """Why the model is not on this machine; empty if it is, or if only its use can tell."""
    name = settings.embedder
    if settings.embedder_url or name.count("/") == 1 or Path(name).expanduser().is_dir():
        return ""
    from remanence.embedding.models import find_model

    try:
        find_model(name, settings.cache_folder)
    except EmbedderError as error:
        return str(error)
    return ""


class LazyEmbedder:
    """Finds the embedder on first use, so that a memory opens without its model.

    The first call of each time without it is told to the log.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._found: Embedder | None = None
        self._told = False

    def _embedder(self) -> Embedder:
        with self._lock:
            if self._found is None:
                self._found = make_embedder(self._settings)
            return self._found

    def _asked(self, ask: Callable[[Embedder], _Made]) -> _Made:
        try:
            made = ask(self._embedder())
        except EmbedderError as error:
            if not self._told:
                self._told = True
                _log.warning("No embedder: %s %s.", shown(str(error)), BY_WORDS)
            raise
        self._told = False
        return made

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
        return self._asked(lambda found: found.spans(text))

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """One embedding per text."""
        return self._asked(lambda found: found.embed(texts))

    def embed_query(self, text: str) -> QueryEmbedding:
        """The question's embedding."""
        return self._asked(lambda found: found.embed_query(text))

    def close(self) -> None:
        """Close it if it was ever found."""
        if self._found is not None:
            self._found.close()
