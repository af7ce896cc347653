"""Answers about sleep, schedules, learning and erasures for people."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from remanence.api.verbs import learn
from remanence.api.verbs.sleep import NightPlan, RunDetail, Runs, ScheduleList, StepPlan
from remanence.api.verbs.snapshots import ErasureList, ReceiptCheck
from remanence.cli.layer_screens import show
from remanence.cli.screens import INDENT, NONE
from remanence.cli.terminal import note, say, shown
from remanence.consolidation.learning.lora.examples import TrainingExample
from remanence.consolidation.learning.lora.models import LossScore
from remanence.consolidation.retention.forecast import FadingMemory, Forecast, foreseen, text_plot
from remanence.consolidation.schedules.schedules import ScheduleState
from remanence.model import learning
from remanence.model.erasure import Erasure
from remanence.model.sleep import Run, Status

__all__ = ["show"]

COLOURS = {
    Status.RUNNING: "yellow",
    Status.COMPLETED: "green",
    Status.FAILED: "red",
    Status.CANCELLED: "yellow",
    Status.UNDONE: "dim",
}
NONE.update(
    {
        learn.Adapters: "No adapter was made here. (-u names a user.)",
        ErasureList: "Nothing was erased here.",
        learn.Examples: "There is nothing to teach here yet. (-u names a user.)",
        learn.Experiences: "There is no feedback here yet. (-u names a user.)",
        Runs: "Nothing has run. `rem sleep --dry-run` says what sleep would do.",
        learn.AdapterVersions: "Nothing was trained yet. `rem feedback` and `rem learn outcome` "
        "give it something.",
    }
)
CHARTS = 3
UNDONE_YET = (
    "Nothing was changed. Every step is foreseen from what there is now; a later one will see what "
    "the earlier leave. Without --dry-run it is done; `rem sleep undo-night` takes all of it back."
)
BAR = 40


@show.register
def _(answer: NightPlan, explain: bool = False) -> None:
    for plan in answer.plans:
        _show_plan(plan)
    note(UNDONE_YET)


@show.register
def _(answer: Run, explain: bool = False) -> None:
    step = (f"{answer.step:<8}  ", "bold")
    status = (f"{answer.status:<9}  ", COLOURS[answer.status])
    took = "" if answer.seconds is None else f"  {answer.seconds:.1f} s"
    done = (_counts(answer.counts), (f"{took}  {answer.id}", "dim"))
    say(f"{answer.started_at:%Y-%m-%d %H:%M}  ", step, status, *done, style="green")
    if answer.alarm:
        say(f"{INDENT}alarm: {answer.alarm}", style="yellow")
    if answer.error:
        say(f"{INDENT}{shown(answer.error)}", style="red")


@show.register
def _(answer: RunDetail, explain: bool = False) -> None:
    show(answer.run)
    for change in answer.changes:
        told = f"{INDENT}{change.verb:<10}  {shown(change.excerpt)}"
        since = ("" if change.stands else "  changed since", "yellow")
        say(told, (f"  {change.id}", "dim"), since, style="bold")


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
    switch = ("on   ", "green") if plan.enabled else ("off  ", "dim")
    when = f"{plan.cron:<14} {plan.zone}  {', '.join(plan.steps)}"
    say(f"{plan.name:<10} ", switch, when, style="bold")
    told = {"next": _moment(answer.next_due), "last": _moment(answer.ended_at)}
    told |= {"now at it": answer.owner or "", "failed": answer.error or ""}
    told |= {"after new": str(plan.after_new or ""), "messages": str(plan.after_messages or "")}
    say(INDENT + "  ".join(f"{n} {shown(v)}" for n, v in told.items() if v), style="dim")
    if answer.obstacle:
        say(INDENT + answer.obstacle, style="yellow")


@show.register(ScheduleList)
def _(answer: Any, explain: bool = False) -> None:
    for one in answer.schedules:
        show(one)


@show.register
def _(answer: learning.LearnStatus, explain: bool = False) -> None:
    say(f"{answer.experiences:,} experiences, {answer.fresh:,} of them new")
    if answer.active is None:
        say("no adapter in use")
    else:
        show(answer.active)
    if answer.trouble:
        say(f"{INDENT}{shown(answer.trouble)}", style="yellow")


@show.register
def _(answer: learning.TrainingResult, explain: bool = False) -> None:
    say(("accepted", "green") if answer.accepted else ("not used", "dim"))
    say(f"{INDENT}{answer.why}")
    if answer.judged.questions:
        say(f"{INDENT}{_judged(answer.judged)}")


@show.register
def _(answer: learning.AdapterVersion, explain: bool = False) -> None:
    state = "in use" if answer.active else "accepted" if answer.accepted else "rejected"
    told = f"{state:<9} {answer.at:%Y-%m-%d %H:%M}  {_judged(answer.judged)}"
    say(f"version {answer.number:<4} {told}", style="bold")
    say(f"{INDENT}{answer.why}", style="dim")


@show.register
def _(answer: learning.Experience, explain: bool = False) -> None:
    mark = ("✓", "green") if answer.useful else ("✗", "red")
    rank = f"  now at {answer.rank}" if answer.rank else ""
    asked = shown(answer.query or "")
    say(mark, f"  {answer.at:%Y-%m-%d}  {asked}", (f"  {answer.id}{rank}", "dim"))


@show.register
def _(answer: TrainingExample, explain: bool = False) -> None:
    say((shown(answer.question), "bold"), f"  {shown(answer.answer)}")


@show.register
def _(answer: learn.Tuned, explain: bool = False) -> None:
    told = f"{answer.state:<9} {answer.examples:,} examples of {answer.memories:,} memories  "
    made = (shown(f"{answer.base}  {answer.folder}"), "dim")
    say(f"{answer.updated_at:%Y-%m-%d %H:%M}  {told}", made, style="green")


@show.register
def _(answer: learn.Taught, explain: bool = False) -> None:
    figures = answer.figures
    say(f"{answer.folder}")
    say(f"{INDENT}new  {_learnt(figures.new_before, figures.new_after)}")
    if figures.old_before is not None and figures.old_after is not None:
        say(f"{INDENT}old  {_learnt(figures.old_before, figures.old_after)}")


def _learnt(before: LossScore, after: LossScore) -> str:
    recalled = f"{before.recalled} → {after.recalled} of {after.examples} recalled"
    return f"loss {before.loss:.3f} → {after.loss:.3f}, {recalled}"


@show.register
def _(answer: Erasure, explain: bool = False) -> None:
    told = f"{answer.at:%Y-%m-%d %H:%M}  {answer.status:<9} {_counts(answer.counts)}"
    say(told, (f"  {answer.id}", "dim"), style="green")
    for remains in answer.remains:
        say(f"{INDENT}{shown(remains)}", style="dim")


@show.register
def _(answer: ReceiptCheck, explain: bool = False) -> None:
    genuine = "This store gave exactly this receipt."
    say(genuine if answer.healthy else "This receipt is not genuine.")


def _show_plan(plan: StepPlan) -> None:
    head = f"{plan.step:<8}  looked at {plan.looked_at:,}, decided {plan.decided:,}"
    leave = f", {plan.takes:,} leave recall" if plan.takes else ""
    say(head, (leave, "yellow"), style="bold")
    for remark in plan.notes:
        say(f"{INDENT}{shown(remark)}", style="dim")
    for decision in plan.first:
        say(f"{INDENT}{decision.what}", (f"  {shown(decision.why)}", "dim"))
        for text in decision.writes:
            say(f"{INDENT}{INDENT}+ {shown(text)}", style="green")
        for number, excerpt in enumerate(decision.excerpts):
            mark = "keeps " if decision.keeps and not number else ""
            say(f"{INDENT}{INDENT}", (mark, "bold"), shown(excerpt))
        if more := len(decision.about) - len(decision.excerpts):
            say(f"{INDENT}{INDENT}and {more:,} more", style="dim")
    if more := plan.decided - len(plan.first):
        say(f"{INDENT}and {more:,} more decisions", style="dim")
    if plan.alarm:
        say(f"{INDENT}alarm: {plan.alarm}", style="yellow")


def _show_fading(one: FadingMemory) -> None:
    say(f"{one.on:%Y-%m-%d}  {shown(one.excerpt)}", style="green")
    told = f"{INDENT}strength {one.strength:.3f}, {shown(one.reason)}"
    say(f"{told}  {one.id}", style="dim")


def _judged(judged: learning.TrainingScores) -> str:
    if not judged.questions:
        return "not judged"
    gain = f"nDCG@10 {judged.before:.3f} → {judged.after:.3f} on {judged.questions} questions"
    return f"{gain} kept back"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in counts.items()) or "nothing"


def _moment(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M}"
