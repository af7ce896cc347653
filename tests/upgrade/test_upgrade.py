"""Stores that released versions wrote: opened, found whole, written to, and opened again."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from psycopg import sql
from typer.testing import CliRunner

from remanence import Kind, Memory, State
from remanence.cli.app import app
from remanence.config import load_settings
from remanence.config.assembly import restore_store
from remanence.errors import NotFound
from remanence.model.clock import FixedClock
from remanence.model.document import PORTABLE, Shelf
from remanence.model.stats import Finding
from remanence.tools.transfer import import_memory
from support.services.postgres import Databases
from support.upgrade.contents import ACME, GLOBEX, ONLY_WORDS, REPEATED, TENANTS
from support.upgrade.dumps import load_dump
from support.upgrade.fixtures import Manifest, content, unpack_database
from support.upgrade.served import SAID, append_once, client, status

HERE = Path(__file__).parent
VERSIONS = sorted(one.name for one in HERE.iterdir() if one.name[:1].isdigit())
# Shelves that came after a version.
NEWER = {"0.1.0": frozenset({Shelf.JOB, Shelf.SEAL, Shelf.USER, Shelf.WORKER})}
Place = str | Path


@pytest.fixture(scope="module", params=VERSIONS)
def folder(request: pytest.FixtureRequest) -> Path:
    """The fixtures of one version."""
    return HERE / str(request.param)


def shelves_of(version: str) -> set[Shelf]:
    """The shelves that a version had."""
    return set(Shelf) - NEWER.get(version, frozenset())


@pytest.fixture(scope="module")
def restored(folder: Path, postgres: Databases) -> Iterator[str]:
    """The dump in a database that nobody connects to: tests get copies of it."""
    url = postgres.database()
    load_dump(folder / "postgres.sql.zst", url)
    yield url
    postgres.drop(url)


@pytest.fixture(params=["sqlite", "postgres"])
def kind(request: pytest.FixtureRequest) -> str:
    """Which store."""
    return str(request.param)


@pytest.fixture
def place(
    kind: str,
    folder: Path,
    postgres: Databases,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> Iterator[Place]:
    """A store as that version left it, for one test."""
    if kind == "sqlite":
        yield unpack_database(folder, tmp_path)
        return
    url = copied(postgres, request.getfixturevalue("restored"))
    yield url
    postgres.drop(url)


@pytest.fixture
def empty(kind: str, postgres: Databases, tmp_path: Path) -> Iterator[Place]:
    """Where no store is yet."""
    if kind == "sqlite":
        yield tmp_path / "new.db"
        return
    url = postgres.database()
    yield url
    postgres.drop(url)


@pytest.fixture
def manifest(folder: Path, kind: str) -> Manifest:
    """What that version said of it."""
    return Manifest.read(folder / f"{kind}.json.zst")


def copied(postgres: Databases, url: str) -> str:
    """A new database like that one."""
    name = f"{url.rpartition('/')[2]}_copy"
    statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} OWNER remanence_app")
    named = statement.format(sql.Identifier(name), sql.Identifier(url.rpartition("/")[2]))
    with psycopg.connect(postgres.admin_url, autocommit=True) as admin:
        admin.execute(named)
    return f"{url.rpartition('/')[0]}/{name}"


def ills(memory: Memory) -> list[Finding]:
    return [finding for finding in memory.doctor() if finding.problems]


def rem(place: Place, *arguments: str) -> Any:
    done = CliRunner().invoke(app, ["--db", str(place), *arguments, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["data"]


def test_all_is_there_and_found(manifest: Manifest, place: Place) -> None:
    with manifest.opened(place) as memory:
        assert manifest.lost(memory) == []
        assert manifest.missed(memory) == []
        assert ills(memory) == []


def test_what_was_packed_and_what_waits(manifest: Manifest, place: Place) -> None:
    with manifest.opened(place) as memory:
        tiers = {str(one.tier.name) for t in TENANTS for one in memory.for_tenant(t).stats().tiers}
        assert tiers == {"HOT", "COOL", "COLD"}
        acme = memory.for_tenant(ACME)
        assert acme.stats().pending
        acme.reembed()
        assert not acme.stats().pending
        hits = acme.search("shears that were left behind", user_id="ana", limit=3)
        assert ONLY_WORDS in [hit.memory.text for hit in hits]
        assert manifest.missed(memory) == []


def test_receipts_are_still_good(manifest: Manifest, place: Place) -> None:
    (told,) = [
        answer
        for call, answer in manifest.calls
        if (call.verb, call.tenant) == ("erasures.list", ACME)
    ]
    assert len(told) == 3
    with manifest.opened(place, tenant=ACME) as memory:
        for receipt in told:
            assert memory.erasures.verify(receipt)
            assert not memory.erasures.verify({**receipt, "counts": {"memories": 99}})
        for id in manifest.notes["erased"]:
            with pytest.raises(NotFound):
                memory.get(id)


def test_keys_open_what_they_opened(manifest: Manifest, place: Place) -> None:
    keys, clock = manifest.notes["keys"], FixedClock(manifest.at)
    with manifest.opened(place, tenant=ACME) as memory:
        caller = client(memory, clock)
        found = {name: status(caller, text) for name, text in keys.items()}
        repeated = append_once(caller, keys["good"])
        assert found == {
            "good": 200,
            "limited": 403,
            "revoked": 401,
            "rotated": 401,
            "rotation": 200,
        }
        # An answer is kept for an hour; who cannot give it any more must not do it again.
        assert repeated.is_success or repeated.status_code == 409
        assert memory.blocks.get("human", user_id="ana").value.count(SAID) == 1


@pytest.mark.parametrize(
    ("tenant", "names", "deeds"),
    [
        (
            ACME,
            ["laptop", "lost", "old", "old"],
            ["create", "create", "create", "revoke", "rotate"],
        ),
        (GLOBEX, ["crawler"], ["create"]),
    ],
)
def test_keys_and_the_audit_log_are_whole(
    place: Place, tenant: str, names: list[str], deeds: list[str]
) -> None:
    listed = rem(place, "keys", "list", "--tenant", tenant)["keys"]
    assert sorted(one["name"] for one in listed) == names
    assert rem(place, "audit", "--verify", "--tenant", tenant)["intact"]
    entries = rem(place, "audit", "--tenant", tenant)["entries"]
    assert [one["deed"] for one in reversed(entries)] == [f"keys.{deed}" for deed in deeds]


def test_it_can_be_written_to(manifest: Manifest, place: Place) -> None:
    with manifest.opened(place, tenant=ACME) as memory:
        before = memory.count(all_users=True, states="any")
        again = memory.add(**REPEATED)
        assert memory.count(all_users=True, states="any") == before
        assert again.text == REPEATED["text"]
        added = memory.add("The lighthouse keeper retired.", user_id="ana").id
        changed = memory.update(added, text="The lighthouse keeper came back.").version
        memory.forget(again.id)
        memory.blocks.undo("human", user_id="ana")
        undone = memory.sleep.undo(manifest.notes["undoable"])
        back = memory.snapshots.restore("before the trip", user_id="ana")
        erased = memory.forget(user_id="carol", erase=True).receipt
    with manifest.opened(place, tenant=ACME) as memory:
        assert changed == 2
        assert memory.get(added).state == "archived"  # it came after the snapshot
        assert memory.get(again.id).state == "archived"
        assert undone.counts["restored"] == 3
        cats = memory.find(user_id="dora", filters={"text": {"contains": "cat"}})
        assert len(cats) == 3
        assert back.undo is not None
        assert "Gets seasick." not in memory.blocks.get("human", user_id="ana").value
        assert memory.find(user_id="ana", filters={"text": {"contains": "ferry"}}) == []
        memory.snapshots.restore(back.undo, user_id="ana")
        assert memory.get(added).state == "active"
        assert erased is not None
        assert memory.erasures.verify(erased)
        assert memory.count(user_id="carol", states="any") == 0
        assert ills(memory) == []


def test_a_key_can_be_rotated_and_revoked(place: Place, manifest: Manifest) -> None:
    prefix = manifest.notes["keys"]["good"].split("_")[1]
    new = rem(place, "keys", "rotate", prefix)
    rem(place, "keys", "revoke", new["key"]["prefix"])
    assert rem(place, "audit", "--verify", "--tenant", ACME)["intact"]


def test_exports_are_read(folder: Path, empty: Place) -> None:
    exported = Manifest.read(folder / "sqlite.json.zst")
    with exported.opened(empty) as memory:
        for tenant in TENANTS:
            file = io.BytesIO(content(folder / f"{tenant}.jsonl.zst"))
            import_memory(memory.for_tenant(tenant), file)
            assert exported.lost(memory, tenant=tenant) == []
        assert ills(memory) == []  # before the first search, which makes PostgreSQL's indexes
        assert exported.missed(memory) == []


def test_backups_are_restored(
    folder: Path, kind: str, manifest: Manifest, empty: Place, tmp_path: Path
) -> None:
    backup = tmp_path / "backup"
    packed = folder / "sqlite.backup.zst"
    backup.write_bytes(
        content(packed) if kind == "sqlite" else (folder / "postgres.backup.zip").read_bytes()
    )
    restore_store(backup, load_settings({"database": str(empty)}))
    with manifest.opened(empty) as memory:
        assert manifest.lost(memory) == []
        assert manifest.missed(memory) == []
        assert ills(memory) == []


class TestTheIndexFile:
    """What is found is the same with the old file, without it, and with one that is no good."""

    @pytest.fixture
    def path(self, folder: Path, tmp_path: Path) -> Path:
        return unpack_database(folder, tmp_path)

    @pytest.fixture
    def manifest(self, folder: Path) -> Manifest:
        return Manifest.read(folder / "sqlite.json.zst")

    @pytest.mark.parametrize(
        "change",
        [lambda file: None, lambda file: file.unlink(), lambda file: file.write_bytes(b"REMBITS9")],
        ids=["as it was", "gone", "of a version to come"],
    )
    def test_finds_the_same(
        self, path: Path, manifest: Manifest, change: Callable[[Path], None]
    ) -> None:
        file = path.with_name(f"{path.name}.index")
        assert file.stat().st_size > 4_000
        change(file)
        with manifest.opened(path) as memory:
            assert manifest.missed(memory) == []
            assert ills(memory) == []


class TestTheFixture:
    """Something of everything is in it: no table and no shelf was forgotten."""

    def test_holds_something_in_every_table_of_sqlite(self, folder: Path, tmp_path: Path) -> None:
        path = unpack_database(folder, tmp_path)
        with closing(apsw.Connection(str(path))) as connection:
            names = connection.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' "
                "AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'words%'"
            ).get
            empty = [
                name for name in names if not connection.execute(f"SELECT count(*) FROM {name}").get
            ]
            shelves = connection.execute("SELECT DISTINCT shelf FROM documents").get
        assert empty == []
        assert set(shelves) == shelves_of(folder.name)

    def test_holds_something_in_every_table_of_postgres(
        self, folder: Path, restored: str, postgres: Databases
    ) -> None:
        url = copied(postgres, restored)
        admin = f"{postgres.admin_url.rpartition('/')[0]}/{url.rpartition('/')[2]}"
        with psycopg.connect(admin) as connection:
            names = connection.execute(
                "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace "
                "AND relkind IN ('r', 'p') AND NOT relispartition"
            ).fetchall()
            empty = [
                name
                for (name,) in names
                if connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone() is None
            ]
            shelves = connection.execute("SELECT DISTINCT shelf FROM documents").fetchall()
        postgres.drop(url)
        assert empty == []
        assert {shelf for (shelf,) in shelves} == shelves_of(folder.name)

    def test_holds_every_kind_and_state(self, folder: Path) -> None:
        calls = Manifest.read(folder / "sqlite.json.zst").calls
        found = [one for call, answer in calls if call.verb == "find" for one in answer]
        assert {one["kind"] for one in found} == set(Kind)
        assert {one["state"] for one in found} == set(State)
        exported = content(folder / f"{ACME}.jsonl.zst").decode().splitlines()
        lines = [json.loads(line) for line in exported]
        assert {line.get("shelf") for line in lines} >= set(PORTABLE) & shelves_of(folder.name)
