"""A call of a public verb and its answer: recorded by one version, repeated by every later one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, date, datetime
from enum import Enum
from functools import reduce
from typing import Any

from remanence.api.memory import Memory

Answer = Any  # JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A verb by its name on a memory (`facts.about`), for one tenant.

    `keep` names the fields that are compared, all if empty: what is computed when it is asked for,
    such as a rank, may differ in another version. `exported`: an import of the tenant's export
    answers the same.
    """

    tenant: str
    verb: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    keep: tuple[str, ...] = ()
    exported: bool = False

    def answer(self, memory: Memory) -> Answer:
        """What the verb answers now, as JSON."""
        verb = reduce(getattr, self.verb.split("."), memory.for_tenant(self.tenant))
        return _chosen(told(verb(**self.arguments)), self.keep)  # type: ignore[operator]


def told(value: object) -> Answer:
    """A value as JSON, the same in every version whatever its classes are."""
    match value:
        case Enum():
            return told(value.value)
        case datetime():
            return value.astimezone(UTC).isoformat()
        case date():
            return value.isoformat()
        case Mapping():
            return {str(told(name)): told(one) for name, one in value.items()}
        case Set():
            return sorted(told(one) for one in value)
        case list() | tuple():
            return [told(one) for one in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: told(getattr(value, one.name)) for one in fields(value)}
    return value


def differences(then: Answer, now: Answer, at: str = "answer") -> Iterator[str]:
    """Where an answer is not what it was. Fields that it did not have then are no difference."""
    if isinstance(then, dict) and isinstance(now, dict):
        for name, value in then.items():
            if name in now:
                yield from differences(value, now[name], f"{at}.{name}")
            else:
                yield f"{at}.{name} is gone; it was {value!r:.80}"
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for number, (one, other) in enumerate(zip(then, now, strict=True)):
            yield from differences(one, other, f"{at}[{number}]")
    elif not _same(then, now):
        yield f"{at} was {then!r:.200} and is {now!r:.200}"


def _same(then: Answer, now: Answer) -> bool:
    """JSON has one kind of numbers: 600 is as good as 600.0."""
    if {type(then), type(now)} <= {int, float}:
        return math.isclose(then, now, rel_tol=1e-9, abs_tol=1e-12)
    return type(then) is type(now) and bool(then == now)


def _chosen(answer: Answer, keep: tuple[str, ...]) -> Answer:
    if not keep:
        return answer
    if isinstance(answer, list):
        return [_chosen(one, keep) for one in answer]
    return {name: value for name, value in answer.items() if name in keep}
