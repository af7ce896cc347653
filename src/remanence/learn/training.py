"""Training a retrieval adapter: fit on some lessons, weigh on others, judge on those kept back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from remanence.learn.adapter import Fit, Studied, fit_adapter
from remanence.learn.anchors import anchor_questions
from remanence.learn.judging import Split, judged_by, ndcg, split, verdict
from remanence.learn.replay import Lesson, lot
from remanence.learn.school import School
from remanence.learn.weighing import Weights, weigh
from remanence.model.embedding import FloatArray
from remanence.model.learning import Judged, LearnPolicy
from remanence.ports.store import Progress
from remanence.recall.adapter import Adapter

FOLDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Taught:
    """What a training gave; `adapter` is None where it was rejected, and `why` says so."""

    adapter: Adapter | None
    why: str
    judged: Judged
    questions: int
    learned_from: frozenset[str]


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
        return Taught(
            adapter=None,
            why=why,
            judged=Judged(),
            questions=len(enrolled),
            learned_from=frozenset(),
        )
    return _Training(school, enrolled, policy, version, progress).result(present)


def other_questions(at: datetime) -> list[Lesson]:
    """Every second anchor as a lesson that asks for no change: each costs a search."""
    none: frozenset[str] = frozenset()
    return [Lesson(query=q, useful=none, useless=none, at=at) for q in anchor_questions()[::2]]


class _Training:
    def __init__(
        self,
        school: School,
        lessons: Sequence[Lesson],
        policy: LearnPolicy,
        version: int,
        progress: Progress | None,
    ) -> None:
        self._school = school
        self._lessons = lessons
        self._policy = policy
        self._version = version
        self._progress = progress
        self._done = 0
        self._studied: Mapping[str, Studied] = school.study(lessons)
        self._anchors: FloatArray = school.anchors()
        self._known = school.known(lessons)

    def result(self, present: Present | None) -> Taught:
        parts = split(self._lessons, self._policy.seed)
        weights = self._weights(parts.learned)
        trial = self._adapter(self._fit(parts.learned), weights)
        newest = [self._judge(one, trial) for one in parts.newest]
        older = [self._judge(one, trial) for one in parts.older]
        judged = judged_by(newest, older)
        gains = [after - before for before, after in (*newest, *older)]
        beside = self._beside(parts, trial, present)
        why = verdict(judged, gains, self._policy, beside)
        taught = frozenset(id for one in self._lessons for id in one.useful | one.useless)
        taught |= self._school.stood_in_for
        adapter = None if why else self._adapter(self._fit(self._lessons), weights)
        return Taught(
            adapter=adapter,
            why=why or f"it gained {judged.gain:+.3f} on unseen questions",
            judged=judged,
            questions=len(self._lessons),
            learned_from=taught if adapter else frozenset(),
        )

    def _weights(self, lessons: Sequence[Lesson]) -> Weights:
        ballots = []
        drawn = sorted(lessons, key=lambda one: lot(one.query, self._policy.seed + 1))
        for fold in range(FOLDS):
            rest = [one for place, one in enumerate(drawn) if place % FOLDS != fold]
            plain = Weights((0.0, 0.0), np.zeros(len(self._school.ranker.names), np.float32))
            adapter = self._adapter(self._fit(rest), plain)
            for lesson in drawn[fold::FOLDS]:
                ballots.append(self._school.ballot(lesson, adapter))
                self._step()
        at = lessons[-1].at
        ballots += [self._school.ballot(other, adapter) for other in other_questions(at)]
        return weigh([one for one in ballots if one is not None])

    def _fit(self, lessons: Sequence[Lesson]) -> Fit:
        studied = [self._studied[one.query] for one in lessons]
        return fit_adapter(studied, self._anchors, self._known)

    def _adapter(self, fit: Fit, weights: Weights) -> Adapter:
        plain = self._school.ranker
        change = dict(zip(plain.names, weights.change.tolist(), strict=True))
        return Adapter(
            version=self._version,
            out=fit.out,
            into=fit.into,
            bridges=fit.bridges,
            weights=weights.learned,
            ranker=plain.changed(change),
        )

    def _judge(self, lesson: Lesson, trial: Adapter) -> tuple[float, float]:
        self._step()
        return self._ndcg(lesson, None), self._ndcg(lesson, trial)

    def _ndcg(self, lesson: Lesson, adapter: Adapter | None) -> float:
        found = self._school.found(lesson.query, lesson.at, adapter)
        return ndcg(found, self._school.keys(lesson.useful))

    def _beside(self, parts: Split, trial: Adapter, present: Present | None) -> float:
        """What the trial wins over the present adapter on questions that are new to both."""
        fresh = [one for one in parts.newest if present is not None and one.at > present.at]
        if present is None or not fresh:
            return 0.0
        won = [self._ndcg(one, trial) - self._ndcg(one, present.adapter) for one in fresh]
        return float(np.mean(won))

    def _step(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, len(self._lessons))
