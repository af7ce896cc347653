"""Snapshots of a scope on real stores: taken, compared, restored, undone; never a copy of words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from remanence import Memory
from remanence.errors import Conflict, InvalidInput, NotFound
from remanence.layers.snapshots import references
from remanence.memories.draft import COMPARED
from remanence.model.clock import FixedClock
from remanence.model.document import Shelf
from remanence.model.scope import Reach
from remanence.model.snapshot import Snapshot
from support.reaching import Afar, afar

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
SERVED = {"opened"}
ANA = {"user_id": "ana"}
Open = Callable[..., Memory]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Afar]:
    clock, path = FixedClock(NOW), tmp_path_factory.mktemp("server") / "memory.db"
    with Memory(path, clock=clock) as memory, afar(memory, clock) as served:
        yield served


@pytest.fixture
def clock(kept_in: str, request: pytest.FixtureRequest) -> FixedClock:
    if kept_in == "server":
        return request.getfixturevalue("server").clock_at(NOW)
    return FixedClock(NOW)


@pytest.fixture
def place(kept_in: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if kept_in in ("sqlite", "server"):
        return str(tmp_path / "memory.db")
    return str(request.getfixturevalue("postgres_database"))


@pytest.fixture
def opened(
    kept_in: str, place: str, clock: FixedClock, request: pytest.FixtureRequest
) -> Iterator[Open]:
    """Opens the memory of a tenant."""
    tenant = f"tenant {uuid4()}"
    memories: list[Memory] = []

    def open_one(tenant: str = tenant) -> Memory:
        if kept_in == "server":
            return request.getfixturevalue("server").of(tenant)
        memories.append(Memory(place, tenant=tenant, clock=clock, durability="normal"))
        return memories[-1]

    yield open_one
    for memory in memories:
        memory.close()


@pytest.fixture
def memory(opened: Open) -> Memory:
    return opened()


def state_of(memory: Memory, **scope: Any) -> Any:
    """All that a snapshot is to bring back, as plain values."""
    reach = Reach(tenant=memory.tenant, **scope)
    store = memory.parts.store
    active = memory.find(limit=1000, states="active", **scope)
    blocks = [
        one for one in store.documents.shelved(reach, Shelf.BLOCK) if "deleted" not in one.value
    ]
    shown = ("value", "limit", "description", "read_only")
    return (
        {r.id: {n: getattr(r, n) for n in COMPARED} for r in active},
        {(b.address.name, b.address.agent_id): [b.value[n] for n in shown] for b in blocks},
        {
            (shelf, one.address.name, one.address.session_id): {
                # A session's version counts on, as a block's does.
                n: v
                for n, v in one.value.items()
                if (shelf, n) != (Shelf.SESSION, "version")
            }
            for shelf in (Shelf.SESSION, Shelf.WORKING, Shelf.CONVERSATION)
            for one in store.documents.shelved(reach, shelf)
        },
    )


def settle(memory: Memory) -> dict[str, str]:
    """Something of everything for Ana; ids by what they are."""
    ids = {
        text: memory.add(text, user_id="ana", metadata={"n": n}).id
        for n, text in enumerate(["Ana lives in Lisbon", "Ana likes tea", "Ana has a cat"])
    }
    memory.blocks.append("human", "Likes tea", user_id="ana")
    memory.blocks.create("plan", "Move in May", user_id="ana", agent_id="bot", limit=50)
    memory.sessions.create("s1", data={"step": 1}, user_id="ana")
    memory.working.set("task", {"done": False}, session_id="s1", user_id="ana")
    return ids


def disturb(memory: Memory, ids: dict[str, str]) -> None:
    """Change everything that `settle` made, and more."""
    memory.update(
        ids["Ana lives in Lisbon"], text="Ana lives in Porto", importance=0.9, metadata={"x": 1}
    )
    memory.forget(ids["Ana likes tea"])
    memory.update(ids["Ana has a cat"], state="superseded", superseded_by=ids["Ana likes tea"])
    memory.add("Ana bought a car", user_id="ana")
    memory.blocks.append("human", "and coffee", user_id="ana")
    memory.blocks.configure("human", read_only=True, user_id="ana")
    memory.blocks.delete("plan", user_id="ana", agent_id="bot")
    memory.blocks.create("new", "x", user_id="ana")
    memory.sessions.update("s1", {"step": 2}, user_id="ana")
    memory.sessions.create("s2", data={}, user_id="ana")
    memory.working.set("task", {"done": True}, session_id="s1", user_id="ana")
    memory.working.set("other", 1, session_id="s2", user_id="ana")


@pytest.mark.usefixtures("here")
def test_a_snapshot_tells_what_it_holds(memory: Memory) -> None:
    settle(memory)
    taken = memory.snapshots.take("before", user_id="ana", note="first")
    assert (taken.name, taken.at, taken.note) == ("before", NOW, "first")
    assert taken.scope == Reach(tenant=memory.tenant, user_id="ana")
    assert dict(taken.counts) == {
        "memories": 3, "blocks": 2, "sessions": 1, "working": 1, "conversations": 0
    }  # fmt: skip
    assert memory.snapshots.get("before", user_id="ana") == taken
    assert memory.snapshots.list(user_id="ana") == [taken]
    with pytest.raises(Conflict, match="already; delete it or take another name"):
        memory.snapshots.take("before", user_id="ana")


def test_lists_begin_with_the_newest(memory: Memory, clock: FixedClock) -> None:
    for n in range(3):
        clock.at = NOW + timedelta(minutes=n)
        memory.snapshots.take(f"s{n}")
    assert [s.name for s in memory.snapshots.list()] == ["s2", "s1", "s0"]


def test_nothing_happened(memory: Memory) -> None:
    settle(memory)
    memory.snapshots.take("before", user_id="ana")
    assert memory.snapshots.diff("before", user_id="ana").same
    assert memory.snapshots.restore("before", user_id="ana").undo is None
    assert len(memory.snapshots.list(user_id="ana")) == 1


def test_a_diff_tells_what_happened(memory: Memory) -> None:
    ids = settle(memory)
    memory.snapshots.take("before", user_id="ana")
    disturb(memory, ids)
    diff = memory.snapshots.diff("before", user_id="ana")
    assert [one.text for one in diff.added] == ["Ana bought a car"]
    assert {one.text for one in diff.removed} == {"Ana likes tea", "Ana has a cat"}
    [changed] = diff.changed
    assert (changed.id, changed.text) == (ids["Ana lives in Lisbon"], "Ana lives in Porto")
    assert changed.was == "Ana lives in Lisbon"
    assert set(changed.fields) == {"text", "importance", "metadata"}
    assert [(one.label, one.agent_id) for one in diff.blocks] == [
        ("human", None), ("new", None), ("plan", "bot")
    ]  # fmt: skip
    assert "+and coffee" in diff.blocks[0].diff.splitlines()
    assert {(one.shelf, one.name, one.what) for one in diff.sessions} == {
        ("session", "s1", "changed"), ("session", "s2", "added"),
        ("working", "task", "changed"), ("working", "other", "added"),
    }  # fmt: skip
    assert (diff.lost, diff.same, diff.other) == (0, False, None)
    assert "1 added, 2 removed, 1 changed; blocks: 3; sessions: 4" in str(diff)


def test_a_diff_of_two_snapshots(memory: Memory) -> None:
    ids = settle(memory)
    memory.snapshots.take("before", user_id="ana")
    disturb(memory, ids)
    memory.snapshots.take("after", user_id="ana")
    memory.update(ids["Ana lives in Lisbon"], text="Ana lives in Faro")
    diff = memory.snapshots.diff("before", "after", user_id="ana")
    assert [one.text for one in diff.changed] == ["Ana lives in Porto"]
    assert [one.text for one in diff.added] == ["Ana bought a car"]
    back = memory.snapshots.diff("after", "before", user_id="ana")
    assert [one.text for one in back.removed] == ["Ana bought a car"]
    assert (len(diff.blocks), len(diff.sessions), diff.other) == (3, 4, "after")
    memory.snapshots.take("one agent", user_id="ana", agent_id="bot")
    with pytest.raises(InvalidInput, match="different scopes"):
        memory.snapshots.diff("before", "one agent", user_id="ana")


@pytest.mark.usefixtures("here")
def test_a_restore_brings_everything_back_and_can_be_undone(memory: Memory) -> None:
    ids = settle(memory)
    before = state_of(memory, user_id="ana")
    memory.snapshots.take("before", user_id="ana")
    disturb(memory, ids)
    after = state_of(memory, user_id="ana")
    told = memory.snapshots.restore("before", user_id="ana", dry_run=True)
    assert told.dry_run
    assert told.undo is None
    assert state_of(memory, user_id="ana") == after

    restored = memory.snapshots.restore("before", user_id="ana", actor="Ana")
    assert restored.diff == told.diff
    assert state_of(memory, user_id="ana") == before
    assert memory.snapshots.diff("before", user_id="ana").same
    last = memory.history(ids["Ana lives in Lisbon"])[-1]
    assert (last.verb, last.actor, last.reason) == ("restored", "Ana", "snapshot before")
    version = memory.blocks.history("human", user_id="ana")[-1]
    assert (version.verb, version.author) == ("restore", "Ana")

    assert restored.undo is not None
    undone = memory.snapshots.restore(restored.undo, user_id="ana")
    assert state_of(memory, user_id="ana") == after
    assert memory.get(ids["Ana has a cat"]).state == "superseded"
    assert undone.undo not in (None, restored.undo)
    memory.snapshots.restore("before", user_id="ana")
    assert state_of(memory, user_id="ana") == before


def test_a_restored_text_is_found_by_its_meaning(memory: Memory) -> None:
    id = memory.add("The cat sleeps on the sofa", user_id="ana").id
    memory.add("Quarterly figures are due on Monday", user_id="ana")
    memory.snapshots.take("before", user_id="ana")
    memory.update(id, text="Invoices are paid in advance")
    memory.snapshots.restore("before", user_id="ana")
    hit = memory.search("where does the kitten nap?", user_id="ana", limit=1)[0]
    assert hit.memory.text == "The cat sleeps on the sofa"
    assert memory.stats().pending == 0


def test_memories_made_since_are_archived_not_erased(memory: Memory) -> None:
    memory.snapshots.take("before", user_id="ana")
    made = memory.add("later", user_id="ana")
    memory.snapshots.restore("before", user_id="ana")
    assert memory.get(made.id).state == "archived"
    assert memory.search("later", user_id="ana") == []


def test_what_was_erased_stays_erased(memory: Memory, clock: FixedClock) -> None:
    ids = settle(memory)
    memory.snapshots.take("before", user_id="ana")
    clock.at += timedelta(minutes=1)
    memory.forget(ids["Ana likes tea"], erase=True)
    memory.blocks.delete("human", user_id="ana", erase=True)
    memory.blocks.append("human", "somebody else's", user_id="ana")
    diff = memory.snapshots.diff("before", user_id="ana")
    assert (diff.lost, diff.removed, diff.blocks) == (2, (), ())
    memory.add("later", user_id="ana")
    restored = memory.snapshots.restore("before", user_id="ana")
    with pytest.raises(NotFound):
        memory.get(ids["Ana likes tea"])
    assert memory.blocks.get("human", user_id="ana").value == "somebody else's"
    assert restored.diff.lost == 2
    assert memory.snapshots.restore("before", user_id="ana").undo is None


@pytest.mark.usefixtures("here")
def test_no_words_of_memories_or_blocks_are_in_a_snapshot(memory: Memory) -> None:
    settle(memory)
    memory.snapshots.take("before", user_id="ana")
    everyone = Reach(tenant=memory.tenant, all_users=True)
    kept = str(memory.parts.store.documents.shelved(everyone, Shelf.SNAPSHOT, limit=1000))
    for word in ("Lisbon", "Likes", "tea", "May"):
        assert word not in kept
    assert "step" in kept


@pytest.mark.usefixtures("here")
def test_erasing_a_user_takes_the_copies_out_of_everybodys_snapshot(memory: Memory) -> None:
    settle(memory)
    memory.sessions.create("b", data={"step": 9}, user_id="bob")
    memory.snapshots.take("all", all_users=True)
    memory.forget(user_id="ana", erase=True)
    kept = str(memory.parts.store.documents.shelved(
        Reach(tenant=memory.tenant, all_users=True), Shelf.SNAPSHOT, limit=1000
    ))  # fmt: skip
    assert "'done'" not in kept
    assert "'step': 9" in kept
    restored = memory.snapshots.restore("all")
    assert restored.diff.lost == 3
    assert memory.count(user_id="ana") == 0


def test_erasing_a_session_takes_its_copies_out_too(memory: Memory) -> None:
    settle(memory)
    memory.snapshots.take("before", user_id="ana")
    memory.forget(user_id="ana", session_id="s1", erase=True)
    assert memory.snapshots.diff("before", user_id="ana").lost == 2
    memory.snapshots.restore("before", user_id="ana")
    with pytest.raises(NotFound):
        memory.sessions.get("s1", user_id="ana")


def test_a_session_comes_back_with_the_time_it_had_left(memory: Memory, clock: FixedClock) -> None:
    memory.sessions.create("s1", data={"step": 1}, ttl_s=100, user_id="ana")
    clock.at = NOW + timedelta(seconds=40)
    memory.snapshots.take("before", user_id="ana")
    clock.at = NOW + timedelta(days=2)
    with pytest.raises(NotFound):
        memory.sessions.get("s1", user_id="ana")
    memory.snapshots.restore("before", user_id="ana")
    clock.at += timedelta(seconds=59)
    assert memory.sessions.get("s1", user_id="ana").data == {"step": 1}


def test_a_scope_is_restored_and_nothing_else(memory: Memory) -> None:
    settle(memory)
    bobs = memory.add("Bob's", user_id="bob")
    memory.blocks.append("human", "Bob's", user_id="bob")
    memory.blocks.create("team", "shared")
    memory.snapshots.take("before", user_id="ana")
    memory.update(bobs.id, text="Bob's, changed")
    memory.blocks.append("human", "more", user_id="bob")
    memory.blocks.append("team", "more")
    memory.add("shared later")
    memory.add("Ana's later", user_id="ana")
    memory.snapshots.restore("before", user_id="ana")
    assert memory.get(bobs.id).text == "Bob's, changed"
    assert memory.blocks.get("human", user_id="bob").value == "Bob's\nmore"
    assert memory.blocks.get("team").value == "shared\nmore"
    assert memory.count() == 1
    assert memory.count(user_id="ana", states="active") == 3


def test_one_agent_or_one_session(memory: Memory) -> None:
    for agent, session in (("a", "s1"), ("b", "s2")):
        memory.add(f"{agent} was here", user_id="ana", agent_id=agent, session_id=session)
        memory.blocks.append("human", agent, user_id="ana", agent_id=agent)
        memory.sessions.create(session, user_id="ana", agent_id=agent)
        memory.working.set("k", agent, session_id=session, user_id="ana", agent_id=agent)
    of_agent = memory.snapshots.take("agent", user_id="ana", agent_id="a")
    of_session = memory.snapshots.take("session", user_id="ana", session_id="s2")
    expected = {"memories": 1, "sessions": 1, "working": 1, "conversations": 0}
    assert dict(of_agent.counts) == {**expected, "blocks": 1}
    assert dict(of_session.counts) == {**expected, "blocks": 0}
    for agent in "ab":
        memory.add("later", user_id="ana", agent_id=agent)
        memory.blocks.append("human", "later", user_id="ana", agent_id=agent)
    memory.snapshots.restore("agent", user_id="ana")
    assert memory.blocks.get("human", user_id="ana", agent_id="a").value == "a"
    assert memory.blocks.get("human", user_id="ana", agent_id="b").value == "b\nlater"
    assert memory.count(user_id="ana", states="active") == 3


def test_everybody_at_once(memory: Memory) -> None:
    settle(memory)
    memory.add("Bob's", user_id="bob")
    memory.add("nobody's")
    taken = memory.snapshots.take("all", all_users=True)
    assert taken.counts["memories"] == 5
    for user in ("ana", "bob", None):
        memory.add("later", user_id=user)
    memory.snapshots.restore("all")
    assert memory.count(all_users=True, states="active") == 5
    assert "all" in [s.name for s in memory.snapshots.list()]


def test_nobody_sees_anothers_snapshots(memory: Memory, opened: Open) -> None:
    settle(memory)
    memory.snapshots.take("before", user_id="ana")
    other = opened("another tenant")
    for stranger, scope in ((memory, {"user_id": "bob"}), (memory, {}), (other, ANA)):
        snapshots = stranger.snapshots
        assert snapshots.list(**scope) == []
        for verb in (snapshots.get, snapshots.diff, snapshots.restore, snapshots.delete):
            with pytest.raises(NotFound, match="no snapshot 'before' here"):
                verb("before", **scope)
    assert other.snapshots.list(all_users=True) == []
    assert [s.name for s in memory.snapshots.list(all_users=True)] == ["before"]


def test_two_users_may_use_one_name(memory: Memory) -> None:
    settle(memory)
    memory.add("Bob's", user_id="bob")
    taken = [memory.snapshots.take("before", user_id=user) for user in ("ana", "bob", None)]
    assert [one.counts["memories"] for one in taken] == [3, 1, 0]
    memory.snapshots.delete("before", user_id="bob")
    assert memory.snapshots.diff("before", user_id="ana").same


@pytest.mark.usefixtures("here")
def test_deleting_a_snapshot_leaves_nothing_of_it(memory: Memory) -> None:
    settle(memory)
    before = state_of(memory, user_id="ana")
    memory.snapshots.take("before", user_id="ana")
    memory.snapshots.delete("before", user_id="ana")
    everyone = Reach(tenant=memory.tenant, all_users=True)
    assert memory.parts.store.documents.shelved(everyone, Shelf.SNAPSHOT) == []
    assert state_of(memory, user_id="ana") == before
    with pytest.raises(NotFound):
        memory.snapshots.delete("before", user_id="ana")


@pytest.mark.parametrize("name", ["", " ", "x" * 129, "a\nb", "a\0", None, 3, "\ud800"])
def test_no_names(memory: Memory, name: Any) -> None:
    for verb in (memory.snapshots.take, memory.snapshots.get, memory.snapshots.restore):
        with pytest.raises(InvalidInput):
            verb(name)


@pytest.mark.parametrize(
    "name", ["../x", "'; DROP TABLE documents; --", "日本 👩‍👩‍👧", "%s", "x" * 128]
)
def test_odd_names(memory: Memory, name: str) -> None:
    settle(memory)
    taken: Snapshot = memory.snapshots.take(name, user_id="ana")
    memory.add("later", user_id="ana")
    assert memory.snapshots.get(name, user_id="ana") == taken
    memory.snapshots.restore(name, user_id="ana")
    assert memory.count(user_id="ana", states="active") == 3


@pytest.mark.parametrize(
    "given",
    [{"user_id": "a", "all_users": True}, {"all_users": 1}, {"note": "x" * 2000}, {"user_id": ""}],
)
def test_what_cannot_be_taken(memory: Memory, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        memory.snapshots.take("x", **given)


def test_a_session_may_be_called_like_anything(memory: Memory) -> None:
    memory.snapshots.take("kept", user_id="ana")
    for name in ("head", "part", "snapshots", "kept"):
        memory.add("x", user_id="ana", session_id=name)
        memory.forget(user_id="ana", session_id=name, erase=True)
    assert memory.snapshots.get("kept", user_id="ana").name == "kept"


@pytest.mark.usefixtures("here")
def test_many_memories_in_many_batches(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "BATCH", 3)
    monkeypatch.setattr(references, "MEMORIES_PER_PART", 4)
    records = memory.add_many([f"memory {n}" for n in range(11)], user_id="ana")
    before = state_of(memory, user_id="ana")
    memory.snapshots.take("before", user_id="ana")
    for record in records[::2]:
        memory.update(record.id, text=f"{record.text}, changed")
    memory.forget([record.id for record in records[1::4]])
    memory.add_many([f"later {n}" for n in range(7)], user_id="ana")
    after = state_of(memory, user_id="ana")
    undo = memory.snapshots.restore("before", user_id="ana").undo
    assert undo is not None
    assert state_of(memory, user_id="ana") == before
    memory.snapshots.restore(undo, user_id="ana")
    assert state_of(memory, user_id="ana") == after
    memory.snapshots.delete("before", user_id="ana")


@pytest.mark.usefixtures("here")
def test_a_memory_that_changes_meanwhile_is_restored_all_the_same(memory: Memory) -> None:
    record = memory.add("tea", user_id="ana")
    memory.snapshots.take("before", user_id="ana")
    memory.update(record.id, text="cake")
    store, write = memory.parts.store, memory.parts.store.archive.write
    rivals = iter(["milk", "juice"])

    def rival(batch: Any) -> Any:
        text = next(rivals, None)
        if text is not None:
            store.archive.write = write  # type: ignore[method-assign]
            memory.update(record.id, text=text)
            store.archive.write = rival  # type: ignore[method-assign]
        return write(batch)

    store.archive.write = rival  # type: ignore[method-assign]
    memory.snapshots.restore("before", user_id="ana")
    assert memory.get(record.id).text == "tea"
    assert [r.verb for r in memory.history(record.id)][-3:] == ["updated", "updated", "restored"]


@pytest.mark.usefixtures("here")
def test_summaries_come_back_with_the_messages_they_were_made_of(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "BATCH", 1)
    said = [{"role": "user", "content": f"I drink tea number {n}"} for n in range(3)]
    messages = memory.add_messages(said, user_id="ana", session_id="s1")
    summary = memory.add("Ana drinks tea", user_id="ana", session_id="s1", kind="summary")
    for one in messages:
        memory.associate(summary.id, one.id, "summarises")
    before = state_of(memory, user_id="ana")
    memory.snapshots.take("before", user_id="ana")
    memory.update(messages[0].id, text="I drink coffee")
    [later] = memory.add_messages([{"role": "user", "content": "More"}], user_id="ana")
    memory.update(summary.id, text="Ana drinks coffee", state="active")
    memory.associate(summary.id, later.id, "summarises")
    after = state_of(memory, user_id="ana")
    undo = memory.snapshots.restore("before", user_id="ana").undo
    assert undo is not None
    assert state_of(memory, user_id="ana") == before
    memory.snapshots.restore(undo, user_id="ana")
    assert state_of(memory, user_id="ana") == after


@pytest.mark.usefixtures("here")
def test_a_summary_outside_the_scope_that_is_outdated_goes(memory: Memory) -> None:
    [message] = memory.add_messages(
        [{"role": "user", "content": "I drink tea"}], user_id="ana", session_id="s1"
    )
    memory.snapshots.take("before", user_id="ana", session_id="s1")
    memory.update(message.id, text="I drink coffee")
    day = memory.add("Ana drinks coffee", user_id="ana", kind="summary")
    memory.associate(day.id, message.id, "summarises")
    memory.snapshots.restore("before", user_id="ana")
    assert memory.get(message.id).text == "I drink tea"
    assert memory.get(day.id).state == "archived"
