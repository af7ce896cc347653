"""Old entries of an audit log are cut away, and whatever is done to the rest is still found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remanence.config import load_settings
from remanence.config.assembly import open_store
from remanence.errors import Conflict, InvalidInput, StoreCorrupt
from remanence.model.clock import FixedClock
from remanence.model.document import Address, Discard, Put, Shelf
from remanence.model.ports.store import Store
from remanence.server.access.audit import BATCH, CUT, Audit, Cut
from remanence.server.access.chain import AuditCheck
from support.kills import Kills
from support.program import Program

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
STATEMENT = Address(shelf=Shelf.SEAL, name="audit cut")
HEAD = Address(shelf=Shelf.AUDIT, name="head")

CUTTING = """
import sys
from datetime import datetime
from remanence.model.clock import SystemClock
from remanence.config import load_settings
from remanence.server.access import audit
from remanence.server.access.audit import Audit
from remanence.config.assembly import open_store

audit.BATCH = 2
place, before = sys.argv[1], datetime.fromisoformat(sys.argv[2])
store = open_store(load_settings({"database": place}))
print("go", flush=True)
Audit(store, SystemClock()).cut("acme", before, "killed")
store.close()
print("done", flush=True)
"""
APPENDING = """
import sys
from remanence.model.clock import SystemClock
from remanence.config import load_settings
from remanence.server.access.audit import Audit
from remanence.config.assembly import open_store

store = open_store(load_settings({"database": sys.argv[1]}))
for n in range(60):
    Audit(store, SystemClock()).append("acme", "somebody", "forget", {"n": n})
store.close()
"""


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


def daily(store: Store, days: int = 10) -> Audit:
    """A log with an entry a day; the last one of today."""
    for day in reversed(range(days)):
        Audit(store, FixedClock(NOW - day * DAY)).append("acme", "local", "forget", {"day": day})
    return Audit(store, FixedClock(NOW))


def entry(seq: int) -> Address:
    return Address(shelf=Shelf.AUDIT, name=f"{seq:012}")


def standing(store: Store, upto: int) -> list[int]:
    found = store.documents.get("acme", [entry(seq) for seq in range(1, upto + 1)])
    return [int(one.address.name) for one in found]


def changed(store: Store, address: Address, **values: Any) -> None:
    [found] = store.documents.get("acme", [address])
    store.documents.put("acme", [Put(address=address, value=dict(found.value) | values, at=NOW)])


def gone(store: Store, *addresses: Address) -> None:
    store.documents.put("acme", [Discard(address=address) for address in addresses])


def test_what_is_older_goes_and_the_rest_is_whole(store: Store) -> None:
    audit = daily(store)
    assert audit.cut("acme", NOW - 3 * DAY, "ana") == Cut(tenant="acme", since=7, removed=6)
    assert standing(store, 20) == [7, 8, 9, 10, 11]
    assert audit.verify("acme") == AuditCheck(tenant="acme", entries=5, intact=True, since=7)
    told = audit.list("acme")
    assert [one.seq for one in told] == [11, 10, 9, 8, 7]
    assert (told[0].who, told[0].deed, told[0].at) == ("ana", CUT, NOW)
    assert told[0].about == {"since": 7, "entries": 6}
    audit.append("acme", "local", "forget", {})
    assert audit.verify("acme") == AuditCheck(tenant="acme", entries=6, intact=True, since=7)


def test_where_nothing_is_older_nothing_is_written(store: Store) -> None:
    audit = daily(store, 3)
    for _ in range(2):
        assert audit.cut("acme", NOW - 30 * DAY, "ana") == Cut(tenant="acme", since=1, removed=0)
    assert audit.verify("acme") == AuditCheck(tenant="acme", entries=3, intact=True)
    assert audit.cut("nobody", NOW, "ana") == Cut(tenant="nobody", since=1, removed=0)


def test_one_cut_after_another(store: Store) -> None:
    audit = daily(store)
    audit.cut("acme", NOW - 7 * DAY, "ana")
    assert audit.cut("acme", NOW - 7 * DAY, "ana").removed == 0
    assert audit.cut("acme", NOW, "ana") == Cut(tenant="acme", since=10, removed=7)
    assert audit.verify("acme") == AuditCheck(tenant="acme", entries=3, intact=True, since=10)


def test_all_may_go_but_the_cut_itself(store: Store) -> None:
    audit = daily(store, 3)
    assert audit.cut("acme", NOW + DAY, "ana") == Cut(tenant="acme", since=4, removed=3)
    assert [one.deed for one in audit.list("acme")] == [CUT]
    assert audit.verify("acme").intact


def test_a_clock_that_was_set_back_keeps_what_follows(store: Store) -> None:
    """Only a beginning of the log can go: what stands after a newer entry stays."""
    audit = daily(store, 3)
    Audit(store, FixedClock(NOW - 30 * DAY)).append("acme", "local", "forget", {})
    assert audit.cut("acme", NOW - DAY, "ana").since == 2
    assert [one.seq for one in audit.list("acme")] == [5, 4, 3, 2]


def test_tenants_are_cut_apart(store: Store) -> None:
    audit = daily(store, 3)
    audit.append("other", "local", "forget", {})
    audit.cut("acme", NOW, "ana")
    assert audit.verify("other") == AuditCheck(tenant="other", entries=1, intact=True)
    copied = store.documents.get("acme", [STATEMENT])[0].value
    store.documents.put("other", [Put(address=STATEMENT, value=copied, at=NOW)])
    assert audit.verify("other").first_bad == 0  # what is signed names its tenant


Tamper = Callable[[Store], None]
TAMPERED: dict[str, tuple[Tamper, int]] = {
    "the first kept changed": (lambda store: changed(store, entry(7), who="x"), 7),
    "the first kept removed": (lambda store: gone(store, entry(7)), 7),
    "one in between removed": (lambda store: gone(store, entry(9)), 9),
    "the cut removed": (lambda store: gone(store, entry(11)), 11),
    "cut further by hand": (lambda store: changed(store, STATEMENT, since=9), 0),
    "cut by somebody else": (lambda store: changed(store, STATEMENT, who="local"), 0),
    "cut at another time": (lambda store: changed(store, STATEMENT, at=NOW.isoformat()), 0),
    "the statement broken": (lambda store: changed(store, STATEMENT, since="7"), 0),
    "unsigned": (lambda store: changed(store, STATEMENT, signature=None), 0),
    "the statement removed": (lambda store: gone(store, STATEMENT), 1),
    "the head put back": (lambda store: changed(store, HEAD, seq=3, hash="f" * 64), 7),
    "emptied": (lambda store: gone(store, HEAD, *(entry(seq) for seq in range(7, 12))), 7),
}


@pytest.mark.parametrize("how", TAMPERED)
def test_tampering_after_a_cut_is_found(store: Store, how: str) -> None:
    audit = daily(store)
    Audit(store, FixedClock(NOW - timedelta(hours=1))).cut("acme", NOW - 3 * DAY, "ana")
    assert audit.verify("acme").intact
    tamper, first = TAMPERED[how]
    tamper(store)
    found = audit.verify("acme")
    assert (found.intact, found.first_bad) == (False, first)
    with pytest.raises(StoreCorrupt):
        audit.cut("acme", NOW, "ana")


def test_an_earlier_statement_put_back_is_found(store: Store) -> None:
    audit = daily(store)
    audit.cut("acme", NOW - 7 * DAY, "ana")
    earlier = store.documents.get("acme", [STATEMENT])[0].value
    audit.cut("acme", NOW - 3 * DAY, "ana")
    store.documents.put("acme", [Put(address=STATEMENT, value=earlier, at=NOW)])
    assert audit.verify("acme").first_bad == 3


def test_a_broken_log_is_not_cut(store: Store) -> None:
    audit = daily(store)
    changed(store, entry(2), who="x")
    with pytest.raises(StoreCorrupt, match="would hide that"):
        audit.cut("acme", NOW, "ana")
    assert standing(store, 10) == list(range(1, 11))


def test_anchors_before_at_and_after_a_cut(store: Store) -> None:
    audit = daily(store, 3)
    old = audit.anchor("acme")
    audit.append("acme", "local", "forget", {})
    last_cut = audit.anchor("acme")
    Audit(store, FixedClock(NOW + DAY)).append("acme", "local", "forget", {})
    kept = audit.anchor("acme")
    audit.cut("acme", NOW + DAY, "ana")
    assert audit.verify("acme", kept).intact
    assert audit.verify("acme", last_cut).intact  # the hash of the last one cut is kept
    with pytest.raises(InvalidInput, match="cut on 2026-03-01 by ana: it begins with entry 5"):
        audit.verify("acme", old)
    changed(store, entry(6), who="x")
    assert audit.verify("acme", old).first_bad == 6  # that it is broken goes first


def test_an_anchor_that_a_cut_log_contradicts_accuses(store: Store) -> None:
    audit = daily(store, 3)
    anchor = audit.anchor("acme")
    gone(store, HEAD, Address(shelf=Shelf.SEAL, name="audit"), *map(entry, (1, 2, 3)))
    for n in range(3):
        audit.append("acme", "local", "compact", {"n": n})
    audit.cut("acme", NOW + DAY, "ana")
    assert audit.verify("acme").intact
    found = audit.verify("acme", anchor)
    assert (found.intact, found.first_bad) == (False, 4)


def test_what_a_crash_left_goes_with_the_next_cut(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remanence.server.access.audit.BATCH", 2)
    audit, put, calls = daily(store), store.documents.put, list[int]()

    def dying(*given: Any, **named: Any) -> Any:
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return put(*given, **named)

    monkeypatch.setattr(store.documents, "put", dying)
    with pytest.raises(KeyboardInterrupt):
        audit.cut("acme", NOW - 2 * DAY, "ana")
    assert standing(store, 11) == list(range(5, 12))
    assert audit.verify("acme") == AuditCheck(tenant="acme", entries=4, intact=True, since=8)
    assert [one.seq for one in audit.list("acme")] == [11, 10, 9, 8]
    assert audit.cut("acme", NOW - 2 * DAY, "ana") == Cut(tenant="acme", since=8, removed=3)
    assert standing(store, 11) == [8, 9, 10, 11]


def test_a_cut_that_is_killed_goes_on(place: str, store: Store) -> None:
    kills, all_of_it = Kills(CUTTING), datetime(2100, 1, 1, tzinfo=UTC)
    audit = daily(store, 20)
    kills.whole(place, all_of_it.isoformat())
    for _ in kills.rounds(4):
        daily(store, 20)
        kills.kill(place, all_of_it.isoformat())
        assert audit.verify("acme").intact
    cut = audit.cut("acme", all_of_it, "ana")
    assert audit.verify("acme") == AuditCheck(
        tenant="acme", entries=1, intact=True, since=cut.since
    )
    assert standing(store, cut.since) == [cut.since]


def test_others_append_while_it_is_cut(place: str, store: Store) -> None:
    audit = daily(store)
    running = Program(APPENDING, place)
    for day in range(9, -1, -1):
        audit.cut("acme", NOW - day * DAY, "ana")
        assert audit.verify("acme").intact
    assert running.ended() == 0
    found = audit.verify("acme")
    assert (found.intact, found.since) == (True, 10)
    assert len([one for one in audit.list("acme") if one.who == "somebody"]) == 60


def test_two_do_not_cut_at_once(store: Store) -> None:
    audit = daily(store, 3)
    with store.upkeep.alone("cut of acme"), pytest.raises(Conflict, match="being cut"):
        audit.cut("acme", NOW, "ana")


def test_a_long_log_goes_in_batches(store: Store) -> None:
    audit = daily(store, 2)
    for _ in range(BATCH + 50):
        audit.append("acme", "local", "forget", {})
    cut = audit.cut("acme", NOW + DAY, "ana")
    assert cut.removed == BATCH + 52
    assert standing(store, BATCH + 60) == [BATCH + 53]
    assert audit.verify("acme").intact
