"""An embedder behind an OpenAI-compatible endpoint: Ollama, vLLM, llama.cpp or a hosted one."""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from remanence.errors import EmbedderError, EmbedderUnavailable
from remanence.model import deadline
from remanence.model.embedding import (
    CODE_BITS,
    CODE_BYTES,
    Embedding,
    Fingerprint,
    FloatArray,
    QueryEmbedding,
    Span,
)

if TYPE_CHECKING:
    from httpx import Client, Response

_WORD = re.compile(r"\w+|[^\w\s]")
_LONGEST_WAIT_S = 30.0
_LEAST_S = 0.05
_ADVICE = {
    400: "the model may not take texts this long, or not make embeddings",
    401: "set an API key",
    403: "the API key has no right to this model",
    404: "check the address (it ends in /v1) and the name of the model",
}


class HttpEmbedder:
    """Vectors from `POST {url}/embeddings`; it makes no token codes.

    `url` is the API's base, e.g. "http://localhost:11434/v1". The dimension is asked of the
    endpoint unless given. 429, 5xx and connection errors are tried again `retries` times.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str | None = None,
        dimension: int | None = None,
        max_tokens: int = 256,
        batch_size: int = 64,
        timeout_s: float = 30.0,
        retries: int = 3,
        backoff_s: float = 0.5,
    ) -> None:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._endpoint = _Endpoint(url, headers, timeout_s, retries, backoff_s)
        self._model = model
        self._dimension = dimension
        self._max_tokens = max_tokens
        self._batch_size = batch_size

    @property
    def fingerprint(self) -> Fingerprint:
        """By the model's name alone: an endpoint does not show its bytes."""
        dimension = self._dimension or len(self._vectors(["dimension"])[0])
        return Fingerprint(self._model, "served", dimension, "served")

    @property
    def max_tokens(self) -> int:
        """Counted in words, as `spans` does."""
        return self._max_tokens

    def spans(self, text: str) -> Sequence[Span]:
        """Words and marks, since the model's own tokens are not known."""
        return [match.span() for match in _WORD.finditer(text)]

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """`batch_size` texts a request."""
        none = np.empty((0, CODE_BYTES), dtype=np.uint8)
        starts = range(0, len(texts), self._batch_size)
        batches = [self._batch(texts[at : at + self._batch_size]) for at in starts]
        return [Embedding(vector, none) for vectors in batches for vector in vectors]

    def embed_query(self, text: str) -> QueryEmbedding:
        """The vector alone."""
        [vector] = self._vectors([text])
        return QueryEmbedding(vector, np.empty((0, CODE_BITS), dtype=np.float32), ())

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()

    def _vectors(self, texts: Sequence[str]) -> FloatArray:
        request = {
            "model": self._model,
            "input": [self._cut(text) for text in texts],
            "encoding_format": "float",
        }
        vectors = _unit_vectors(self._endpoint.post(request), len(texts), self._endpoint.url)
        self._dimension = self._dimension or vectors.shape[1]
        if vectors.shape[1] != self._dimension:
            raise EmbedderUnavailable(
                f"{self._endpoint.url} answered with {vectors.shape[1]} dimensions instead of "
                f"{self._dimension}; is {self._model!r} still the same model?"
            )
        return vectors

    def _batch(self, texts: Sequence[str]) -> FloatArray:
        deadline.check()
        return self._vectors(texts)

    def _cut(self, text: str) -> str:
        """The first `max_tokens` words; a blank for the empty text, which endpoints refuse."""
        over = next(islice(_WORD.finditer(text), self._max_tokens, None), None)
        kept = text[: over.start()] if over else text
        return kept.encode("utf-8", "replace").decode() if kept.strip() else " "


class _Endpoint:
    def __init__(
        self, url: str, headers: Mapping[str, str], timeout_s: float, retries: int, backoff_s: float
    ) -> None:
        self.url = url.rstrip("/").removesuffix("/embeddings") + "/embeddings"
        self._headers = headers
        self._timeout_s = timeout_s
        self._waits = [backoff_s * 2**attempt for attempt in range(retries)]
        self._lock = threading.Lock()
        self._client: Client | None = None
        self._closed = False

    def post(self, request: Mapping[str, Any]) -> Any:
        """The answer's JSON, or `EmbedderUnavailable` when the retries are used up."""
        # An endpoint that hangs leaves a write half of its time to be stored without vectors.
        until = time.monotonic() + deadline.left(math.inf) / 2
        for wait in self._waits:
            try:
                return self._once(request, until)
            except _Passing as error:
                pause = min(error.wait_s or wait, _LONGEST_WAIT_S)
                if time.monotonic() + pause >= until:
                    raise
                time.sleep(pause)
        return self._once(request, until)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            client, self._client = self._client, None
        if client:
            client.close()

    def _once(self, request: Mapping[str, Any], until: float) -> Any:
        import httpx

        patience = max(_LEAST_S, min(self._timeout_s, until - time.monotonic()))
        try:
            response = self._open().post(self.url, json=request, timeout=patience)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise EmbedderUnavailable(f"{self.url} is not an address: {error}") from error
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise _Passing(f"{self.url} cannot be reached: {reason}. Is it running?") from error
        return _json(response, self.url)

    def _open(self) -> Client:
        import httpx

        with self._lock:
            if self._closed:
                raise EmbedderError("The embedder is closed; make a new one.")
            if self._client is None:
                self._client = httpx.Client(headers=self._headers, timeout=self._timeout_s)
            return self._client


class _Passing(EmbedderUnavailable):
    """Worth another try, after `wait_s` where the endpoint says so."""

    def __init__(self, message: str, wait_s: float = 0.0) -> None:
        super().__init__(message)
        self.wait_s = wait_s


def _json(response: Response, url: str) -> Any:
    status = response.status_code
    if status == 429 or status >= 500:
        raise _Passing(f"{url} answered {status}: {response.text[:200]}", _retry_after(response))
    if status != 200:
        advice = _ADVICE.get(status, "is this an OpenAI-compatible API?")
        raise EmbedderUnavailable(f"{url} answered {status} ({advice}): {response.text[:200]}")
    try:
        return response.json()
    except ValueError as error:
        raise EmbedderUnavailable(
            f"{url} did not answer with JSON but with {response.text[:80]!r}; "
            "is this an OpenAI-compatible API?"
        ) from error


def _retry_after(response: Response) -> float:
    value = response.headers.get("retry-after", "")
    return float(value) if value.isdecimal() else 0.0


def _unit_vectors(answer: Any, count: int, url: str) -> FloatArray:
    try:
        rows = sorted(answer["data"], key=lambda row: row["index"])
        vectors = np.array([row["embedding"] for row in rows], dtype=np.float64)
    except (KeyError, TypeError, ValueError) as error:
        raise EmbedderUnavailable(f"{url} answered with no usable embeddings: {error}") from error
    if vectors.ndim != 2 or len(vectors) != count or not vectors.shape[1]:
        raise EmbedderUnavailable(
            f"{url} answered with embeddings of shape {vectors.shape} for {count} texts."
        )
    peaks = np.abs(vectors).max(axis=1, keepdims=True)
    if not np.isfinite(peaks).all() or not peaks.all():
        raise EmbedderUnavailable(f"{url} answered with a vector that is zero or not a number.")
    vectors /= peaks  # or the square of a large number overflows
    unit: FloatArray = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit
