"""Snapshots and erasure, writers who meet a restore, and snapshots that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from remanence import Memory
from remanence.errors import Conflict, NotFound, StoreCorrupt
from remanence.layers.erasure.eraser import erase_copies
from remanence.layers.snapshots.documents import DocumentSection
from remanence.layers.snapshots.section import SectionPlace
from remanence.model.clock import FixedClock
from remanence.model.document import Address, Discard, Put, Shelf
from remanence.model.scope import Reach

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.fixture(params=["sqlite", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    is_file = request.param == "sqlite"
    url = str(tmp_path / "memory.db") if is_file else request.getfixturevalue("postgres_database")
    given: Any = {"tenant": f"tenant {uuid4()}", "clock": FixedClock(NOW), "durability": "normal"}
    with Memory(url, **given) as opened:
        yield opened


def everybodys(memory: Memory) -> str:
    """All documents of the tenant, as text; a receipt may name whom it was erased for."""
    every = memory.parts.store.documents.scan(memory.tenant)
    return str([one for one in every if one[0].address.shelf is not Shelf.ERASURE])


def talk(memory: Memory, user: str, agent: str | None = None, session: str = "s1") -> None:
    """A session with data, an item of working memory and a title, each with a word of its own."""
    scope: Any = {"user_id": user, "agent_id": agent}
    memory.sessions.create(session, data={"x": f"data of {user}"}, **scope)
    memory.working.set("key", f"item of {user}", session_id=session, **scope)
    memory.conversations.describe(session, title=f"title of {user}", **scope)


def test_no_copy_stays_of_what_was_erased_by_itself(memory: Memory) -> None:
    for user in ("ana", "bob"):
        talk(memory, user)
        memory.snapshots.take("before", user_id=user)
    store, tenant = memory.parts.store, memory.tenant
    originals = {
        "data": Address(shelf=Shelf.SESSION, name="s1", user_id="ana"),
        "item": Address(shelf=Shelf.WORKING, name="key", user_id="ana", session_id="s1"),
        "title": Address(shelf=Shelf.CONVERSATION, name="s1", user_id="ana"),
    }
    for n, (word, address) in enumerate(originals.items(), 1):
        store.documents.put(tenant, [Discard(address=address)])
        erase_copies(store.documents, tenant, [address])
        assert f"{word} of ana" not in everybodys(memory)
        assert memory.snapshots.diff("before", user_id="ana").lost == n
    memory.snapshots.restore("before", user_id="ana")
    assert "of ana" not in everybodys(memory)
    assert everybodys(memory).count(" of bob") == 6


def test_everybodys_snapshot_does_not_name_who_was_erased(memory: Memory) -> None:
    for user in ("ana", "bob"):
        talk(memory, user, session=f"session of {user}")
        memory.blocks.append("human", "Likes tea", user_id=user)
    memory.snapshots.take("all", all_users=True)
    memory.forget(user_id="ana", erase=True)
    assert "ana" not in everybodys(memory)
    memory.sessions.update("session of bob", {"x": 2}, user_id="bob")
    memory.snapshots.restore("all")
    assert memory.sessions.get("session of bob", user_id="bob").data == {"x": "data of bob"}
    assert "ana" not in everybodys(memory)


def test_an_agents_erasure_is_of_all_it_has_and_of_nothing_else(memory: Memory) -> None:
    talk(memory, "ana", "a", "s1")
    talk(memory, "ana", "b", "s2")
    talk(memory, "bob", "a", "s1")
    for user in ("ana", "bob"):
        memory.snapshots.take("before", user_id=user)
    before = everybodys(memory)
    memory.forget(user_id="ana", agent_id="a", session_id="s2", erase=True)
    assert everybodys(memory) == before
    memory.forget(user_id="ana", agent_id="a", erase=True)
    assert everybodys(memory).count(" of ana") == 6
    assert everybodys(memory).count(" of bob") == 6
    assert memory.sessions.get("s2", user_id="ana").data == {"x": "data of ana"}
    memory.snapshots.restore("before", user_id="ana")
    with pytest.raises(NotFound):
        memory.sessions.get("s1", user_id="ana")


def test_a_session_can_be_erased_for_all_users(memory: Memory) -> None:
    for user, session in (("ana", "s1"), ("bob", "s1"), ("ana", "s2")):
        talk(memory, user, session=session)
    memory.snapshots.take("all", all_users=True)
    memory.forget(session_id="s1", all_users=True, erase=True)
    assert " of bob" not in everybodys(memory)
    assert everybodys(memory).count(" of ana") == 6
    assert memory.sessions.get("s2", user_id="ana").data == {"x": "data of ana"}


def test_an_agents_snapshot_has_its_titles(memory: Memory) -> None:
    for agent, session in (("a", "s1"), ("b", "s2")):
        talk(memory, "ana", agent, session)
    taken = memory.snapshots.take("agent", user_id="ana", agent_id="a")
    assert taken.counts["conversations"] == 1
    for session in ("s1", "s2"):
        memory.conversations.describe(session, title="new", user_id="ana")
    memory.snapshots.restore("agent", user_id="ana")
    assert memory.conversations.get("s1", user_id="ana").title == "title of ana"
    assert memory.conversations.get("s2", user_id="ana").title == "new"


def test_what_is_erased_while_a_snapshot_is_taken_is_not_in_it(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(memory, "ana")
    now = DocumentSection.now

    def then_erased(section: DocumentSection, reach: Reach) -> Any:
        found = now(section, reach)
        memory.forget(user_id="ana", session_id="s1", erase=True)
        return found

    monkeypatch.setattr(DocumentSection, "now", then_erased)
    memory.snapshots.take("before", user_id="ana")
    assert " of ana" not in everybodys(memory)


@pytest.mark.parametrize("meanwhile", ["changed", "made"])
def test_what_others_write_during_a_restore_is_in_the_undo(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    memory.sessions.create("s1", data={"n": 0}, user_id="ana")
    memory.snapshots.take("before", user_id="ana")
    if meanwhile == "made":
        address = Address(shelf=Shelf.SESSION, name="s1", user_id="ana")
        memory.parts.store.documents.put(memory.tenant, [Discard(address=address)])
    else:
        memory.sessions.update("s1", {"n": 1}, user_id="ana")
    put, late = memory.parts.store.documents.put, [{"n": 2}, {"n": 3}]

    def overtaken(tenant: str, shelvings: Any) -> Any:
        restoring = any(getattr(one, "verb", None) == "restore" for one in shelvings)
        if restoring and late:
            with monkeypatch.context() as others:
                others.setattr(memory.parts.store.documents, "put", put)
                with suppress(Conflict):
                    memory.sessions.create("s1", user_id="ana")
                memory.sessions.update("s1", late.pop(0), user_id="ana")
        return put(tenant, shelvings)

    monkeypatch.setattr(memory.parts.store.documents, "put", overtaken)
    restored = memory.snapshots.restore("before", user_id="ana")
    assert late == []
    assert memory.sessions.get("s1", user_id="ana").data == {"n": 0}
    memory.snapshots.restore(str(restored.undo), user_id="ana")
    assert memory.sessions.get("s1", user_id="ana").data == {"n": 3}
    memory.snapshots.delete(str(restored.undo), user_id="ana")
    assert "late" not in everybodys(memory)


def test_a_restored_session_has_a_version_that_nobody_saw(memory: Memory) -> None:
    memory.sessions.create("s1", data={"n": 0}, user_id="ana")
    memory.snapshots.take("before", user_id="ana")
    seen = memory.sessions.update("s1", {"n": 1}, user_id="ana")
    memory.snapshots.restore("before", user_id="ana")
    assert memory.snapshots.diff("before", user_id="ana").same
    memory.sessions.update("s1", {"n": 9}, user_id="ana")
    with pytest.raises(Conflict):
        memory.sessions.update("s1", {"n": 2}, user_id="ana", version=seen.version)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"scope": {}},
        {"scope": {"user_id": "bob"}, "counts": {}, "note": None},
        {"scope": {"user_id": "ana", "tenant": "t"}, "counts": {}, "note": None},
        {"scope": {"user_id": "ana"}, "counts": 3, "note": None},
        {"scope": {"user_id": "ana"}, "counts": {"memories": []}, "note": {}},
    ],
)
def test_a_snapshot_that_cannot_be_read_can_be_deleted(
    memory: Memory, value: dict[str, Any]
) -> None:
    talk(memory, "ana")
    memory.blocks.append("human", "Likes tea", user_id="ana")
    memory.add("Ana lives in Lisbon", user_id="ana")
    memory.snapshots.take("bad", user_id="ana")
    head = SectionPlace("bad", "ana").head
    memory.parts.store.documents.put(memory.tenant, [Put(address=head, value=value, at=NOW)])
    snapshots = memory.snapshots
    for verb in (snapshots.get, snapshots.diff, snapshots.restore):
        with pytest.raises(StoreCorrupt, match=r"'bad' cannot be read; .* remove it with `delete`"):
            verb("bad", user_id="ana")
    with pytest.raises(StoreCorrupt):
        snapshots.list(user_id="ana")
    snapshots.delete("bad", user_id="ana")
    everyone = Reach(tenant=memory.tenant, all_users=True)
    assert memory.parts.store.documents.shelved(everyone, Shelf.SNAPSHOT) == []


@pytest.mark.parametrize(
    ("section", "value"),
    [
        ("memories", {"active": "?"}),
        ("memories", {"active": 3}),
        ("memories", {"others, too": ""}),
        ("blocks", {}),
        ("blocks", {"blocks": [["block", "x"]]}),
        ("blocks", {"blocks": [["session", "s1", None, None, 1, "2024-01-01T00:00:00+00:00"]]}),
        ("documents", {"documents": 7}),
        ("documents", {"documents": [["snapshot", "x", None, None]]}),
        ("documents", {"documents": [["attic", "x", None, None]]}),
    ],
)
def test_parts_that_cannot_be_read(memory: Memory, section: str, value: dict[str, Any]) -> None:
    talk(memory, "ana")
    memory.blocks.append("human", "Likes tea", user_id="ana")
    memory.add("Ana lives in Lisbon", user_id="ana")
    memory.snapshots.take("bad", user_id="ana")
    part = SectionPlace("bad", "ana").part(section, "0", "ana")
    memory.parts.store.documents.put(memory.tenant, [Put(address=part, value=value, at=NOW)])
    for verb in (memory.snapshots.diff, memory.snapshots.restore):
        with pytest.raises(StoreCorrupt):
            verb("bad", user_id="ana")
    memory.snapshots.delete("bad", user_id="ana")
    assert memory.snapshots.list(user_id="ana") == []


def test_nobodys_snapshot_reaches_into_anothers(memory: Memory) -> None:
    """Also not if somebody put a part of another user beside its parts."""
    memory.blocks.append("human", "one", user_id="bob")
    memory.snapshots.take("bobs", user_id="bob")
    memory.blocks.append("human", "two", user_id="bob")
    memory.snapshots.take("mine", user_id="ana")
    store = memory.parts.store
    [part] = store.documents.get(
        memory.tenant, [SectionPlace("bobs", "bob").part("blocks", "0", "bob")]
    )
    for owner in ("bob", "ana"):
        address = SectionPlace("mine", "ana").part("blocks", "0", owner)
        store.documents.put(memory.tenant, [Put(address=address, value=part.value, at=NOW)])
    memory.snapshots.restore("mine", user_id="ana")
    assert memory.blocks.get("human", user_id="bob").value == "one\ntwo"


def test_erasing_a_conversation_or_a_session_takes_it_out_of_snapshots(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path) as memory:
        memory.conversations.describe("s", title="zyzzogeton", user_id="ana")
        memory.sessions.create("s", user_id="ana", data={"secret": "quixotry"})
        memory.snapshot("before", user_id="ana")
        memory.conversations.forget("s", user_id="ana", erase=True)
        memory.sessions.erase("s", user_id="ana")
        memory.snapshots.restore("before", user_id="ana")
        assert memory.sessions.active(user_id="ana") == []
        told = repr(list(memory.parts.store.documents.scan(memory.tenant)))
        assert "zyzzogeton" not in told
        assert "quixotry" not in told
        memory.parts.store.upkeep.compact()
    data = path.read_bytes()
    assert b"zyzzogeton" not in data
    assert b"quixotry" not in data
