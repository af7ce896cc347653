"""Parameters that verbs of several layers have: whose memory, what to see, how much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, TypedDict

from remanence.api.bounds import (
    KEYS,
    LABEL,
    LIMIT,
    MESSAGE,
    MOST_ITEMS,
    NAME,
    OFFSET,
    QUERY,
    SHARE,
    choice,
)
from remanence.api.verb import Says
from remanence.model.memory import Kind
from remanence.model.sleep import Step

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
        wire=tuple[str, ...],
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
