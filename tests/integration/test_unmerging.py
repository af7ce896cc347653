"""Erasing, forgetting and changing what was merged: each scope keeps what it said itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory, State
from remanence.consolidation.merges.groups import member_of
from remanence.consolidation.merges.judgement import deeds_for
from remanence.model.clock import FixedClock
from remanence.model.memory import MemoryRecord
from remanence.model.scope import Reach
from remanence.model.sleep import ForgetPolicy, Night, SleepPolicy
from remanence.model.write import Batch

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
SAID = ("Ana is allergic to peanuts.", "ana is allergic to peanuts!", "Ana is allergic to peanuts")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    if request.param == "sqlite":
        return str(tmp_path_factory.mktemp("unmerging") / "memory.db")
    return str(request.getfixturevalue("postgres_database"))


@pytest.fixture(scope="module")
def memory(database: str) -> Iterator[Memory]:
    with Memory(database, clock=FixedClock(NOW)) as opened:
        yield opened


@pytest.fixture
def user(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)[:200]


def merged(memory: Memory, user: str, *how: dict[str, Any]) -> list[MemoryRecord]:
    """The same said several times, of which the first survives."""
    made = []
    for number, (text, given) in enumerate(zip(SAID, how, strict=False)):
        fields: dict[str, Any] = {"importance": 0.6 - number / 10}
        fields |= {"happened_at": NOW + number * DAY, **given}
        made.append(memory.add(text, user_id=user, **fields))
    return merge(memory, *made)


def merge(memory: Memory, survivor: MemoryRecord, *others: MemoryRecord) -> list[MemoryRecord]:
    """Merge others into a memory as sleep does it; all of them as they are then."""
    night = Night(reach=Reach(tenant=memory.tenant, all_users=True), now=NOW, policy=SleepPolicy())
    into, *rest = (member_of(0, memory.get(record.id)) for record in (survivor, *others))
    for deed in deeds_for(memory.parts.store, night, into, rest):
        batch = Batch(tenant=memory.tenant, at=NOW, actions=deed.actions, links=deed.links)
        memory.parts.store.archive.write(batch)
    return [memory.get(record.id) for record in (survivor, *others)]


def states(memory: Memory, *records: MemoryRecord) -> list[str]:
    found = {
        r.id: r.state.value
        for r in memory.parts.store.archive.get("default", [r.id for r in records])
    }
    return [found.get(record.id, "gone") for record in records]


def is_free(memory: Memory, record: MemoryRecord) -> bool:
    """Whether nothing is left of its having been merged."""
    links = memory.parts.store.links.pointed("default", [record.id], "merged_into")
    return memory.get(record.id).superseded_by is None and not links


SCOPES: list[tuple[list[dict[str, Any]], dict[str, Any]]] = [
    ([{"session_id": "A"}, {"session_id": "B"}, {"session_id": "A"}], {"session_id": "A"}),
    (
        [{"source": "web"}, {"source": "doctor"}, {"source": "web"}],
        {"filters": {"field.source": "web"}},
    ),
    ([{"actor": "spam"}, {}, {"actor": "spam"}], {"filters": {"field.actor": "spam"}}),
    (
        [{"happened_at": NOW}, {"happened_at": NOW - DAY}, {}],
        {"filters": {"field.happened_at": {"gte": NOW.isoformat()}}},
    ),
    (
        [{"source": "web"}, {"source": "doctor"}, {"source": "web"}],
        {"filters": {"field.source": "web", "field.state": "active"}},
    ),
]


@pytest.mark.parametrize("erase", [True, False])
@pytest.mark.parametrize(
    ("how", "asked"), SCOPES, ids=["session", "source", "actor", "time", "state"]
)
def test_what_others_said_comes_back(
    memory: Memory, user: str, how: list[dict[str, Any]], asked: dict[str, Any], erase: bool
) -> None:
    first, other, own = merged(memory, user, *how)
    told = memory.forget(user_id=user, erase=erase, dry_run=True, **asked)
    assert states(memory, first, other, own) == ["active", "archived", "archived"]
    done = memory.forget(user_id=user, erase=erase, **asked)
    assert {r.id for r in done} == {r.id for r in told} == {first.id, own.id}
    gone = "gone" if erase else "archived"
    assert states(memory, first, other, own) == [gone, "active", gone]
    assert is_free(memory, other)
    assert memory.history(other.id)[-1].verb == "unmerged"
    assert [hit.memory.id for hit in memory.search("peanuts", user_id=user)] == [other.id]
    if erase:
        assert done.receipt is not None
        parts = [done.receipt.counts.get(name) for name in ("memories", "merged", "unmerged")]
        assert parts == [2, None, 1]
        assert set(done.receipt.ids) == {first.id, own.id}
        assert memory.erasures.verify(done.receipt)
    assert memory.forget(user_id=user, **asked) == []


def test_what_sleep_merged_comes_back_and_merges_again(memory: Memory, user: str) -> None:
    for number, session in enumerate("ABC"):
        memory.add(SAID[number], user_id=user, session_id=session, happened_at=NOW + number * DAY)
    memory.sleep.run("merge", user_id=user)
    [survivor] = memory.find(user_id=user)
    memory.forget(user_id=user, session_id=survivor.session_id, erase=True)
    assert memory.count(user_id=user) == 2
    memory.sleep.run("merge", user_id=user)
    assert memory.count(user_id=user) == 1


def test_by_id_what_was_merged_goes_along(memory: Memory, user: str) -> None:
    first, other = merged(memory, user, {"session_id": "A"}, {"session_id": "B"})
    memory.forget(first.id)
    assert states(memory, first, other) == ["archived", "archived"]
    assert memory.get(other.id).superseded_by == first.id
    memory.update(first.id, state="active")
    done = memory.forget(first.id, erase=True)
    assert states(memory, first, other) == ["gone", "gone"]
    assert done.receipt is not None
    assert done.receipt.counts["merged"] == 1


@pytest.mark.parametrize("by_id", [True, False])
def test_what_was_forgotten_while_merged_does_not_come_back(
    memory: Memory, user: str, by_id: bool
) -> None:
    first, other = merged(memory, user, {"session_id": "A"}, {"session_id": "B"})
    asked: dict[str, Any] = {"id": other.id} if by_id else {"user_id": user, "session_id": "B"}
    assert [r.id for r in memory.forget(**asked, actor="Ana")] == [other.id]
    last = memory.history(other.id)[-1]
    assert (last.verb, last.actor, is_free(memory, other)) == ("forgot", "Ana", True)
    memory.forget(user_id=user, session_id="A", erase=True)
    assert states(memory, first, other) == ["gone", "archived"]


def test_an_original_in_between_brings_back_what_it_stands_for(memory: Memory, user: str) -> None:
    middle, low = merged(memory, user, {"session_id": "M"}, {"session_id": "L"})
    top = memory.add(SAID[2], user_id=user, session_id="T", importance=0.9, happened_at=NOW)
    merge(memory, top, middle)
    assert memory.get(middle.id).superseded_by == top.id
    memory.forget(user_id=user, session_id="M", erase=True)
    assert states(memory, top, middle, low) == ["active", "gone", "active"]


@pytest.mark.parametrize("erase", [True, False])
def test_a_conversation_leaves_what_was_said_in_others(
    memory: Memory, user: str, erase: bool
) -> None:
    talks = memory.conversations
    ids = []
    for number, session in enumerate(("A", "B", "A")):
        message = {"role": "user", "content": SAID[number], "at": NOW + number * DAY}
        ids += talks.append([message], session_id=session, user_id=user)
    merge(memory, *ids)
    memory.service.sessions.drop(ids)
    assert states(memory, *ids) == ["active", "archived", "archived"]
    assert memory.sessions.recent("B", user_id=user) == []
    assert {r.id for r in talks.forget("A", user_id=user, erase=erase)} == {ids[0].id, ids[2].id}
    gone = "gone" if erase else "archived"
    assert states(memory, *ids) == [gone, "active", gone]
    assert is_free(memory, ids[1])
    assert [r.id for r in talks.messages("B", user_id=user)] == [ids[1].id]
    assert [r.id for r in memory.sessions.recent("B", user_id=user)] == [ids[1].id]
    assert talks.forget("A", user_id=user) == []
    talks.forget("B", user_id=user)
    assert states(memory, ids[1]) == ["archived"]


def test_what_was_revived_stands_for_itself(memory: Memory, user: str) -> None:
    first, other = merged(memory, user, {}, {})
    assert [r.id for r in memory.sources(first.id)] == [other.id]
    memory.update(other.id, state="active")
    assert is_free(memory, other)
    assert memory.sources(first.id) == []
    memory.forget(first.id, erase=True)
    assert states(memory, first, other) == ["gone", "active"]


def test_superseded_by_is_what_the_caller_says(memory: Memory, user: str) -> None:
    first, other = merged(memory, user, {}, {})
    given = memory.update(other.id, state="active", superseded_by=first.id)
    assert (given.state, given.superseded_by) == (State.ACTIVE, first.id)
    memory.forget(first.id, erase=True)
    assert states(memory, first, other) == ["gone", "active"]


def test_a_new_text_brings_a_merged_memory_back(memory: Memory, user: str) -> None:
    first, other = merged(memory, user, {}, {})
    assert memory.update(other.id, text=other.text) == other
    assert memory.update(other.id, importance=0.9).state == State.ARCHIVED
    new = memory.update(other.id, text="Ana is no longer allergic to peanuts.")
    assert (new.state, is_free(memory, other)) == (State.ACTIVE, True)
    last = memory.history(other.id)[-1]
    assert dict(last.before) == {
        "text": other.text, "state": State.ARCHIVED, "superseded_by": first.id
    }  # fmt: skip
    found = memory.search("Is Ana still allergic to peanuts?", user_id=user)
    assert {hit.memory.id for hit in found} == {first.id, other.id}
    memory.forget(first.id, erase=True)
    assert states(memory, first, other) == ["gone", "active"]


def test_a_new_text_leaves_others_where_their_owner_put_them(memory: Memory, user: str) -> None:
    first, other, third = (memory.add(f"note {n}", user_id=user) for n in range(3))
    memory.update(other.id, state="archived", superseded_by=first.id)
    memory.forget(third.id)
    for record in (other, third):
        assert memory.update(record.id, text=f"{record.text}, longer").state == State.ARCHIVED
    assert memory.get(other.id).superseded_by == first.id
    _, twin = merged(memory, f"{user} too", {}, {})
    kept = memory.update(twin.id, text="Something else.", state="archived")
    assert kept.state == State.ARCHIVED


@pytest.mark.parametrize("protected", ["pinned", "stated"])
def test_no_rule_takes_what_stands_for_a_protected_memory(
    memory: Memory, user: str, protected: str
) -> None:
    plain = {"importance": 0.05, "happened_at": NOW}
    stated = {"source": "user"} if protected == "stated" else {}
    first, other = merged(memory, user, {**plain, "pinned": True}, {**plain, **stated})
    memory.pin(first.id, False)
    if protected == "pinned":
        memory.pin(other.id)
    assert states(memory, first, other) == ["active", "archived"]
    policy = SleepPolicy(cap=1.0, forget=ForgetPolicy(erase_after_days=1))
    late = NOW + 60 * DAY
    memory.sleep.run(["forget", "erase"], user_id=user, policy=policy, now=late)
    memory.cleanup(user_id=user, dry_run=False, now=late)
    assert states(memory, first, other) == ["active", "archived"]
    memory.forget(first.id)
    memory.sleep.run("erase", user_id=user, policy=policy, now=late)
    assert states(memory, first, other) == ["archived", "archived"]
    memory.update(first.id, state="active")
    memory.pin(other.id, False)
    memory.update(other.id, source="web")
    assert memory.cleanup(user_id=user, dry_run=False, now=late).count == 1


def test_a_restored_backup_keeps_what_others_said(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path) as memory:
        first, other = merged(memory, "ana", {"session_id": "A"}, {"session_id": "B"})
        memory.backup(tmp_path / "copy")
        memory.forget(user_id="ana", session_id="A", erase=True)
    for place in (path, tmp_path / "elsewhere.db"):
        with Memory.restore(tmp_path / "copy", place) as memory:
            if place == path:
                assert states(memory, first, other) == ["gone", "active"]
            else:
                assert states(memory, first, other) == ["active", "archived"]
