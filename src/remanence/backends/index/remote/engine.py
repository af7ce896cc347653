"""What an engine must do to follow the store, and requests in JSON to the nodes of a server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import httpx
import numpy as np
import orjson
from numpy.typing import NDArray

from remanence.backends.index.bits.partition import unpacked
from remanence.model.embedding import FloatArray
from remanence.model.ports.store import Keys
from remanence.model.ports.vector_index import Nearest

PART_BITS = 14  # a memory of the longest text has some 10,000 pieces
MOST = 1000  # points a request; in a folder, 5,461 is Chroma's own limit
NUMBERS = 1_000_000  # a request; these are 12 MB of JSON, and Qdrant takes 32 MB


class EngineDown(Exception):
    """The engine did not do what it was asked; the message says why and what would help."""


class Refused(EngineDown):
    """The engine answers, but takes this one request amiss; others it may do."""


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Pieces as an engine takes them: memory key, part and float vector of each."""

    keys: Keys
    parts: NDArray[np.int64]
    vectors: FloatArray

    def __len__(self) -> int:
        return len(self.keys)

    def slices(self) -> Iterable[Points]:
        """The same points, as many at a time as a request may have."""
        size = max(1, min(MOST, NUMBERS // max(self.vectors.shape[1], 1)))
        for at in range(0, len(self), size):
            cut = slice(at, at + size)
            yield Points(self.keys[cut], self.parts[cut], self.vectors[cut])


def points_of(found: Iterable[tuple[int, int, bytes]], dimension: int) -> Points:
    """Points of (key, part, packed vector)."""
    rows = unpacked(found, dimension)
    return Points(rows.keys, rows.parts, rows.values * rows.steps[:, None])


class Engine(Protocol):
    """One collection of a vector database, with the position of each partition in it.

    A position lies beside the points it speaks of, so that who loses them loses it too. Every
    verb raises `EngineDown` when it fails or takes too long; a write that failed may have been
    done. What a write has returned from, every later read sees. Thread-safe.
    """

    chooses: int  # how many allowed memories a search can be told of

    def ensure(self, collection: str, dimension: int) -> None:
        """Connect, and make the collection if it is not there; called again in a forked child."""

    def nearest(
        self, partition: int, vector: FloatArray, limit: int, allowed: Keys | None = None
    ) -> Nearest:
        """Nearly the nearest points of the partition, of `allowed` memories; best first."""

    def position(self, partition: int) -> int | None:
        """How far the partition has followed its feed; None if it was never filled."""

    def replace(self, partition: int, keys: Sequence[int], points: Points, position: int) -> None:
        """Make these memories have exactly these points, then move the position, if there is one.

        A position that was lost meanwhile stays lost: the rest of the points went with it.
        """

    def upsert(self, partition: int, points: Points) -> None:
        """Add points to a partition that is being filled."""

    def set_position(self, partition: int, position: int) -> None:
        """Say that the partition is filled up to there."""

    def clear(self, partition: int) -> None:
        """Remove the partition's points and position."""

    def count(self, partition: int | None = None) -> int:
        """How many points a partition has, or all of them."""

    def drop(self) -> None:
        """Remove the collection; `ensure` makes it anew."""

    def close(self) -> None:
        """Disconnect."""


_PASSING = 500
_NOT_OURS = {401, 403, 404, 408, 429}  # 4xx that say nothing of the request itself
_ADVICE = {
    401: "set index_key to the API key it wants",
    403: "the API key may not do that; give one that may write",
    507: "it has no room left; give it more",
}


class Nodes:
    """One client per node. A node that fails is left for the next one, which then comes first.

    Against `qdrant-client`, a search takes a third to a half less time, and the import a sixth.
    """

    def __init__(self, urls: Sequence[str], headers: Mapping[str, str]) -> None:
        # Compressed answers come in two packets, of which the second waits 40 ms for an
        # acknowledgement of the first.
        sent = {"accept-encoding": "identity", "content-type": "application/json", **headers}
        self._clients = [httpx.Client(base_url=url, headers=sent, trust_env=False) for url in urls]
        self._first = 0
        self._closed = False

    def ask(self, method: str, path: str, body: object = None, *, timeout_s: float) -> Any:
        """What a node answers; None where there is no such thing. Else `EngineDown`."""
        content = None if body is None else orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)
        problem = ""
        for number in range(len(self._clients)):
            at = (self._first + number) % len(self._clients)
            try:
                answer = self._clients[at].request(method, path, content=content, timeout=timeout_s)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                problem = f"{self._clients[at].base_url} {_reason(error)}"
                continue
            except Exception as error:  # of a client closed under it, httpx says many things
                if not self._closed:
                    raise
                raise EngineDown("the connection was closed") from error
            if answer.status_code < _PASSING:
                self._first = at
                return _parsed(answer)
            problem = _told(answer)
        raise EngineDown(problem)

    def close(self) -> None:
        """Close every connection; a request under way fails with `EngineDown`."""
        self._closed = True
        for client in self._clients:
            client.close()


def _parsed(answer: httpx.Response) -> Any:
    if answer.status_code == httpx.codes.NOT_FOUND:
        return None
    if answer.is_client_error and answer.status_code not in _NOT_OURS:
        raise Refused(_told(answer))
    if not answer.is_success:
        raise EngineDown(_told(answer))
    try:
        return orjson.loads(answer.content)
    except orjson.JSONDecodeError as error:
        raise EngineDown(f"{answer.url} does not answer in JSON; is the address right?") from error


def _told(answer: httpx.Response) -> str:
    advice = _ADVICE.get(answer.status_code, "see the server's log")
    return f"{answer.url} answered {answer.status_code} ({answer.text[:200]}); {advice}"


def _reason(error: Exception) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "took too long"
    return f"cannot be reached ({str(error) or type(error).__name__})"
