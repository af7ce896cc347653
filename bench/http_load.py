"""A load of HTTP requests that costs little itself: keep-alive connections, bytes, no parsing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Taken:
    """How long each request took, and how many went wrong."""

    seconds: list[float] = field(default_factory=list)
    errors: int = 0
    wall_s: float = 0.0

    def figures(self) -> dict[str, float]:
        p50, p95, p99 = np.percentile(self.seconds or [0.0], [50, 95, 99]) * 1000
        return {
            "requests": len(self.seconds),
            "errors": self.errors,
            "per_s": round(len(self.seconds) / max(self.wall_s, 1e-9), 1),
            "p50_ms": round(float(p50), 2),
            "p95_ms": round(float(p95), 2),
            "p99_ms": round(float(p99), 2),
        }


class Line:
    """One connection that stays open."""

    def __init__(self, host: str, port: int) -> None:
        self._at = (host, port)
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, request: bytes) -> bytes:
        """The body of the answer; an error where it is not 2xx."""
        if self._reader is not None and self._reader.at_eof():
            self.close()  # the server let it go, as it may where nothing is under way
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(*self._at)
        self._writer.write(request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        body = await self._body(head)
        if not head.startswith(b"http/1.1 2"):
            raise ConnectionError(head.split(b"\r\n")[0].decode())
        return body

    async def _body(self, head: bytes) -> bytes:
        assert self._reader is not None
        _, found, rest = head.partition(b"content-length:")
        if found:
            return await self._reader.readexactly(int(rest.split(b"\r\n")[0]))
        parts = []
        while size := int((await self._reader.readline()).strip(), 16):
            parts.append((await self._reader.readexactly(size + 2))[:-2])
        await self._reader.readline()
        return b"".join(parts)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


async def closed_loop(at: tuple[str, int], requests: Sequence[bytes], lines: int) -> Taken:
    """So many connections, each asking again as soon as it has its answer."""
    left, taken = iter(requests), Taken()
    began = time.perf_counter()
    await asyncio.gather(*(_asking(Line(*at), left, taken) for _ in range(lines)))
    taken.wall_s = time.perf_counter() - began
    return taken


async def open_loop(
    at: tuple[str, int], requests: Sequence[bytes], rate: float, seed: int
) -> Taken:
    """Requests at random moments, whether or not the last ones are answered; waiting counts."""
    taken, free = Taken(), list[Line]()
    dues = np.cumsum(np.random.default_rng(seed).exponential(1 / rate, len(requests)))
    began, asked = time.perf_counter(), list[asyncio.Task[None]]()
    for request, due in zip(requests, dues, strict=True):
        await asyncio.sleep(max(began + due - time.perf_counter(), 0))
        asked.append(asyncio.create_task(_one(at, request, began + due, free, taken)))
    await asyncio.gather(*asked)
    taken.wall_s = time.perf_counter() - began
    for line in free:
        line.close()
    return taken


async def _one(
    at: tuple[str, int], request: bytes, due: float, free: list[Line], taken: Taken
) -> None:
    line = free.pop() if free else Line(*at)
    try:
        await line.ask(request)
        taken.seconds.append(time.perf_counter() - due)
        free.append(line)
    except (OSError, asyncio.IncompleteReadError):
        taken.errors += 1
        line.close()


async def _asking(line: Line, left: Iterator[bytes], taken: Taken) -> None:
    for request in left:
        began = time.perf_counter()
        try:
            await line.ask(request)
            taken.seconds.append(time.perf_counter() - began)
        except (OSError, asyncio.IncompleteReadError):
            taken.errors += 1
            line.close()
    line.close()


def get(path: str) -> bytes:
    """A GET request as bytes."""
    return f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode()


def post(path: str, body: bytes) -> bytes:
    """A POST of JSON as bytes."""
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body
