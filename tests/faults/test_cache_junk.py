"""A cache server that answers junk: nothing is raised, nothing is believed, nothing is told."""

from __future__ import annotations

import socket
import threading
from contextlib import closing, suppress
from pathlib import Path

import pytest

from remanence import Memory
from remanence.backends.cache.redis import RedisCache

TTL_S = 60.0


class Liar:
    """Takes connections on loopback and answers each request with the same bytes."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://:hunter2@127.0.0.1:{self._listener.getsockname()[1]}"
        self._open = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                taken, _ = self._listener.accept()
                self._open.append(taken)
                threading.Thread(target=self._answering, args=(taken,), daemon=True).start()

    def _answering(self, taken: socket.socket) -> None:
        with suppress(OSError):
            while taken.recv(1 << 16):
                taken.sendall(self._answer)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x00\xff" * 50 + b"\r\n",
        b"$abc\r\n",
        b"$-99\r\n",
        b"$99999999\r\nx",
        b"*-5\r\n",
        b"*1000000\r\n",
        b":not a number\r\n",
        b"+OK\r\n+OK\r\n+OK\r\n+OK\r\n",
        b"-ERR unknown command 'AUTH', with args beginning with: 'hunter2'\r\n",
        b"-hunter2\r\n",
        b"-\r\n",
        b"\r\n",
        b"%1\r\n+a\r\n+b\r\n",
    ],
    ids=str,
)
@pytest.mark.parametrize("cluster", [False, True])
def test_a_server_that_answers_junk_gives_nothing(answer: bytes, cluster: bool) -> None:
    with (
        closing(Liar(answer)) as liar,
        closing(RedisCache(liar.url, timeout_s=0.05, rest_s=0, cluster=cluster)) as cache,
    ):
        for _ in range(3):
            assert cache.get(["a", "b"]) == [None, None]
            cache.put({"a": b"x"}, TTL_S)
            cache.remove(["a"])
        stats = cache.stats()
    assert not stats.healthy
    assert "hunter2" not in f"{stats} {cache!r}"


def test_a_server_that_says_yes_to_everything_holds_nothing() -> None:
    with closing(Liar(b"+OK\r\n")) as liar, closing(RedisCache(liar.url)) as cache:
        cache.put({"a": b"x"}, TTL_S)
        assert cache.get(["a"]) == [b"OK"], "a simple string is bytes like any other"
        assert (cache.stats().entries, cache.stats().bytes_used) == (0, 0)


def test_a_cache_of_junk_costs_a_search_nothing_but_time(tmp_path: Path) -> None:
    with (
        closing(Liar(b"+OK\r\n")) as liar,
        Memory(tmp_path / "memory.db", cache_url=liar.url) as memory,
    ):
        memory.add("The code of the safe is 1111", user_id="u")
        for _ in range(2):
            assert _texts(memory) == ["The code of the safe is 1111"]
        assert memory.parts.cache is not None
        assert memory.parts.cache.stats().hits == 2, "it did answer"


def _texts(memory: Memory) -> list[str]:
    return [hit.memory.text for hit in memory.search("the code of the safe", user_id="u")]
