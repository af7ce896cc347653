"""The tools a model may call, declared once: schemas and checks are made from this table."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST_RESULTS = 20
MOST_PAGES = 50
MAX_ARGUMENTS = 200_000  # characters; far above any block, far below what would hurt


class WrongCall(Exception):
    """A call that does not fit its declaration; the message is for the model that made it."""


@dataclass(frozen=True, slots=True)
class ToolParameter:
    """One argument of a tool. A number may have bounds; a text has at least a character."""

    name: str
    about: str
    type: str = "string"
    required: bool = True
    low: float = -math.inf
    high: float = math.inf

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


LABEL = ToolParameter("label", "the block's label, as it stands in core memory")
QUERY = ToolParameter("query", "what to look for, in plain words or as a question")
LIMIT = ToolParameter(
    "limit",
    f"results per page, 1 to {MOST_RESULTS}; 5 if left out",
    type="integer",
    required=False,
    low=1,
    high=MOST_RESULTS,
)
PAGE = ToolParameter(
    "page",
    "which page of results; 1 if left out",
    type="integer",
    required=False,
    low=1,
    high=MOST_PAGES,
)

TOOLS: tuple[ToolDeclaration, ...] = (
    ToolDeclaration(
        "core_memory_append",
        "Add a line at the end of a core memory block. Core memory is always before you; "
        "keep in it what matters in every conversation.",
        parameters=(LABEL, ToolParameter("content", "the line to add")),
    ),
    ToolDeclaration(
        "core_memory_replace",
        "Replace a passage of a core memory block, e.g. to correct it. The passage must "
        "occur exactly once; with an empty new_content it is removed.",
        parameters=(
            LABEL,
            ToolParameter("old_content", "the passage as it stands, letter by letter"),
            ToolParameter("new_content", "what stands there instead; may be empty"),
        ),
    ),
    ToolDeclaration(
        "core_memory_insert",
        "Insert a line into a core memory block at a place of your choice.",
        parameters=(
            LABEL,
            ToolParameter("content", "the line to insert"),
            ToolParameter(
                "line",
                "the line to insert it before, counted from 0; -1 is the end",
                type="integer",
                low=-1,
                high=1_000_000,
            ),
        ),
    ),
    ToolDeclaration(
        "core_memory_rethink",
        "Rewrite a whole core memory block: reorganise it, or shorten it when it is full.",
        parameters=(LABEL, ToolParameter("content", "all that the block shall hold")),
    ),
    ToolDeclaration(
        "archival_memory_insert",
        "Remember a fact for good, outside core memory. Write one self-contained statement "
        "with names and dates; do not store what was already found in memory.",
        parameters=(
            ToolParameter("content", "the statement to remember"),
            ToolParameter(
                "importance",
                "0 (trivial) to 1 (vital)",
                type="number",
                required=False,
                low=0,
                high=1,
            ),
        ),
    ),
    ToolDeclaration(
        "archival_memory_search",
        "Search long-term memory: facts, events and summaries, not the messages themselves.",
        parameters=(QUERY, LIMIT, PAGE),
    ),
    ToolDeclaration(
        "conversation_search",
        "Search the messages of past conversations with this user.",
        parameters=(QUERY, LIMIT, PAGE),
    ),
    ToolDeclaration(
        "conversation_search_date",
        "List the messages of past conversations between two dates, oldest first.",
        parameters=(
            ToolParameter("start_date", "first day, like 2026-05-01, or a date and time"),
            ToolParameter("end_date", "last day (it is included), or a date and time"),
            LIMIT,
            PAGE,
        ),
    ),
)
BY_NAME: Mapping[str, ToolDeclaration] = {tool.name: tool for tool in TOOLS}
