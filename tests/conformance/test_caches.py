"""Every cache against the one suite: in the process, one server, a cluster, passwords, TLS."""

from __future__ import annotations

import select
import shutil
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
import trustme

from remanence.backends.cache.address import read_address
from remanence.backends.cache.local import LocalCache
from remanence.backends.cache.redis import RedisCache
from remanence.errors import ConfigError
from remanence.model.ports.cache import Cache
from remanence.testing.cache import TTL_S, CacheSuite
from support.services.shared import Running, short_folder
from support.services.valkey import Valkey

# The machine may be busy: what the suite asks for is the answer, not its speed.
PATIENT = 5.0
USER = "ana"
PASSWORD = "s3cret/w:rd@%é"


def patient(url: str, **options: Any) -> RedisCache:
    return RedisCache(url, timeout_s=PATIENT, connect_timeout_s=PATIENT, **options)


@pytest.fixture(scope="module")
def guarded() -> Iterator[tuple[Valkey, Path]]:
    """A server that asks for a user and a password, and its socket file."""
    folder = short_folder()
    settings = {
        "requirepass": "other",
        "user": f"{USER} on >{PASSWORD} ~* &* +@all",
        "unixsocket": str(folder / "s"),
    }
    server = Valkey.start(folder, settings=settings, durable=False)
    yield server, folder / "s"
    server.stop()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate for `localhost`, with the authority that signed it, in one file."""
    file = tmp_path_factory.mktemp("tls") / "localhost.pem"
    authority = trustme.CA()
    made = authority.issue_cert("localhost")
    parts = [made.private_key_pem, *made.cert_chain_pems, authority.cert_pem]
    file.write_bytes(b"".join(part.bytes() for part in parts))
    return file


class TestLocalCache(CacheSuite):
    @pytest.fixture
    def cache(self) -> Iterator[Cache]:
        with closing(LocalCache(20_000_000)) as cache:
            yield cache

    def test_the_least_recently_used_go_first(self) -> None:
        cache = LocalCache(10_000)
        for name in "abc":
            cache.put({name: b"x" * 2_500}, TTL_S)
        cache.get(["a"])
        cache.put({"d": b"x" * 2_500}, TTL_S)
        left = [name for name in "abcd" if cache.get([name]) != [None]]
        assert left == ["a", "c", "d"]
        assert cache.stats().bytes_used <= 10_000

    def test_a_value_beyond_the_budget_is_not_kept_and_costs_no_other(self) -> None:
        cache = LocalCache(10_000)
        cache.put({"a": b"x", "b": b"x"}, TTL_S)
        cache.put({"a": b"x" * 10_000}, TTL_S)
        assert cache.get(["a", "b"]) == [None, b"x"]

    def test_time_is_its_clock(self) -> None:
        now = 100.0
        cache = LocalCache(10_000, clock=lambda: now)
        cache.put({"a": b"x"}, 10)
        now = 109.9
        assert cache.get(["a"]) == [b"x"]
        now = 110.0
        assert cache.stats().entries == 0
        assert cache.get(["a"]) == [None]


class TestRedisCache(CacheSuite):
    @pytest.fixture
    def cache(self, valkey_url: str) -> Iterator[Cache]:
        with closing(patient(valkey_url)) as cache:
            yield cache

    def test_processes_share_it(self, cache: Cache, valkey_url: str) -> None:
        cache.put({"a": b"x"}, TTL_S)
        with closing(patient(valkey_url.replace("redis:", "valkey:"))) as other:
            assert other.get(["a"]) == [b"x"]


class TestRedisCacheOfACluster(CacheSuite):
    @pytest.fixture
    def cache(self, valkey_cluster: Running) -> Iterator[Cache]:
        hosts = ",".join(urlsplit(url).netloc for url in valkey_cluster.urls)
        with closing(patient(f"redis+cluster://{hosts}")) as cache:
            yield cache

    def test_one_node_is_enough_to_find_the_others(
        self, cache: Cache, valkey_cluster: Running, prefix: str
    ) -> None:
        values = {f"{prefix}{n}": b"x" for n in range(100)}
        cache.put(values, TTL_S)
        with closing(patient(valkey_cluster.url, cluster=True)) as other:
            assert other.get(list(values)) == list(values.values())
            assert other.stats().entries >= 100


class TestRedisCacheWithAPassword(CacheSuite):
    @pytest.fixture
    def cache(self, guarded: tuple[Valkey, Path]) -> Iterator[Cache]:
        port = urlsplit(guarded[0].url).port
        login = f"{USER}:{quote(PASSWORD, safe='')}"
        with closing(patient(f"redis://{login}@127.0.0.1:{port}")) as cache:
            yield cache

    def test_a_socket_file_leads_there_too(
        self, cache: Cache, guarded: tuple[Valkey, Path], prefix: str
    ) -> None:
        cache.put({f"{prefix}a": b"x"}, TTL_S)
        login = f"{USER}:{quote(PASSWORD, safe='')}"
        with closing(patient(f"unix://{login}@{guarded[1]}")) as other:
            assert other.get([f"{prefix}a"]) == [b"x"]

    @pytest.mark.parametrize("login", ["", ":wrong-word@", f"{USER}:wrong-word@"])
    def test_a_wrong_password_is_told_and_not_raised(
        self, guarded: tuple[Valkey, Path], login: str
    ) -> None:
        port = urlsplit(guarded[0].url).port
        with closing(patient(f"redis://{login}127.0.0.1:{port}")) as cache:
            cache.put({"a": b"x"}, TTL_S)
            assert cache.get(["a"]) == [None]
            stats = cache.stats()
        assert not stats.healthy
        assert stats.detail == f"127.0.0.1:{port}: the server refuses the user or the password"
        assert "wrong-word" not in f"{cache!r} {vars(cache)} {stats}"


class TestRedisCacheOverTls(CacheSuite):
    @pytest.fixture
    def tls_url(self, valkey_url: str, certificate: Path) -> Iterator[str]:
        """The run's Valkey, which has no TLS of its own, behind a door that has."""
        inside = urlsplit(valkey_url)
        with closing(TlsDoor(certificate, (inside.hostname or "", inside.port or 0))) as door:
            yield f"rediss://localhost:{door.port}{inside.path}"

    @pytest.fixture
    def cache(self, tls_url: str, certificate: Path) -> Iterator[Cache]:
        with closing(patient(f"{tls_url}?ca_file={certificate}")) as cache:
            yield cache

    def test_a_certificate_nobody_vouches_for_is_refused(self, tls_url: str) -> None:
        with closing(patient(tls_url)) as cache:
            cache.put({"a": b"x"}, TTL_S)
            assert cache.get(["a"]) == [None]
            assert "certificate" in cache.stats().detail.lower()

    def test_unless_the_caller_says_so(self, tls_url: str) -> None:
        with closing(patient(f"{tls_url.replace('rediss', 'valkeys')}?verify=no")) as cache:
            cache.put({"a": b"x"}, TTL_S)
            assert cache.get(["a"]) == [b"x"]

    def test_a_certificate_file_that_is_not_there_is_told_at_once(self, tls_url: str) -> None:
        with pytest.raises(ConfigError, match="no file of certificates"):
            patient(f"{tls_url}?ca_file=/nowhere/ca.pem")


class TlsDoor:
    """Takes TLS connections on loopback and passes what comes to a server without TLS."""

    def __init__(self, certificate: Path, inside: tuple[str, int]) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate)
        self._inside = inside
        self._listener = socket.create_server(("localhost", 0))
        self.port = self._listener.getsockname()[1]
        self._open: list[socket.socket] = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                outside, _ = self._listener.accept()
                threading.Thread(target=self._pass, args=(outside,), daemon=True).start()

    def _pass(self, outside: socket.socket) -> None:
        try:
            front = self._context.wrap_socket(outside, server_side=True)
        except OSError:
            outside.close()
            return
        back = socket.create_connection(self._inside)
        self._open += [front, back]
        with suppress(OSError, ValueError):
            _exchange(front, back)
        for one in (front, back):
            one.close()


def _exchange(front: ssl.SSLSocket, back: socket.socket) -> None:
    """Pass bytes both ways, in one thread: two must not use the same TLS connection at once."""
    while True:
        ready = [front] if front.pending() else select.select([front, back], [], [])[0]
        for source in ready:
            data = source.recv(1 << 16)
            if not data:
                return
            (back if source is front else front).sendall(data)


@pytest.mark.parametrize(
    ("url", "nodes", "number", "tls", "cluster"),
    [
        ("redis://cache", [("cache", 6379)], 0, False, False),
        ("valkey://ana:pw@cache:7000/3", [("cache", 7000)], 3, False, False),
        ("rediss://cache?db=2", [("cache", 6379)], 2, True, False),
        ("valkeys://[::1]:7000/", [("::1", 7000)], 0, True, False),
        ("redis+cluster://a:1,b:2,c", [("a", 1), ("b", 2), ("c", 6379)], 0, False, True),
        ("valkeys+cluster://:pw@a:1", [("a", 1)], 0, True, True),
    ],
)
def test_addresses_are_read(
    url: str, nodes: list[tuple[str, int]], number: int, tls: bool, cluster: bool
) -> None:
    found = read_address(url)
    assert list(found.nodes) == nodes
    assert (found.number, found.tls, found.cluster) == (number, tls, cluster)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:6379",
        "http://:hunter2@cache",
        "redis://",
        "redis://:hunter2@",
        "redis://:hunter2@cache:port",
        "redis://:hunter2@cache:99999",
        "redis://:hunter2@cache/x",
        "redis://:hunter2@cache?ssl=yes",
        "redis://:hunter2@cache?verify=no",
        "redis://:hunter2@cache?db=1&db=2",
        "rediss://:hunter2@cache?verify=perhaps",
        "redis://:hunter2@cache#x",
        "redis://:hunter2/pw@cache",
        "redis://:hunter2#pw@cache",
        "redis://:hunter2@a,b",
        "redis+sentinel://:hunter2@a",
        "redis+cluster://:hunter2@a/1",
        "redis://:hunter2@[::1",
        "redis://:hunter2@ca\u2100che",
        "unix://hunter2",
        "unix://:hunter2@/",
        "unix+cluster:///s",
    ],
)
def test_a_wrong_url_is_told_without_its_secrets(url: str) -> None:
    with pytest.raises(ConfigError) as raised:
        RedisCache(url)
    assert "redis://[user:password@]host[:port]" in str(raised.value)
    assert "hunter2" not in f"{raised.value!r} {raised.value.__cause__!r}"
