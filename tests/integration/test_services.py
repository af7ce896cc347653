"""The servers that other tests rely on: they answer, keep data through a kill, and end."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import httpx
import psutil
import psycopg
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from remanence.errors import StoreUnavailable
from remanence.store.postgres import PgVectorIndex, PostgresStore
from remanence.testing.patience import HANG_S
from remanence.testing.store_suites.making import FINGERPRINT, add, memory, pieces
from support.services import process, qdrant
from support.services.chroma import Chroma
from support.services.database_pool import DatabasePool, schema_of
from support.services.loopback import free_ports
from support.services.postgres import Databases, Postgres
from support.services.process import (
    Service,
    ServiceEnded,
    ServiceMissing,
    ended,
    folder_of,
)
from support.services.qdrant import Qdrant
from support.services.shared import Run, Running, short_folder
from support.services.valkey import Valkey

CHROMA = "/api/v2/tenants/default_tenant/databases/default_database/collections"


def gone(service: Service) -> bool:
    """Whether every process has ended and nobody answers on its port."""
    for one in service.processes:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", one.launch.port)) == 0:
                return False
    return all(ended(one.pid, 0) for one in service.processes)


def held(postgres: Databases, url: str) -> dict[str, object]:
    """Every row but what makes a store unlike others, every number, every graph of vectors."""
    with psycopg.connect(postgres.admin_at(url)) as admin:
        tables = admin.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        rows = {
            name: sorted(admin.execute(f"SELECT t::text FROM {name} AS t").fetchall())
            for (name,) in tables.fetchall()
        }
        rows["meta"] = [row for row in rows["meta"] if not re.match(r"\((ident|digest)", row[0])]
        numbers = admin.execute("SELECT sequencename, last_value FROM pg_sequences").fetchall()
        graphs = admin.execute("SELECT indexdef FROM pg_indexes WHERE indexdef ~ 'hnsw'")
        return rows | {"numbers": dict(numbers), "graphs": graphs.fetchall()}


class TestPostgres:
    def test_the_role_is_plain(self, postgres_url: str) -> None:
        with psycopg.connect(postgres_url, autocommit=True) as session:
            row = session.execute(
                "SELECT rolname, rolsuper, rolbypassrls, rolcreatedb, rolcreaterole, rolreplication"
                " FROM pg_roles WHERE rolname = current_user"
            ).fetchone()
            assert row == ("remanence_app", False, False, False, False, False)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                session.execute("CREATE DATABASE more")

    def test_the_role_obeys_row_security(self, postgres_url: str) -> None:
        with psycopg.connect(postgres_url) as session:
            session.execute("CREATE TABLE t AS SELECT 1 AS tenant")
            session.execute("ALTER TABLE t ENABLE ROW LEVEL SECURITY")
            session.execute("ALTER TABLE t FORCE ROW LEVEL SECURITY")
            assert session.execute("SELECT * FROM t").fetchall() == []

    def test_it_is_version_18_with_vectors(self, postgres_url: str) -> None:
        with psycopg.connect(postgres_url) as session:
            assert session.info.server_version // 10_000 >= 18
            row = session.execute("SELECT '[1,2]'::vector <-> '[1,4]'").fetchone()
            assert row == (2.0,)

    def test_each_database_is_fresh_and_dropped(self, postgres: Databases) -> None:
        first, second = postgres.database(), postgres.database()
        with psycopg.connect(first) as session:
            session.execute("CREATE TABLE mine ()")
        with psycopg.connect(second) as session:
            assert session.execute("SELECT to_regclass('mine')").fetchone() == (None,)
            postgres.drop(first)
            postgres.drop(second)
            with pytest.raises(psycopg.OperationalError):
                session.execute("SELECT 1")

    def test_a_database_that_is_lent_again_is_as_new(
        self, postgres: Databases, postgres_pool: DatabasePool
    ) -> None:
        with postgres_pool.lent() as url, closing(PostgresStore(url)) as store:
            identity, before = store.upkeep.identity, held(postgres, url)
            add(store, memory("secret"), made=pieces(1))
            assert PgVectorIndex(store, FINGERPRINT).built(60)
            after = held(postgres, url)
            assert all(before[name] != after[name] for name in ("tenants", "numbers", "graphs"))
        with postgres_pool.lent() as again:
            assert held(postgres, again) == before
            with pytest.raises(StoreUnavailable):
                PostgresStore(url)
            with closing(PostgresStore(again)) as store:
                assert store.upkeep.identity != identity
                assert store.upkeep.tenants() == []

    def test_a_session_ends_with_the_loan(self, postgres_pool: DatabasePool) -> None:
        with postgres_pool.lent() as url:
            session = psycopg.connect(url)
        with closing(session), pytest.raises(psycopg.OperationalError):
            session.execute("SELECT 1")

    @pytest.mark.parametrize(
        "change",
        [
            "CREATE TABLE mine ()",
            "DROP INDEX links_by_target",
            "ALTER TABLE memories_3 NO FORCE ROW LEVEL SECURITY",
            "ALTER TABLE links ADD more text",
            "ALTER TABLE links ALTER strength SET DEFAULT 7",
            "DROP POLICY wall ON links",
            "CREATE FUNCTION mine() RETURNS int LANGUAGE sql RETURN 1",
            "CREATE SCHEMA mine",
            "GRANT SELECT ON links TO public",
            "ALTER SEQUENCE memory_keys INCREMENT 2",
            "UPDATE pg_extension SET extversion = '0.1'",
            "DO $$ BEGIN"
            " EXECUTE format('ALTER DATABASE %I SET jit = on', current_database());"
            " END $$",
        ],
    )
    def test_a_change_of_the_schema_is_seen(
        self, postgres: Databases, postgres_url: str, change: str
    ) -> None:
        with psycopg.connect(postgres.admin_at(postgres_url)) as admin:
            before = schema_of(admin)
            assert schema_of(admin) == before
            admin.execute(change)
            assert schema_of(admin) != before
            admin.rollback()
            assert schema_of(admin) == before

    def test_a_database_with_another_schema_is_not_lent_again(self, postgres: Databases) -> None:
        with closing(DatabasePool(postgres)) as pool:
            with pool.lent() as url, psycopg.connect(url) as session:
                session.execute("CREATE TABLE mine ()")
            with pool.lent() as url, psycopg.connect(url) as session:
                assert session.execute("SELECT to_regclass('mine')").fetchone() == (None,)

    def test_a_kill_loses_no_commit(self, private_postgres: Callable[..., Postgres]) -> None:
        server = private_postgres()
        url = server.database()
        with psycopg.connect(url) as session:
            session.execute("CREATE TABLE t AS SELECT 1 AS n")
            session.commit()
            session.execute("INSERT INTO t VALUES (2)")
            backends = psutil.Process(server.processes[0].pid).children()
            server.kill()
            assert backends
            assert all(ended(backend.pid, 0) for backend in backends)
            with pytest.raises(psycopg.OperationalError):
                session.execute("SELECT 1")
        server.restart()
        with psycopg.connect(url) as session:
            assert session.execute("SELECT n FROM t").fetchall() == [(1,)]
            assert session.execute("SHOW fsync").fetchone() == ("on",)

    def test_it_listens_on_its_socket_too(self, private_postgres: Callable[..., Postgres]) -> None:
        server = private_postgres()
        port = server.processes[0].launch.port
        with psycopg.connect(
            host=str(server.socket_folder), port=port, user="postgres", dbname="postgres"
        ) as session:
            assert session.execute("SELECT inet_client_addr()").fetchone() == (None,)
        server.stop()
        assert gone(server)


class TestValkey:
    def test_each_test_has_its_own_database(self, valkey: Running, valkey_url: str) -> None:
        assert valkey_url.startswith(valkey.url + "/")
        with redis.Redis.from_url(valkey_url) as client:
            client.set("key", "value")
            assert client.dbsize() == 1

    def test_a_kill_loses_nothing(self, private_valkey: Callable[..., Valkey]) -> None:
        server = private_valkey()
        with redis.Redis.from_url(server.url) as client:
            client.set("key", "value")
            server.kill()
            with pytest.raises(redis.ConnectionError):
                client.get("key")
            server.restart()
            assert client.get("key") == b"value"
        server.stop()
        assert gone(server)

    def test_it_takes_settings(self, private_valkey: Callable[..., Valkey]) -> None:
        server = private_valkey(settings={"requirepass": "secret", "maxmemory": "10mb"})
        with redis.Redis.from_url(server.url) as client:
            assert client.config_get("maxmemory") == {"maxmemory": str(10 * 2**20)}
        port = server.processes[0].launch.port
        with (
            redis.Redis(port=port, retry=Retry(NoBackoff(), 0)) as stranger,
            pytest.raises(redis.AuthenticationError),
        ):
            stranger.get("key")

    def test_the_cluster_answers(self, valkey_cluster: Running) -> None:
        with redis.RedisCluster.from_url(valkey_cluster.url) as client:
            keys = [f"{uuid4()}" for _ in range(20)]
            for key in keys:
                client.set(key, key)
            assert [client.get(key) for key in keys] == [key.encode() for key in keys]
            assert len(client.get_primaries()) == 3

    def test_a_cluster_comes_back(self, private_valkey: Callable[..., Valkey]) -> None:
        cluster = private_valkey(nodes=3)
        with redis.RedisCluster.from_url(cluster.url) as client:
            for number in range(20):
                client.set(f"key{number}", number)
            cluster.kill(1)
            cluster.restart(1)
            assert [client.get(f"key{n}") for n in range(20)] == [b"%d" % n for n in range(20)]
        cluster.stop()
        assert gone(cluster)


def fill(url: str, name: str, **options: int) -> None:
    """A collection of ten points."""
    body = {"vectors": {"size": 2, "distance": "Cosine"}, **options}
    httpx.put(f"{url}/collections/{name}", json=body, timeout=HANG_S).raise_for_status()
    points = [{"id": number, "vector": [1, number]} for number in range(10)]
    place = f"{url}/collections/{name}/points?wait=true"
    httpx.put(place, json={"points": points}, timeout=HANG_S).raise_for_status()


def count(url: str, name: str) -> int:
    answer = httpx.post(f"{url}/collections/{name}/points/count", json={}, timeout=HANG_S)
    return int(answer.raise_for_status().json()["result"]["count"])


class TestQdrant:
    def test_it_answers(self, qdrant_url: str) -> None:
        assert httpx.get(qdrant_url).json()["version"] == qdrant.VERSION

    def test_a_kill_loses_nothing(self, private_qdrant: Callable[..., Qdrant]) -> None:
        server = private_qdrant()
        fill(server.url, "c")
        server.kill()
        with pytest.raises(httpx.ConnectError):
            count(server.url, "c")
        server.restart()
        assert count(server.url, "c") == 10
        server.stop()
        assert gone(server)

    def test_it_speaks_grpc(self, private_qdrant: Callable[..., Qdrant]) -> None:
        (port,) = private_qdrant().grpc_ports
        with socket.socket() as client:
            assert client.connect_ex(("127.0.0.1", port)) == 0

    def test_the_cluster_answers_from_every_node(self, qdrant_cluster: Running) -> None:
        name = f"c{uuid4().hex}"
        fill(qdrant_cluster.url, name, shard_number=3)
        assert [count(url, name) for url in qdrant_cluster.urls] == [10, 10, 10]

    def test_a_cluster_comes_back(self, private_qdrant: Callable[..., Qdrant]) -> None:
        cluster = private_qdrant(nodes=3)
        fill(cluster.url, "c", shard_number=3, replication_factor=3)
        for node in (0, 1):
            cluster.kill(node)
            assert count(cluster.urls[2], "c") == 10
            cluster.restart(node)
            assert count(cluster.urls[node], "c") == 10
        cluster.stop()
        assert gone(cluster)


class TestChroma:
    def test_it_answers(self, chroma_url: str) -> None:
        name = f"c{uuid4().hex}"
        made = httpx.post(chroma_url + CHROMA, json={"name": name}).raise_for_status().json()
        assert httpx.get(f"{chroma_url}{CHROMA}/{name}").json()["id"] == made["id"]

    def test_a_kill_loses_nothing(self, private_chroma: Callable[..., Chroma]) -> None:
        server = private_chroma()
        made = httpx.post(server.url + CHROMA, json={"name": "kept"}).raise_for_status().json()
        place = f"{server.url}{CHROMA}/{made['id']}"
        points = {"ids": ["a"], "embeddings": [[1.0, 2.0]], "documents": ["text"]}
        httpx.post(f"{place}/add", json=points).raise_for_status()
        server.kill()
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{place}/count")
        server.restart()
        assert httpx.get(f"{place}/count").json() == 1
        server.stop()
        assert gone(server)


class TestEnding:
    PROGRAM = """
import sys
from support.services.shared import short_folder
from support.services.valkey import Valkey
folder = short_folder()
server = Valkey.start(folder)
print(server.processes[0].pid, server.processes[0].keeper, folder)
sys.stdout.flush()
sys.stdin.read()
"""

    @pytest.fixture
    def owner(self) -> Callable[[], subprocess.Popen[str]]:
        return lambda: subprocess.Popen(
            [sys.executable, "-c", self.PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    @pytest.mark.parametrize("victim", ["owner", "keeper"])
    def test_nothing_outlives_its_owner(
        self, owner: Callable[[], subprocess.Popen[str]], victim: str
    ) -> None:
        with owner() as running:
            assert running.stdout is not None
            server, keeper, folder = running.stdout.readline().split()
            os.kill(running.pid if victim == "owner" else int(keeper), signal.SIGKILL)
            assert ended(int(server), 10)
            assert ended(int(keeper), 10)
            running.kill()
        assert Path(folder).exists() == (victim == "keeper")
        shutil.rmtree(folder, ignore_errors=True)


class TestSharing:
    def test_the_last_user_stops_it(self, tmp_path: Path) -> None:
        started: list[Service] = []

        def start(folder: Path, owner: int) -> Service:
            started.append(Valkey.start(folder, owner=owner))
            return started[-1]

        run = Run(tmp_path, os.getpid())
        with run.service("shared", start) as first:
            with run.service("shared", start) as second:
                assert second == first
            assert not gone(started[0])
        assert gone(started[0])
        assert not Path(first.folder).exists()
        with run.service("shared", start) as third:
            assert third != first
        assert len(started) == 2

    FIRST_TO_LEAVE = """
import sys
from os import getppid
from pathlib import Path
from support.services.shared import Run
from support.services.valkey import Valkey
start = lambda folder, owner: Valkey.start(folder, owner=owner)
with Run(Path(sys.argv[1]), getppid()).service("shared", start) as running:
    print(running.url, flush=True)
    sys.stdin.read()
"""

    def test_who_started_it_may_leave_first_and_says_nothing(self, tmp_path: Path) -> None:
        first = subprocess.Popen(
            [sys.executable, "-W", "always", "-c", self.FIRST_TO_LEAVE, str(tmp_path)],
            **dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE),
            text=True,
        )
        assert first.stdout is not None
        url = first.stdout.readline().strip()
        run = Run(tmp_path, os.getpid())
        with run.service("shared", lambda *_: pytest.fail("started")) as running:
            assert running.url == url
            assert first.communicate("") == ("", "")
            with redis.Redis.from_url(url) as client:
                assert client.ping()
        assert ended(running.keepers[0], 10)

    def test_the_environment_can_name_servers(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("REMANENCE_TEST_VALKEY_CLUSTER", "redis://a:1,redis://b:2")
        run = Run(tmp_path, os.getpid())
        with run.service("valkey_cluster", lambda *_: pytest.fail("started")) as running:
            assert running.urls == ["redis://a:1", "redis://b:2"]
        assert list(tmp_path.iterdir()) == []


class TestFailing:
    def test_a_missing_program_names_its_cure(self) -> None:
        with pytest.raises(ServiceMissing, match=r"pip install .* some-package"):
            folder_of("no_such_package", "some-package")

    def test_a_taken_port_is_left_for_another(
        self, private_valkey: Callable[..., Valkey], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            offers = iter([[taken.getsockname()[1], 1], free_ports(2)])
            monkeypatch.setattr(process, "free_ports", lambda count: next(offers))
            with redis.Redis.from_url(private_valkey().url) as client:
                assert client.ping()

    def test_a_server_that_cannot_start_shows_its_log(
        self, private_valkey: Callable[..., Valkey]
    ) -> None:
        with pytest.raises(ServiceEnded, match="Bad directive"):
            private_valkey(settings={"no-such-setting": "1"})

    def test_qdrant_is_installed_whole_and_once(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        fetched = iter([b"other program", b"program"])

        def fetch(folder: Path) -> None:
            (folder / qdrant.PROGRAM).parent.mkdir(parents=True)
            (folder / qdrant.PROGRAM).write_bytes(next(fetched))

        monkeypatch.setattr(qdrant, "user_cache_path", lambda name: tmp_path / name)
        monkeypatch.setattr(qdrant, "SHA256", hashlib.sha256(b"program").hexdigest())
        monkeypatch.setattr(qdrant, "_fetch", fetch)
        with pytest.raises(ServiceMissing, match="not the program that was tested"):
            qdrant.installed()
        assert qdrant.installed().read_bytes() == b"program"
        assert os.access(qdrant.installed(), os.X_OK)


def test_folders_leave_room_for_sockets() -> None:
    folder = short_folder()
    folder.rmdir()
    assert len(str(folder)) < 80
