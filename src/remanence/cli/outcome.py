"""How a command ends: the answer or the error, for people or for programs, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

import typer

from remanence.cli import terminal
from remanence.errors import RemanenceError
from remanence.operations.rendering import plain

FAILED = 1
INTERRUPTED = 130


class Form(StrEnum):
    """How an answer is written."""

    HUMAN = "human"
    JSON = "json"
    NDJSON = "ndjson"


def form_of(as_json: bool, as_lines: bool = False) -> Form:
    """The form that the switches ask for."""
    if as_lines:
        return Form.NDJSON
    return Form.JSON if as_json else Form.HUMAN


def answer(response: Any, form: Form, listing: str | None, show: Callable[[Any], None]) -> None:
    """Write a response: one envelope, a JSON object a line, or for people to read."""
    match form:
        case Form.JSON:
            terminal.write_line(_dumped({"ok": True, "data": plain(response)}))
        case Form.NDJSON:
            for item in getattr(response, listing) if listing else [response]:
                terminal.write_line(_dumped(plain(item)))
        case Form.HUMAN:
            show(response)
    terminal.flush()


@contextmanager
def guarded(form: Form) -> Iterator[None]:
    """Turn what goes wrong into one line (or one envelope) and an exit code; never a traceback."""
    try:
        yield
    except BrokenPipeError:
        terminal.let_go_of_stdout()
        raise typer.Exit(0) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except RemanenceError as error:
        _fail(form, type(error).__name__, str(error))
    except OSError as error:
        _fail(form, type(error).__name__, _os_message(error))


def _fail(form: Form, kind: str, message: str) -> None:
    if form is Form.HUMAN:
        terminal.stderr().print(f"Error: {terminal.shown(message)}", style="red", soft_wrap=True)
    else:
        terminal.write_line(_dumped({"ok": False, "error": {"type": kind, "message": message}}))
        terminal.flush()
    raise typer.Exit(FAILED)


def _os_message(error: OSError) -> str:
    about = f"{error.filename}: " if error.filename else ""
    return f"{about}{error.strerror or error}. Check the path and its permissions."


def _dumped(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
