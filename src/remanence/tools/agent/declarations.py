"""A tool that a model may call, declared by the method that does it: its schema, its checks."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from inspect import Parameter, signature
from typing import Any, get_args, get_type_hints

MAX_ARGUMENTS = 200_000  # characters; far above any block, far below what would hurt


class WrongCall(Exception):
    """A call that does not fit its declaration; the message is for the model that made it."""


@dataclass(frozen=True, slots=True)
class ToolParameter:
    """One argument of a tool; a number has bounds. The rest is in its method's signature."""

    about: str
    low: float = -math.inf
    high: float = math.inf
    name: str = ""
    type: str = "string"
    required: bool = True

    def schema(self, *, strict: bool) -> dict[str, Any]:
        """Its JSON schema; strictly, what may be left out may instead be null."""
        optional = strict and not self.required
        made: dict[str, Any] = {
            "type": [self.type, "null"] if optional else self.type,
            "description": self.about,
        }
        bounds = {"minimum": self.low, "maximum": self.high}
        return made | {name: value for name, value in bounds.items() if math.isfinite(value)}

    def read(self, value: object) -> Any:
        """The value as the tool takes it, or `WrongCall`."""
        if self.type == "string":
            if isinstance(value, str):
                return value
            raise WrongCall(f"{self.name} must be a text, not {shown(value)}.")
        whole = self.type == "integer"
        if isinstance(value, bool) or not isinstance(value, int | float) or not self._fits(value):
            noun = "a whole number" if whole else "a number"
            raise WrongCall(
                f"{self.name} must be {noun} from {self.low:,} to {self.high:,}, "
                f"not {shown(value)}."
            )
        return int(value) if whole else float(value)

    def _fits(self, value: float) -> bool:
        """Bounds first: an integer may be too large to be anything else."""
        if not self.low <= value <= self.high or abs(value) == math.inf:
            return False
        return self.type != "integer" or value == int(value)


@dataclass(frozen=True, slots=True)
class ToolDeclaration:
    """A tool: its name, what it is for, its arguments."""

    name: str
    about: str
    parameters: tuple[ToolParameter, ...]

    def schema(self, *, strict: bool = False) -> dict[str, Any]:
        """The JSON schema of its arguments. Strictly, every argument is required."""
        return {
            "type": "object",
            "properties": {each.name: each.schema(strict=strict) for each in self.parameters},
            "required": [each.name for each in self.parameters if each.required or strict],
            "additionalProperties": False,
        }

    def read(self, arguments: object) -> dict[str, Any]:
        """The arguments (JSON or a mapping) as the tool takes them, or `WrongCall`.

        Null stands for left out.
        """
        given = _mapping(_parsed(arguments) if isinstance(arguments, str) else arguments)
        known = {each.name: each for each in self.parameters}
        if extra := sorted(shown(name) for name in given if name not in known):
            raise WrongCall(f"{self.name} has no argument {extra[0]}; it takes {self.takes}.")
        present = {name: value for name, value in given.items() if value is not None}
        for each in self.parameters:
            if each.required and each.name not in present:
                raise WrongCall(f"{self.name} needs {each.name!r}; it takes {self.takes}.")
        return {name: known[name].read(value) for name, value in present.items()}

    @property
    def takes(self) -> str:
        """Its arguments in a line."""
        return ", ".join(each.name + ("" if each.required else "?") for each in self.parameters)


def _parsed(text: str) -> object:
    if len(text) > MAX_ARGUMENTS:
        raise WrongCall(f"The arguments have more than {MAX_ARGUMENTS:,} characters; send less.")
    try:
        return json.loads(text or "{}")
    except (ValueError, RecursionError):
        raise WrongCall("The arguments are not valid JSON; send one JSON object.") from None


def _mapping(value: object) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise WrongCall("The arguments must be one JSON object.")
    return value


def shown(value: object) -> str:
    """A value for an error message, in short, whatever it is."""
    try:
        return repr(value)[:60]
    except (ValueError, RecursionError):  # an integer or a nesting without end
        return f"an endless {type(value).__name__}"


_TYPES = {str: "string", int: "integer", float: "number"}


def declaration_of(method: Callable[..., str]) -> ToolDeclaration:
    """A method as a tool: its name, its words, and its arguments, each marked by a parameter."""
    hints = get_type_hints(method, include_extras=True)
    _, *taken = signature(method).parameters.values()
    about = " ".join((method.__doc__ or "").split())
    arguments = tuple(_argument(each, hints[each.name]) for each in taken)
    return ToolDeclaration(method.__name__.removeprefix("_"), about, arguments)


def _argument(taken: Parameter, hint: Any) -> ToolParameter:
    kind, (marked,) = hint.__origin__, hint.__metadata__
    kinds = get_args(kind) or (kind,)
    type = next(name for one, name in _TYPES.items() if one in kinds)
    required = taken.default is taken.empty
    made: ToolParameter = replace(marked, name=taken.name, type=type, required=required)
    return made
