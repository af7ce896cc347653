"""What a field of a request may be, beyond its type. What hangs on other values comes later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields
from enum import StrEnum
from typing import Any

from remanence.model.accept import MAX_LABEL
from remanence.model.block import MAX_LIMIT as MAX_CHARACTERS
from remanence.model.knowledge import Standing
from remanence.model.memory import Kind, State
from remanence.model.query import MAX_LIMIT, MAX_QUERY
from remanence.model.scope import MAX_NAME
from remanence.model.sleep import Status, Step
from remanence.operations import (
    blocks,
    conversations,
    facts,
    graph,
    linking,
    remembering,
    schedules,
    scopes,
    sleep,
    working,
)
from remanence.operations.reading import EXACT

Bounds = dict[str, Any]
# Something besides blanks, and no NUL anywhere.
SAYS = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"
PRINTABLE = r"^[^\u0000-\u001f\u007f-\u00a0\u2028\u2029]+$"
NAME: Bounds = {"minLength": 1, "maxLength": MAX_NAME, "pattern": PRINTABLE}
TEXT: Bounds = {"minLength": 1, "pattern": SAYS}
LABEL: Bounds = {"minLength": 1, "maxLength": MAX_LABEL, "pattern": SAYS}
SHARE: Bounds = {"minimum": 0, "maximum": 1}
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

# By the field's name, wherever it is asked for.
BOUNDS: Mapping[str, Bounds] = {
    **dict.fromkeys(("user_id", "agent_id", "session_id"), NAME),
    **dict.fromkeys(("speaker", "role", "origin", "external_id"), LABEL),
    **dict.fromkeys(("importance", "trust", "min_trust", "confidence", "strength"), SHARE),
    **dict.fromkeys(("diversity", "min_importance", "threshold"), SHARE),
    **dict.fromkeys(("author", "actor", "reason", "note", "title", "source"), LABEL),
    **dict.fromkeys(("name", "entity", "subject", "predicate", "object", "relation"), TEXT),
    **dict.fromkeys(("target", "into", "a", "b", "type", "other", "about"), TEXT),
    "limit": LIMIT,
    "offset": {"minimum": 0, "maximum": EXACT},
    "query": {"minLength": 1, "maxLength": MAX_QUERY},
    "text": TEXT,
    "metadata": KEYS,
    "time_weight": {"minimum": 0, "maximum": 100},
    "ttl_s": {"exclusiveMinimum": 0},
    "max_messages": SIZE,
    "max_tokens": SIZE,
}


def choice(kind: type[StrEnum], *more: str) -> Bounds:
    """One of several words."""
    return {"enum": [*(one.value for one in kind), *more]}


def _own(request: type, /, **bounds: Bounds) -> dict[Field[Any], Bounds]:
    known = {each.name: each for each in fields(request)}
    return {known[name]: one for name, one in bounds.items()}


# Of one request alone: words to choose from, and fields that have another's name but not its sense.
OWN_BOUNDS: Mapping[Field[Any], Bounds] = {
    **_own(remembering.Add, kind=choice(Kind)),
    **_own(remembering.AddMany, memories={"maxItems": MOST_ITEMS}),
    **_own(remembering.AddMessages, messages={"items": MESSAGE, "maxItems": MOST_ITEMS}),
    **_own(remembering.Update, kind=choice(Kind), state=choice(State)),
    **_own(remembering.CleanUp, max_age_days={"minimum": 0}),
    **_own(scopes.Conditions, kinds=choice(Kind), states=choice(State, "any")),
    **_own(blocks.Create, limit=MOST_CHARACTERS),
    **_own(blocks.Configure, limit=MOST_CHARACTERS),
    **_own(conversations.Append, messages={"items": MESSAGE, "maxItems": MOST_ITEMS}),
    **_own(conversations.Search, within={"enum": ["everywhere", "conversation", "window"]}),
    **_own(conversations.Day, day={"format": "date"}),
    **_own(facts.About, standing=choice(Standing)),
    **_own(facts.Find, standing=choice(Standing)),
    **_own(graph.Near, depth={"minimum": 1, "maximum": 6}),
    **_own(graph.Part, depth={"minimum": 1, "maximum": 6}),
    **_own(graph.Ways, max_length={"minimum": 1, "maximum": 8}),
    **_own(graph.Grouped, least={"minimum": 1, "maximum": MAX_LIMIT}),
    **_own(graph.Alike, least=SHARE),
    **_own(graph.Export, format={"enum": ["json", "graphml", "mermaid"]}),
    **_own(linking.RelatedTo, direction={"enum": ["out", "in", "both"]}),
    **_own(sleep.Asleep, steps=choice(Step)),
    **_own(sleep.Log, step=choice(Step), status=choice(Status)),
    **_own(sleep.Log, limit={"minimum": 1, "maximum": 1_000}),
    **_own(sleep.Foresee, days={"minimum": 1, "maximum": 36_525}),
    **_own(schedules.Set, steps=choice(Step)),
    **_own(schedules.Named, name=NAME),
    **_own(working.Keyed, key=NAME),
    **_own(working.Promote, kind=choice(Kind)),
}
