"""What a model proposes, taken out of its answer: a tool call, or JSON in its words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from remanence.ports.language_model import Reply
from remanence.text.thoughts import without_thoughts

_NOT_AS_ASKED = "not the JSON asked for"
_TEXTS = ("subject", "predicate", "object")
_MORE = ("subject_type", "object_type", "began", "ended")


class Refused(Exception):
    """Something proposed is not kept; the message is the reason that is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One statement as the model wrote it, of the right form and otherwise unchecked."""

    subject: str
    predicate: str
    object: str
    subject_type: str | None = None
    object_type: str | None = None
    began: str | None = None
    ended: str | None = None


def proposals_in(reply: Reply, tool: str) -> list[Proposal | str]:
    """The statements proposed; for one of the wrong form, the reason. `Refused` if all of it is."""
    if reply.finish == "length":
        raise Refused("the model's answer is cut short")
    called = [call.arguments for call in reply.tool_calls if call.name == tool]
    found = _parsed(called[0] if called else _json_of(reply.text))
    statements = found.get("statements") if isinstance(found, Mapping) else found
    if not isinstance(statements, Sequence) or isinstance(statements, str):
        raise Refused(_NOT_AS_ASKED)
    return [_proposal(one) for one in statements]


def _proposal(row: object) -> Proposal | str:
    if not isinstance(row, Mapping) or not set(_TEXTS) <= set(row) <= {*_TEXTS, *_MORE}:
        return "not of the form asked for"
    texts = all(isinstance(row[name], str) for name in _TEXTS)
    more = all(row.get(name) is None or isinstance(row[name], str) for name in _MORE)
    return Proposal(**row) if texts and more else "not of the form asked for"


def _json_of(text: str) -> str:
    """From the first bracket to the last: models like to say a word before and after."""
    text = without_thoughts(text)
    starts = [place for mark in "{[" if (place := text.find(mark)) >= 0]
    return text[min(starts) : max(text.rfind("}"), text.rfind("]")) + 1] if starts else text


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused(_NOT_AS_ASKED) from error
