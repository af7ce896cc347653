"""API keys on a file and on PostgreSQL: made, recognised, ended, and nothing kept of a secret."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from remanence.api.verb import Grant
from remanence.config import load_settings
from remanence.config.assembly import open_store
from remanence.errors import Conflict, InvalidInput, NotFound, Unauthenticated
from remanence.model.clock import FixedClock, SystemClock
from remanence.model.ports.store import Store
from remanence.server.access.caller import KEYS
from remanence.server.access.gate import Gate
from remanence.server.access.keys import FRESH_S, HELD, Key, Keys
from remanence.testing.patience import until
from remanence.tools.transfer.store_copy import copy_store
from support.services.postgres import Databases

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


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
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture
def keys(store: Store, clock: FixedClock) -> Keys:
    return Keys(store.documents, clock)


def made(keys: Keys, **wanted: Any) -> tuple[Key, str]:
    return keys.create("laptop", **{"tenant": "acme", "grants": ["read", "write"], **wanted})


def test_a_key_is_who_it_was_made_for(keys: Keys) -> None:
    key, text = made(
        keys, trust=0.3, quarantine=True, operator=True, rate_limit=7, expires_at=NOW + DAY
    )
    assert text.startswith(f"rem_{key.prefix}_")
    assert len(text.split("_")[2]) * 4 >= 128
    caller = keys.caller(text)
    assert caller is not None
    assert (caller.tenant, caller.name) == ("acme", f"key:{key.prefix}")
    assert caller.grants == {Grant.READ, Grant.WRITE}
    assert (caller.trust, caller.quarantine, caller.operator) == (0.3, True, True)
    assert caller.rate_limit == 7
    assert keys.get(key.prefix) == key
    assert key.expires_at == NOW + DAY
    assert key.created_at == NOW


def test_no_two_are_alike(keys: Keys) -> None:
    texts = {made(keys)[1] for _ in range(50)}
    assert len(texts) == len({text.split("_")[1] for text in texts}) == 50


def test_what_is_not_a_key_is_nobodys(keys: Keys, store: Store) -> None:
    _, text = made(keys)
    _, other = made(keys)
    start, secret = text.rsplit("_", 1)
    wrong = f"{start}_{'0' * len(secret)}"
    crossed = f"{start}_{other.rsplit('_', 1)[1]}"
    near = text[:-1] + ("0" if text[-1] != "0" else "1")
    unknown = f"rem_aaaaaaaa_{secret}"
    junk = ["", " ", "rem_", "rem__", start, secret, text.upper(), f"{text}\n", f" {text}"]
    odd = [text + "0", "ключ", "rem_\ud800_x", "\0", "é" * 57, text.replace("r", "\u0280", 1)]
    wide = text.translate({ord(digit): 0xFF10 + int(digit) for digit in "0123456789"})
    for shown in [wrong, crossed, near, unknown, wide, *junk, *odd]:
        assert keys.caller(shown) is None, shown
        assert keys.remembered(shown) is None, shown
    assert keys.caller(text) is not None
    assert keys.caller(wrong) is None, "also when the right one is at hand"


def test_a_huge_key_is_refused_cheaply(keys: Keys) -> None:
    _, text = made(keys)
    for huge in ("x" * 10_000_000, text + "0" * 10_000_000, "rem_" * 2_500_000):
        hashing = _cost(lambda huge=huge: sha256(huge.encode()).digest())  # type: ignore[misc]
        assert keys.caller(huge) is None
        assert _cost(lambda huge=huge: keys.caller(huge)) < hashing  # type: ignore[misc]


def _cost(act: Callable[[], object]) -> float:
    """Of the processor, at the best of a few times."""
    costs = []
    for _ in range(5):
        begun = time.thread_time()
        act()
        costs.append(time.thread_time() - begun)
    return min(costs)


def test_guessing_takes_no_memory(keys: Keys) -> None:
    _, text = made(keys)
    for n in range(300):
        keys.caller(f"{text[:-3]}{n:03x}")
        keys.caller(f"rem_aaaaa{'abc'[n % 3]}{'def'[n % 3]}a_{n:040x}")
    assert len(keys._verified) <= 1


def test_so_many_keys_stay_at_hand(
    keys: Keys, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remanence.server.access.keys.HELD", 3)
    assert HELD > 3
    texts = [made(keys)[1] for _ in range(5)]
    assert all(keys.caller(text) for text in texts)
    assert [keys.remembered(text) is not None for text in texts] == [False, False, True, True, True]


def test_it_ends_when_it_was_to_end(keys: Keys, clock: FixedClock) -> None:
    _, text = made(keys, expires_at=NOW + DAY)
    clock.at = NOW + DAY - timedelta(microseconds=1)
    assert keys.caller(text) is not None
    clock.at = NOW + DAY
    assert keys.caller(text) is None
    assert keys.remembered(text) is None, "what is at hand ends as well"


def test_rotated_at_once(keys: Keys, clock: FixedClock) -> None:
    old, text = made(keys, trust=0.5, expires_at=NOW + 10 * DAY, rate_limit=9)
    assert keys.caller(text) is not None
    clock.at = NOW + DAY
    new, fresh = keys.rotate(old.prefix)
    assert keys.caller(text) is None
    assert keys.caller(fresh) is not None
    assert (new.name, new.tenant, new.grants) == (old.name, old.tenant, old.grants)
    assert (new.trust, new.rate_limit) == (0.5, 9)
    assert new.expires_at == NOW + 10 * DAY, "a rotation is no extension"
    assert keys.get(old.prefix).rotated_to == new.prefix
    with pytest.raises(InvalidInput, match="make a new one"):
        keys.rotate(old.prefix)


def test_rotated_with_grace(keys: Keys, clock: FixedClock) -> None:
    old, text = made(keys)
    _, fresh = keys.rotate(old.prefix, grace_s=300)
    assert keys.caller(text) is not None
    assert keys.caller(fresh) is not None
    clock.at = NOW + timedelta(seconds=299)
    assert keys.caller(text) is not None
    clock.at = NOW + timedelta(seconds=300)
    assert keys.caller(text) is None
    assert keys.caller(fresh) is not None
    brief, _ = made(keys, expires_at=clock.at + timedelta(seconds=5))
    keys.rotate(brief.prefix, grace_s=300)
    assert keys.get(brief.prefix).expires_at == brief.expires_at, "a grace is no extension"
    with pytest.raises(InvalidInput, match="grace_s"):
        keys.rotate(brief.prefix, grace_s=-1)


def test_a_grace_can_be_cut_short(keys: Keys) -> None:
    old, text = made(keys)
    keys.rotate(old.prefix, grace_s=300)
    keys.revoke(old.prefix)
    assert keys.caller(text) is None


def test_revoked_here_at_once_and_twice_is_once(keys: Keys, clock: FixedClock) -> None:
    key, text = made(keys)
    assert keys.caller(text) is not None
    assert keys.revoke(key.prefix).revoked_at == NOW
    assert keys.caller(text) is None
    clock.at = NOW + DAY
    assert keys.revoke(key.prefix).revoked_at == NOW
    with pytest.raises(NotFound, match="rem keys list"):
        keys.revoke("zzzzzzzz")


def test_revocation_is_seen_elsewhere_by_the_clock(place: str, store: Store) -> None:
    ticks = Ticks()
    here, there = (
        Keys(store.documents, SystemClock()),
        open_store(load_settings({"database": place})),
    )
    try:
        other = Keys(there.documents, SystemClock(), monotonic=ticks)
        key, text = here.create("laptop", tenant="acme", grants=["read"])
        assert other.caller(text) is not None
        here.revoke(key.prefix)
        assert other.remembered(text) is not None, "it may still be at hand"
        ticks.at += FRESH_S
        assert other.remembered(text) is None
        assert other.caller(text) is None
    finally:
        there.close()


def test_revocation_is_seen_elsewhere_without_being_told(place: str, store: Store) -> None:
    here, there = (
        Keys(store.documents, SystemClock()),
        open_store(load_settings({"database": place})),
    )
    try:
        other = Keys(there.documents, SystemClock())
        key, text = here.create("laptop", tenant="acme", grants=["read"])
        assert other.caller(text) is not None
        here.revoke(key.prefix)
        until(lambda: other.caller(text) is None)
    finally:
        there.close()


def test_once_there_was_a_key_one_is_needed(store: Store, clock: FixedClock) -> None:
    ticks = Ticks()
    keys = Keys(store.documents, clock)
    server = Keys(store.documents, clock, monotonic=ticks)
    gate = Gate("default", server)
    assert gate.admit({}) is gate.local
    key, text = made(keys)
    ticks.at += FRESH_S
    with pytest.raises(Unauthenticated, match="rem keys create"):
        gate.admit({})
    assert gate.admit({"authorization": f"Bearer {text}"}).tenant == "acme"
    keys.revoke(key.prefix)
    ticks.at += FRESH_S
    for again in (gate, Gate("default", Keys(store.documents, clock))):
        with pytest.raises(Unauthenticated):
            again.admit({})
        with pytest.raises(Unauthenticated, match="unknown, expired or revoked"):
            again.admit({"x-api-key": text})


def test_listed_by_tenant_the_oldest_first(keys: Keys, clock: FixedClock) -> None:
    names = []
    for n in range(6):
        clock.at = NOW + n * DAY
        names.append(made(keys, tenant="ab"[n % 2])[0].prefix)
    clock.at = NOW + 9 * DAY
    keys.revoke(names[0])
    assert [key.prefix for key in keys.list()] == names
    assert [key.prefix for key in keys.list("b")] == names[1::2]
    assert keys.list("nobody") == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"grants": []}, "scope"),
        ({"grants": "read"}, "list"),
        ({"grants": ["read", "root"]}, "known: read, write, erase, admin"),
        ({"grants": [["read"]]}, "scope"),
        ({"tenant": KEYS}, "No key opens"),
        ({"tenant": "remanence:x"}, "No key opens"),
        ({"tenant": ""}, "tenant"),
        ({"tenant": None}, "No key opens"),
        ({"tenant": "a\nb"}, "tenant"),
        ({"trust": 1.1}, "trust"),
        ({"trust": float("nan")}, "trust"),
        ({"trust": True}, "trust"),
        ({"quarantine": 1}, "quarantine"),
        ({"operator": "yes"}, "operator"),
        ({"expires_at": NOW}, "future"),
        ({"expires_at": datetime(2030, 1, 1)}, "time zone"),
        ({"rate_limit": -1}, "rate_limit"),
        ({"rate_limit": 1.5}, "rate_limit"),
        ({"rate_limit": True}, "rate_limit"),
    ],
)
def test_what_cannot_be_accepted(tmp_path: Path, wrong: dict[str, Any], said: str) -> None:
    store = open_store(load_settings({"database": str(tmp_path / "memory.db")}))
    try:
        keys = Keys(store.documents, FixedClock(NOW))
        with pytest.raises(InvalidInput, match=said):
            made(keys, **wrong)
        for name in ("", None, "x" * 300, "a\0b", 7):
            with pytest.raises(InvalidInput, match="name"):
                keys.create(name, tenant="acme", grants=["read"])  # type: ignore[arg-type]
        assert keys.list() == []
        assert not keys.known()
    finally:
        store.close()


def test_two_rotations_of_one_key_leave_one_successor(keys: Keys, store: Store) -> None:
    old, _ = made(keys)
    seen = keys._get(old.prefix)
    keys.rotate(old.prefix, grace_s=300)
    other = Keys(store.documents, FixedClock(NOW))
    other._get = lambda prefix: seen  # type: ignore[method-assign]
    with pytest.raises(Conflict):
        other.rotate(old.prefix, grace_s=300)
    assert len(keys.list()) == 2


def test_nothing_of_the_secret_is_in_the_store(
    keys: Keys, place: str, store: Store, postgres: Databases
) -> None:
    key, text = made(keys)
    _, fresh = keys.rotate(key.prefix)
    store.close()
    kept = _bytes_of(place, postgres.admin_url)
    assert key.prefix.encode() in kept
    for shown in (text, fresh):
        secret = shown.rsplit("_", 1)[1]
        assert secret.encode() not in kept
        assert bytes.fromhex(secret) not in kept
        assert secret[:16].encode() not in kept


def test_a_copy_of_the_store_has_no_keys(keys: Keys, store: Store, tmp_path: Path) -> None:
    _, text = made(keys)
    target = open_store(load_settings({"database": str(tmp_path / "copy.db")}))
    try:
        assert copy_store(store, target).documents == 0
        copied = Keys(target.documents, FixedClock(NOW))
        assert not copied.known()
        assert copied.caller(text) is None
    finally:
        target.close()


def _bytes_of(place: str, admin_url: str) -> bytes:
    if not place.startswith("postgresql:"):
        return b"".join(file.read_bytes() for file in Path(place).parent.glob("memory.db*"))
    everything = urlsplit(admin_url)._replace(path=urlsplit(place).path)
    with psycopg.connect(everything.geturl()) as connection:
        rows = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
        ).fetchall()
        found = [connection.execute(f'SELECT t::text FROM "{name}" AS t') for (name,) in rows]
        return "\n".join(str(row[0]) for cursor in found for row in cursor).encode()
