"""Importance and recency, which fade by the day; what replaces what among the first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np

from remanence.language.english.kin import KIN
from remanence.language.english.values import asked_units, says_change, values
from remanence.language.words import terms
from remanence.model.embedding import FloatArray
from remanence.model.memory import MemoryRecord
from remanence.recall.columns import Columns
from remanence.recall.postings import Rows
from remanence.recall.question import Question
from remanence.recall.scene import Scene

DAY = 86_400_000_000
# So many of the first are read, to see which of them replaces which.
READ = 10
# Two statements of one matter: their cosine, the part of the question that both say, and how near
# the newer is to it beside the older.
ALIKE, SHARED, NEAR = 0.5, 0.2, 0.6
# From here the older is called outdated; below, the newer one only stands before it.
SURE_ALIKE, SURE_SHARED = 0.6, 0.3
OWN_ALIKE = 0.4
AHEAD = np.float32(0.01)
LONGEST = 3  # chain of what replaces what
_SENTENCE = re.compile(r"[^.!?\n]+")
_OWN = re.compile(r"\b(?:I|we|I'm|I've|we're)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """Weights of importance and recency in the score, and how fast each fades.

    importance x `decay`^days, and exp(-`time_weight` x days), as the episodic engine has them.
    """

    importance: float = 0.2
    recency: float = 0.3
    decay: float = 0.95
    time_weight: float = 0.1

    def shares(
        self, question: Question, columns: Columns, rows: Rows, now: int, time_weight: float | None
    ) -> tuple[FloatArray, FloatArray]:
        """What importance and recency add to the score of these rows.

        Recency is silent when the question speaks of a time or of the beginning, so that a new
        memory never buries the old answer to a question about the past.
        """
        days = np.maximum(now - columns.happened[rows], 0) / DAY
        importance = self.importance * columns.importance[rows] * self.decay**days
        rate = self.time_weight if time_weight is None else time_weight
        about_past = question.period is not None or question.recency_cue == "earliest"
        recency = np.zeros(len(rows)) if about_past else self.recency * np.exp(-rate * days)
        return importance.astype(np.float32), recency.astype(np.float32)


@dataclass(frozen=True, eq=False)
class Statements:
    """The first of a pool with their texts: which is newer, and which speaks of somebody else.

    The newer of two statements of one matter goes before the older if it states another value of
    what the question asks for. What somebody's mother does goes behind what they do themselves.
    """

    scene: Scene
    first: Rows
    texts: Mapping[int, str]

    @cached_property
    def _asked(self) -> frozenset[str]:
        return frozenset(self.scene.question.terms)

    @cached_property
    def _said(self) -> dict[int, frozenset[str]]:
        """What each says of what is asked."""
        return {n: self._asked & frozenset(terms(self.texts[n])) for n in self.texts}

    @cached_property
    def _whose(self) -> dict[int, str | None]:
        return {n: _whose(text, self._asked) for n, text in self.texts.items()}

    def replaced(self) -> Iterator[tuple[int, int, bool]]:
        """Places of the older and the newer of each pair, and whether the older is outdated."""
        units = asked_units(self.scene.question.text)
        for old, new in permutations(self.texts, 2):
            one = (self._whose[old] == "other") == (self._whose[new] == "other")
            if units and one and self._is_newer(old, new):
                alike, shared = self._sameness(old, new)
                near = self.scene.late[new] >= NEAR * self.scene.late[old]
                if alike >= ALIKE and shared >= SHARED and near and self._differ(old, new, units):
                    yield old, new, alike >= SURE_ALIKE and shared >= SURE_SHARED

    def anothers(self) -> Iterator[tuple[int, int]]:
        """Places of what is somebody else's and of the same said of oneself."""
        for other, own in permutations(self.texts, 2):
            if (self._whose[other], self._whose[own]) == ("other", "own"):
                alike, shared = self._sameness(other, own)
                if alike >= OWN_ALIKE and shared:
                    yield other, own

    def _is_newer(self, old: int, new: int) -> bool:
        """Told later, by the same person; a nameless assistant replaces nothing."""
        columns, rows = self.scene.columns, self.scene.rows[[old, new]]
        if columns.speaker[rows[0]] != columns.speaker[rows[1]] or not self.scene.by_user[new]:
            return False
        before, after = columns.happened[rows]
        together = columns.session[rows[0]] == columns.session[rows[1]]
        return bool(before < after or (before == after and together and rows[0] < rows[1]))

    def _sameness(self, one: int, other: int) -> tuple[float, float]:
        alike = float(self.scene.vectors[one] @ self.scene.vectors[other])
        shared = len(self._said[one] & self._said[other])
        return alike, shared / max(len(self._asked), 1)

    def _differ(self, old: int, new: int, units: frozenset[str]) -> bool:
        """Whether the newer says that it changed, and states a value that the older does not."""
        before, after = values(self.texts[old]), values(self.texts[new])
        changed = any(after[unit] - before[unit] for unit in units & before.keys() & after.keys())
        return changed and says_change(self.texts[new])


def _whose(text: str, asked: frozenset[str]) -> str | None:
    """Whether what a text says of what is asked is one's own or a relative's."""
    for sentence in _SENTENCE.findall(text):
        words = sentence.casefold().split()
        if asked.isdisjoint(terms(sentence)):
            continue
        if len(words) > 1 and words[0] in ("my", "our") and words[1] in KIN:
            return "other"
        if _OWN.search(sentence):
            return "own"
    return None


def standing(
    scene: Scene, scores: FloatArray, read: Callable[[list[int]], Mapping[int, MemoryRecord]]
) -> FloatArray:
    """For each memory what raises it above those it replaces, and a mark on what is outdated."""
    found = np.zeros((len(scores), 2), np.float32)
    question = scene.question
    past = question.period is not None and question.period.end <= question.now
    own = question.of_user and KIN.keys().isdisjoint(question.text.casefold().split())
    if past or question.recency_cue == "earliest" or not (own or asked_units(question.text)):
        return found
    first = np.argsort(-scores, kind="stable")[:READ]
    keys = {int(scene.columns.key[scene.rows[n]]): int(n) for n in first}
    texts = {keys[key]: one.text for key, one in read(list(keys)).items()}
    told = Statements(scene, first, {int(n): texts[int(n)] for n in first if int(n) in texts})
    pairs = list(told.replaced())
    above = [(old, new) for old, new, _ in pairs] + (list(told.anothers()) if own else [])
    found[:, 0] = _raised(scores, above)
    found[[old for old, _, sure in pairs if sure], 1] = -AHEAD
    return found


def _raised(scores: FloatArray, above: list[tuple[int, int]]) -> FloatArray:
    """What must be added so that each second stands before its first."""
    raised = scores.copy()
    for _ in range(LONGEST):
        for behind, ahead in above:
            raised[ahead] = max(raised[ahead], raised[behind] + 2 * AHEAD)
    return raised - scores
