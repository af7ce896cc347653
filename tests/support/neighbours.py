"""Two tenants on one server: one asks as always, the other sends the worst it can find."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from remanence.api.memory import Memory
from remanence.model.clock import SystemClock
from remanence.server.access.keys import Keys
from remanence.testing.patience import HANG_S
from support import http
from support.program import Program
from support.server_process import ServerProcess

KEPT = 300  # memories of the one who asks as always
SCOPES = ("read", "write")
_SHOUTING = """
import json, sys
from support.neighbours import shout
url, key, lines, size = sys.argv[1:]
print("begun", flush=True)
seen = shout(url, key, int(lines), int(size), sys.stdin.readline)
print(json.dumps([seen.seconds, seen.answers]), flush=True)
"""
_CITIES = ("Lisbon", "Oslo", "Quito", "Hanoi", "Dakar", "Turin", "Perth", "Cusco")
_THINGS = ("violin", "kayak", "sourdough", "chess", "pottery", "tango", "beekeeping", "calligraphy")


def worst_texts(size: int) -> dict[str, str]:
    """Texts of about that many characters that analysis has most work with, by shape."""
    lines = "".join(f"{n % 97} Bea met Ann in {_CITIES[n % 8]}.\n" for n in range(size // 24))
    return {
        "capitals": "I " * (size // 2) + "z",
        "names": "Anna Maria Bell " * (size // 16),
        "brackets": "(" * (size // 2) + ")" * (size // 2),
        "quotes": "\"'" * (size // 2),
        "digits": "".join(str(n % 10) for n in range(size)),
        "dots": "a." * (size // 2),
        "one giant word": "x" * size,
        "marks": "e" + "\u0301" * size,
        "commas": "and, or, but, " * (size // 14),
        "my my my": "my sister's " * (size // 12),
        "dates": "on 3 May 2021 and " * (size // 18),
        "short lines": lines,
    }


class Ledger:
    """What callers saw: how long each call took, and how it was answered."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}
        self.answers: Counter[str] = Counter()
        self._lock = threading.Lock()

    def call(self, what: str, ask: Callable[[], httpx.Response]) -> None:
        """Make a call and write down what became of it."""
        began = time.perf_counter()
        try:
            answered = str(ask().status_code)
        except httpx.HTTPError as error:
            answered = type(error).__name__
        with self._lock:
            self.seconds.setdefault(what, []).append(time.perf_counter() - began)
            self.answers[answered] += 1

    @property
    def errors(self) -> int:
        """How many calls were not answered with a success."""
        return sum(n for answered, n in self.answers.items() if not answered.startswith("2"))

    def figures(self) -> dict[str, Any]:
        """Calls, errors and percentiles in milliseconds, of each kind and of all."""
        told = {what: _percentiles(taken) for what, taken in sorted(self.seconds.items())}
        every = list(itertools.chain.from_iterable(self.seconds.values()))
        return {
            "calls": len(every),
            "errors": self.errors,
            "answers": dict(self.answers),
            **_percentiles(every),
            "of": told,
        }


class Street:
    """A server with two tenants: `quiet` asks as always, `loud` sends the worst."""

    def __init__(self, server: ServerProcess, quiet: str, loud: str) -> None:
        self.server = server
        self._keys = {"quiet": quiet, "loud": loud}
        self._number = itertools.count()

    def client(self, who: str) -> httpx.Client:
        """A connection of a tenant's own."""
        return _client(self.server.url, self._keys[who])

    def fill(self) -> None:
        """Give the quiet tenant something to search."""
        texts = [{"text": told} for told in itertools.islice(_told(), KEPT)]
        with self.client("quiet") as client:
            sent = {"memories": texts, "user_id": "ana"}
            client.post("/v1/memories/batch", json=sent).raise_for_status()

    def ask(self, calls: int) -> Ledger:
        """What the quiet tenant sees: every third call adds, the others search."""
        seen, told = Ledger(), _told()
        with self.client("quiet") as client:
            for n in range(calls):
                number = next(self._number)
                if n % 3 == 2:
                    sent = {"text": f"{next(told)} ({number})", "user_id": "ana"}
                    seen.call("add", lambda: client.post("/v1/memories", json=sent))  # noqa: B023
                else:
                    asked = f"who learned {_THINGS[number % 8]} in {_CITIES[number % 7]}?"
                    sent = {"query": asked, "user_id": "ana"}
                    seen.call("search", lambda: client.post("/v1/search", json=sent))  # noqa: B023
        return seen

    @contextmanager
    def noise(self, lines: int, size: int) -> Iterator[Ledger]:
        """Meanwhile the loud tenant sends the worst at full rate over so many connections.

        From a process of its own: what it costs to send is not for the quiet one to wait for.
        """
        seen = Ledger()
        loud = Program(_SHOUTING, self.server.url, self._keys["loud"], lines, size)
        try:
            loud.hear()
            yield seen
        finally:
            seconds, answers = json.loads(loud.rest("enough\n"))
            seen.seconds, seen.answers = seconds, Counter(answers)


@contextmanager
def street(database: str | Path, *options: str, **settings: str) -> Iterator[Street]:
    """A server as a process of its own, on a store with a key for each tenant."""
    with Memory(database) as memory:
        keys = Keys(memory.parts.store.documents, SystemClock())
        made = [keys.create(who, tenant=who, grants=SCOPES)[1] for who in ("quiet", "loud")]
    with ServerProcess(database, *options, rate_limit="0", **settings) as server:
        yield Street(server, *made)
        server.stop()
        server.ended()


def shout(url: str, key: str, lines: int, size: int, enough: Callable[[], object]) -> Ledger:
    """Send the worst over so many connections, until told that it is enough."""
    seen, over = Ledger(), threading.Event()
    shapes = list(worst_texts(size).items())
    threads = [
        threading.Thread(target=_shout, args=(seen, over, _client(url, key), shapes, first))
        for first in range(lines)
    ]
    for thread in threads:
        thread.start()
    enough()
    over.set()
    for thread in threads:
        thread.join(HANG_S)
    return seen


def _shout(
    seen: Ledger,
    over: threading.Event,
    connection: httpx.Client,
    shapes: Sequence[tuple[str, str]],
    first: int,
) -> None:
    with connection as client:
        for n in itertools.count(first):
            if over.is_set():
                return
            shape, text = shapes[n % len(shapes)]
            match n % 5:
                case 3:
                    sent = {"query": text[:12_000], "limit": 100}
                    seen.call("search", lambda: client.post("/v1/search", json=sent))  # noqa: B023
                case 4:
                    seen.call("import", lambda: _import(client, text, n))  # noqa: B023
                case _:
                    sent = {"text": f"{n} {text}", "user_id": "eve"}
                    seen.call(shape, lambda: client.post("/v1/memories", json=sent))  # noqa: B023


def _client(url: str, key: str) -> httpx.Client:
    headers = {"authorization": f"Bearer {key}"}
    return http.Client(base_url=url, headers=headers, timeout=HANG_S)


def _import(client: httpx.Client, text: str, n: int) -> httpx.Response:
    """What was exported a moment ago, once more with other texts."""
    told = client.get("/v1/export").content.split(b"\n", 1)[0] + b"\n"
    headers = {"content-type": "application/x-ndjson"}
    return client.post("/v1/import", content=told, headers=headers)


def _told() -> Iterator[str]:
    names = ("Ana", "Bea", "Cleo", "Dora", "Edda", "Finn", "Gil")
    for n in itertools.count():
        name, city, thing = names[n % 7], _CITIES[n % 8], _THINGS[n * 3 % 8]
        yield f"{name} moved to {city} and learned {thing} in the year {1990 + n % 30}."


def _percentiles(taken: Sequence[float]) -> dict[str, float]:
    if not taken:
        return {}
    p50, p95 = (round(float(np.percentile(taken, at)) * 1000, 1) for at in (50, 95))
    return {"p50_ms": p50, "p95_ms": p95, "max_ms": round(max(taken) * 1000, 1)}
