"""Where output goes: data to stdout, the rest to stderr, and nothing that upsets a terminal."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from io import TextIOWrapper
from typing import TYPE_CHECKING, TypeAlias

from remanence.model.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

Part: TypeAlias = "str | Text | tuple[str, str]"  # of a line; a text may have a style

# Control characters in a stored text could move the cursor or rename the window.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def stdout() -> Console:
    """The console for data."""
    return _plain_spoken()(stderr=False, highlight=False, markup=False, emoji=False)


def stderr() -> Console:
    """The console for progress, warnings and errors."""
    return _plain_spoken()(stderr=True, highlight=False, markup=False, emoji=False)


@cache
def _plain_spoken() -> type[Console]:
    """A console that leaves a closed pipe to the caller; Rich is loaded where one is needed."""
    from rich.console import Console

    class PlainSpoken(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # Rich's own way is to exit with 1

    return PlainSpoken


def write_every_character() -> None:
    """Where the encoding has no sign for a character, as in a pipe of Windows, put `?`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def shown(text: str) -> str:
    """A text as it can be shown: control characters made visible, half characters replaced."""
    visible = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
    return visible.encode("utf-8", "backslashreplace").decode()


def say(*parts: Part, style: str = "") -> None:
    """A line to stdout; only a terminal wraps it, so that pipes get whole lines."""
    from rich.text import Text

    console = stdout()
    console.print(Text.assemble(*parts, style=style), soft_wrap=not console.is_terminal)


def note(line: str) -> None:
    """A remark beside the data, on stderr."""
    stderr().print(shown(line), style="dim", soft_wrap=True)


def show_table(head: Iterable[str], rows: Iterable[Iterable[str]], title: str = "") -> None:
    """A table to stdout, without lines."""
    from rich.table import Table

    table = Table(*head, title=title or None, title_justify="left", box=None)
    for row in rows:
        table.add_row(*row)
    stdout().print(table)


def write_line(line: str) -> None:
    """A line of data to stdout."""
    write(f"{line}\n")


def tell(line: str) -> None:
    """A line for people to stdout, as it can be shown."""
    write_line(shown(line))


def write(text: str) -> None:
    """Data to stdout, in UTF-8 whatever the locale says."""
    data = text.encode("utf-8", "backslashreplace")
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(data.decode())
        return
    sys.stdout.flush()
    buffer.write(data)


def counted(count: int, one: str, many: str) -> str:
    """So many of them, in words."""
    return f"{count:,} {one if count == 1 else many}"


def flush() -> None:
    """Hand over what is still held, so that a closed pipe shows now and not at exit."""
    sys.stdout.flush()


def let_go_of_stdout() -> None:
    """After the reader of a pipe went away: the interpreter's last flush must not complain."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return


@contextmanager
def progress(what: str) -> Iterator[Progress]:
    """A callback (done, total) that moves a bar; a total of 0 means that it is not known."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = stderr()
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
