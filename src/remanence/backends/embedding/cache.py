"""An embedder that remembers: the most recent texts, within a budget of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from sys import getsizeof
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray

from remanence.model.embedding import Embedding, Fingerprint, QueryEmbedding, Span
from remanence.model.ports.embedder import Embedder

Remembered = TypeVar("Remembered", Embedding, QueryEmbedding)

# The objects around the arrays, measured with tracemalloc.
_ENTRY_BYTES = 570
_SPAN_BYTES = 130


class CachedEmbedder:
    """Wraps any embedder; the least recently used texts go when `max_bytes` is reached.

    Half of the budget is for texts, half for questions. Arrays that come back are read-only,
    because callers share them.
    """

    def __init__(self, inner: Embedder, max_bytes: int) -> None:
        self._inner = inner
        self._texts: _Recent[Embedding] = _Recent(max_bytes // 2)
        self._questions: _Recent[QueryEmbedding] = _Recent(max_bytes // 2)

    @property
    def fingerprint(self) -> Fingerprint:
        """The wrapped embedder's."""
        return self._inner.fingerprint

    @property
    def max_tokens(self) -> int:
        """The wrapped embedder's."""
        return self._inner.max_tokens

    @property
    def hits(self) -> int:
        """How many texts and questions were remembered."""
        return self._texts.hits + self._questions.hits

    @property
    def misses(self) -> int:
        """How many had to be embedded."""
        return self._texts.misses + self._questions.misses

    @property
    def bytes(self) -> int:
        """What is held now, within `max_bytes`."""
        return self._texts.bytes + self._questions.bytes

    def spans(self, text: str) -> Sequence[Span]:
        """Not remembered: tokenising is cheap."""
        return self._inner.spans(text)

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Only the new texts reach the wrapped embedder, each once."""
        known = {text: self._texts.get(text) for text in dict.fromkeys(texts)}
        new = [text for text, embedding in known.items() if embedding is None]
        made = dict(zip(new, self._inner.embed(new), strict=True)) if new else {}
        for text, embedding in made.items():
            self._texts.put(text, embedding, embedding.vector, embedding.codes)
        return [known[text] or made[text] for text in texts]

    def embed_query(self, text: str) -> QueryEmbedding:
        """Questions are remembered apart from texts."""
        found = self._questions.get(text)
        if found is None:
            found = self._inner.embed_query(text)
            places = _SPAN_BYTES * len(found.spans)
            self._questions.put(text, found, found.vector, found.tokens, extra=places)
        return found

    def forget(self) -> None:
        """Forget every text and question."""
        self._texts.clear()
        self._questions.clear()

    def close(self) -> None:
        """Forget everything and close the wrapped embedder."""
        self.forget()
        self._inner.close()


class _Recent(Generic[Remembered]):
    def __init__(self, max_bytes: int) -> None:
        self.hits = self.misses = self.bytes = 0
        self._max_bytes = max_bytes
        self._entries: OrderedDict[str, tuple[Remembered, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, text: str) -> Remembered | None:
        with self._lock:
            entry = self._entries.get(text)
            if entry is None:
                self.misses += 1
                return None
            self.hits += 1
            self._entries.move_to_end(text)
            return entry[0]

    def put(self, text: str, value: Remembered, *arrays: NDArray[Any], extra: int = 0) -> None:
        for array in arrays:
            array.setflags(write=False)
        size = _ENTRY_BYTES + extra + getsizeof(text) + sum(array.nbytes for array in arrays)
        with self._lock:
            self._drop(text)
            self._entries[text] = (value, size)
            self.bytes += size
            while self.bytes > self._max_bytes:
                self._drop(next(iter(self._entries)))

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self.bytes = 0

    def _drop(self, text: str) -> None:
        _, size = self._entries.pop(text, (None, 0))
        self.bytes -= size
