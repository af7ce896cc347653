"""Weeks, months and the step that tells them, over a file and over a server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory
from remanence.consolidation.conversation_summaries import Talks
from remanence.errors import Conflict, InvalidInput, LanguageModelError, NotFound
from remanence.layers.conversation import Conversations
from remanence.memories.lineage import SOURCES
from remanence.model.clock import FixedClock, IdMaker
from remanence.model.memory import MemoryRecord, State
from remanence.model.ports.language_model import Reply
from remanence.model.scope import Reach
from remanence.model.sleep import Night, SleepPolicy

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
MAY = datetime(2026, 5, 1, 9, tzinfo=UTC)
DAY = timedelta(days=1)
ANA: dict[str, Any] = {"user_id": "ana"}
Opened = Callable[..., Memory]


@pytest.fixture(params=["file", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    """Opens memories on one store."""
    on_file = request.param == "file"
    place = tmp_path / "memory.db" if on_file else request.getfixturevalue("postgres_database")
    tenant = str(IdMaker()())
    with ExitStack() as stack:
        yield lambda tenant=tenant, **settings: stack.enter_context(
            Memory(place, clock=FixedClock(MONDAY), window_messages=4, tenant=tenant, **settings)
        )


@pytest.fixture
def memory(opened: Opened) -> Memory:
    return opened()


def say(memory: Memory, day: datetime, *what: str, session: str = "s1", user: str = "ana") -> None:
    messages = [
        {"name": "Ana", "content": text, "at": day + timedelta(minutes=n)}
        for n, text in enumerate(what)
    ]
    memory.conversations.append(messages, session_id=session, user_id=user)


def journey(
    memory: Memory, days: int, start: datetime = MONDAY, session: str = "s1", **more: Any
) -> None:
    """A conversation a day, each just long enough to be worth telling."""
    for n in range(days):
        town = f"Town{n}"
        what = (
            f"Today we went to {town}.",
            f"{town} cost 1{n} euros.",
            "Carla drove.",
            "We had fish.",
        )
        say(memory, start + n * DAY, *what, session=f"{session}-{n}", **more)


def told(memory: Memory, level: str, **scope: Any) -> list[MemoryRecord]:
    found = memory.find(kinds="summary", filters={"level": level}, limit=1_000, **(scope or ANA))
    return found[::-1]


def sources(memory: Memory, record: MemoryRecord) -> list[str]:
    linked = memory.related(record.id, type="summarises", direction="out", limit=100)
    return sorted(str(link.memory.metadata.get("level", "message")) for link in linked)


def night(memory: Memory, now: datetime = MAY, *, use_model: bool = False, **reach: Any) -> Night:
    whose = Reach(tenant=memory.tenant, **(reach or {"all_users": True}))
    return Night(reach=whose, now=now, policy=SleepPolicy(), use_model=use_model)


def talks_of(memory: Memory, **how: Any) -> Talks:
    return Talks(memory.service.conversations, memory.parts.store, **how)


def test_a_week_is_told_from_its_days(memory: Memory) -> None:
    journey(memory, 8)
    week = memory.conversations.week("2026-03-04", **ANA)
    assert (week.metadata["level"], week.metadata["week"]) == ("week", "2026-W10")
    assert (week.metadata["messages"], week.metadata[SOURCES], week.session_id) == (28, 7, None)
    assert sources(memory, week) == ["day"] * 7
    assert len(week.text) <= 1_200
    assert "Town6" in week.text
    assert "Town7" not in week.text
    assert memory.conversations.week(MONDAY, **ANA) == week
    assert week.user_id == "ana"
    for asked in ({"day": "2026-02-01", **ANA}, {"day": "2026-03-02", "user_id": "tom"}):
        with pytest.raises(NotFound, match="Nothing was said"):
            memory.conversations.week(**asked)
    with pytest.raises(InvalidInput):
        memory.conversations.week("W10", **ANA)


def test_a_month_is_told_from_weeks_and_the_days_at_its_ends(memory: Memory) -> None:
    journey(memory, 3, MONDAY - DAY)  # a Sunday, the first of March
    journey(memory, 5, MONDAY + 27 * DAY, session="s2")  # from a Sunday into April
    month = memory.conversations.month("2026-03-20", **ANA)
    assert (month.metadata["month"], month.metadata["messages"]) == ("2026-03", 24)
    assert sources(memory, month) == ["day"] * 4 + ["week"]  # of one week there is one day
    assert [one.metadata["week"] for one in told(memory, "week")] == ["2026-W10"]
    assert len(month.text) <= 1_600
    assert memory.conversations.month("2026-04-01", **ANA).metadata["messages"] == 8


def test_the_ends_of_the_calendar(memory: Memory) -> None:
    for text, at in (("first", "0001-01-01T00:00:00Z"), ("last", "9999-12-31T23:00:00Z")):
        memory.conversations.append([{"content": text, "at": at}], session_id="s", **ANA)
    for day in ("0001-01-01", "9999-12-31"):
        for tell in (memory.conversations.week, memory.conversations.month):
            assert tell(day, **ANA).metadata["messages"] == 1


def test_what_is_said_later_changes_week_and_month(memory: Memory) -> None:
    journey(memory, 3)
    verbs = memory.conversations
    day, week, month = (tell(MONDAY, **ANA) for tell in (verbs.day, verbs.week, verbs.month))
    say(memory, MONDAY + timedelta(hours=5), "Grandmother Petronella paid 900 euros.", session="s2")
    again = verbs.month(MONDAY, **ANA)
    assert again.metadata["messages"] == month.metadata["messages"] + 1
    assert "Petronella" in again.text
    assert memory.get(day.id).version > 1
    assert [len(told(memory, level)) for level in ("day", "week", "month")] == [3, 1, 1]
    assert memory.get(month.id).state == State.ARCHIVED
    assert week.id not in {one.id for one in told(memory, "week")}
    journey(memory, 1, MONDAY + 5 * DAY)  # another day of the same week
    assert verbs.week(MONDAY, **ANA).metadata[SOURCES] == 4


def test_what_is_edited_or_erased_leaves_week_and_month(memory: Memory) -> None:
    journey(memory, 3)
    say(memory, MONDAY + DAY, "The secret is Petronella.", session="s2")
    secret = memory.find(filters={"text": {"contains": "secret"}}, **ANA, kinds="message")[0]
    verbs = memory.conversations
    assert "Petronella" in verbs.month(MONDAY, **ANA).text
    memory.update(secret.id, text="There is no secret.")
    assert not told(memory, "week")
    assert not told(memory, "month")
    month = verbs.month(MONDAY, **ANA)
    assert "Petronella" not in month.text
    memory.forget(secret.id, erase=True)
    with pytest.raises(NotFound):
        memory.get(month.id)
    assert verbs.month(MONDAY, **ANA).metadata["messages"] == 12


def test_what_has_faded_is_still_told_of(memory: Memory) -> None:
    journey(memory, 3)
    month = memory.conversations.month(MONDAY, **ANA)
    messages = memory.find(kinds="message", limit=100, **ANA)
    memory.parts.writer.change_all(
        messages[:5], {"state": State.ARCHIVED}, verb="faded", leave_summaries=True
    )
    assert memory.conversations.month(MONDAY, **ANA) == month
    assert len(told(memory, "day")) == 3
    assert talks_of(memory).run(night(memory, MONDAY + 40 * DAY)).made == ()


def test_a_prompt_does_not_tell_a_day_twice(memory: Memory) -> None:
    journey(memory, 5)
    memory.conversations.month(MONDAY, **ANA)
    for record in memory.find(kinds="message", limit=100, **ANA):
        memory.parts.writer.change_all(
            [record], {"state": State.ARCHIVED}, verb="faded", leave_summaries=True
        )
    found = memory.search("What did Town3 cost?", limit=50, **ANA)
    levels = {str(hit.memory.metadata["level"]) for hit in found}
    assert {"day", "week", "month"} <= levels
    prompt = memory.context("What did Town3 cost?", max_tokens=4_000, **ANA)
    assert prompt.text.count("Today we went to Town3") + prompt.text.count("went to Town3") >= 1
    assert prompt.text.count("Town3 cost") == 1


def test_talks_tells_what_is_over_and_nothing_twice(memory: Memory) -> None:
    journey(memory, 12, MONDAY + 21 * DAY)
    journey(memory, 2, MONDAY + 3 * DAY, user="tom")
    step, asked = talks_of(memory), night(memory, MONDAY + 32 * DAY + timedelta(hours=1))
    plan = step.foresee(asked)
    assert plan.notes == (
        "conversations to look through: 13",
        "to tell: conversations: 0, days: 13, weeks: 2, months: 1",
    )
    assert plan.looked_at == 56
    assert not told(memory, "day")
    calls: list[tuple[int, int]] = []
    done = step.run(asked, lambda *at: calls.append(at))
    assert calls == [(1, 2), (2, 2)]
    # The last day is not over, nor is the week it is in; ana's last talk still goes on.
    assert (done.counts["days"], done.counts["weeks"], done.counts["months"]) == (13, 2, 1)
    assert "left" not in done.counts
    made = {id: memory.get(id) for id, _ in done.made}
    assert {(id, record.version) for id, record in made.items()} == set(done.made)
    assert len(told(memory, "day", user_id="tom")) == 2
    assert not told(memory, "month", user_id="tom")
    for again in (step, talks_of(memory)):
        assert again.run(asked).made == ()
    assert step.undo(asked) == 0
    later = step.run(night(memory, MONDAY + 60 * DAY))
    assert later.counts == {"days": 1, "weeks": 1, "months": 1}


def test_undoing_gives_back_the_summaries_that_stood_before(memory: Memory) -> None:
    journey(memory, 3)
    first = memory.sleep.run("talks", now=MAY)[0]
    before = {one.id: one for one in memory.find(kinds="summary", limit=100, **ANA)}
    say(memory, MONDAY + timedelta(hours=5), "Grandmother Petronella paid 900 euros.", session="s2")
    second = memory.sleep.run("talks", now=MAY)[0]
    day = memory.conversations.day(MONDAY, **ANA)
    assert "Petronella" in day.text
    assert day.id in before
    shown = {one.id: one.verb for one in memory.sleep.show(second.id).changes}
    assert shown[day.id] == "summarised"
    undone = memory.sleep.undo(second.id)
    assert undone.counts["restored"] >= 1
    now = memory.get(day.id)
    was = before[day.id]
    assert (now.text, now.state, now.metadata) == (was.text, was.state, was.metadata)
    made = [id for id in shown if id not in before]
    assert {memory.get(id).state for id in made} <= {State.ARCHIVED}
    third = memory.sleep.run("talks", now=MAY)[0]
    assert "Petronella" in memory.conversations.day(MONDAY, **ANA).text
    for run in (third, first):
        memory.sleep.undo(run.id)
    assert [told(memory, level) for level in ("day", "week", "month")] == [[], [], []]


def test_a_run_is_bounded_and_the_next_goes_on(memory: Memory) -> None:
    journey(memory, 10)
    step, runs = talks_of(memory, most=4), []
    while (done := step.run(night(memory))).made:
        runs.append(done)
        assert len(runs) < 20
    assert [run.counts.get("left") for run in runs[:-1]] == [1] * (len(runs) - 1)
    assert max(len(run.made) for run in runs) <= 4
    assert [len(told(memory, level)) for level in ("day", "week", "month")] == [10, 2, 1]


def test_a_run_for_one_user_leaves_others_alone(memory: Memory, opened: Opened) -> None:
    journey(memory, 2)
    journey(memory, 2, user="tom")
    journey(opened(tenant="other"), 2)
    done = talks_of(memory).run(night(memory, user_id="tom"))
    assert {memory.get(id).user_id for id, _ in done.made} == {"tom"}
    assert not told(memory, "day")
    assert not told(opened(tenant="other"), "day")


def test_a_pause_is_waited_for(memory: Memory) -> None:
    say(memory, MONDAY, *(f"Town{n} is nice and cost {n} euros." for n in range(12)))
    before = len(told(memory, "segment"))
    step = talks_of(memory)
    assert step.run(night(memory, MONDAY + timedelta(hours=3))).made == ()
    assert step.run(night(memory, MONDAY + timedelta(hours=9))).counts["conversations"] >= 1
    assert len(told(memory, "segment")) > before


@pytest.mark.parametrize("jump", [-3653 * DAY, 3653 * DAY])
def test_a_jump_of_the_clock_loses_nothing(memory: Memory, jump: timedelta) -> None:
    journey(memory, 4, MONDAY + 5 * DAY)
    before = {record.id for record in memory.find(kinds="message", limit=100, **ANA)}
    step = talks_of(memory)
    step.run(night(memory, MONDAY + jump))  # before all that was said, or long after
    done = step.run(night(memory))
    assert {record.id for record in memory.find(kinds="message", limit=100, **ANA)} == before
    assert bool(done.made) is (jump < timedelta(0))
    assert [len(told(memory, level)) for level in ("day", "week", "month")] == [4, 2, 1]


def add(memory: Memory, at: datetime, *what: str, **scope: Any) -> None:
    for n, text in enumerate(what):
        moment = at + timedelta(minutes=n)
        memory.add(text, kind="message", role="user", happened_at=moment, **(ANA | scope))


def summaries(memory: Memory) -> list[MemoryRecord]:
    return memory.find(kinds="summary", all_users=True, limit=1_000)


def foreseen(memory: Memory, asked: Night) -> dict[str, int]:
    _, note = talks_of(memory).foresee(asked).notes
    pairs = (part.split(": ") for part in note.removeprefix("to tell: ").split(", "))
    return {name: int(number) for name, number in pairs if number != "0"}


LONG = (
    "Carla found a flat with a garden near the station, and we will move there on the 1st of May."
)


@pytest.mark.parametrize(
    ("what", "elsewhere", "days"),
    [
        (["I baked bread."], [], 0),
        (["I baked bread.", "It was rye bread.", "Carla ate it."], [], 0),
        (["I baked bread.", "It was rye bread.", "Carla ate it.", "It rained."], [], 1),
        (["Hi!", "Thanks!", "Ok great.", "Bye, see you!"], ["Hello!"], 0),
        (["I baked bread.", "Thanks!", "Ok great.", "Bye!"], [], 0),
        (["I baked bread."], ["Carla called."], 0),
        (["I baked bread."], [LONG], 1),
        (["Thanks!"], [LONG], 0),
    ],
)
@pytest.mark.parametrize("session", ["s1", None])
def test_a_day_is_told_if_it_is_worth_it(
    memory: Memory, what: list[str], elsewhere: list[str], days: int, session: str | None
) -> None:
    add(memory, MONDAY, *what, session_id=session)
    add(memory, MONDAY + timedelta(hours=2), *elsewhere, session_id="s2")
    assert foreseen(memory, night(memory)) == ({"days": days} if days else {})
    assert len(talks_of(memory).run(night(memory)).made) == days
    assert len(summaries(memory)) == days
    assert memory.conversations.day(MONDAY, **ANA).metadata["messages"] == len(what + elsewhere)


def test_weeks_and_months_need_more_than_one_day_or_part(memory: Memory) -> None:
    for week in range(3):  # a day worth telling, and small ones
        journey(memory, 1, MONDAY + week * 7 * DAY, session=f"a{week}")
        add(memory, MONDAY + (week * 7 + 2) * DAY, f"I baked bread number {week}.")
    journey(memory, 2, MONDAY + 35 * DAY, session="b")  # a month of one week
    done = talks_of(memory).run(night(memory, MONDAY + 90 * DAY))
    assert done.counts == {"days": 5, "weeks": 1, "months": 1}
    [march] = told(memory, "month")
    assert sources(memory, march) == ["day"] * 3 + ["message"] * 3
    assert "bread number 1" in march.text
    before = len(summaries(memory))
    asked = memory.conversations.week(MONDAY, **ANA)  # who asks is told
    assert sources(memory, asked) == ["day", "message"]
    assert memory.conversations.month("2026-04-10", **ANA).metadata["messages"] == 8
    assert len(summaries(memory)) == before + 2


def test_what_a_segment_tells_is_not_told_again_of_its_day(memory: Memory) -> None:
    for n in range(4):
        say(memory, MONDAY + n * DAY, *(f"Town{n} street {i} has 1{i} shops." for i in range(5)))
    asked = night(memory, MONDAY + 20 * DAY)
    coming = foreseen(memory, asked)
    done = talks_of(memory).run(asked)
    assert done.counts == coming
    assert (coming["days"], coming["weeks"]) == (1, 1)  # the last, which is partly in the window
    [week] = told(memory, "week")
    assert sources(memory, week) == ["day", "segment", "segment", "segment"]
    assert week.metadata["messages"] == 20


def test_counts_are_what_was_written_and_undo_leaves_nothing(memory: Memory) -> None:
    for n in (0, 1, 9, 19):
        add(memory, MONDAY + n * DAY, f"I baked bread number {n}.")
    say(memory, MONDAY + 25 * DAY, "Hi")
    journey(memory, 2, MONDAY + 7 * DAY, session="j", user="tom")
    journey(memory, 1, MONDAY + 14 * DAY, session="k", user="tom")
    say(memory, MONDAY + 21 * DAY, *(f"Town{n} has {n} shops." for n in range(30)), user="tom")
    stood = {record.id for record in summaries(memory)}
    [plan] = memory.sleep.plan("talks", now=MAY)
    coming = foreseen(memory, night(memory))
    assert plan.notes == talks_of(memory).foresee(night(memory)).notes
    [run] = memory.sleep.run("talks", now=MAY)
    written = {record.id for record in summaries(memory)} - stood
    assert dict(run.counts) == coming
    assert sum(run.counts.values()) == len(written) > 4
    undone = memory.sleep.undo(run.id)
    assert undone.counts["withdrawn"] == len(written)
    assert {record.id for record in summaries(memory)} == stood


def test_messages_without_a_conversation_are_told_alike(memory: Memory) -> None:
    for n in range(2):
        for user in ("ana", "tom", None):
            what = "I baked bread.", "It was rye bread.", "Carla ate it.", f"Town{n} was dry."
            add(memory, MONDAY + n * DAY, *what, user_id=user)
    first = talks_of(memory).run(night(memory))
    assert first.counts == {"days": 6, "weeks": 3}
    say(memory, MONDAY + 3 * DAY, "Hi")
    assert talks_of(memory).run(night(memory)).made == ()


@pytest.mark.parametrize("most", [500, 3])
def test_a_part_that_is_written_on_the_way_is_reported(memory: Memory, most: int) -> None:
    journey(memory, 9, MONDAY)

    class Late(Conversations):
        """A day's summary is lost to somebody else, and made when the week is told."""

        def day(self, *args: Any, **more: Any) -> MemoryRecord:
            raise Conflict("What was said keeps changing; try again.")

    kept, parts = memory.settings, memory.parts
    verbs = Late(
        *(parts.store, parts.writer, memory.search, memory.tenant, FixedClock(MAY), IdMaker()),
        *(kept.max_text, kept.window_messages, kept.window_tokens, None),
    )
    step, counts, made = Talks(verbs, parts.store, most=most), Counter[str](), set[str]()
    while (done := step.run(night(memory))).made:
        counts.update(done.counts)
        made |= {id for id, _ in done.made}
    del counts["left"]
    assert counts == {"days": 9, "weeks": 2, "months": 1}
    assert made == {record.id for record in summaries(memory)}


class Parrot:
    """A language model that repeats what it is given, or is down."""

    name = "parrot"
    model = "parrot"

    def __init__(self, *, down: bool = False) -> None:
        self.down = down

    def reply(self, messages: Any, **options: Any) -> Reply:
        if self.down:
            raise LanguageModelError("The model is down; start it.")
        lines = str(messages[-1]["content"]).splitlines()
        return Reply(text="\n".join(line for line in lines if line.startswith("Ana: ")))

    def stream(self, messages: Any, **options: Any) -> Iterator[str | Reply]:
        yield self.reply(messages)

    def close(self) -> None: ...


def with_model(memory: Memory, model: Parrot) -> Talks:
    kept, parts = memory.settings, memory.parts
    verbs = Conversations(
        *(parts.store, parts.writer, memory.search, memory.tenant, FixedClock(MAY), IdMaker()),
        *(kept.max_text, kept.window_messages, kept.window_tokens, model),
    )
    return Talks(verbs, parts.store)


def test_a_model_writes_periods_once_if_it_is_asked_for(memory: Memory) -> None:
    journey(memory, 9, MONDAY + 4 * DAY)
    step = with_model(memory, Parrot())
    step.run(night(memory))
    plain = [record for level in ("day", "week", "month") for record in told(memory, level)]
    assert not any("model" in record.metadata for record in plain)
    done = step.run(night(memory, use_model=True))
    levels = {level: told(memory, level) for level in ("day", "week", "month")}
    assert {level: len(found) for level, found in levels.items()} == {
        "day": 9,
        "week": 2,
        "month": 1,
    }
    written = [record for found in levels.values() for record in found]
    assert all({"model", "declined"} & set(record.metadata) for record in written)
    assert any("model" in record.metadata for record in levels["day"])
    made = dict(done.made)
    assert all(made[record.id] == record.version for record in written if record.id in made)
    assert {record.id for record in levels["month"]} <= set(made)
    again = step.run(night(memory, use_model=True))
    assert again.made == ()


def test_a_model_that_is_down_leaves_what_was_extracted(memory: Memory) -> None:
    journey(memory, 3)
    done = with_model(memory, Parrot(down=True)).run(night(memory, use_model=True))
    assert done.counts["days"] == 3
    assert "Town1" in told(memory, "week")[0].text
