"""`rem bench`: how good recall, summaries and facts are, and how recall's weights are learned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from remanence.cli import terminal
from remanence.cli.common import Opening, command
from remanence.cli.terminal import progress, show_table

if TYPE_CHECKING:
    from remanence.tools.evaluation.facts import Report as FactsReport
    from remanence.tools.evaluation.summaries import Report

COLUMNS = ("rec@5", "rec@10", "ndcg@10", "mrr", "session all@5", "p50 ms", "p95 ms")
KEPT = {
    "by question": "kept_by_question",
    "of items": "kept_of_items",
    "of words": "kept_of_words",
    "length": "length",
    "repeated": "repeated",
    "ms a turn": "ms_per_turn",
}
STATED = ("stated", "judged", "useful", "right")
WANTED = ("wanted", "found")
RULES = ("rule", "right", "wrong")
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
class TrainedWeights:
    """The file of weights that training wrote, and how weights do that never saw what they rank."""

    path: Path
    left_out: Mapping[str, Mapping[str, float]]


group = typer.Typer(
    no_args_is_help=True, help="Measure recall, summaries and facts, and train the ranker."
)


@group.command("recall")
@command("as_json", "database")
def _recall(asked: Opening, data: Data, work: Work = None) -> None:
    """Ask every question of a set; ours beside dense, BM25 and their fusion."""
    with _folder(work) as folder:
        from remanence.tools.evaluation.report import recall_report

        with progress("recall") as report:
            figures = recall_report(data, folder, report, database=asked.database)
        asked.answer(Figures(figures=figures), _show)


@group.command("summaries")
@command("as_json")
def _summaries(asked: Opening, data: Data) -> None:
    """Summarise every session at a fifth of its length; what is kept, beside simple ways."""
    from remanence.tools.evaluation.datasets import load_corpora
    from remanence.tools.evaluation.summaries import summaries_report

    asked.answer(summaries_report(load_corpora(data)), _show_summaries)


@group.command("facts")
@command("as_json")
def _facts(
    asked: Opening,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="PATH", help="another judged set, or a folder of them"),
    ] = None,
    slips: Annotated[
        bool, typer.Option("--slips", help="show every sentence and question that went wrong")
    ] = False,
    rules: Annotated[bool, typer.Option("--rules", help="show what each rule gives")] = False,
    judged: Annotated[
        Path | None,
        typer.Option(
            "--judged", metavar="FOLDER", help="labels of the conversations in --data, by turn"
        ),
    ] = None,
) -> None:
    """Read the judged sentences and tell the update scenarios; how many facts come out right.

    With --judged, read the real conversations of --data instead, and compare with their labels.
    """
    if judged is not None:
        _real_facts(asked, data, judged, rules)
        return
    from remanence.tools.evaluation.facts import facts_report
    from remanence.tools.evaluation.judged_facts import load_judged

    report = facts_report(load_judged(data), slips=slips, rules=rules)
    asked.answer(report, _show_facts)


def _real_facts(asked: Opening, data: Path | None, judged: Path, rules: bool) -> None:
    from remanence.tools.evaluation.datasets import load_corpora
    from remanence.tools.evaluation.real_facts import real_report

    if data is None:
        raise typer.BadParameter("The labels hold no text; name the conversations with --data.")
    report = real_report(load_corpora(data), judged)

    def show(_: object) -> None:
        show_table(("stated", *STATED), _rows(report.precision, STATED))
        if rules:
            show_table(("rule", *STATED), _rows(report.rules, STATED))
        show_table(("kept by a reader", *WANTED), _rows(report.recall, WANTED))

    asked.answer(report, show)


@group.command("train")
@command("as_json")
def _train(
    asked: Opening,
    data: Data,
    target: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="the weights to write, as JSON")
    ] = Path("ranker.json"),
    work: Work = None,
) -> None:
    """Learn the ranker's weights from questions with known answers."""
    from remanence.tools.evaluation.datasets import load_corpora
    from remanence.tools.evaluation.report import save_ranker, train_report

    with _folder(work) as folder, progress("train") as report:
        fitted, figures = train_report(load_corpora(data), folder, report)
    save_ranker(fitted, target)
    done = TrainedWeights(path=target, left_out=figures)
    asked.answer(done, lambda _: terminal.write_line(str(target)))


@group.command("context")
@command("as_json", "database")
def _context(asked: Opening, data: Data, work: Work = None) -> None:
    """How much of the evidence contexts of 500 to 2,000 tokens hold, beside the top hits."""
    with _folder(work) as folder:
        from remanence.tools.evaluation.contexts import COLUMNS as HELD
        from remanence.tools.evaluation.contexts import context_report

        with progress("context") as report:
            figures = context_report(data, folder, report, database=asked.database)
        asked.answer(Figures(figures=figures), lambda told: _show(told, HELD))


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
    for name, systems in answered.figures.items():
        rows = (
            (system, *(f"{found[column]:.3f}" for column in columns))
            for system, found in systems.items()
        )
        show_table(("system", *columns), rows, name)


def _show_summaries(report: Report) -> None:
    for name, ways in report.figures.items():
        asked = next(iter(ways.values()))
        title = f"{name}: {asked.questions} questions, {asked.items} names, numbers and times"
        show_table(("kept", *KEPT), _rows(ways, KEPT.values()), title)
    for example in report.examples:
        terminal.write_line(f"\n{example.session}\n{terminal.shown(example.text)}")


def _show_facts(report: FactsReport) -> None:
    for split, sorts in report.sentences.items():
        show_table(("sort", *SCORES), _rows(sorts, SCORES), f"sentences, {split}")
    show_table(("updates", *UPDATES), _rows(report.updates, UPDATES))
    if report.rules:
        show_table(RULES, ([str(getattr(one, name)) for name in RULES] for one in report.rules))
    _show_slips(report)


def _show_slips(report: FactsReport) -> None:
    for slip in report.slips:
        told = [f"missed {one}" for one in slip.missed] + [f"wrong {one}" for one in slip.wrong]
        terminal.write_line(f"\n{slip.id} {terminal.shown(slip.text)}")
        for line in told:
            terminal.write_line(f"  {terminal.shown(line)}")
    for failure in (one for told in report.updates.values() for one in told.failures):
        terminal.write_line(terminal.shown(failure))


def _rows(found: Mapping[str, Any], names: Iterable[str]) -> Iterator[list[str]]:
    """A row for each, with its figures of these names."""
    figures = attrgetter(*names)
    return ([name, *map(_figure, figures(one))] for name, one in found.items())


def _figure(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3f}"
