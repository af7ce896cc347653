"""What a parameter may be, beyond its type, as JSON Schema says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, field
from enum import StrEnum
from typing import Any

from remanence.api.reading import EXACT
from remanence.model.block import MAX_LIMIT as MAX_CHARACTERS
from remanence.model.query import MAX_LIMIT, MAX_QUERY
from remanence.model.scope import MAX_NAME
from remanence.model.validation import MAX_LABEL

Bounds = dict[str, Any]
# Something besides blanks, and no NUL anywhere.
SAYS = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"
PRINTABLE = r"^[^\u0000-\u001f\u007f-\u00a0\u2028\u2029]+$"
NAME: Bounds = {"minLength": 1, "maxLength": MAX_NAME, "pattern": PRINTABLE}
TEXT: Bounds = {"minLength": 1, "pattern": SAYS}
LABEL: Bounds = {"minLength": 1, "maxLength": MAX_LABEL, "pattern": SAYS}
SHARE: Bounds = {"minimum": 0, "maximum": 1}
QUERY: Bounds = {"minLength": 1, "maxLength": MAX_QUERY}
OFFSET: Bounds = {"minimum": 0, "maximum": EXACT}
LIMIT: Bounds = {"minimum": 1, "maximum": MAX_LIMIT}
KEYS: Bounds = {"propertyNames": {"maxLength": 128, "pattern": SAYS}}
MOST_CHARACTERS: Bounds = {"minimum": 1, "maximum": MAX_CHARACTERS}
MOST_ITEMS = 1_000  # of a batch in one call from outside; in a program there is no limit
SIZE: Bounds = {"minimum": 1, "maximum": 10_000_000}
_SAID: Bounds = {"type": ["string", "null"], "maxLength": MAX_LABEL}
MESSAGE: Bounds = {
    "type": "object",
    "properties": {
        "role": {**_SAID, "description": "user, assistant, system or tool"},
        "name": {**_SAID, "description": "who says it"},
        "content": {
            "anyOf": [
                {"type": "string"},
                {"type": "array", "items": {"type": "object"}},
                {"type": "null"},
            ],
            "description": "what is said: a text, or parts with a `text`",
        },
        "at": {
            "anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}],
            "description": "when it was said",
        },
        "id": {**_SAID, "description": "your own id for it"},
        "metadata": {"type": ["object", "null"]},
        **{name: {} for name in ("tool_calls", "tool_call_id", "function_call")},
        **{name: {} for name in ("refusal", "annotations", "audio")},
    },
    "additionalProperties": False,
}


def choice(kind: type[StrEnum], *more: str) -> Bounds:
    """One of several words."""
    return {"enum": [*(one.value for one in kind), *more]}


def parameter(help: str, default: Any = None, *, bounds: Mapping[str, Any] | None = None) -> Any:
    """A field of a request that is no verb's, with its help; one of `...` is required."""
    about = {"help": help, "bounds": bounds or {}, "like": ""}
    return field(default=MISSING if default is ... else default, metadata=about)
