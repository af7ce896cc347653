"""Where memories come from, as far as rules ask for it, and what nobody may claim from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from remanence.errors import InvalidInput
from remanence.model.memory import EMPTY, same_json

ORIGIN = "summary"  # the origin of a conversation's or a period's summary
SLEEP = "sleep"  # … of what sleep derives
ORIGINS = (ORIGIN, SLEEP)
STATED = "user"  # the source of what the user said to be so
OWN = "remanence."  # how metadata begins that is not the callers'


def check_origin(given: Any) -> None:
    """Refuse the origins of what the memory makes itself."""
    if given in ORIGINS:
        raise InvalidInput(
            f"origin cannot be {' or '.join(map(repr, ORIGINS))}: these words are kept for what "
            "the memory makes itself; take another."
        )


def check_metadata(given: Any, there: Mapping[str, Any] = EMPTY) -> None:
    """Refuse what would look as if the memory had made it itself, unless it is there already."""
    for name, value in given.items() if isinstance(given, Mapping) else ():
        known = name in there and same_json({name: value}, {name: there[name]})
        if str(name).startswith(OWN) and not known:
            raise InvalidInput(
                f"metadata[{str(name)[:128]!r}]: keys that begin with {OWN!r} are kept for what "
                "the memory makes itself; take another name."
            )
