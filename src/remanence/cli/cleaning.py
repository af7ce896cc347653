"""What the command line stores passes the checks of every door: nothing reserved or private."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from remanence.api.verb import AnyVerb

if TYPE_CHECKING:
    from remanence.api.memory import Memory
    from remanence.config import Settings

Fields = dict[str, Any]
Line = Mapping[str, Any]


def cleaned(operation: AnyVerb, request: Any, memory: Memory) -> Any:
    """The request as it is stored; `InvalidInput` for what only the memory may say."""
    if not operation.writes:
        return request
    from remanence.server.access.writing import check_claims

    given = {each.name: getattr(request, each.name) for each in fields(request)}
    told = cleaning(operation.name, memory.settings)(given)
    check_claims(operation, told, memory)
    return replace(request, **told)


def cleaning(what: str, settings: Settings) -> Callable[[Fields], Fields]:
    """What takes private data out of a request or a line, if the settings want it."""
    if not settings.redact:
        return dict
    from remanence.language.redaction import redactor
    from remanence.server.access.writing import redacted

    redact = redactor(settings.redact)
    return lambda given: redacted(what, given, redact)


def admitting(settings: Settings) -> Callable[[Line], Line] | None:
    """The same for what is read out of an export."""
    if not settings.redact:
        return None
    from remanence.language.redaction import redactor
    from remanence.server.access.writing import Intake

    return Intake(None, redactor(settings.redact))
