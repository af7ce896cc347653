"""From an operation's request to the parameters of a command, and from texts back to values."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import MISSING
from datetime import UTC, datetime
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

import typer

from remanence.api.verb import AnyVerb, Parameter
from remanence.errors import InvalidInput

# The longest text a setting allows, at four bytes a character.
MOST_BYTES = 40_000_000


def piped_bytes(what: str) -> bytes:
    """All of stdin; a usage error where nobody pipes anything in."""
    if sys.stdin.isatty():
        raise typer.BadParameter(f"{what} is missing: give it as an argument or pipe it in.")
    data = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise InvalidInput(f"{what} on stdin is larger than {MOST_BYTES:,} bytes; send less.")
    return data


def piped_text(what: str) -> str:
    """The text on stdin, without the line end that `echo` adds."""
    return decoded(what, piped_bytes(what)).removesuffix("\n").removesuffix("\r")


def decoded(what: str, data: bytes) -> str:
    """UTF-8 as text, or `InvalidInput` that says where it breaks."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{what} is not UTF-8 text (byte {error.start}); convert it first, e.g. with iconv."
        ) from None


def moment(what: str, text: str) -> datetime:
    """A date or a date and time in ISO 8601; UTC when it names no zone."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"{what} {text[:40]!r} is no date; write e.g. 2026-05-01 or 2026-05-01T18:30+02:00."
        ) from None
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def pairs(what: str, texts: Sequence[str]) -> Mapping[str, Any] | None:
    """KEY=VALUE pairs and JSON objects as one mapping; None when there are none."""
    merged: dict[str, Any] = {}
    for text in texts:
        merged |= _object(what, text) if text.lstrip().startswith("{") else _pair(what, text)
    return merged or None


def json_or_text(text: str) -> Any:
    """What the text is as JSON; a text that is none is itself."""
    try:
        return json.loads(text, parse_constant=lambda word: word)
    except (ValueError, RecursionError):
        return text


def objects(what: str, path: str | None) -> tuple[Mapping[str, Any], ...]:
    """A JSON list, one JSON object, or an object a line, from a file or from stdin."""
    data = piped_bytes(what) if path in (None, "-") else _file_bytes(Path(str(path)))
    text = decoded(what, data)
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        lines = [line for line in text.splitlines() if line.strip()]
        return tuple(_line(what, number, line) for number, line in enumerate(lines, 1))
    return tuple(_mapping(what, each) for each in (read if isinstance(read, list) else [read]))


def _line(what: str, number: int, line: str) -> Mapping[str, Any]:
    try:
        return _object(what, line)
    except InvalidInput as error:
        raise InvalidInput(f"Line {number}: {error}") from None


def _object(what: str, text: str) -> Mapping[str, Any]:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{what} is not JSON: {error}.") from None
    return _mapping(what, read)


def _mapping(what: str, read: Any) -> Mapping[str, Any]:
    if not isinstance(read, Mapping):
        raise InvalidInput(f'{what} must be JSON objects like {{"name": "value"}}.')
    return read


def _pair(what: str, text: str) -> Mapping[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InvalidInput(f"{what} takes KEY=VALUE or a JSON object; got {text[:60]!r}.")
    return {name: _scalar(value)}


def _scalar(value: str) -> Any:
    """Numbers, booleans, null and quoted texts as JSON has them; anything else is text."""
    read = json_or_text(value)
    return value if isinstance(read, list | dict) else read


def _file_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from None
    if len(data) > MOST_BYTES:
        raise InvalidInput(f"{path} is larger than {MOST_BYTES:,} bytes; split it.")
    return data


MOMENT = "DATE"
PAIR = "KEY=VALUE"


def parameters(operation: AnyVerb) -> list[inspect.Parameter]:
    """One parameter per field of the request: arguments first, then options."""
    wanted = sorted(operation.parameters, key=lambda each: not each.argument)
    return [_parameter(each, _bare(each.kind)) for each in wanted]


def request_of(operation: AnyVerb, given: Mapping[str, Any]) -> Any:
    """The request that the values of a command line make."""
    read = {
        each.name: _value(each, _bare(each.kind), given[each.name]) for each in operation.parameters
    }
    return operation.request(**read)


def _parameter(each: Parameter, hint: Any) -> inspect.Parameter:
    make = _argument if each.argument else _option
    return inspect.Parameter(
        each.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=make(each, hint),
        annotation=_shell_type(each, hint),
    )


def _argument(each: Parameter, hint: Any) -> Any:
    optional = each.says.piped or each.default is not MISSING
    name = "FILE" if _holds_objects(hint) else each.name.upper()
    about = each.says.help
    if each.says.piped:
        about = f"{about}; stdin when left out or -"
    return typer.Argument(None if optional else ..., metavar=name, help=about, show_default=False)


def _option(each: Parameter, hint: Any) -> Any:
    default = ... if each.default is MISSING else each.default
    shown = default not in (None, ..., ()) and hint is not bool
    holds_pairs = get_origin(hint) is Mapping
    return typer.Option(
        list(default) if isinstance(default, tuple) else default,
        *each.flags,
        help=f"{each.says.help}; or a JSON object" if holds_pairs else str(each.says.help),
        metavar=PAIR if holds_pairs else MOMENT if hint is datetime else None,
        show_default=shown,
        rich_help_panel="Scope" if each.name in SCOPE else None,
    )


SCOPE = ("user_id", "agent_id", "session_id", "include_shared", "all_users")


def _shell_type(each: Parameter, hint: Any) -> Any:
    if hint is datetime or each.says.json or _holds_objects(hint):
        return str | None if each.default is None or each.says.piped else str
    if get_origin(hint) in (tuple, Mapping):
        return list[str] | None
    optional = each.default is None or each.says.piped
    return hint | None if optional else hint


def _value(each: Parameter, hint: Any, given: Any) -> Any:
    if given in (None, []) and each.default not in (MISSING, ()):
        return each.default
    if _holds_objects(hint):
        return objects(each.name, given)
    if get_origin(hint) is Mapping:
        return pairs(each.name, given or ())
    if get_origin(hint) is tuple:
        return tuple(given or ())
    if hint is datetime:
        return None if given is None else moment(each.name, given)
    if each.says.json:
        return json_or_text(str(_piped(each, given)))
    if hint is Path:
        return Path(given)
    return _piped(each, given)


def _piped(each: Parameter, given: Any) -> Any:
    if not each.says.piped:
        return given
    wanted = given == "-" or (given is None and each.argument)
    return piped_text(each.name) if wanted else given


def _holds_objects(hint: Any) -> bool:
    return get_origin(hint) is tuple and get_origin(get_args(hint)[0]) is Mapping


def _bare(hint: Any) -> Any:
    """The type without its `| None`."""
    if not isinstance(hint, UnionType):
        return hint
    return next(each for each in get_args(hint) if each is not type(None))
