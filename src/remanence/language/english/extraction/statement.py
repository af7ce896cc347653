"""What reading a text gives: statements about named things, and what was refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeAlias

from remanence.model.knowledge import FactKind, Timespan, when_said

_MINE = re.compile(r"\b(?:my|our)\b", re.IGNORECASE)
_MYSELF = re.compile(r"\b(?:myself|ourselves)\b", re.IGNORECASE)
_ME = re.compile(r"\b(?:me|us|I|we)\b")


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """A name as the text has it, and what sort of thing it names."""

    text: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Subject, predicate, object. `object` is None where the object is a plain value.

    An empty `value` with an `ended` says that whatever held has come to its end. `trust` is a
    share of what the text itself is trusted: less for what it only passes on. `rule` is the one
    that read it, empty if something else did.
    """

    subject: NamedEntity
    predicate: str
    value: str
    sentence: str
    object: NamedEntity | None = None
    kind: str = FactKind.FACT
    confidence: float = 0.8
    trust: float = 1.0
    began: Timespan | None = None
    ended: Timespan | None = None
    rule: str = ""
    when: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", when_said(self.kind, self.began, self.ended))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a text says, whom and what it names, and how often something was refused and why.

    `implied` is not said but follows: whose "my mom" is, who is the same, what a wedding ends.
    """

    statements: tuple[Statement, ...] = ()
    implied: tuple[Statement, ...] = ()
    names: tuple[NamedEntity, ...] = ()
    refused: Mapping[str, int] = field(default_factory=dict)


NameFinder: TypeAlias = Callable[[str], Sequence[NamedEntity]]


class Reader(Protocol):
    """What reads a text, such as the rules' `read`."""

    def __call__(
        self,
        text: str,
        *,
        speaker: NamedEntity,
        at: datetime,
        recent: Sequence[NamedEntity] = (),
        find_names: NameFinder | None = None,
        relations: bool = True,
        all: bool = False,
    ) -> Reading:
        """What the text says."""


def retold(act: str, speaker: str, *, own: bool) -> str:
    """An act of the speaker's words told by another; `own` if it is the speaker's act.

    >>> retold("quit my job", "Sam", own=True), retold("baked me a cake", "Sam", own=False)
    ('quit their job', 'baked Sam a cake')
    """
    act = _MINE.sub("their" if own else lambda _found: f"{speaker}'s", act)
    act = _MYSELF.sub("themselves" if own else lambda _found: speaker, act)
    return _ME.sub(lambda _found: speaker, act)
