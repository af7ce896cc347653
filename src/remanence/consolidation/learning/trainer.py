"""Training a retrieval adapter: fit on some lessons, weigh on others, judge on those kept back."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from remanence.consolidation.learning.adapter import (
    Studied,
    Weights,
    anchor_questions,
    fit_bridges,
    fit_map,
    weigh,
)
from remanence.consolidation.learning.replay import Lesson, lot
from remanence.consolidation.learning.school import School
from remanence.model.embedding import FloatArray
from remanence.model.learning import LearnPolicy, TrainingScores
from remanence.model.progress import Progress
from remanence.recall.adapter import Adapter

DEPTH = 10
# Kept from the training: this share of the questions as the newest, and of the rest by lot.
NEWEST = 0.2
BY_LOT = 0.2
# A gain of less than so many standard errors may be chance.
ERRORS = 2.0
# Fewer than this say nothing either way.
FEWEST = 6

FOLDS = 4


@dataclass(frozen=True, slots=True)
class Split:
    """Lessons to learn from, and those that were kept back: the newest, and some of the others."""

    learned: tuple[Lesson, ...]
    newest: tuple[Lesson, ...]
    older: tuple[Lesson, ...]


def split(lessons: Sequence[Lesson], seed: int) -> Split:
    """Part lessons that come oldest first; no question is on both sides."""
    last = len(lessons) - int(len(lessons) * NEWEST)
    before = sorted(lessons[:last], key=lambda lesson: lot(lesson.query, seed))
    kept = int(len(before) * BY_LOT)
    return Split(tuple(before[kept:]), tuple(lessons[last:]), tuple(before[:kept]))


def ndcg(found: Sequence[int], gold: Collection[int]) -> float:
    """Discounted gain of the gold ones among the first ten, as a part of the best possible."""
    best = sum(1 / math.log2(n + 2) for n in range(min(len(gold), DEPTH)))
    gain = sum(1 / math.log2(n + 2) for n, key in enumerate(found[:DEPTH]) if key in gold)
    return gain / best if best else 0.0


def judged_by(
    newest: Sequence[tuple[float, float]], older: Sequence[tuple[float, float]]
) -> TrainingScores:
    """The figures of (before, after) on both parts of what was kept back."""
    before, after = _means([*newest, *older])
    older_before, older_after = _means(older)
    return TrainingScores(
        questions=len(newest) + len(older),
        before=before,
        after=after,
        older=len(older),
        older_before=older_before,
        older_after=older_after,
    )


def verdict(
    judged: TrainingScores, gains: Sequence[float], policy: LearnPolicy, beside: float = 0.0
) -> str | None:
    """Why it is rejected; None if it is accepted.

    `gains` are those of the single questions: a mean that their spread explains is no gain.
    `beside` is what it wins over the present adapter where that can be told.
    """
    if judged.questions < FEWEST:
        return "too few questions were left to judge it by"
    if judged.gain < policy.margin:
        return f"it gained {judged.gain:+.3f} on unseen questions, less than {policy.margin:.3f}"
    error = ERRORS * float(np.std(gains, ddof=1)) / math.sqrt(len(gains))
    if judged.gain <= error:
        return f"its gain of {judged.gain:+.3f} may be chance, which goes up to {error:.3f}"
    if judged.older_after < judged.older_before - policy.tolerance:
        lost = judged.older_before - judged.older_after
        return f"it lost {lost:.3f} on older questions"
    if beside < -policy.tolerance:
        return f"the present version does better by {-beside:.3f} on the newest questions"
    return None


def _means(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    if not pairs:
        return 0.0, 0.0
    before, after = np.mean(pairs, axis=0).tolist()
    return round(before, 4), round(after, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taught:
    """What a training gave; `adapter` is None where it was rejected, and `why` says so.

    It has seen so many `experiences`, and all up to `trained_to`.
    """

    adapter: Adapter | None = None
    why: str
    judged: TrainingScores = field(default_factory=TrainingScores)
    questions: int
    learned_from: frozenset[str] = frozenset()
    experiences: int = 0
    trained_to: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """The adapter in use, and when it was trained: later questions are new to it too."""

    adapter: Adapter
    at: datetime


def teach(
    school: School,
    lessons: Sequence[Lesson],
    policy: LearnPolicy,
    *,
    version: int = 1,
    present: Present | None = None,
    progress: Progress | None = None,
) -> Taught:
    """Train on lessons that come oldest first.

    The weights are found on questions that the fit has not seen, and the whole is judged on
    questions that neither has. If it is accepted, the fit is made anew from all lessons; the
    weights stay those that were judged.
    """
    enrolled = school.enrol(lessons)
    if len(enrolled) < policy.least:
        why = f"there are {len(enrolled)} questions with a useful memory; {policy.least} are needed"
        return Taught(why=why, questions=len(enrolled))
    return _Training(school, enrolled, policy, version, progress).result(present)


def other_questions(at: datetime) -> list[Lesson]:
    """Every second anchor as a lesson that asks for no change: each costs a search."""
    none: frozenset[str] = frozenset()
    return [Lesson(query=q, useful=none, useless=none, at=at) for q in anchor_questions()[::2]]


@dataclass(eq=False)
class _Training:
    school: School
    lessons: Sequence[Lesson]
    policy: LearnPolicy
    version: int
    progress: Progress | None

    def __post_init__(self) -> None:
        self._done = 0
        self._studied: Mapping[str, Studied] = self.school.study(self.lessons)
        self._anchors: FloatArray = self.school.anchors()
        self._known = self.school.known(self.lessons)

    def result(self, present: Present | None) -> Taught:
        parts = split(self.lessons, self.policy.seed)
        weights = self._weights(parts.learned)
        trial = self._adapter(parts.learned, weights)
        newest = [self._judge(one, trial) for one in parts.newest]
        older = [self._judge(one, trial) for one in parts.older]
        judged = judged_by(newest, older)
        gains = [after - before for before, after in (*newest, *older)]
        beside = self._beside(parts, trial, present)
        why = verdict(judged, gains, self.policy, beside)
        taught = frozenset(id for one in self.lessons for id in one.useful | one.useless)
        taught |= self.school.stood_in_for
        adapter = None if why else self._adapter(self.lessons, weights)
        return Taught(
            adapter=adapter,
            why=why or f"it gained {judged.gain:+.3f} on unseen questions",
            judged=judged,
            questions=len(self.lessons),
            learned_from=taught if adapter else frozenset(),
        )

    def _weights(self, lessons: Sequence[Lesson]) -> Weights:
        ballots = []
        drawn = sorted(lessons, key=lambda one: lot(one.query, self.policy.seed + 1))
        for fold in range(FOLDS):
            rest = [one for place, one in enumerate(drawn) if place % FOLDS != fold]
            plain = Weights((0.0, 0.0), np.zeros(len(self.school.ranker.names), np.float32))
            adapter = self._adapter(rest, plain)
            for lesson in drawn[fold::FOLDS]:
                ballots.append(self.school.ballot(lesson, adapter))
                self._step()
        at = lessons[-1].at
        ballots += [self.school.ballot(other, adapter) for other in other_questions(at)]
        return weigh([one for one in ballots if one is not None])

    def _adapter(self, lessons: Sequence[Lesson], weights: Weights) -> Adapter:
        """Map and bridges fitted to these lessons, with weights that were found for them."""
        studied = [self._studied[one.query] for one in lessons]
        out, into = fit_map(studied, self._anchors)
        plain = self.school.ranker
        change = dict(zip(plain.names, weights.change.tolist(), strict=True))
        return Adapter(
            version=self.version,
            out=out,
            into=into,
            bridges=fit_bridges(studied, self._known),
            weights=weights.learned,
            ranker=plain.changed(change),
        )

    def _judge(self, lesson: Lesson, trial: Adapter) -> tuple[float, float]:
        self._step()
        return self._ndcg(lesson, None), self._ndcg(lesson, trial)

    def _ndcg(self, lesson: Lesson, adapter: Adapter | None) -> float:
        found = self.school.found(lesson.query, lesson.at, adapter)
        return ndcg(found, self.school.keys(lesson.useful))

    def _beside(self, parts: Split, trial: Adapter, present: Present | None) -> float:
        """What the trial wins over the present adapter on questions that are new to both."""
        fresh = [one for one in parts.newest if present is not None and one.at > present.at]
        if present is None or not fresh:
            return 0.0
        won = [self._ndcg(one, trial) - self._ndcg(one, present.adapter) for one in fresh]
        return float(np.mean(won))

    def _step(self) -> None:
        self._done += 1
        if self.progress is not None:
            self.progress(self._done, len(self.lessons))
