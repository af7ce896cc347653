"""Learning from use: an experience, what was learned from many, and what it is judged by."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from remanence.errors import InvalidInput
from remanence.model.memory import unit_interval
from remanence.model.validation import whole_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """That a memory helped with a question, or did not, at some time.

    `rank` is the place at which the present search puts the memory, from 1; None where that is
    not known, or where it does not find it.
    """

    id: str
    query: str | None
    useful: bool
    at: datetime
    rank: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnPolicy:
    """How much is kept and replayed, and when what was learned is good enough to be used.

    `kept` bounds the feedback on each user's memories, `replayed` what one training looks at. A
    training needs `least` questions with a useful memory; sleep trains after `new` experiences. On
    questions it has not seen it must gain `margin` of nDCG@10, and on the older of them lose no
    more than `tolerance`.
    """

    kept: int = 10_000
    replayed: int = 2_000
    least: int = 24
    new: int = 50
    margin: float = 0.02
    tolerance: float = 0.005
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("kept", "replayed", "least", "new"):
            whole_of(name, getattr(self, name), 1, 1_000_000)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise InvalidInput(f"seed must be a whole number; got {self.seed!r}.")
        unit_interval("margin", self.margin)
        unit_interval("tolerance", self.tolerance)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingScores:
    """nDCG@10 on feedback that was kept from the training: without what was learned, and with it.

    `older` is the same on what was asked before the newest questions.
    """

    questions: int = 0
    before: float = 0.0
    after: float = 0.0
    older: int = 0
    older_before: float = 0.0
    older_after: float = 0.0

    @property
    def gain(self) -> float:
        """What was won, in nDCG@10."""
        return self.after - self.before


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterVersion:
    """One training's result. A rejected one keeps its figures and nothing that was learned."""

    number: int
    accepted: bool
    active: bool
    at: datetime
    why: str
    judged: TrainingScores
    experiences: int
    questions: int
    words: int = 0
    learned_from: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingResult:
    """What a training came to; None is the version where there was too little to learn from."""

    accepted: bool
    why: str
    judged: TrainingScores
    version: AdapterVersion | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnStatus:
    """How learning stands for one user's memories.

    `fresh` are the experiences since the last training; `trouble` says why the active version
    cannot be used, if it cannot.
    """

    user_id: str | None
    experiences: int
    fresh: int
    replayed: int
    active: AdapterVersion | None
    last: AdapterVersion | None
    versions: int
    trouble: str | None = None
