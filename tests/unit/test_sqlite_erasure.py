"""Erasure leaves no bytes: not in the file, not in its log, not in the text index."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from remanence.model.scope import Reach
from remanence.model.write import Insert, Piece, Pieces, Remove
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import FINGERPRINT, NOW, memory, revise, write

LETTERS = "abcdefghijklmnoprstuvwz"


def canary(chance: random.Random) -> str:
    return "q" + "".join(chance.choices(LETTERS, k=11))


def everything(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.iterdir())


def left(path: Path, secrets: set[bytes]) -> set[bytes]:
    """Those of the secrets that are anywhere in the files."""
    files = everything(path)
    return {secret for secret in secrets if secret in files}


def secretive(chance: random.Random) -> tuple[Insert, list[bytes]]:
    """A memory, and the bytes that must not stay when it goes."""
    words = [canary(chance) for _ in range(6)]
    packed = chance.randbytes(4 + FINGERPRINT.dimension)
    piece = Piece(part=0, passage=0, start=0, stop=9, vector=packed, codes=b"")
    record = memory(" ".join(words[:4]), speaker=words[4], metadata={"k": words[5]})
    made = Pieces(fingerprint=FINGERPRINT, pieces=(piece,))
    return Insert(record=record, pieces=made), [word[:9].encode() for word in words] + [packed]


@pytest.mark.slow
def test_removed_memories_leave_no_bytes(tmp_path: Path) -> None:
    chance = random.Random(1)  # how many copies stay behind depends on how pages fill
    path = tmp_path / "memory.db"
    store = SqliteStore(path, durability="normal")
    made = [secretive(chance) for _ in range(1000)]
    for at in range(0, 1000, 50):
        write(store, *[insert for insert, _ in made[at : at + 50]])
    gone = [insert.record.id for insert, _ in made[::4]]
    secrets = {secret for _, told in made[::4] for secret in told}
    assert left(path, secrets) == secrets
    for id in gone[:50]:
        text, query = canary(chance), canary(chance)
        secrets |= {text.encode(), query.encode()}
        revise(store, id, text=text)
        store.archive.note_feedback("t", id, useful=True, query=query, at=NOW)
    write(store, *[Remove(id=id) for id in gone])
    assert len(left(path, secrets)) <= len(secrets) / 100
    store.upkeep.compact()
    assert left(path, secrets) == set()
    kept = {secret for at, (_, told) in enumerate(made) if at % 4 for secret in told}
    assert left(path, kept) == kept
    store.close()
    assert left(path, secrets) == set()


def test_a_log_that_a_reader_holds_is_emptied_later(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store, reader = SqliteStore(path, busy_timeout_s=0.1), SqliteStore(path)
    secret = memory("qsecretqsecret")
    write(store, Insert(record=secret))
    with reader._database.reading() as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM memories").fetchall()
        write(store, Remove(id=secret.id))
        assert b"qsecretqsecret" in everything(path)
        connection.execute("ROLLBACK")
    write(store, Insert(record=memory("next")))
    assert b"qsecretqsecret" not in everything(path)
    assert reader.archive.count(Reach(tenant="t")) == 1
    reader.close()
    store.close()
