"""Training a retrieval adapter: fitted, weighed, judged on lessons kept back; its versions kept."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
from msgspec import convert

from remanence.consolidation.learning.adapter import (
    Studied,
    Weights,
    anchor_questions,
    fit_bridges,
    fit_map,
    weigh,
)
from remanence.consolidation.learning.school import Lesson, School, lot
from remanence.errors import Conflict, InvalidInput, NotFound
from remanence.model.document import Discard, Document, Put, Shelf
from remanence.model.embedding import Fingerprint, FloatArray
from remanence.model.learning import AdapterVersion, LearnPolicy, TrainingScores
from remanence.model.ports.store import Documents
from remanence.model.progress import Progress
from remanence.model.scope import Reach
from remanence.model.validation import moment_of
from remanence.recall.adapter import Adapter, packed
from remanence.recall.adapters import NAME, head_of, version_of
from remanence.recall.ranker import Ranker

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


# Of the versions that are not in use, so many are kept; of those that were, so many to go back to.
KEPT = 10
WAYS_BACK = 3


@dataclass(frozen=True, slots=True)
class Head:
    """What stands over a user's versions. `used` are those put to use, the active one last."""

    used: tuple[int, ...] = ()
    known: tuple[int, ...] = ()
    last: int = 0
    trained_to: datetime | None = None
    version: int = 0  # of the document; 0 where there is none

    @property
    def active(self) -> int | None:
        """The version in use."""
        return self.used[-1] if self.used else None


class Versions:
    """One tenant's adapters on their shelf. Of two trainings at once the later is a `Conflict`."""

    def __init__(self, store: Documents, tenant: str) -> None:
        self._store = store
        self._tenant = tenant

    def head(self, user_id: str | None) -> Head:
        """What stands over the user's versions; an empty one where nothing was trained yet."""
        found = self._store.get(self._tenant, [head_of(user_id)])
        return _head(found[0]) if found else Head()

    def listed(self, user_id: str | None) -> list[AdapterVersion]:
        """The user's versions, the newest first."""
        head = self.head(user_id)
        found = self._documents(user_id, head.known)
        return [_version(number, found[number].value, head) for number in reversed(list(found))]

    def shelve(
        self,
        user_id: str | None,
        head: Head,
        taught: Taught,
        at: datetime,
        *,
        plain: Ranker,
        by: Fingerprint,
    ) -> int:
        """Keep a training's outcome, and put it to use if it was accepted; its number.

        `Conflict` if another training came first since the head was read.
        """
        number, adapter = head.last + 1, taught.adapter
        value = _told(taught, at)
        value["adapter"] = None if adapter is None else packed(adapter, plain, by)
        used = head.used if adapter is None else (*head.used, number)[-WAYS_BACK:]
        idle = [one for one in (*head.known, number) if one not in used]
        known = tuple(sorted({*used, *idle[-KEPT:]}))
        after = Head(used, known, number, taught.trained_to or at, head.version)
        gone = [one for one in head.known if one not in known]
        self._store.put(
            self._tenant,
            [
                _headed(user_id, after, at),
                Put(address=version_of(user_id, number), value=value, at=at, expected=0),
                *(Discard(address=version_of(user_id, one)) for one in gone),
            ],
        )
        return number

    def roll_back(self, user_id: str | None, at: datetime) -> Head:
        """Put the version before to use, or none; `NotFound` if none is in use."""
        head = self.head(user_id)
        if head.active is None:
            raise NotFound("No adapter is in use here; there is nothing to roll back.")
        before = replace(head, used=head.used[:-1])
        self._store.put(self._tenant, [_headed(user_id, before, at)])
        return before

    def unlearn(
        self, ids: Collection[str], at: datetime, users: Collection[str | None] | None = None
    ) -> dict[str | None, int]:
        """Remove every version that learned from one of these memories; how many, by user."""
        wanted = frozenset(ids)
        found: defaultdict[str | None, list[int]] = defaultdict(list)
        for document in self._every(users):
            number = _number(document)
            if number and not wanted.isdisjoint(_learned_from(document)):
                found[document.address.user_id].append(number)
        for user_id, numbers in found.items():
            self._remove(user_id, numbers, at)
        return {user_id: len(numbers) for user_id, numbers in found.items()}

    def _remove(self, user_id: str | None, numbers: Sequence[int], at: datetime) -> None:
        """Take versions away, however many trainings end meanwhile."""
        gone = [Discard(address=version_of(user_id, one)) for one in numbers]
        while True:
            head = self.head(user_id)
            used = tuple(one for one in head.used if one not in numbers)
            known = tuple(one for one in head.known if one not in numbers)
            left = replace(head, used=used, known=known)
            headed = [_headed(user_id, left, at)] if head.version else []
            with suppress(Conflict):
                self._store.put(self._tenant, [*headed, *gone])
                return

    def _every(self, users: Collection[str | None] | None) -> Iterator[Document]:
        if users is not None:
            for user_id in users:
                yield from self._documents(user_id, self.head(user_id).known).values()
            return
        yield from self._store.walk_shelf(Reach(tenant=self._tenant, all_users=True), Shelf.ADAPTER)

    def _documents(self, user_id: str | None, numbers: Sequence[int]) -> dict[int, Document]:
        addresses = [version_of(user_id, number) for number in numbers]
        found = self._store.get(self._tenant, addresses) if addresses else []
        return {_number(one): one for one in found}


def _headed(user_id: str | None, head: Head, at: datetime) -> Put:
    trained = None if head.trained_to is None else head.trained_to.isoformat()
    numbers = {"used": list(head.used), "known": list(head.known), "last": head.last}
    value = numbers | {"trained_to": trained}
    return Put(address=head_of(user_id), value=value, at=at, expected=head.version)


def _told(taught: Taught, at: datetime) -> dict[str, Any]:
    adapter = taught.adapter
    return {
        "accepted": adapter is not None,
        "at": at.isoformat(),
        "why": taught.why,
        "judged": asdict(taught.judged),
        "experiences": taught.experiences,
        "questions": taught.questions,
        "words": 0 if adapter is None else len(adapter.bridges),
        "learned_from": sorted(taught.learned_from),
    }


def _head(document: Document) -> Head:
    value = document.value
    trained = value.get("trained_to")
    used, known = _numbers(value.get("used")), _numbers(value.get("known"))
    last = max([0, *used, *known, *_numbers([value.get("last")])])
    at = None
    with suppress(InvalidInput):
        at = moment_of("trained_to", trained)
    return Head(used, known, last, at, document.version)


def _numbers(value: object) -> tuple[int, ...]:
    found = value if isinstance(value, list) else []
    return tuple(n for n in found if isinstance(n, int) and not isinstance(n, bool) and n > 0)


def _number(document: Document) -> int:
    """The number of a version's document; 0 for any other."""
    prefix, _, number = document.address.name.rpartition("-")
    return int(number) if prefix == NAME and number.isascii() and number.isdigit() else 0


def _learned_from(document: Document) -> Sequence[str]:
    found = document.value.get("learned_from")
    return [id for id in found if isinstance(id, str)] if isinstance(found, list) else []


def _version(number: int, value: Mapping[str, Any], head: Head) -> AdapterVersion:
    """A version's figures; one that is damaged shows as such."""
    stands: dict[str, Any] = {"number": number, "active": number == head.active}
    with suppress(KeyError, TypeError, ValueError):
        learned = {"learned_from": len(value["learned_from"])}
        return convert({**value, **learned, **stands}, AdapterVersion)
    return AdapterVersion(
        **stands,
        accepted=False,
        at=datetime.fromtimestamp(0, UTC),
        why="its document is damaged; train again or roll back",
        judged=TrainingScores(),
        experiences=0,
        questions=0,
    )
