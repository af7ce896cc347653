"""Parameters that verbs of several layers have, and what a parameter may be beyond its type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, TypedDict

from remanence.api.values import EXACT
from remanence.api.verb import Says
from remanence.model.block import MAX_LIMIT as MAX_CHARACTERS
from remanence.model.memory import Kind
from remanence.model.query import MAX_LIMIT, MAX_QUERY
from remanence.model.scope import MAX_NAME
from remanence.model.sleep import Step
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


Actor = Annotated[str | None, Says("who writes it down", bounds=LABEL)]
AddKind = Annotated[
    str, Says("message, episodic, semantic, procedural, reflection or summary", bounds=choice(Kind))
]
AgentId = Annotated[str | None, Says("the agent it belongs to", "-a", bounds=NAME)]
AllUsers = Annotated[bool, Says("of every user, not of one")]
AsOf = Annotated[datetime | None, Says("what was true then; now when left out")]
By = Annotated[str | None, Says("who wants it; kept in the history", bounds=LABEL)]
Confidence = Annotated[float, Says("0 to 1: how sure it is", bounds=SHARE)]
DryRun = Annotated[bool, Says("only say what would be done", "-n")]
Erase = Annotated[bool, Says("remove for good, bytes and all, instead of archiving")]
ExamplesLimit = Annotated[int, Says("so many at most", "-n", bounds=LIMIT, argument=False)]
Filters = Annotated[
    Mapping[str, Any] | None,
    Says("conditions on metadata, or on `field.NAME` of the record", "-f", flag="--filter"),
]
Id = Annotated[str, Says("the memory's id")]
IdempotencyKey = Annotated[
    str | None, Says("the same key again repeats the first answer and writes nothing")
]
Importance = Annotated[float | None, Says("0 to 1; computed when left out", "-i", bounds=SHARE)]
IncludeShared = Annotated[bool, Says("also see what belongs to no user")]
KnownAt = Annotated[datetime | None, Says("by what was known then")]
Limit = Annotated[int, Says("how many at most", "-k", bounds=LIMIT)]
Messages = Annotated[
    Iterable[Mapping[str, Any]],
    Says(
        "objects with role, content and optionally name, at, id, metadata, tool_calls",
        bounds={"items": MESSAGE, "maxItems": MOST_ITEMS},
        wire=tuple[Mapping[str, Any], ...],
        piped=True,
    ),
]
Metadata = Annotated[
    Mapping[str, Any] | None, Says("anything else to keep with it", "-m", bounds=KEYS)
]
MinTrust = Annotated[
    float | None,
    Says("as if nothing trusted less than this had been written; else the setting", bounds=SHARE),
]
Now = Annotated[datetime | None, Says("the moment that counts as now")]
Offset = Annotated[int, Says("leave out so many first", bounds=OFFSET)]
Overwrite = Annotated[bool, Says("replace a file that is there already")]
Quarantined = Annotated[bool, Says("keep it out of all recall until it is let in")]
Query = Annotated[str, Says("the question, in plain words", bounds=QUERY, piped=True)]
Reason = Annotated[str | None, Says("why; kept in the history", bounds=LABEL)]
SessionId = Annotated[str | None, Says("the conversation it belongs to", "-s", bounds=NAME)]
Since = Annotated[datetime | None, Says("at or after this moment")]
Source = Annotated[str | None, Says("where it comes from", bounds=LABEL)]
SourceMemory = Annotated[str | None, Says("the id of the memory that says so", bounds=LABEL)]
Steps = Annotated[
    Sequence[str] | str | None,
    Says(
        "talks, merge, distil, reflect, forget, erase, compress, learn, upkeep, or consolidate",
        flag="--step",
        bounds=choice(Step),
        wire=tuple[str, ...] | None,
        argument=False,
    ),
]
Trust = Annotated[float, Says("how far to believe it, 0 to 1", bounds=SHARE)]
Until = Annotated[datetime | None, Says("before this moment")]
UserId = Annotated[
    str | None, Says("the user whose memory it is", "-u", bounds=NAME, argument=False)
]
ValidFrom = Annotated[
    datetime | str | None,
    Says("since when: a date such as 2024-03-05, 2024-03 or 2024, or a moment", wire=str | None),
]
ValidTo = Annotated[
    datetime | str | None,
    Says("until when: a date such as 2024-03-05, 2024-03 or 2024, or a moment", wire=str | None),
]
Version = Annotated[int | None, Says("only if it still has this version")]


class ScopeArguments(TypedDict, total=False):
    """Whose memory it is."""

    user_id: UserId
    agent_id: AgentId
    session_id: SessionId


class SeenArguments(ScopeArguments, total=False):
    """Whose memory is looked at, and what of it counts."""

    include_shared: IncludeShared
    min_trust: MinTrust
