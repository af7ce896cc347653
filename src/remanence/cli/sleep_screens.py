"""Answers about sleep, schedules, learning and erasures for people."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from rich.text import Text

from remanence.cli import terminal
from remanence.cli.knowledge_screens import show
from remanence.cli.screens import INDENT, note, say
from remanence.learn.lora.evaluating import Score
from remanence.model.erasure import Erasure
from remanence.model.learning import AdapterVersion, Experience, Judged, LearnStatus, Trained
from remanence.model.sleep import Run, Status
from remanence.operations.sleep_responses import (
    Erasures,
    Experiences,
    Foreseen,
    Planned,
    Runs,
    Schedules,
    Told,
    Verified,
    Versions,
)
from remanence.operations.tuning import Adapters, Examples, Taught
from remanence.sleep.forgetting import Fading, Forecast
from remanence.sleep.forgetting.plotting import foreseen, text_plot
from remanence.sleep.schedule import ScheduleState

__all__ = ["show"]

COLOURS = {
    Status.RUNNING: "yellow",
    Status.COMPLETED: "green",
    Status.FAILED: "red",
    Status.CANCELLED: "yellow",
    Status.UNDONE: "dim",
}
CHARTS = 3
UNDONE_YET = (
    "Nothing was changed. Every step is foreseen from what there is now; a later one will see what "
    "the earlier leave. Without --dry-run it is done; `rem sleep undo-night` takes all of it back."
)
BAR = 40


@show.register
def _(answer: Planned, explain: bool = False) -> None:
    for plan in answer.plans:
        _show_plan(plan)
    note(UNDONE_YET)


@show.register
def _(answer: Runs, explain: bool = False) -> None:
    for run in answer.runs:
        show(run)
    if not answer.runs:
        note("Nothing has run. `rem sleep --dry-run` says what sleep would do.")


@show.register
def _(answer: Run, explain: bool = False) -> None:
    line = Text(f"{answer.started_at:%Y-%m-%d %H:%M}  ", style="green")
    line.append(f"{answer.step:<8}  ", style="bold")
    line.append(f"{answer.status:<9}  ", style=COLOURS[answer.status])
    line.append(f"{_counts(answer.counts)}")
    if answer.seconds is not None:
        line.append(f"  {answer.seconds:.1f} s", style="dim")
    say(line.append(f"  {answer.id}", style="dim"))
    if answer.alarm:
        say(Text(f"{INDENT}alarm: {answer.alarm}", style="yellow"))
    if answer.error:
        say(Text(f"{INDENT}{terminal.shown(answer.error)}", style="red"))


@show.register
def _(answer: Told, explain: bool = False) -> None:
    show(answer.run)
    for change in answer.changes:
        line = Text(f"{INDENT}{change.verb:<10}", style="bold")
        line.append(f"  {terminal.shown(change.excerpt)}").append(f"  {change.id}", style="dim")
        say(line if change.stands else line.append("  changed since", style="yellow"))


@show.register
def _(answer: Forecast, explain: bool = False) -> None:
    for one in answer.first:
        _show_fading(one)
    for line in text_plot(foreseen(answer)[:CHARTS], answer.policy, days=answer.days):
        say(line)
    most = max(answer.weeks, default=0)
    for week, count in enumerate(answer.weeks):
        if count:
            say(f"week {week + 1:>2}  {'█' * max(1, round(BAR * count / most))} {count:,}")
    stay = _counts(answer.exempt)
    note(f"{answer.total:,} would be forgotten in {answer.days} days, at most "
         f"{answer.most_a_run:,} a run. Staying: {stay}.")  # fmt: skip


@show.register
def _(answer: ScheduleState, explain: bool = False) -> None:
    plan = answer.schedule
    line = Text(f"{plan.name:<10} ", style="bold")
    line.append("on   " if plan.enabled else "off  ", style="green" if plan.enabled else "dim")
    line.append(f"{plan.cron:<14} {plan.zone}  {', '.join(plan.steps)}")
    say(line)
    told = {"next": _moment(answer.next_due), "last": _moment(answer.ended_at)}
    told |= {"now at it": answer.owner or "", "failed": answer.error or ""}
    told |= {"after new": str(plan.after_new or ""), "messages": str(plan.after_messages or "")}
    say(Text(INDENT + "  ".join(f"{n} {terminal.shown(v)}" for n, v in told.items() if v), "dim"))


@show.register
def _(answer: Schedules, explain: bool = False) -> None:
    for one in answer.schedules:
        show(one)
    note("They run where `rem worker` does, or in a memory opened with background=True.")


@show.register
def _(answer: LearnStatus, explain: bool = False) -> None:
    say(f"{answer.experiences:,} experiences, {answer.fresh:,} of them new")
    if answer.active is None:
        say("no adapter in use")
    else:
        show(answer.active)
    if answer.trouble:
        say(Text(f"{INDENT}{terminal.shown(answer.trouble)}", style="yellow"))


@show.register
def _(answer: Trained, explain: bool = False) -> None:
    say(Text("accepted" if answer.accepted else "not used", "green" if answer.accepted else "dim"))
    say(f"{INDENT}{answer.why}")
    if answer.judged.questions:
        say(f"{INDENT}{_judged(answer.judged)}")


@show.register
def _(answer: AdapterVersion, explain: bool = False) -> None:
    state = "in use" if answer.active else "accepted" if answer.accepted else "rejected"
    line = Text(f"version {answer.number:<4} ", style="bold")
    line.append(f"{state:<9} {answer.at:%Y-%m-%d %H:%M}  {_judged(answer.judged)}")
    say(line)
    say(Text(f"{INDENT}{answer.why}", style="dim"))


@show.register
def _(answer: Versions, explain: bool = False) -> None:
    for one in answer.versions:
        show(one)
    if not answer.versions:
        note("Nothing was trained yet. `rem feedback` and `rem learn outcome` give it something.")


@show.register
def _(answer: Experience, explain: bool = False) -> None:
    mark = ("✓", "green") if answer.useful else ("✗", "red")
    rank = f"  now at {answer.rank}" if answer.rank else ""
    asked = terminal.shown(answer.query or "")
    say(Text.assemble(mark, f"  {answer.at:%Y-%m-%d}  {asked}", (f"  {answer.id}{rank}", "dim")))


@show.register
def _(answer: Experiences, explain: bool = False) -> None:
    for one in answer.experiences:
        show(one)
    if not answer.experiences:
        note("There is no feedback here yet. (-u names a user.)")


@show.register
def _(answer: Examples, explain: bool = False) -> None:
    for one in answer.examples:
        say(
            Text.assemble((terminal.shown(one.question), "bold"), f"  {terminal.shown(one.answer)}")
        )
    if not answer.examples:
        note("There is nothing to teach here yet. (-u names a user.)")


@show.register
def _(answer: Adapters, explain: bool = False) -> None:
    for one in answer.adapters:
        line = Text(f"{one.updated_at:%Y-%m-%d %H:%M}  ", style="green")
        line.append(f"{one.state:<9} {one.examples:,} examples of {one.memories:,} memories  ")
        say(line.append(terminal.shown(f"{one.base}  {one.folder}"), style="dim"))
    if not answer.adapters:
        note("No adapter was made here. (-u names a user.)")


@show.register
def _(answer: Taught, explain: bool = False) -> None:
    figures = answer.figures
    say(f"{answer.folder}")
    say(f"{INDENT}new  {_learnt(figures.new_before, figures.new_after)}")
    if figures.old_before is not None and figures.old_after is not None:
        say(f"{INDENT}old  {_learnt(figures.old_before, figures.old_after)}")


def _learnt(before: Score, after: Score) -> str:
    recalled = f"{before.recalled} → {after.recalled} of {after.examples} recalled"
    return f"loss {before.loss:.3f} → {after.loss:.3f}, {recalled}"


@show.register
def _(answer: Erasure, explain: bool = False) -> None:
    line = Text(f"{answer.at:%Y-%m-%d %H:%M}  ", style="green")
    line.append(f"{answer.status:<9} {_counts(answer.counts)}")
    say(line.append(f"  {answer.id}", style="dim"))
    for remains in answer.remains:
        say(Text(f"{INDENT}{terminal.shown(remains)}", style="dim"))


@show.register
def _(answer: Erasures, explain: bool = False) -> None:
    for one in answer.erasures:
        show(one)
    if not answer.erasures:
        note("Nothing was erased here.")


@show.register
def _(answer: Verified, explain: bool = False) -> None:
    say(
        "This store gave exactly this receipt."
        if answer.healthy
        else "This receipt is not genuine."
    )


def _show_plan(plan: Foreseen) -> None:
    head = Text(f"{plan.step:<8}  ", style="bold")
    head.append(f"looked at {plan.looked_at:,}, decided {plan.decided:,}")
    if plan.takes:
        head.append(f", {plan.takes:,} leave recall", style="yellow")
    say(head)
    for remark in plan.notes:
        say(Text(f"{INDENT}{terminal.shown(remark)}", style="dim"))
    for decision in plan.first:
        say(Text.assemble(f"{INDENT}{decision.what}", (f"  {terminal.shown(decision.why)}", "dim")))
        for text in decision.writes:
            say(Text(f"{INDENT}{INDENT}+ {terminal.shown(text)}", style="green"))
        for number, excerpt in enumerate(decision.excerpts):
            mark = "keeps " if decision.keeps and not number else ""
            say(Text.assemble(f"{INDENT}{INDENT}", (mark, "bold"), terminal.shown(excerpt)))
        if more := len(decision.about) - len(decision.excerpts):
            say(Text(f"{INDENT}{INDENT}and {more:,} more", style="dim"))
    if more := plan.decided - len(plan.first):
        say(Text(f"{INDENT}and {more:,} more decisions", style="dim"))
    if plan.alarm:
        say(Text(f"{INDENT}alarm: {plan.alarm}", style="yellow"))


def _show_fading(one: Fading) -> None:
    line = Text(f"{one.on:%Y-%m-%d}  ", style="green")
    say(line.append(terminal.shown(one.excerpt)))
    told = f"{INDENT}strength {one.strength:.3f}, {terminal.shown(one.reason)}"
    say(Text(f"{told}  {one.id}", style="dim"))


def _judged(judged: Judged) -> str:
    if not judged.questions:
        return "not judged"
    gain = f"nDCG@10 {judged.before:.3f} → {judged.after:.3f} on {judged.questions} questions"
    return f"{gain} kept back"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in counts.items()) or "nothing"


def _moment(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M}"
