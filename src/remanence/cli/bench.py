"""`rem bench`: how good recall, summaries and facts are, and how recall's weights are learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from remanence.cli import terminal
from remanence.cli.common import AsJson, Database
from remanence.cli.outcome import answer, form_of, guarded
from remanence.operations.operation import Group

if TYPE_CHECKING:
    from remanence.evaluation.facts import Report as FactsReport
    from remanence.evaluation.summaries import Report

COLUMNS = ("rec@5", "rec@10", "ndcg@10", "mrr", "session all@5", "p50 ms", "p95 ms")
KEPT = {
    "by question": "kept_by_question",
    "of items": "kept_of_items",
    "of words": "kept_of_words",
    "length": "length",
    "repeated": "repeated",
    "ms a turn": "ms_per_turn",
}
SCORES = ("sentences", "facts", "precision", "recall", "f1", "times", "ms")
UPDATES = ("scenarios", "questions", "current", "past", "retired", "unknown")

Data = Annotated[
    Path, typer.Option("--data", metavar="PATH", help="a question set, or a folder of them")
]
Work = Annotated[
    Path | None,
    typer.Option("--work", metavar="DIR", help="keep the filled memories here for the next run"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Mean figures by data set and category, then by system."""

    figures: Mapping[str, Mapping[str, Mapping[str, float]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """The file of weights that training wrote, and how weights do that never saw what they rank."""

    path: Path
    left_out: Mapping[str, Mapping[str, float]]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        no_args_is_help=True, help="Measure recall, summaries and facts, and train the ranker."
    )
    group.command("recall")(_recall)
    group.command("summaries")(_summaries)
    group.command("facts")(_facts)
    group.command("train")(_train)
    group.command("context")(_context)
    app.add_typer(group, name="bench", rich_help_panel=Group.CARE.value)


def _recall(
    data: Data, work: Work = None, as_json: AsJson = False, database: Database = None
) -> None:
    """Ask every question of a set; ours beside dense, BM25 and their fusion."""
    form = form_of(as_json)
    with guarded(form), _folder(work) as folder:
        from remanence.cli.progress import progress
        from remanence.evaluation.report import recall_report

        with progress("recall") as report:
            figures = recall_report(data, folder, report, database=database)
        answer(Figures(figures=figures), form, None, _show)


def _context(
    data: Data, work: Work = None, as_json: AsJson = False, database: Database = None
) -> None:
    """How much of the evidence a context of 1,500 and 4,000 tokens holds; ours beside others."""
    form = form_of(as_json)
    with guarded(form), _folder(work) as folder:
        from remanence.cli.progress import progress
        from remanence.evaluation.contexts import COLUMNS as HELD
        from remanence.evaluation.contexts import context_report

        with progress("context") as report:
            figures = context_report(data, folder, report, database=database)
        answer(Figures(figures=figures), form, None, lambda told: _show(told, HELD))


def _summaries(data: Data, as_json: AsJson = False) -> None:
    """Summarise every session at a fifth of its length; what is kept, beside simple ways."""
    form = form_of(as_json)
    with guarded(form):
        from remanence.evaluation.datasets import load_corpora
        from remanence.evaluation.summaries import summaries_report

        answer(summaries_report(load_corpora(data)), form, None, _show_summaries)


def _facts(
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="PATH", help="another judged set, or a folder of them"),
    ] = None,
    slips: Annotated[
        bool, typer.Option("--slips", help="show every sentence and question that went wrong")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Read the judged sentences and tell the update scenarios; how many facts come out right."""
    form = form_of(as_json)
    with guarded(form):
        from remanence.evaluation.facts import facts_report
        from remanence.evaluation.judged_facts import load_judged

        answer(facts_report(load_judged(data), slips=slips), form, None, _show_facts)


def _train(
    data: Data,
    target: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="the weights to write, as JSON")
    ] = Path("ranker.json"),
    work: Work = None,
    as_json: AsJson = False,
) -> None:
    """Learn the ranker's weights from questions with known answers."""
    form = form_of(as_json)
    with guarded(form), _folder(work) as folder:
        done = _trained(data, folder, target)
        answer(done, form, None, lambda _: terminal.write_line(str(target)))


def _trained(data: Path, folder: Path, target: Path) -> Trained:
    from remanence.cli.progress import progress
    from remanence.evaluation.report import save_ranker, train_report

    with progress("train") as report:
        fitted, figures = train_report(data, folder, report)
    save_ranker(fitted, target)
    return Trained(path=target, left_out=figures)


@contextmanager
def _folder(work: Path | None) -> Iterator[Path]:
    """The folder asked for, or one that goes away afterwards."""
    from tempfile import TemporaryDirectory

    if work is not None:
        yield work
        return
    with TemporaryDirectory(prefix="remanence-") as folder:
        yield Path(folder)


def _show(answered: Figures, columns: Sequence[str] = COLUMNS) -> None:
    from rich.table import Table

    for name, systems in answered.figures.items():
        table = Table("system", *columns, title=name, title_justify="left", box=None)
        for system, found in systems.items():
            table.add_row(system, *(f"{found[column]:.3f}" for column in columns))
        terminal.stdout().print(table)


def _show_summaries(report: Report) -> None:
    from rich.table import Table

    for name, ways in report.figures.items():
        asked = next(iter(ways.values()))
        title = f"{name}: {asked.questions} questions, {asked.items} names, numbers and times"
        table = Table("kept", *KEPT, title=title, title_justify="left", box=None)
        for way, found in ways.items():
            table.add_row(way, *(f"{getattr(found, field):.3f}" for field in KEPT.values()))
        terminal.stdout().print(table)
    for example in report.examples:
        terminal.write_line(f"\n{example.session}\n{terminal.shown(example.text)}")


def _show_facts(report: FactsReport) -> None:
    from rich.table import Table

    for split, sorts in report.sentences.items():
        title = f"sentences, {split}"
        table = Table("sort", *SCORES, title=title, title_justify="left", box=None)
        for sort, score in sorts.items():
            table.add_row(sort, *(_figure(getattr(score, name)) for name in SCORES))
        terminal.stdout().print(table)
    table = Table("updates", *UPDATES, box=None)
    for split, told in report.updates.items():
        table.add_row(split, *(_figure(getattr(told, name)) for name in UPDATES))
    terminal.stdout().print(table)
    _show_slips(report)


def _show_slips(report: FactsReport) -> None:
    for slip in report.slips:
        told = [f"missed {one}" for one in slip.missed] + [f"wrong {one}" for one in slip.wrong]
        terminal.write_line(f"\n{slip.id} {terminal.shown(slip.text)}")
        for line in told:
            terminal.write_line(f"  {terminal.shown(line)}")
    for failure in (one for told in report.updates.values() for one in told.failures):
        terminal.write_line(terminal.shown(failure))


def _figure(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3f}"
