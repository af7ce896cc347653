"""What reading a text gives: statements about named things, and what was refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeAlias

from remanence.model.knowledge import FactKind, When


@dataclass(frozen=True, slots=True)
class Named:
    """A name as the text has it, and what sort of thing it names."""

    text: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Subject, predicate, object. `object` is None where the object is a plain value.

    An empty `value` with an `ended` says that whatever held has come to its end. `trust` is a
    share of what the text itself is trusted: less for what it only passes on.
    """

    subject: Named
    predicate: str
    value: str
    sentence: str
    object: Named | None = None
    kind: str = FactKind.FACT
    confidence: float = 0.8
    trust: float = 1.0
    began: When | None = None
    ended: When | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a text says, whom and what it names, and how often something was refused and why.

    `implied` is not said but follows: whose "my mom" is, who is the same, what a wedding ends.
    """

    statements: tuple[Statement, ...] = ()
    implied: tuple[Statement, ...] = ()
    names: tuple[Named, ...] = ()
    refused: Mapping[str, int] = field(default_factory=dict)


NameFinder: TypeAlias = Callable[[str], Sequence[Named]]


class Reader(Protocol):
    """What reads a text, such as the rules' `read`."""

    def __call__(
        self,
        text: str,
        *,
        speaker: Named,
        at: datetime,
        recent: Sequence[Named] = (),
        find_names: NameFinder | None = None,
        relations: bool = True,
    ) -> Reading:
        """What the text says."""
