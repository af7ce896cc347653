"""Forgetting over a file and over a server: what fades, what never does, what a clock may do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remanence.consolidation.retention.forecast import forecast
from remanence.consolidation.retention.steps import Erasing, Forgetting
from remanence.errors import InvalidInput
from remanence.layers.cleanup import believed
from remanence.memories.lineage import MERGED_INTO, SUMMARISES
from remanence.model.memory import Association, Kind, MemoryRecord, State
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.sleep import ForgetPolicy, Night, Plan, SleepPolicy
from remanence.model.write import Batch, Remove, Revise
from remanence.store.postgres import PostgresStore
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import add, memory, revise, texts, write

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DECADE = timedelta(days=3653)
EVERYBODY = Reach(tenant="t", all_users=True)
ALL = SleepPolicy(cap=1)


@pytest.fixture(scope="module")
def server(postgres_database: str) -> Iterator[Store]:
    """One database for all tests here, each of which leaves it empty."""
    store = PostgresStore(postgres_database)
    yield store
    store.close()


@pytest.fixture(params=["file", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "file":
        store: Store = SqliteStore(tmp_path / "memory.db")
        yield store
        store.close()
        return
    store = request.getfixturevalue("server")
    yield store
    for tenant in store.upkeep.tenants():
        gone = [Remove(id=record.id) for _, record in store.archive.scan(tenant)]
        write(store, *gone, tenant=tenant)


def night(policy: SleepPolicy = ALL, *, now: datetime = NOW, **reach: Any) -> Night:
    return Night(reach=Reach(tenant="t", **reach) if reach else EVERYBODY, now=now, policy=policy)


def slight(text: str, days: float = 60, **fields: Any) -> MemoryRecord:
    """A memory that the rule lets go, so many days old."""
    then = NOW - timedelta(days=days)
    times: dict[str, Any] = dict.fromkeys(("happened_at", "created_at", "updated_at"), then)
    return memory(text, **(times | {"importance": 0.05} | fields))


def do(store: Store, plan: Plan) -> None:
    actions = tuple(action for deed in plan.deeds for action in deed.actions)
    store.archive.write(Batch(tenant="t", at=NOW, actions=actions))


def planned(store: Store, plan: Plan) -> list[str]:
    return texts(store.archive.get("t", [deed.about[0] for deed in plan.deeds]))


def use(store: Store, record: MemoryRecord, times: int, days: float = 0) -> None:
    store.archive.note_uses("t", [(record.id, NOW - timedelta(days=days))] * times)


def test_what_is_slight_old_and_hardly_used_fades(store: Store) -> None:
    records = [
        slight("faded"),
        slight("used once"),
        slight("used twice"),
        slight("important", importance=0.1),
        slight("young", 29),
        slight("just old enough", 30.01),
        slight("pinned", pinned=True),
        slight("stated", source="user"),
        slight("heard", source="users"),
        slight("told", kind=Kind.SUMMARY, origin="summary"),
        slight("distilled", kind=Kind.SEMANTIC, origin="sleep"),
        slight("archived", state=State.ARCHIVED),
        slight("doubtful", state=State.QUARANTINED),
        slight("planned", happened_at=NOW + timedelta(days=9)),
        slight("revived", updated_at=NOW - timedelta(days=1)),
        slight("somebody's", user_id="ana"),
        slight("imported", 10, happened_at=NOW - DECADE),
        slight("of years ago", happened_at=NOW - DECADE),
    ]
    add(store, *records)
    add(store, slight("elsewhere", tenant="u"))
    use(store, records[1], 1)
    use(store, records[2], 2)
    plan = Forgetting(store).plan(night())
    expected = ["faded", "heard", "just old enough", "of years ago", "somebody's", "used once"]
    assert sorted(planned(store, plan)) == expected
    assert plan.takes == len(expected)
    do(store, plan)
    assert not Forgetting(store).plan(night()).deeds
    (last,) = store.archive.history("t", records[0].id)[1:]
    assert (last.verb, last.actor, last.at) == ("faded", "sleep", NOW)
    assert last.reason == (
        "strength 0.002 (importance 0.05, 60 days untouched, uses 0) is below 0.1"
    )
    assert store.archive.count(EVERYBODY) == len(records)
    assert store.archive.get("t", [records[0].id])[0].state == State.ARCHIVED


def test_a_run_reaches_as_far_as_it_is_told(store: Store) -> None:
    add(
        store,
        slight("nobody's"),
        slight("ana's", user_id="ana", agent_id="a"),
        slight("ana's too", user_id="ana"),
    )
    add(store, slight("elsewhere", tenant="u"))
    plans = [Forgetting(store).plan(night(**reach)) for reach in (
        {"user_id": None}, {"user_id": "ana"}, {"user_id": "ana", "agent_id": "a"}
    )]  # fmt: skip
    assert [sorted(planned(store, plan)) for plan in plans] == [
        ["nobody's"],
        ["ana's", "ana's too"],
        ["ana's"],
    ]


def test_the_weakest_come_first_and_no_more_than_show_that_a_cap_is_reached(store: Store) -> None:
    records = [slight(f"{n}", 31 + n % 7, importance=0.09 - n / 1_000) for n in range(60)]
    add(store, *records)
    use(store, records[59], 1)
    everything = Forgetting(store).plan(night())
    found = planned(store, everything)
    assert len(found) == 60
    assert found[-1] == "59"
    left = [0.95 ** (31 + int(n) % 7) * (0.09 - int(n) / 1_000) for n in found[:-1]]
    assert left == sorted(left)
    capped = Forgetting(store).plan(night(SleepPolicy(cap=0.1)))
    assert planned(store, capped) == found[:7]
    assert capped.notes == ("60 have faded; the weakest 7 are planned",)
    assert capped.looked_at == 60
    assert everything == Forgetting(store).plan(night())


def test_other_policies_count_strength_too(store: Store) -> None:
    policy = SleepPolicy(cap=1, forget=ForgetPolicy(importance_below=0.9, uses_below=5))
    records = [slight(f"used {n}", 40, importance=0.5) for n in range(5)]
    add(store, *records)
    for n, record in enumerate(records):
        use(store, record, n, 40)
    # 0.5 × 0.95^(40 / (1 + uses)) is 0.064, 0.18, …
    assert planned(store, Forgetting(store).plan(night(policy))) == ["used 0"]
    late = Forgetting(store).plan(night(policy, now=NOW + timedelta(days=100)))
    assert planned(store, late) == ["used 0", "used 1", "used 2", "used 3"]


@pytest.mark.parametrize("wrote", [29, 31])
def test_days_count_on_which_the_owner_wrote(store: Store, wrote: int) -> None:
    add(store, slight("old", 100, user_id="ana"), slight("old", 100, user_id="tom"))
    add(store, *(slight(f"{n}", 99 - n, user_id="ana", importance=0.5) for n in range(wrote)))
    told = [slight("told", n, user_id="tom", origin="summary") for n in range(60)]
    add(store, *told)
    policy = SleepPolicy(cap=1, forget=ForgetPolicy(active_days=True))
    assert len(Forgetting(store).plan(night(policy)).deeds) == (wrote > 30)


@pytest.mark.parametrize("jump", [DECADE, -DECADE])
@pytest.mark.parametrize("writes", [0, 1, 3])
def test_a_jump_of_the_clock_forgets_and_erases_nothing(
    store: Store, jump: timedelta, writes: int
) -> None:
    add(store, *(slight(f"{days} days ago", days) for days in (25, 20, 10, 0)))
    faded = slight("faded", 20)
    add(store, faded)
    write(store, _fade(faded, NOW - timedelta(days=1)))
    wrong = NOW + jump
    for n in range(writes):
        then = wrong - timedelta(days=n)
        times: dict[str, Any] = dict.fromkeys(("happened_at", "created_at", "updated_at"), then)
        add(store, memory(f"in the wrong decade {n}", **times, importance=0.05))
    erased: list[str] = []
    policy = SleepPolicy(cap=1, forget=ForgetPolicy(erase_after_days=7))
    Erasing(store, erased.extend).run(night(policy, now=wrong))
    assert erased == []
    try:
        now = believed(wrong, lambda where: store.archive.count(EVERYBODY, where))
    except InvalidInput:
        assert jump > timedelta(0)
        return
    assert jump < timedelta(0)
    assert Forgetting(store).plan(night(now=now)).deeds == ()


def _fade(record: MemoryRecord, at: datetime, **more: Any) -> Revise:
    how: dict[str, Any] = {"verb": "faded", "actor": "sleep"} | more
    return Revise(id=record.id, changes={"state": State.ARCHIVED}, at=at, **how)


def erasing(store: Store) -> Erasing:
    def erase(ids: Sequence[str]) -> None:
        write(store, *(Remove(id=id) for id in ids))

    return Erasing(store, erase)


def test_what_sleep_archived_long_ago_is_erased_if_the_policy_says_so(store: Store) -> None:
    then = NOW - timedelta(days=100)
    rules: dict[str, dict[str, Any]] = {
        "faded": {},
        "faded of late": {"at": NOW - timedelta(days=89)},
        "forgotten by its owner": {"verb": "forgot", "actor": None},
        "faded says somebody": {"actor": "mallory"},
    }
    records = {name: slight(name, 200) for name in rules}
    add(store, *records.values())
    write(store, *(_fade(records[n], **({"at": then} | how)) for n, how in rules.items()))
    exempt = [slight("pinned since", 200), slight("stated", 200, source="user")]
    exempt += [slight("told", 200, origin="summary"), slight("summed up", 200)]
    exempt += [slight("revived and gone", 200), slight("merged", 200), slight("standing", 200)]
    add(store, *exempt)
    write(store, *(_fade(record, then) for record in exempt[:-1]))
    revise(store, exempt[0].id, pinned=True, at=then)
    revise(store, exempt[4].id, state=State.ACTIVE, at=then)
    revise(store, exempt[4].id, state=State.ARCHIVED, at=then)
    revise(store, exempt[5].id, superseded_by=exempt[6].id, at=then)
    summary = slight("summary", 200, kind=Kind.SUMMARY, origin="summary")
    add(store, summary)
    link = Association(
        source=summary.id, target=exempt[3].id, type=SUMMARISES, strength=1.0, created_at=then
    )
    store.links.associate("t", link)
    everything = store.archive.count(EVERYBODY)
    step = erasing(store)
    assert step.run(night()).counts == {"erased": 0}
    assert step.foresee(night()).notes == ("the policy erases nothing by itself",)
    policy = SleepPolicy(cap=0.5, forget=ForgetPolicy(erase_after_days=90))
    seen = step.foresee(night(policy))
    assert seen.notes == ("1 memories would be erased for good",)
    calls: list[tuple[int, int]] = []
    done = step.run(night(policy), lambda *at: calls.append(at))
    assert done.counts == {"erased": 1, "capped": 0}
    assert calls == [(1, 1)]
    assert store.archive.count(EVERYBODY) == everything - 1
    assert not store.archive.get("t", [records["faded"].id])
    assert step.run(night(policy)).counts == {"erased": 0, "capped": 0}
    assert step.undo(night(policy)) == 0


@pytest.mark.parametrize("protected", [{"pinned": True}, {"source": "user"}])
def test_what_stands_for_a_protected_memory_stays(store: Store, protected: dict[str, Any]) -> None:
    standing, faded, plain = slight("standing", 200), slight("faded", 200), slight("plain", 200)
    add(store, standing, faded, plain)
    for n, record in enumerate((standing, faded, plain)):
        how = {} if record is plain else protected
        one = slight(f"{n}", 200, state=State.ARCHIVED, superseded_by=record.id, **how)
        add(store, one)
        link = Association(
            source=one.id, target=record.id, type=MERGED_INTO, strength=1.0, created_at=NOW
        )
        store.links.associate("t", link)
    assert planned(store, Forgetting(store).plan(night())) == ["plain"]
    assert [one.excerpt for one in forecast(store, night()).first] == ["plain"]
    write(store, *(_fade(record, NOW - timedelta(days=100)) for record in (faded, plain)))
    policy = SleepPolicy(cap=1, forget=ForgetPolicy(erase_after_days=30))
    assert erasing(store).run(night(policy)).counts["erased"] == 1
    assert texts(store.archive.get("t", [standing.id, faded.id, plain.id])) == ["standing", "faded"]


def test_a_run_erases_no_more_than_its_share(store: Store) -> None:
    records = [slight(f"{n}", 200, user_id=f"u{n % 3}") for n in range(30)]
    add(store, *records)
    write(store, *(_fade(record, NOW - timedelta(days=100)) for record in records))
    policy = SleepPolicy(cap=0.1, forget=ForgetPolicy(erase_after_days=30))
    step = erasing(store)
    assert step.foresee(night(policy)).alarm is not None
    assert [step.run(night(policy)).counts["erased"] for _ in range(3)] == [3, 3, 3]
    assert store.archive.count(EVERYBODY) == 21
    mine = night(SleepPolicy(cap=1, forget=policy.forget), user_id="u1")
    assert step.run(mine).counts == {"erased": 10, "capped": 0}
    none = SleepPolicy(cap=0, forget=policy.forget)
    assert step.run(night(none)).counts == {"erased": 0, "capped": 1}


def test_a_forecast_tells_what_when_and_why(store: Store) -> None:
    records = [
        slight("faded\n\talready \x1b[31m" + "x" * 100),
        slight("soon", 25),
        slight("late", 0),
    ]
    records += [slight("pinned", pinned=True), slight("stated", source="user")]
    records += [slight("told", origin="summary"), slight("important", importance=0.5)]
    records += [slight("used"), slight("pinned and stated", pinned=True, source="user")]
    add(store, *records)
    add(store, slight("elsewhere", tenant="u"))
    use(store, records[7], 2)
    seen = forecast(store, night(SleepPolicy(cap=0.25)), days=30)
    assert [(one.id, one.on) for one in seen.first] == [
        (records[0].id, date(2026, 3, 1)),
        (records[1].id, date(2026, 3, 6)),
    ]
    assert (seen.total, seen.weeks, seen.most_a_run) == (2, (2, 0, 0, 0, 0), 3)
    assert seen.exempt == {
        "pinned": 2,
        "stated by the user": 1,
        "derived": 1,
        "important": 1,
        "used": 1,
    }
    first, second = seen.first
    assert first.excerpt.startswith("faded already �[31mxxx")
    assert len(first.excerpt) == 80
    assert first.strength == pytest.approx(0.05 * 0.95**60)
    assert "60 days untouched" in first.reason
    assert second.reason.startswith("if not used for 5 more days")
    longer = forecast(store, night(), days=31, limit=1)
    assert (longer.total, len(longer.first), longer.weeks) == (3, 1, (2, 0, 0, 0, 1))
    for one in forecast(store, night(), days=90).first:
        later = night(now=datetime.combine(one.on, datetime.max.time(), UTC))
        assert one.id in {deed.about[0] for deed in Forgetting(store).plan(later).deeds}


def test_what_never_fades_is_counted(store: Store) -> None:
    add(store, slight("kept"))
    policy = SleepPolicy(forget=ForgetPolicy(floor=0))
    seen = forecast(store, night(policy))
    assert (seen.total, seen.exempt["not fading"]) == (0, 1)


NO_DAYS = (0, -1, True, 1e9, "9", None, float("nan"), 36_526)
HOSTILE: list[dict[str, Any]] = [{"days": value} for value in NO_DAYS]
HOSTILE += [{"limit": value} for value in (0, None, 10**9)]


@pytest.mark.parametrize("asked", HOSTILE, ids=range(len(HOSTILE)))
def test_a_forecast_checks_what_it_is_asked(tmp_path: Path, asked: dict[str, Any]) -> None:
    store = SqliteStore(tmp_path / "memory.db")
    with pytest.raises(InvalidInput):
        forecast(store, night(), **asked)
    store.close()


@pytest.mark.parametrize("year", [1, 9999])
def test_the_ends_of_time(store: Store, year: int) -> None:
    edge = datetime(year, 6, 1, tzinfo=UTC)
    times: dict[str, Any] = dict.fromkeys(("happened_at", "created_at", "updated_at"), edge)
    add(store, memory("at the edge", **times, importance=0.0), slight("faded"))
    for active in (False, True):
        forget = ForgetPolicy(active_days=active, older_than_days=1e12)
        policy = SleepPolicy(cap=1, forget=forget)
        for now in (NOW, edge):
            assert Forgetting(store).plan(night(policy, now=now)).deeds == ()
            assert forecast(store, night(policy, now=now)).total == 0
            endless = replace(policy, forget=replace(forget, erase_after_days=1e12))
            assert erasing(store).run(night(endless, now=now)).counts["erased"] == 0
        assert forecast(store, night(now=edge), days=36_525).total <= 2


def test_an_empty_memory_forgets_nothing(store: Store) -> None:
    assert Forgetting(store).plan(night()) == Plan(step=Forgetting.step)
    seen = forecast(store, night())
    assert (seen.total, seen.first, sum(seen.exempt.values())) == (0, (), 0)
