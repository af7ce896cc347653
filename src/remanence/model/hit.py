"""What a search gives back: memories with a score, and the signals the score is made of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from remanence.model.memory import MemoryRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSaid:
    """A time that a text speaks of: its words, and when that was, as exactly as they say.

    The moment meant lies between `start` and `end`; None is not known. `when` tells it in words,
    and whether it is one from which or up to which something was so.
    """

    text: str
    when: str
    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One memory found. The values of `signals` add up to `score`.

    `details` splits the signals further, by the ranker's own names; they add up to the same.
    `passage` is the part of the text that matched best (the whole text when it is short), `times`
    are those it speaks of, seen from when it was said.
    `relevance` is the score squeezed into 0 to 1, for display; it compares hits of one search.
    `outdated` says that a newer hit states another value of what was asked.
    """

    memory: MemoryRecord
    score: float
    signals: Mapping[str, float]
    passage: str
    times: tuple[TimeSaid, ...] = ()
    details: Mapping[str, float] = field(default_factory=dict, repr=False)
    similarity: float | None = None
    outdated: bool = False
    relevance: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        squeezed = 1 / (1 + math.exp(-max(-60.0, min(60.0, self.score))))
        object.__setattr__(self, "relevance", squeezed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Understanding:
    """What recall read out of the question."""

    terms: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None


class Hits(list[Hit]):
    """A list of hits, best first, that also says how it came about.

    `degraded` names the parts that could not take part (empty when all did); `understood` is what
    was read out of the question. `confidence` is the probability that the first hits answer it,
    None without vectors; `confidence_signals` add up to its log-odds.
    """

    def __init__(
        self,
        hits: Iterable[Hit] = (),
        *,
        understood: Understanding | None = None,
        degraded: tuple[str, ...] = (),
        confidence: float | None = None,
        confidence_signals: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(hits)
        self.understood = understood or Understanding()
        self.degraded = degraded
        self.confidence = confidence
        self.confidence_signals = dict(confidence_signals or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyNot:
    """Why a memory was not among the hits: the stage that dropped it, and the figures there."""

    stage: str
    explanation: str
    rank: int | None = None
    score: float | None = None
    signals: Mapping[str, float] | None = None
