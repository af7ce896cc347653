"""`rem worker`: sleeps on schedule until it is told to stop, on any number of machines."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from remanence.cli.common import PANEL, Opening, command
from remanence.cli.terminal import note, tell

if TYPE_CHECKING:
    from remanence.api.memory import Memory
    from remanence.consolidation.schedules.worker import ServedMoment, SleepRunner, Worker

ALL = "all"
_OPEN = 16  # memories of other tenants that stay open between their runs
_EVERY_S = 30.0

Once = Annotated[bool, typer.Option("--once", help="do what is due now, and end")]
Every = Annotated[float, typer.Option(metavar="SECONDS", min=0.1, help="how often to look")]
Tenant = Annotated[
    str | None, typer.Option(help=f"whose memory; {ALL}: everybody's", rich_help_panel=PANEL)
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What one look found to do."""

    outcomes: tuple[ServedMoment, ...]


@command(tenant=Tenant)
def worker(asked: Opening, once: Once = False, every: Every = _EVERY_S) -> bool:
    """Sleep on schedule: consolidate, forget, compress and tidy up whenever that is due.

    Any number of workers may share a database; each due moment is served by one of them.
    """
    everybody = asked.tenant == ALL
    if everybody:
        asked = replace(asked, tenant=None)
    with ExitStack() as stack:
        memory = stack.enter_context(asked.memory(create=False))
        crew = stack.enter_context(_Crew(asked, memory))
        worker = crew.worker(everybody, told=not once)
        with _stopped_by_signals(worker):
            if not once:
                worker.run(every)
                return False
            report = Report(outcomes=tuple(worker.tick()))
    asked.answer(report, _show)
    return any(one.error is not None for one in report.outcomes)


class _Crew:
    """The memories whose sleep is asked for: the one that is open, and others when they are due."""

    def __init__(self, opened: Opening, memory: Memory) -> None:
        self._opened = opened
        self._memory = memory
        self._others: dict[str, Memory] = {}

    def __enter__(self) -> _Crew:
        return self

    def __exit__(self, *_: object) -> None:
        while self._others:
            self._others.popitem()[1].close()

    def worker(self, everybody: bool, *, told: bool) -> Worker:
        """A worker on the memory's store, for its tenant or all."""
        from remanence.consolidation.schedules.worker import Worker

        store, own = self._memory.parts.store, [self._memory.tenant]

        def tenants() -> Sequence[str]:
            return store.upkeep.tenants() if everybody else own

        def tell(outcome: ServedMoment) -> None:
            if told:
                self._opened.answer(outcome, _show_one)

        return Worker(store, self._runner, tenants=tenants, tell=tell)

    def _runner(self, tenant: str) -> SleepRunner:
        from remanence.api.service.memory import runner_of

        return runner_of(self._of(tenant).service)

    def _of(self, tenant: str) -> Memory:
        if tenant == self._memory.tenant:
            return self._memory
        if tenant not in self._others:
            while len(self._others) >= _OPEN:
                self._others.pop(next(iter(self._others))).close()
            self._others[tenant] = replace(self._opened, tenant=tenant).memory()
        return self._others[tenant]


@contextmanager
def _stopped_by_signals(worker: Worker) -> Iterator[None]:
    """The first SIGTERM or SIGINT ends it after the transaction under way; a second one at once."""

    def stop(number: int, _frame: object) -> None:
        worker.stop()
        signal.signal(number, before[number])

    before = {int(one): signal.signal(one, stop) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _show(report: Report) -> None:
    for outcome in report.outcomes:
        _show_one(outcome)
    if not report.outcomes:
        note("Nothing is due.")


def _show_one(outcome: ServedMoment) -> None:
    tell(_line(outcome))


def _line(outcome: ServedMoment) -> str:
    done = "; ".join(
        f"{run.step} {', '.join(f'{name} {n:,}' for name, n in run.counts.items()) or 'nothing'}"
        for run in outcome.runs
    )
    line = (
        f"{outcome.due:%Y-%m-%d %H:%M:%S} {outcome.tenant} {outcome.schedule} ({outcome.cause}): "
        f"{done or 'nothing to do'}, {outcome.seconds:.1f} s"
    )
    if outcome.error is None:
        return line
    again = f"; again at {outcome.again_at:%H:%M:%S}" if outcome.again_at else "; given up"
    return f"{line}; failed: {outcome.error}{again}"
