"""Where output goes: data to stdout, the rest to stderr, and nothing that upsets a terminal."""

from __future__ import annotations

import os
import re
import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

# Control characters in a stored text could move the cursor or rename the window.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def stdout() -> Console:
    """The console for data."""
    from remanence.cli.console import PlainSpoken

    return PlainSpoken(stderr=False)


def stderr() -> Console:
    """The console for progress, warnings and errors."""
    from remanence.cli.console import PlainSpoken

    return PlainSpoken(stderr=True)


def write_every_character() -> None:
    """Where the encoding has no sign for a character, as in a pipe of Windows, put `?`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def shown(text: str) -> str:
    """A text as it can be shown: control characters made visible, half characters replaced."""
    visible = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
    return visible.encode("utf-8", "backslashreplace").decode()


def write_line(line: str) -> None:
    """A line of data to stdout, in UTF-8 whatever the locale says."""
    data = f"{line}\n".encode("utf-8", "backslashreplace")
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(data.decode())
        return
    sys.stdout.flush()
    buffer.write(data)


def flush() -> None:
    """Hand over what is still held, so that a closed pipe shows now and not at exit."""
    sys.stdout.flush()


def let_go_of_stdout() -> None:
    """After the reader of a pipe went away: the interpreter's last flush must not complain."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
