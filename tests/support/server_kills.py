"""Writers that call a server over HTTP while it is killed and started again."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from remanence.api.memory import Memory
from remanence.testing.patience import HANG_S, until
from support import http
from support.server_process import ServerProcess

BLOCK = "diary"
_TAKEN = "Idempotency-Key"
Wanted = tuple[str, dict[str, Any], tuple[str, ...]]


def _add(n: int) -> Wanted:
    return "/v1/memories", {"text": f"single {n}"}, (f"single {n}",)


def _add_many(n: int) -> Wanted:
    texts = tuple(f"batch {n} {part}" for part in range(3))
    return "/v1/memories/batch", {"memories": [{"text": text} for text in texts]}, texts


def _messages(n: int) -> Wanted:
    said = [{"role": "user", "content": f"said {n}"}]
    return "/v1/messages", {"messages": said}, (f"said {n}",)


def _append(n: int) -> Wanted:
    return f"/v1/blocks/{BLOCK}/append", {"text": f"line {n}"}, (f"line {n}",)


KINDS: dict[str, Callable[[int], Wanted]] = {
    "add": _add,
    "add_many": _add_many,
    "messages": _messages,
    "append": _append,
}


@dataclass
class Tally:
    """What was acknowledged, what was read, and what should not have happened."""

    acknowledged: list[str] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)
    repeated: int = 0
    reads: int = 0
    odd: list[str] = field(default_factory=list)


class Callers:
    """Four writers and a reader, until they are told to stop.

    A writer repeats a call that was not answered, or with one of the `forgiven` codes, with the
    same key, until it is done; unless `patient` is off, then it stops at the first.
    """

    def __init__(self, *, patient: bool = True, forgiven: Collection[int] = ()) -> None:
        self.tally, self._url, self._patient = Tally(), "", patient
        self._forgiven = forgiven
        self._there, self._over, self._lock = threading.Event(), threading.Event(), threading.Lock()
        work = [threading.Thread(target=self._write, args=(kind,)) for kind in KINDS]
        self._threads = [*work, threading.Thread(target=self._read)]
        self._turns, self._may = threading.Semaphore(len(self._threads)), threading.Event()

    def start(self, url: str) -> None:
        """Begin."""
        self.reach(url)
        self._may.set()
        body = {"label": BLOCK, "limit": 100_000}
        http.post(f"{url}/v1/blocks", json=body, timeout=HANG_S).raise_for_status()
        for thread in self._threads:
            thread.start()

    def reach(self, url: str) -> None:
        """The server is there, at this address."""
        self._url = url
        self._there.set()

    def lose(self) -> None:
        """The server is about to go away."""
        self._there.clear()

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Every call is answered, and nobody calls."""
        self._may.clear()
        for _ in self._threads:
            self._turns.acquire()
        try:
            yield
        finally:
            self._turns.release(len(self._threads))
            self._may.set()

    def stop(self) -> Tally:
        """What was done, once every call under way is answered."""
        self._over.set()
        for thread in self._threads:
            thread.join(HANG_S)
            assert not thread.is_alive()
        return self.tally

    def wait_for(self, more: int) -> None:
        """Until so many more calls are acknowledged."""
        wanted = len(self.tally.acknowledged) + more
        until(lambda: self.tally.odd or len(self.tally.acknowledged) >= wanted)

    def _write(self, kind: str) -> None:
        with http.Client(timeout=HANG_S) as client:
            n = 0
            while not self._over.is_set():
                n += 1
                path, body, texts = KINDS[kind](n)
                self._may.wait(HANG_S)
                with self._turns:
                    if not self._done(client, path, body, f"{kind}-{n}", texts):
                        return

    def _done(
        self,
        client: httpx.Client,
        path: str,
        body: dict[str, Any],
        key: str,
        texts: tuple[str, ...],
    ) -> bool:
        while True:
            answer = self._answer(client, path, body, key)
            if answer is not None and answer.is_success:
                return self._acknowledged(texts)
            if not self._patient:
                with self._lock:
                    self.tally.unanswered += texts
                return False
            if answer is not None and answer.status_code == 409 and _TAKEN in answer.text:
                if self._there_already(client, texts):
                    return self._acknowledged(texts)
                key = f"{key}-again"
            elif answer is not None:
                self._odd(path, answer)
                return False
            self.tally.repeated += 1
            self._wait()

    def _acknowledged(self, texts: tuple[str, ...]) -> bool:
        with self._lock:
            self.tally.acknowledged += texts
        return True

    def _answer(
        self, client: httpx.Client, path: str, body: dict[str, Any], key: str
    ) -> httpx.Response | None:
        try:
            answer = client.post(self._url + path, json=body, headers={"idempotency-key": key})
        except httpx.TransportError:
            return None
        return None if answer.status_code in self._forgiven else answer

    def _there_already(self, client: httpx.Client, texts: tuple[str, ...]) -> bool:
        """What the server says to do: look whether it was done."""
        while True:
            try:
                told = client.get(f"{self._url}/v1/blocks/{BLOCK}")
            except httpx.TransportError:
                self._wait()
                continue
            if told.status_code not in self._forgiven:
                return texts[0] in told.json()["value"].splitlines()
            self._wait()

    def _read(self) -> None:
        with http.Client(timeout=HANG_S) as client:
            while not self._over.is_set():
                self._may.wait(HANG_S)
                with self._turns:
                    if not self._searched(client) and not self._patient:
                        return

    def _searched(self, client: httpx.Client) -> bool:
        try:
            found = client.post(f"{self._url}/v1/search", json={"query": "single"})
        except httpx.TransportError:
            if self._patient:
                self._wait()
            return False
        self.tally.reads += 1
        if not found.is_success and found.status_code not in self._forgiven:
            self._odd("search", found)
        return True

    def _odd(self, path: str, answer: httpx.Response) -> None:
        self.tally.odd.append(f"{path}: {answer.status_code} {answer.text[:200]}")

    def _wait(self) -> None:
        """Until the server is there; a moment, where it is and its store is not."""
        self._there.wait(HANG_S)
        if self._forgiven:
            time.sleep(0.05)


def kill_often(
    database: Path,
    kills: int,
    chance: random.Random,
    look: Callable[[Tally], object] = lambda tally: None,
    before: str = "",
) -> Tally:
    """Kill the server so many times while it is written to; each time it is started again.

    Between the two, `look` is told what was acknowledged so far.
    """
    callers = Callers()
    process = ServerProcess(database, before=before).up()
    callers.start(process.url)
    try:
        for _ in range(kills):
            callers.wait_for(chance.randrange(5, 30))
            callers.lose()
            process.kill()
            look(callers.tally)
            process = ServerProcess(database, before=before).up()
            callers.reach(process.url)
        callers.wait_for(10)
    finally:
        tally = callers.stop()
        process.stop()
        assert process.ended() == 0, process.stderr
    return tally


def kill_database_often(
    database: str,
    crash: Callable[[], object],
    kills: int,
    chance: random.Random,
    look: Callable[[Tally], object] = lambda tally: None,
    before: str = "",
) -> Tally:
    """`crash` PostgreSQL so many times under a server of two workers that is written to.

    `crash` starts it again, and the server is left to recover. Then, while nobody calls, `look`
    is told what was acknowledged so far.
    """
    callers = Callers(forgiven={503})
    with ServerProcess(database, "--workers", "2", before=before, rate_limit="0") as process:
        callers.start(process.url)
        try:
            for _ in range(kills):
                callers.wait_for(chance.randrange(5, 30))
                crash()
                callers.wait_for(1)
                with callers.at_rest():
                    look(callers.tally)
        finally:
            tally = callers.stop()
        process.stop()
        assert process.ended() == 0, process.stderr
    return tally


def lost_and_doubled(database: str | Path, tally: Tally) -> tuple[list[str], list[str]]:
    """Which of the acknowledged are not there, and which are there more than once."""
    acknowledged = list(tally.acknowledged)
    with _opened(database) as memory:
        found = Counter(one.text for one in memory.find(limit=10_000))
        found.update(memory.blocks.get(BLOCK).value.splitlines())
        latest = time.monotonic() + HANG_S
        while ills := [one for one in memory.doctor() if one.problems]:
            # The server makes its indexes again, soon after its database has come back.
            assert [one.check for one in ills] == ["vector indexes"], ills
            assert time.monotonic() < latest, ills
    lost = [text for text in acknowledged if text not in found]
    return lost, [text for text, count in found.items() if count > 1]


def there(database: Path, texts: list[str]) -> list[str]:
    """Which of these texts are in the store."""
    with _opened(database) as memory:
        found = {one.text for one in memory.find(limit=10_000)}
        return [t for t in texts if t in found | {*memory.blocks.get(BLOCK).value.splitlines()}]


@contextmanager
def _opened(database: str | Path) -> Iterator[Memory]:
    with Memory(database) as memory:
        yield memory
