"""The models of the settings: embedder, ranker, finder of names and language model."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from remanence.config import Settings, shown
from remanence.errors import ConfigError, EmbedderError, InvalidInput
from remanence.language.english.extraction.statement import NameFinder
from remanence.model.embedding import Embedding, Fingerprint, QueryEmbedding, Span
from remanence.model.ports.embedder import Embedder
from remanence.model.ports.language_model import LanguageModel
from remanence.recall.ranker import Ranker
from remanence.recall.signals import SIGNALS

BY_WORDS = "Memories are found by their words alone until it is there"
_log = logging.getLogger("remanence")
_Made = TypeVar("_Made")

# Figures of a ranker beyond this, or scales below one over it, would not survive single precision.
LARGEST = 1e12


def make_embedder(settings: Settings) -> Embedder:
    """The embedder the settings ask for: an endpoint, or a model on this machine."""
    if settings.embedder_url:
        from remanence.backends.embedding.http import HttpEmbedder

        return HttpEmbedder(
            settings.embedder_url, settings.embedder, api_key=settings.embedder_key or None
        )
    from remanence.backends.embedding.models import find_model
    from remanence.backends.embedding.onnx import OnnxEmbedder

    folder = find_model(settings.embedder, settings.cache_folder)
    return OnnxEmbedder(folder, device=settings.device, threads=settings.threads or None)  # type: ignore[arg-type]


def missing_model(settings: Settings) -> str:
    """Why the model is not on this machine; empty if it is, or if only its use can tell."""
    name = settings.embedder
    if settings.embedder_url or name.count("/") == 1 or Path(name).expanduser().is_dir():
        return ""
    from remanence.backends.embedding.models import find_model

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


def find_ranker(settings: Settings) -> Ranker:
    """The weights in force; a file that cannot be used is a `ConfigError`."""
    from remanence.recall import weights

    if not settings.ranker:
        return Ranker.from_table(weights.TABLE, weights.BASE)
    try:
        file = Path(os.path.expanduser(settings.ranker))
        saved = json.loads(file.read_text(encoding="utf-8"))
        table = {_signal(name): _figures(row) for name, row in saved["table"].items()}
        return Ranker.from_table(table, _figure(saved["base"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ConfigError(
            f"The ranker file {settings.ranker} cannot be used: {error}. "
            "Make one with `rem bench train`, or leave the setting empty."
        ) from error


def _signal(name: str) -> str:
    if name not in SIGNALS:
        raise ValueError(f"{name[:60]!r} is no signal")
    return name


def _figures(row: Sequence[object]) -> tuple[float, float, float]:
    mean, scale, weight = map(_figure, row)
    if scale < 1 / LARGEST:
        raise ValueError(f"a scale must be above 0, not {scale!r}")
    return mean, scale, weight


def _figure(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{str(value)[:60]!r} is no number")
    if not abs(value) <= LARGEST:
        raise ValueError(f"the figure {value!r:.60} is out of bounds")
    return float(value)


def make_name_finder(settings: Settings) -> NameFinder | None:
    """None for the rules, which need nothing; spaCy's model is loaded by the first text."""
    if settings.name_finder == "rules":
        return None
    from remanence.language.english.extraction.name_types import SpacyNames

    return SpacyNames()


def make_language_model(settings: Settings) -> LanguageModel | None:
    """The model that `llm_url` and `llm_model` name; None without an address. Nothing connects."""
    if not settings.llm_url:
        return None
    if not settings.llm_model:
        raise ConfigError("llm_url is set and llm_model is not; name the model to ask there.")
    from remanence.backends.llm.openai_compatible import OpenAiCompatibleModel

    try:
        return OpenAiCompatibleModel(
            settings.llm_url,
            settings.llm_model,
            api_key=settings.llm_key or None,
            timeout_s=settings.llm_timeout_s,
        )
    except InvalidInput as error:
        raise ConfigError(str(error)) from error
