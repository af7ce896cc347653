"""The short-term window: which of the newest messages stay. Pure functions.

By count the newest stay. By tokens the newest half of the budget stays without exception; of what
is older the least important go first. A tool's answer stays or goes with its call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from remanence.layers.conversation.chat import tokens_of
from remanence.model.memory import MemoryRecord
from remanence.remember.tool_calls import CALL_ID, CALLS, calls_in

CountMessage = Callable[[MemoryRecord], int]


@dataclass(frozen=True, slots=True)
class Unit:
    """Messages that stay or go together, by their places, and what they take together."""

    places: tuple[int, ...]
    tokens: int
    importance: float


def fitted(
    messages: Sequence[MemoryRecord],
    max_messages: int,
    max_tokens: int,
    count: CountMessage = tokens_of,
) -> list[MemoryRecord]:
    """The messages (given oldest first) that stay, in their order.

    Only whole messages stay. The newest one, with its tool call, stays even if it alone is more
    than the budget. An answer whose call is not among the messages goes.
    """
    kept = _trimmed(_newest(_units(messages, count), max_messages), max_tokens)
    places = sorted(place for unit in kept for place in unit.places)
    return [messages[place] for place in places]


def _units(messages: Sequence[MemoryRecord], count: CountMessage) -> list[Unit]:
    """The messages in units, in order of their newest message."""
    groups: dict[int, list[int]] = {}
    called: dict[str, int] = {}
    for place, message in enumerate(messages):
        answered = message.metadata.get(CALL_ID)
        if isinstance(answered, str):
            if answered in called:
                groups[called[answered]].append(place)
            continue
        groups[place] = [place]
        called |= dict.fromkeys(_call_ids(message), place)
    ordered = sorted(groups.values(), key=lambda places: places[-1])
    return [_unit([messages[p] for p in places], places, count) for places in ordered]


def _unit(messages: Sequence[MemoryRecord], places: Sequence[int], count: CountMessage) -> Unit:
    return Unit(
        places=tuple(places),
        tokens=sum(map(count, messages)),
        importance=max(message.importance for message in messages),
    )


def _call_ids(message: MemoryRecord) -> list[str]:
    ids = [call.get("id") for call in calls_in(message.metadata.get(CALLS))]
    return [id for id in ids if isinstance(id, str)]


def _newest(units: Sequence[Unit], most: int) -> list[Unit]:
    """The newest units of together at most so many messages, at least one unit."""
    chosen: list[Unit] = []
    total = 0
    for unit in reversed(units):
        total += len(unit.places)
        if chosen and total > most:
            break
        chosen.append(unit)
    return chosen[::-1]


def _trimmed(units: list[Unit], budget: int) -> list[Unit]:
    total = sum(unit.tokens for unit in units)
    older = units[: len(units) - _protected(units, budget // 2)]
    for unit in sorted(older, key=lambda unit: (unit.importance, unit.places[-1])):
        if total <= budget:
            break
        total -= unit.tokens
        units = [other for other in units if other is not unit]
    return units


def _protected(units: Sequence[Unit], half: int) -> int:
    """How many of the newest units fit into half of the budget, at least one."""
    total = 0
    for number, unit in enumerate(reversed(units)):
        total += unit.tokens
        if number and total > half:
            return number
    return len(units)
