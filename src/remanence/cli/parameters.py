"""From an operation's request to the parameters of a command, and back from values to a request."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from datetime import datetime
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import typer

from remanence.cli import values
from remanence.operations.operation import Operation, flags

MOMENT = "DATE"
PAIR = "KEY=VALUE"


def parameters(operation: Operation) -> list[inspect.Parameter]:
    """One parameter per field of the request: arguments first, then options."""
    hints = get_type_hints(operation.request)
    wanted = sorted(fields(operation.request), key=lambda each: not each.metadata["positional"])
    return [_parameter(each, _bare(hints[each.name])) for each in wanted]


def request_of(operation: Operation, given: Mapping[str, Any]) -> Any:
    """The request that the values of a command line make."""
    hints = get_type_hints(operation.request)
    read = {
        each.name: _value(each, _bare(hints[each.name]), given[each.name])
        for each in fields(operation.request)
    }
    return operation.request(**read)


def _parameter(each: Field[Any], hint: Any) -> inspect.Parameter:
    make = _argument if each.metadata["positional"] else _option
    return inspect.Parameter(
        each.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=make(each, hint),
        annotation=_shell_type(each, hint),
    )


def _argument(each: Field[Any], hint: Any) -> Any:
    optional = each.metadata["piped"] or each.default is not MISSING
    name = "FILE" if _holds_objects(hint) else each.name.upper()
    about = each.metadata["help"]
    if each.metadata["piped"]:
        about = f"{about}; stdin when left out or -"
    return typer.Argument(None if optional else ..., metavar=name, help=about, show_default=False)


def _option(each: Field[Any], hint: Any) -> Any:
    default = ... if each.default is MISSING else each.default
    shown = default not in (None, ..., ()) and hint is not bool
    return typer.Option(
        list(default) if isinstance(default, tuple) else default,
        *flags(each),
        help=_about(each, hint),
        metavar=_metavar(hint),
        show_default=shown,
        rich_help_panel="Scope" if each.name in SCOPE else None,
    )


SCOPE = ("user_id", "agent_id", "session_id", "include_shared", "all_users")


def _about(each: Field[Any], hint: Any) -> str:
    about = str(each.metadata["help"])
    return f"{about}; or a JSON object" if get_origin(hint) is Mapping else about


def _metavar(hint: Any) -> str | None:
    if get_origin(hint) is Mapping:
        return PAIR
    return MOMENT if hint is datetime else None


def _shell_type(each: Field[Any], hint: Any) -> Any:
    if hint is datetime or each.metadata["json"] or _holds_objects(hint):
        return str | None if each.default is None or each.metadata["piped"] else str
    if get_origin(hint) in (tuple, Mapping):
        return list[str] | None
    optional = each.default is None or each.metadata["piped"]
    return hint | None if optional else hint


def _value(each: Field[Any], hint: Any, given: Any) -> Any:
    if given is None and each.default not in (MISSING, ()):
        return each.default
    if _holds_objects(hint):
        return values.objects(each.name, given)
    if get_origin(hint) is Mapping:
        return values.pairs(each.name, given or ())
    if get_origin(hint) is tuple:
        return tuple(given or ())
    if hint is datetime:
        return None if given is None else values.moment(each.name, given)
    if each.metadata["json"]:
        return values.json_or_text(str(_piped(each, given)))
    if hint is Path:
        return Path(given)
    return _piped(each, given)


def _piped(each: Field[Any], given: Any) -> Any:
    if not each.metadata["piped"]:
        return given
    wanted = given == "-" or (given is None and each.metadata["positional"])
    return values.piped_text(each.name) if wanted else given


def _holds_objects(hint: Any) -> bool:
    return get_origin(hint) is tuple and get_origin(get_args(hint)[0]) is Mapping


def _bare(hint: Any) -> Any:
    """The type without its `| None`."""
    if not isinstance(hint, UnionType):
        return hint
    return next(each for each in get_args(hint) if each is not type(None))
