"""Encrypted stores that released versions wrote: opened with their key, whole, and written to."""

from __future__ import annotations

from pathlib import Path

import pytest

from remanence import Memory
from remanence.errors import StoreError
from remanence.model.stats import Finding
from support.upgrade.fixtures import KEY, Manifest, unpack_database

FIXTURES = Path(__file__).parents[1] / "upgrade"
VERSIONS = sorted(one.name for one in FIXTURES.iterdir() if one.name[:1].isdigit())


@pytest.fixture(params=VERSIONS)
def folder(request: pytest.FixtureRequest) -> Path:
    """The fixtures of one version."""
    return FIXTURES / str(request.param)


@pytest.fixture
def path(folder: Path, tmp_path: Path) -> Path:
    """The encrypted store as that version left it."""
    return unpack_database(folder, tmp_path, "encrypted")


@pytest.fixture
def manifest(folder: Path) -> Manifest:
    """What that version said of it before it was encrypted."""
    return Manifest.read(folder / "sqlite.json.zst")


def ills(memory: Memory) -> list[Finding]:
    return [finding for finding in memory.doctor() if finding.problems]


def test_all_is_there_and_found(path: Path, manifest: Manifest) -> None:
    with manifest.opened(path, encryption_key=KEY) as memory:
        assert manifest.lost(memory) == []
        assert manifest.missed(memory) == []
        assert ills(memory) == []
    assert b"Lisbon" not in path.read_bytes()


def test_it_can_be_written_to(path: Path, manifest: Manifest) -> None:
    with manifest.opened(path, encryption_key=KEY, tenant="acme") as memory:
        added = memory.add("The lighthouse keeper retired.", user_id="ana").id
        memory.sleep.undo(manifest.notes["undoable"])
        receipt = memory.forget(user_id="carol", erase=True).receipt
    with manifest.opened(path, encryption_key=KEY, tenant="acme") as memory:
        assert memory.get(added).state == "active"
        assert receipt is not None
        assert memory.erasures.verify(receipt)
        assert ills(memory) == []


def test_another_key_changes_nothing(path: Path, manifest: Manifest) -> None:
    before = path.read_bytes()
    with (
        pytest.raises(StoreError, match="not that of"),
        manifest.opened(path, encryption_key="some other key of the fixture"),
    ):
        pass
    assert path.read_bytes() == before
