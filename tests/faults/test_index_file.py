"""A4: whatever happens to the index's file, the answers are those of the store."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from remanence.backends.index.bits import BitsIndex
from remanence.backends.index.bits.cache_file import VectorOwner, opened
from remanence.model.embedding import Fingerprint
from remanence.testing.vector_index import (
    DIMENSION,
    FINGERPRINT,
    PieceSource,
    memories,
    queries,
    recall,
)

SEED = int(os.environ.get("REMANENCE_SEED", random.randrange(2**32)))


def an_index(source: PieceSource, file: Path, identity: str = "it") -> BitsIndex:
    """All candidates are rescored, so that right bits give the brute-force answer exactly."""
    return BitsIndex(source, FINGERPRINT, identity=identity, file=file, small=50, rescore=10_000)


def saved(source: PieceSource, file: Path, identity: str = "it") -> None:
    index = an_index(source, file, identity)
    for partition in (1, 2):
        index.nearest(partition, queries(1)[0], 10)
    index.close()


def answers_are_right(source: PieceSource, file: Path) -> None:
    index = an_index(source, file)
    for partition in (1, 2):
        assert recall(index, source, partition=partition, asked=3) == 1
        assert len(index.nearest(partition, queries(1)[0], 5000).keys) == sum(
            1 for _ in source.scan(FINGERPRINT, partition)
        )
    index.close()


def is_whole(file: Path) -> bool:
    found = opened(file, VectorOwner("it", FINGERPRINT))
    return found is not None and all(found.read(partition) is not None for partition in (1, 2))


@pytest.fixture(scope="module")
def source() -> PieceSource:
    source = PieceSource()
    source.put(1, memories(150, seed=1))
    source.put(2, memories(100, seed=2, first=50_000))
    return source


@pytest.fixture(scope="module")
def good(source: PieceSource, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    file = tmp_path_factory.mktemp("good") / "agent.db.index"
    saved(source, file)
    return file.read_bytes()


@pytest.fixture
def file(tmp_path: Path, good: bytes) -> Path:
    path = tmp_path / "agent.db.index"
    path.write_bytes(good)
    return path


def test_the_good_file_is_used(source: PieceSource, file: Path) -> None:
    assert is_whole(file)
    answers_are_right(source, file)


def test_truncated_anywhere(source: PieceSource, file: Path, good: bytes) -> None:
    print("seed", SEED)
    rng = random.Random(SEED)
    for size in [0, 1, 7, 8, 39, 40, 56, len(good) - 1, *rng.sample(range(len(good)), 20)]:
        file.write_bytes(good[:size])
        assert not is_whole(file)
        answers_are_right(source, file)


def test_any_flipped_bit(source: PieceSource, file: Path, good: bytes) -> None:
    print("seed", SEED)
    rng = random.Random(SEED)
    for _ in range(200):
        flipped = bytearray(good)
        flipped[rng.randrange(len(good))] ^= 1 << rng.randrange(8)
        file.write_bytes(flipped)
        assert not is_whole(file)
        answers_are_right(source, file)


def _zeroed(good: bytes) -> bytes:
    return bytes(len(good))


def _zeroed_in_the_middle(good: bytes) -> bytes:
    third = len(good) // 3
    return good[:third] + bytes(third) + good[2 * third :]


def _longer(good: bytes) -> bytes:
    return good + b"more"


def _other_magic(good: bytes) -> bytes:
    return b"REMBITS9" + good[8:]


def _vast_directory(good: bytes) -> bytes:
    return good[:16] + (2**60).to_bytes(8, "little") + good[24:]


def _text(good: bytes) -> bytes:
    return b"this is not an index\n" * 100


@pytest.mark.parametrize(
    "damage",
    [_zeroed, _zeroed_in_the_middle, _longer, _other_magic, _vast_directory, _text],
)
def test_damaged(
    source: PieceSource, file: Path, good: bytes, damage: Callable[[bytes], bytes]
) -> None:
    file.write_bytes(damage(good))
    answers_are_right(source, file)


@pytest.mark.parametrize(
    "other",
    [
        replace(FINGERPRINT, dimension=DIMENSION + 64),
        replace(FINGERPRINT, digest="1" * 64),
        replace(FINGERPRINT, pooling="cls"),
    ],
    ids=["dimension", "model", "pooling"],
)
def test_of_another_embedder(source: PieceSource, file: Path, other: Fingerprint) -> None:
    assert opened(file, VectorOwner("it", other)) is None


def test_of_another_store(source: PieceSource, file: Path) -> None:
    other = PieceSource()
    for key in range(source.position(2)):
        other.put(1, {key: queries(1)})
    saved(other, file, identity="another")
    answers_are_right(source, file)


def test_ahead_of_the_store(source: PieceSource, file: Path) -> None:
    ahead = PieceSource()
    ahead.put(1, memories(700, seed=5))
    ahead.put(2, memories(100, seed=6, first=50_000))
    saved(ahead, file)
    answers_are_right(source, file)


def test_behind_the_store(file: Path) -> None:
    source = PieceSource()
    source.put(1, memories(150, seed=1))
    source.put(2, memories(100, seed=2, first=50_000))
    saved(source, file)
    source.put(2, memories(40, seed=9, first=50_000))
    source.remove(1, list(memories(150, seed=1))[::3])
    answers_are_right(source, file)


def test_a_directory_in_its_place(source: PieceSource, file: Path) -> None:
    file.unlink()
    file.mkdir()
    (file / "something").write_text("kept")
    answers_are_right(source, file)
    assert (file / "something").read_text() == "kept"
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_no_permission_to_read_it(source: PieceSource, file: Path) -> None:
    file.chmod(0)
    answers_are_right(source, file)


def test_a_folder_that_is_not_there(source: PieceSource, tmp_path: Path) -> None:
    answers_are_right(source, tmp_path / "nowhere" / "agent.db.index")


def test_a_disk_that_fails_while_writing(
    source: PieceSource, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    file.unlink()
    monkeypatch.setattr(os, "fsync", full)
    answers_are_right(source, file)
    assert list(file.parent.iterdir()) == []


def test_damaged_while_in_use(source: PieceSource, file: Path, good: bytes) -> None:
    index = an_index(source, file)
    assert recall(index, source, partition=1, asked=3) == 1
    file.write_bytes(bytes(len(good)))
    assert recall(index, source, partition=2, asked=3) == 1


def test_replaced_by_another_process_while_in_use(tmp_path: Path, file: Path) -> None:
    source = PieceSource()
    source.put(1, memories(150, seed=1))
    source.put(2, memories(100, seed=2, first=50_000))
    saved(source, file)
    index = an_index(source, file)
    assert recall(index, source, partition=1, asked=3) == 1
    source.put(2, memories(60, seed=9, first=50_000))
    saved(source, tmp_path / "other")
    shutil.move(tmp_path / "other", file)
    assert recall(index, source, partition=2, asked=3) == 1
    index.close()
    answers_are_right(source, file)


def test_what_a_killed_writer_left_is_swept_away(source: PieceSource, file: Path) -> None:
    old, new = (file.parent / f"{file.name}.{name}.part" for name in ("old", "new"))
    for left in (old, new):
        left.write_bytes(b"half")
    os.utime(old, (0, 0))
    file.unlink()
    saved(source, file)
    assert not old.exists()
    assert new.exists()
