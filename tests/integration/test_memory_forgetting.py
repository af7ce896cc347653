"""Forgetting, cleaning up, linking, feedback, figures, backups, and the end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory, State
from remanence.errors import Closed, InvalidInput, NotFound
from remanence.model.clock import FixedClock
from remanence.model.stats import Finding
from support.reaching import Reached

NOW = datetime(2024, 6, 15, 12, tzinfo=UTC)


# What these put in stands for what sleep makes, which no caller of a server may claim to be.
only_here = pytest.mark.parametrize("reached", ["here"], indirect=True, scope="session")


@pytest.fixture(scope="module")
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture(scope="module")
def kept(
    tmp_path_factory: pytest.TempPathFactory, clock: FixedClock, reached: Reached
) -> Iterator[Memory]:
    path = tmp_path_factory.mktemp("forgetting") / "memory.db"
    with Memory(path, clock=clock) as opened, reached(opened) as memory:
        yield memory


@pytest.fixture
def user(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)[:200]


def test_forgotten_is_not_found_and_can_come_back(kept: Memory, user: str) -> None:
    record = kept.add("Ana's old address", user_id=user)
    [forgotten] = kept.forget(record.id, actor="Ana", reason="moved")
    assert forgotten.id == record.id
    assert kept.search("address", user_id=user) == []
    assert kept.find(user_id=user) == []
    assert kept.get(record.id).state == State.ARCHIVED
    last = kept.history(record.id)[-1]
    assert (last.verb, last.actor, last.reason) == ("forgot", "Ana", "moved")
    kept.update(record.id, state="active")
    assert [hit.memory.id for hit in kept.search("address", user_id=user)] == [record.id]


def test_erased_is_gone(kept: Memory, user: str) -> None:
    [gone, stays] = kept.add_many(["the secret word is xyzzy", "hello"], user_id=user)
    kept.associate(stays.id, gone.id)
    assert [record.id for record in kept.forget(gone.id, erase=True)] == [gone.id]
    for verb in (kept.get, kept.history, kept.related, kept.forget):
        with pytest.raises(NotFound):
            verb(gone.id)
    assert kept.related(stays.id) == []
    assert kept.count(user_id=user, states="any") == 1
    assert [hit.memory.id for hit in kept.search("xyzzy", user_id=user, states="any")] == [stays.id]


def test_a_dry_run_only_tells(kept: Memory, user: str) -> None:
    record = kept.add("keep me", user_id=user)
    for erase in (False, True):
        assert kept.forget(record.id, dry_run=True, erase=erase) == [record]
        assert kept.forget(user_id=user, dry_run=True, erase=erase) == [record]
    assert kept.get(record.id) == record


def test_forgetting_several_ids_is_all_or_nothing(kept: Memory, user: str) -> None:
    ids = [record.id for record in kept.add_many(["one", "two"], user_id=user)]
    with pytest.raises(NotFound):
        kept.forget([*ids, "00000000-0000-7000-8000-000000000000"])
    assert kept.count(user_id=user) == 2
    assert len(kept.forget(ids)) == 2
    assert kept.count(user_id=user) == 0


def test_forgetting_by_filter_and_scope(kept: Memory, user: str) -> None:
    for n in range(6):
        kept.add(f"note {n}", user_id=user, session_id=f"s{n % 2}", metadata={"n": n})
    assert len(kept.forget(user_id=user, filters={"n": {"lt": 2}})) == 2
    assert len(kept.forget(user_id=user, session_id="s1")) == 2
    assert {record.metadata["n"] for record in kept.find(user_id=user)} == {2, 4}


def test_forgetting_needs_to_be_told_what(kept: Memory) -> None:
    shared = kept.add("belongs to nobody")
    for arguments in ({}, {"filters": {}}, {"erase": True}):
        with pytest.raises(InvalidInput, match="what to forget"):
            kept.forget(**arguments)  # type: ignore[arg-type]
    assert kept.get(shared.id).state == State.ACTIVE


def test_erasing_a_user_takes_the_archived_too(kept: Memory, user: str) -> None:
    [first, _] = kept.add_many(["one", "two"], user_id=user)
    kept.forget(first.id)
    assert len(kept.forget(user_id=user, erase=True)) == 2
    assert kept.count(user_id=user, states="any") == 0


def _aged(memory: Memory, user: str, clock: FixedClock) -> dict[str, str]:
    """Memories by what should happen to them when those older than 30 days are cleaned up."""
    made = {}
    for name, days, importance, how in (
        ("old and slight", 60, 0.1, {}),
        ("old and important", 60, 0.9, {}),
        ("old and pinned", 60, 0.1, {"pinned": True}),
        ("old and stated", 60, 0.1, {"source": "user"}),
        ("old and summed up", 60, 0.1, {"origin": "summary"}),
        ("old and distilled", 60, 0.1, {"origin": "sleep"}),
        ("old and heard", 60, 0.1, {"source": "web", "origin": "mail"}),
        ("new and slight", 5, 0.1, {}),
    ):
        clock.at = NOW - timedelta(days=days)
        given: dict[str, Any] = how
        record = memory.add(name, user_id=user, importance=importance, **given)
        made[record.id] = name
    clock.at = NOW - timedelta(days=1)
    told = memory.add(
        "told late", user_id=user, importance=0.1, happened_at=NOW - timedelta(days=600)
    )
    clock.at = NOW
    return made | {told.id: "told late"}


@only_here
def test_cleanup_tells_first_and_archives_when_asked(
    kept: Memory, user: str, clock: FixedClock
) -> None:
    names = _aged(kept, user, clock)
    told = kept.cleanup(user_id=user)
    assert told.dry_run
    assert [names[record.id] for record in told.memories] == ["old and slight", "old and heard"]
    assert kept.count(user_id=user) == 9
    done = kept.cleanup(user_id=user, dry_run=False)
    assert done.count == 2
    assert kept.count(user_id=user) == 7
    assert kept.get(done.memories[0].id).state == State.ARCHIVED
    assert kept.cleanup(user_id=user, dry_run=False).count == 0


@only_here
def test_cleanup_stays_with_its_user(kept: Memory, user: str, clock: FixedClock) -> None:
    _aged(kept, f"{user} a", clock)
    _aged(kept, f"{user} b", clock)
    kept.cleanup(user_id=f"{user} a", dry_run=False)
    assert kept.count(user_id=f"{user} b") == 9


@only_here
@pytest.mark.parametrize("days", [-1, float("nan"), "30", None, True])
def test_cleanup_refuses_odd_ages(kept: Memory, days: Any, clock: FixedClock) -> None:
    _aged(kept, "odd ages", clock)
    before = kept.count(user_id="odd ages")
    with pytest.raises(InvalidInput, match="max_age_days"):
        kept.cleanup(max_age_days=days, user_id="odd ages", dry_run=False)
    assert kept.count(user_id="odd ages") == before


@pytest.mark.parametrize("days", [float("inf"), 1e12])
def test_nothing_is_older_than_for_ever(tmp_path: Path, days: float, clock: FixedClock) -> None:
    with Memory(tmp_path / "memory.db", clock=clock) as memory:
        _aged(memory, "for ever", clock)
        assert memory.cleanup(max_age_days=days, user_id="for ever").count == 0


def test_links_lead_both_ways_strongest_first(kept: Memory, user: str) -> None:
    a, b, c = (record.id for record in kept.add_many(["a", "b", "c"], user_id=user))
    link = kept.associate(a, b, "related_to", strength=0.3)
    assert (link.source, link.target, link.type, link.strength) == (a, b, "related_to", 0.3)
    kept.associate(c, a, "caused", strength=0.9)
    assert [(r.memory.id, r.outgoing) for r in kept.related(a)] == [(c, False), (b, True)]
    assert [r.memory.id for r in kept.related(a, direction="out")] == [b]
    assert [r.memory.id for r in kept.related(a, direction="in")] == [c]
    assert [r.memory.id for r in kept.related(a, type="caused")] == [c]
    assert [r.memory.id for r in kept.related(a, limit=1)] == [c]
    kept.associate(a, b, "related_to", strength=1.0)
    assert [r.strength for r in kept.related(a)] == [1.0, 0.9]
    assert kept.dissociate(a, b, "caused") == 0
    assert kept.dissociate(a, b) == 1
    assert [r.memory.id for r in kept.related(a)] == [c]
    assert kept.stats().associations >= 1


def test_links_need_two_memories(kept: Memory, user: str) -> None:
    id = kept.add("alone", user_id=user).id
    with pytest.raises(InvalidInput, match="itself"):
        kept.associate(id, id)
    with pytest.raises(NotFound):
        kept.associate(id, "00000000-0000-7000-8000-000000000000")
    for strength in (-0.1, 1.1, float("nan"), "1", True):
        with pytest.raises(InvalidInput):
            kept.associate(id, id, strength=strength)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="direction"):
        kept.related(id, direction="sideways")


def test_a_forgotten_memory_is_not_related(kept: Memory, user: str) -> None:
    a, b = (record.id for record in kept.add_many(["a", "b"], user_id=user))
    kept.associate(a, b)
    kept.forget(b)
    assert kept.related(a) == []
    kept.update(b, state="active")
    assert [related.memory.id for related in kept.related(a)] == [b]


def test_feedback_takes_a_hit_or_an_id(kept: Memory, user: str) -> None:
    record = kept.add("useful thing", user_id=user)
    [hit] = kept.search("useful", user_id=user)
    kept.feedback(hit, useful=True, query="useful")
    kept.feedback(record.id, useful=False)
    for answer in (lambda: kept.feedback("nonsense", useful=True),):
        with pytest.raises(NotFound):
            answer()
    with pytest.raises(InvalidInput, match="useful"):
        kept.feedback(hit, useful="yes")  # type: ignore[arg-type]


def test_uses_are_counted(kept: Memory, user: str) -> None:
    record = kept.add("used thing", user_id=user)
    for _ in range(3):
        kept.search("used", user_id=user)
    kept.stats()  # what is queued is written before figures are given
    found = kept.get(record.id)
    assert (found.uses, found.used_at) == (3, NOW)
    assert found.version == 1
    assert kept.count(user_id=user, filters={"field.uses": {"gte": 3}}) == 1


def test_stats_count_what_is_there(memory: Memory) -> None:
    memory.add("one", kind="semantic")
    memory.forget(memory.add("two", user_id="ana").id)
    stats = memory.stats()
    assert stats.memories == 2
    assert stats.by_kind == {"semantic": 1, "episodic": 1}
    assert stats.by_state == {"active": 1, "archived": 1}
    assert sum(stats.by_day.values()) == 2
    assert stats.pending == 0
    assert stats.embedder.startswith("all-MiniLM-L6-v2")
    assert stats.bytes_on_disk > 0
    assert 0 < stats.memory_mb < stats.budget_mb == 90
    assert stats.process_mb > stats.memory_mb


def test_doctor_finds_nothing_wrong(kept: Memory) -> None:
    findings = kept.doctor()
    assert findings
    assert all(isinstance(finding, Finding) and not finding.problems for finding in findings)


def test_a_backup_is_a_whole_memory(memory: Memory, user: str, tmp_path: Path) -> None:
    record = memory.add("in the backup", user_id=user)
    steps: list[tuple[int, int]] = []
    path = memory.backup(tmp_path / "copy.db", lambda done, total: steps.append((done, total)))
    assert steps
    memory.add("after the backup", user_id=user)
    with Memory(path) as copy:
        assert copy.get(record.id) == record
        assert copy.count(user_id=user) == 1
        assert copy.search("backup", user_id=user)[0].memory.id == record.id


def test_a_closed_memory_says_so(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory.db")
    id = memory.add("x").id
    memory.close()
    memory.close()
    for use in (
        lambda: memory.add("y"),
        lambda: memory.search("x"),
        lambda: memory.get(id),
        lambda: memory.forget(id),
        memory.stats,
        memory.doctor,
        memory.reembed,
    ):
        with pytest.raises(Closed, match="closed"):
            use()


def test_with_closes_even_after_an_error(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory.db")
    memory.add("kept")
    with pytest.raises(NotFound), memory:
        memory.get("nonsense")
    with pytest.raises(Closed):
        memory.count()
    with Memory(tmp_path / "memory.db") as again:
        assert again.count() == 1


def test_a_memory_without_a_file() -> None:
    with Memory(":memory:") as memory:
        memory.add("nowhere on the disk")
        assert memory.search("disk")[0].memory.text == "nowhere on the disk"


def test_files_are_for_their_owner_only(tmp_path: Path) -> None:
    with Memory(tmp_path / "deep" / "down" / "memory.db") as memory:
        memory.add("private")
        memory.search("private")
    files = list((tmp_path / "deep" / "down").iterdir())
    assert files
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)


@pytest.mark.parametrize("opened", [True, False])
def test_erasing_leaves_nothing_in_the_index_file(tmp_path: Path, opened: bool) -> None:
    database = tmp_path / "memory.db"
    index = Path(f"{database}.index")
    with Memory(database) as memory:
        record = memory.add("The vault opens with 4711.")
        index.write_bytes(b"what an index of before may hold")
        if opened:
            memory.search("vault")
        memory.forget(record.id, erase=True)
        assert not index.exists() or b"an index of before" not in index.read_bytes()
        assert memory.count() == 0


@pytest.mark.parametrize("flag", ["erase", "dry_run", "all_users"])
def test_only_true_is_true(memory: Memory, flag: str) -> None:
    record = memory.add("keep me", user_id="ana")
    with pytest.raises(InvalidInput, match=flag):
        memory.forget(filters={"field.role": "user"}, **{flag: "no"})
    assert memory.get(record.id) == record
