"""The audit log: one chain whoever writes, and every later change of it is found."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import apsw
import pytest

from remanence.api.verb import Grant
from remanence.config import load_settings
from remanence.config.assembly import open_store
from remanence.errors import InvalidInput, StoreBusy, StoreCorrupt
from remanence.model.clock import FixedClock, SystemClock
from remanence.model.document import Address, Discard, Put, Shelf
from remanence.model.ports.store import Store
from remanence.server.access.audit import EVERY_S, MOST, Audit
from remanence.server.access.caller import KEYS, Caller, request_id
from remanence.server.access.chain import FIRST, AuditCheck
from remanence.server.access.keys import Keys
from remanence.tools.transfer.store_copy import copy_store
from support.kills import Kills
from support.program import Program

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ANA = Caller(tenant="acme", name="key:abcdefgh", grants=frozenset({Grant.ADMIN}))
HEAD = Address(shelf=Shelf.AUDIT, name="head")
SEAL = Address(shelf=Shelf.SEAL, name="audit")

APPENDING = """
import sys
from remanence.model.clock import SystemClock
from remanence.config import load_settings
from remanence.server.access.audit import Audit
from remanence.config.assembly import open_store

place, who, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = open_store(load_settings({"database": place}))
audit = Audit(store, SystemClock())
print("go", flush=True)
for n in range(count):
    audit.append("acme", who, "forget", {"n": n})
store.close()
print("done", flush=True)
"""


@dataclass
class Ticks:
    """A monotonic clock that is moved by hand."""

    at: float = 100.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture(params=["file", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "file":
        return str(tmp_path / "memory.db")
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    opened = open_store(load_settings({"database": place}))
    yield opened
    opened.close()


@pytest.fixture
def audit(store: Store) -> Audit:
    return Audit(store, FixedClock(NOW))


def filled(audit: Audit, count: int = 7) -> None:
    for n in range(count):
        audit.record(ANA, "forget", {"id": f"memory {n}", "erase": True})


def entry(seq: int) -> Address:
    return Address(shelf=Shelf.AUDIT, name=f"{seq:012}")


def changed(store: Store, address: Address, **values: Any) -> None:
    """As somebody would who can write to the store by its own means."""
    [standing] = store.documents.get("acme", [address])
    store.documents.put("acme", [Put(address=address, value=dict(standing.value) | values, at=NOW)])


def test_what_is_written_down(audit: Audit) -> None:
    token = request_id.set("r-1")
    audit.record(ANA, "forget", {"id": ("a", "b"), "erase": True})
    request_id.reset(token)
    audit.record(ANA, "compact", {})
    late, early = audit.list("acme")
    assert (early.seq, early.at, early.who, early.deed) == (1, NOW, ANA.name, "forget")
    assert early.about == {"id": ["a", "b"], "erase": True}
    assert (early.request_id, late.request_id) == ("r-1", "")
    assert (early.previous, late.previous) == (FIRST, early.hash)
    assert audit.verify("acme") == AuditCheck(tenant="acme", entries=2, intact=True)


def test_an_empty_log_is_whole(audit: Audit) -> None:
    assert audit.list("acme") == []
    assert audit.verify("acme") == AuditCheck(tenant="acme", entries=0, intact=True)


def test_pages_come_the_latest_first(audit: Audit) -> None:
    filled(audit, 7)
    assert [one.seq for one in audit.list("acme", 3)] == [7, 6, 5]
    assert [one.seq for one in audit.list("acme", 3, 5)] == [2, 1]
    assert audit.list("acme", 3, 50) == []
    for limit, offset in ((0, 0), (1, -1)):
        with pytest.raises(InvalidInput):
            audit.list("acme", limit, offset)


def test_tenants_have_logs_of_their_own(audit: Audit) -> None:
    filled(audit, 3)
    audit.append("other", "local", "compact", {})
    assert [one.seq for one in audit.list("other")] == [1]
    assert audit.verify("acme").entries == 3
    assert audit.verify("other").intact


def test_a_list_without_end_is_cut(audit: Audit) -> None:
    audit.append("acme", "local", "forget", {"id": ["x" * 9_000] * 100_000})
    [told] = audit.list("acme")
    assert told.about["id"]["count"] == 100_000
    assert len(told.about["id"]["first"]) == MOST
    assert len(json.dumps(dict(told.about))) < 200_000
    assert audit.verify("acme").intact


def test_a_clock_of_another_zone_and_odd_texts_keep_it_whole(store: Store) -> None:
    away = Audit(store, FixedClock(NOW.astimezone(timezone(timedelta(hours=5.5)))))
    away.append("acme", "key:é☕", "forget", {"id": "日本\u2028", "n": 1.0, "m": 2**60, "f": 1e-7})
    assert away.verify("acme").intact


Tamper = Callable[[Store], None]
TAMPERED: dict[str, tuple[Tamper, int]] = {
    "who": (lambda store: changed(store, entry(3), who="key:somebody"), 3),
    "when": (lambda store: changed(store, entry(1), at=(NOW + timedelta(1)).isoformat()), 1),
    "what": (lambda store: changed(store, entry(7), about={}), 7),
    "a field more": (lambda store: changed(store, entry(2), note="x"), 2),
    "removed": (lambda store: _put(store, Discard(address=entry(4))), 4),
    "the last removed": (lambda store: _put(store, Discard(address=entry(7))), 7),
    "the head put back": (lambda store: changed(store, HEAD, seq=5, hash=_hash(store, 5)), 6),
    "the head lost": (lambda store: _put(store, Discard(address=HEAD)), 1),
    "the head broken": (lambda store: changed(store, HEAD, seq="7"), 0),
    "another end": (lambda store: changed(store, HEAD, hash="f" * 64), 7),
    "one in another's place": (lambda store: changed(store, entry(5), **_value(store, 6)), 5),
}


@pytest.mark.parametrize("how", TAMPERED)
def test_tampering_is_found(audit: Audit, store: Store, how: str) -> None:
    filled(audit, 7)
    assert audit.verify("acme").intact
    tamper, first = TAMPERED[how]
    tamper(store)
    found = audit.verify("acme")
    assert (found.intact, found.first_bad) == (False, first)


def emptied(store: Store, *more: Address) -> None:
    """Take the whole log out of the store, as if there had never been one."""
    _put(store, *(Discard(address=entry(seq)) for seq in range(1, 8)), Discard(address=HEAD))
    _put(store, *(Discard(address=address) for address in more))


def forged(store: Store, count: int, deed: str = "forget") -> None:
    """A chain that is whole in itself, in the place of another."""
    sealed = store.documents.get("acme", [SEAL])[0].value
    emptied(store, SEAL)
    audit = Audit(store, FixedClock(NOW))
    for n in range(count):
        audit.append("acme", "local", deed, {"n": n})
    _put(store, Put(address=SEAL, value=sealed, at=NOW))


def cut_short(store: Store) -> None:
    """The last entries out, and the head put where they began."""
    hash = _hash(store, 4)
    _put(store, *(Discard(address=entry(seq)) for seq in (5, 6, 7)))
    changed(store, HEAD, seq=4, hash=hash)


SHORTENED: dict[str, tuple[Tamper, int]] = {
    "emptied": (emptied, 1),
    "cut short": (cut_short, 5),
    "another, shorter one": (lambda store: forged(store, 3), 4),
    "another of that length": (lambda store: forged(store, 7), 7),
    "another, longer one": (lambda store: forged(store, 9), 7),
    "begun later": (lambda store: _put(store, *(Discard(address=entry(n)) for n in (1, 2))), 1),
}


@pytest.mark.parametrize("how", SHORTENED)
def test_a_log_that_ends_elsewhere_than_its_seal_is_found(
    audit: Audit, store: Store, how: str
) -> None:
    filled(audit, 7)
    tamper, first = SHORTENED[how]
    tamper(store)
    found = audit.verify("acme")
    assert (found.intact, found.first_bad) == (False, first)


def test_an_anchor_and_a_seal_of_one_number_must_both_hold(audit: Audit, store: Store) -> None:
    filled(audit, 7)
    anchor = audit.anchor("acme")
    emptied(store, SEAL)
    for n in range(7):
        audit.append("acme", "local", "compact", {"n": n})
    assert audit.verify("acme").intact
    found = audit.verify("acme", anchor)
    assert (found.intact, found.first_bad) == (False, 7)


def test_an_emptied_log_is_not_begun_anew(audit: Audit, store: Store) -> None:
    filled(audit, 7)
    emptied(store)
    with pytest.raises(StoreCorrupt, match="rem audit --verify"):
        audit.record(ANA, "forget", {})
    assert not audit.verify("acme").intact


def test_an_anchor_outside_shows_what_nothing_inside_can(audit: Audit, store: Store) -> None:
    filled(audit, 7)
    anchor = audit.anchor("acme")
    assert audit.verify("acme", anchor).intact
    filled(audit, 2)
    assert audit.verify("acme", anchor).intact
    emptied(store, SEAL, entry(8), entry(9))
    assert audit.verify("acme").intact  # nothing in the database tells of it
    assert audit.verify("acme", anchor) == AuditCheck(
        tenant="acme", entries=0, intact=False, first_bad=1
    )
    for n in range(9):
        audit.append("acme", "local", "compact", {"n": n})
    assert audit.verify("acme").intact
    found = audit.verify("acme", anchor)
    assert (found.intact, found.first_bad) == (False, 7)
    with pytest.raises(InvalidInput, match="anchor"):
        audit.verify("other", anchor)


def test_a_log_from_before_there_were_seals_is_sealed_by_its_next_entry(
    audit: Audit, store: Store
) -> None:
    filled(audit, 7)
    _put(store, Discard(address=SEAL))
    assert audit.verify("acme").intact
    filled(audit, 1)
    emptied(store, entry(8))
    assert not audit.verify("acme").intact


def test_a_row_that_was_rewritten_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remanence.server.access.chain.PAGE", 4)
    file = tmp_path / "memory.db"
    settings = load_settings({"database": str(file)})
    store = open_store(settings)
    filled(Audit(store, FixedClock(NOW)), 9)
    store.close()
    connection = apsw.Connection(str(file))
    connection.execute(
        "UPDATE documents SET value = replace(value, 'memory 5', 'memory 6') WHERE name = ?",
        (f"{6:012}",),
    )
    assert connection.changes() == 1
    connection.close()
    store = open_store(settings)
    try:
        found = Audit(store, FixedClock(NOW)).verify("acme")
    finally:
        store.close()
    assert found == AuditCheck(tenant="acme", entries=9, intact=False, first_bad=6)


def test_a_broken_log_is_not_continued(audit: Audit, store: Store) -> None:
    filled(audit, 2)
    _put(store, Discard(address=HEAD))
    with pytest.raises(StoreCorrupt, match="rem audit --verify"):
        audit.record(ANA, "forget", {})


def test_four_processes_append_to_one_chain(place: str, audit: Audit) -> None:
    running = [Program(APPENDING, place, f"worker {n}", 40) for n in range(4)]
    assert [program.ended() for program in running] == [0] * 4
    assert audit.verify("acme") == AuditCheck(tenant="acme", entries=160, intact=True)
    entries = audit.list("acme", 200)
    for n in range(4):
        own = [one.about["n"] for one in reversed(entries) if one.who == f"worker {n}"]
        assert own == list(range(40))


def test_a_process_that_is_killed_leaves_the_chain_whole(place: str, audit: Audit) -> None:
    kills = Kills(APPENDING)
    kills.whole(place, "whole", 60)
    before = audit.verify("acme").entries
    assert before == 60
    for n in kills.rounds(6, cut_off=2):
        kills.kill(place, f"killed {n}", 60)
        found = audit.verify("acme")
        assert found.intact
        assert before <= found.entries <= before + 60
        before = found.entries
    audit.record(ANA, "forget", {})
    assert audit.verify("acme") == AuditCheck(tenant="acme", entries=before + 1, intact=True)


def test_keys_that_come_and_go_are_written_down(store: Store, audit: Audit) -> None:
    keys = Keys(store.documents, FixedClock(NOW), ledger=audit)
    key, text = keys.create("laptop", tenant="acme", grants=["read"], by="key:adminkey")
    new, fresh = keys.rotate(key.prefix, grace_s=5)
    keys.revoke(key.prefix)
    keys.revoke(key.prefix)
    told = audit.list("acme")
    assert [one.deed for one in reversed(told)] == ["keys.create", "keys.rotate", "keys.revoke"]
    assert told[-1].who == "key:adminkey"
    assert told[1].about["rotated_to"] == new.prefix
    for shown in (text, fresh):
        assert shown.rsplit("_", 1)[1] not in str(told)


def test_refusals_are_counted_and_told_once_a_minute(store: Store) -> None:
    ticks = Ticks()
    audit = Audit(store, FixedClock(NOW), monotonic=ticks)
    for _ in range(500):
        audit.refused("unauthenticated")
    audit.refused("host")
    ticks.at += EVERY_S
    audit.refused("unauthenticated")
    audit.refused("unauthenticated")
    audit.close()
    told = sorted((one.about["reason"], one.about["count"]) for one in audit.list(KEYS))
    counts = [("host", 1), ("unauthenticated", 1), ("unauthenticated", 1)]
    assert told == [*counts, ("unauthenticated", 500)]
    assert audit.verify(KEYS).intact


def test_a_refusal_never_fails(tmp_path: Path) -> None:
    store = open_store(load_settings({"database": str(tmp_path / "memory.db")}))
    tried: list[str] = []

    class Busy(Audit):
        def append(self, *given: Any) -> Any:
            tried.append(given[0])
            raise StoreBusy("another process holds the lock")

    audit = Busy(store, SystemClock())
    audit.refused("unauthenticated")
    audit.close()
    store.close()
    assert tried == [KEYS]


def test_a_copy_of_the_store_has_no_log(audit: Audit, store: Store, tmp_path: Path) -> None:
    filled(audit, 2)
    target = open_store(load_settings({"database": str(tmp_path / "copy.db")}))
    try:
        assert copy_store(store, target).documents == 0
        assert Audit(target, FixedClock(NOW)).list("acme") == []
    finally:
        target.close()


def _put(store: Store, *shelvings: Put | Discard) -> None:
    store.documents.put("acme", shelvings)


def _value(store: Store, seq: int) -> dict[str, Any]:
    return dict(store.documents.get("acme", [entry(seq)])[0].value)


def _hash(store: Store, seq: int) -> str:
    return str(_value(store, seq)["hash"])
