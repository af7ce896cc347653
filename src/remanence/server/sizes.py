"""How much one call from outside may bring: a call holds a thread until it is done."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from remanence.errors import InvalidInput
from remanence.model.query import MAX_LIMIT
from remanence.operations.bounds import MOST_ITEMS

_WRITTEN = frozenset({"memories", "messages"})  # each is embedded and read for facts


def check_sizes(request: Any) -> None:
    """Refuse a request with a list that is too long for one call."""
    for each in fields(request):
        value = getattr(request, each.name)
        most = MOST_ITEMS if each.name in _WRITTEN else MAX_LIMIT
        if isinstance(value, tuple | list) and len(value) > most:
            raise InvalidInput(
                f"{each.name} has {len(value):,} items and a call takes {most:,} at most; send "
                "them in several calls, or all at once to /v1/import."
            )
