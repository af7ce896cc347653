"""Progress bars, on stderr and only where somebody watches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from remanence.cli import terminal
from remanence.ports.store import Progress


@contextmanager
def progress(what: str) -> Iterator[Progress]:
    """A callback (done, total) that moves a bar; a total of 0 means that it is not known."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = terminal.stderr()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    bar = Bar(
        *columns,
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)
