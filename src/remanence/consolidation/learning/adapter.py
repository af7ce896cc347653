"""How an adapter is fitted: a map of questions, bridges between words, and weights for both."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from remanence.model.embedding import FloatArray
from remanence.recall.adapter import LEARNED, MOST_BRIDGES, MOST_LED_TO, MOST_RANK, units

_ASKED = (
    "When did {} happen?|Who told me about {}?|Where is {}?|What do I know about {}?|"
    "Why did {} matter so much?|How often does {} come up?|What changed with {} last year?"
)
_ABOUT = (
    "the trip to the sea|my sister's wedding|the broken washing machine|the new phone|a good film|"
    "the doctor's advice|learning the guitar|the children's school|our garden|the train to work|"
    "a job interview|the football match|my favourite recipe|the cat|the birthday party|"
    "moving house|the insurance claim|a painting class|climate change|the election|"
    "the marathon|my bank account|a book about history|the hotel in the mountains|"
    "the software update|the customer's complaint|a surprise visit|the old car|the piano|"
    "a political debate|the hospital|the password|the dog's food|a charity event|the camera"
)

# How firmly the map is held to identity: everywhere, and for questions about other things.
RIDGE = 2.0
ANCHOR = 1.0
# How far a question goes towards what helped with it.
TOWARDS = 1.0
# A map that turns further than this was bent by too few examples.
LONGEST = 1.0
# Bridges weaker than this lead astray as often as not.
FAINT = 0.5


def anchor_questions() -> list[str]:
    """Some seventy of them, always the same."""
    forms, things = _ASKED.split("|"), _ABOUT.split("|")
    return [
        forms[(number + turn * 3) % len(forms)].format(thing)
        for turn in range(2)
        for number, thing in enumerate(things)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class Studied:
    """One lesson with all that fitting needs of it."""

    query: str
    vector: FloatArray  # of the question
    target: FloatArray | None  # the mean direction of what helped; None without vectors
    terms: tuple[str, ...]  # of the question
    words: frozenset[str]  # of what helped
    others: frozenset[str]  # of what did not


def fit_map(studied: Sequence[Studied], anchors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The low-rank change that brings questions to what helped and leaves the anchors alone.

    Ridge regression of target - question on question, cut to its strongest directions.
    """
    pairs = [(one.vector, one.target) for one in studied if one.target is not None]
    dimension = anchors.shape[1]
    nothing = np.zeros((dimension, 0), np.float32)
    if not pairs:
        return nothing, nothing
    asked = np.array([vector for vector, _ in pairs], np.float64)
    wanted = TOWARDS * (np.array([target for _, target in pairs], np.float64) - asked)
    held = np.asarray(anchors, np.float64)
    inner = asked.T @ asked + ANCHOR * held.T @ held + RIDGE * np.eye(dimension)
    change = np.linalg.solve(inner, asked.T @ wanted).T
    left, sizes, right = np.linalg.svd(change, full_matrices=False)
    roots = np.sqrt(np.minimum(sizes[:MOST_RANK], LONGEST))
    return _narrow(left[:, :MOST_RANK] * roots), _narrow(right[:MOST_RANK].T * roots)


def fit_bridges(
    studied: Sequence[Studied], known: Mapping[str, int]
) -> dict[str, dict[str, float]]:
    """From the words of questions to those that mark what helped, and not what helped elsewhere.

    A bridge begins at a word (or two that follow each other) that does not itself stand in what
    helped. It is as strong as the share of its questions whose useful memories hold the other word,
    beyond the share everywhere else; one question alone is enough only for a word no memory holds.
    A word that was only ever asked together with another has a bridge with it, none alone.
    """
    lessons: defaultdict[str, list[Studied]] = defaultdict(list)
    for one in studied:
        for unit in dict.fromkeys(units(one.terms)):
            lessons[unit].append(one)
    everywhere = Counter(word for one in studied for word in one.words)
    bridges = {
        unit: led
        for unit, found in lessons.items()
        if _is_private(unit, found, known)
        and (led := _led_to(unit, found, everywhere, len(studied)))
    }
    for unit in [unit for unit in bridges if " " in unit]:
        for part in unit.split(" "):
            if len(lessons[part]) == len(lessons[unit]):
                bridges.pop(part, None)
    most_asked = sorted(bridges, key=lambda unit: (-len(lessons[unit]), unit))[:MOST_BRIDGES]
    return {unit: bridges[unit] for unit in sorted(most_asked)}


def _is_private(unit: str, found: Sequence[Studied], known: Mapping[str, int]) -> bool:
    """Whether it hardly stands in what helped, and was asked often enough to tell."""
    parts = unit.split(" ")
    said = sum(all(part in one.words for part in parts) for one in found)
    unheard = len(parts) == 1 and not known.get(unit, 0)
    return 2 * said <= len(found) and (len(found) > 1 or unheard)


def _led_to(
    unit: str, found: Sequence[Studied], everywhere: Counter[str], total: int
) -> dict[str, float]:
    here = Counter(word for one in found for word in one.words)
    against = Counter(word for one in found for word in one.others - one.words)
    enough = min(2, len(found))
    strengths = {
        word: _strength(count - against[word] / 2, len(found), everywhere[word] - count, total)
        for word, count in here.items()
        if count >= enough and word not in unit.split(" ")
    }
    best = sorted(strengths.items(), key=lambda one: (-one[1], one[0]))
    return {word: round(strength, 3) for word, strength in best[:MOST_LED_TO] if strength >= FAINT}


def _strength(count: float, of: int, elsewhere: int, total: int) -> float:
    usual = (elsewhere + 0.5) / (total - of + 1)
    return max(count / (of + 0.5) - usual, 0.0)


def _narrow(values: NDArray[np.float64]) -> FloatArray:
    """As it will be kept: 16 bits a figure."""
    return values.astype(np.float16).astype(np.float32)


def mean_direction(vectors: Iterable[FloatArray]) -> FloatArray | None:
    """The unit vector in the middle of these; None of none."""
    found = list(vectors)
    if not found:
        return None
    middle = np.mean(found, axis=0)
    length = float(np.linalg.norm(middle))
    return np.asarray(middle / length, np.float32) if length > 1e-6 else None


# What is learned counts by how large it usually is: a change of cosine, a part of the best.
USUAL = np.array([0.1, 0.5])
LEARNED_RIDGE = 0.5
# Past these, questions in plain words begin to lose (bench/adapter.py), and little is won.
HEAVIEST = np.array([6.0, 4.0])
# The ranker's weights come from thousands of questions; a user's few may only lean on them.
SIGNAL_RIDGE = 300.0
# Signals of what sort of memory it is. How far words and vectors match is no matter of taste:
# learned from questions in private words, those would come to count less in plain ones.
TASTE = ("speaker", "form", "graph", "time")
# A memory that was called useless counts as often as so many that merely were not chosen.
USELESS_TIMES = 3.0
STEPS = 30
CLOSE = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Ballot:
    """One question's pool: the present scores, the figures to weigh, and how it should be."""

    scores: FloatArray  # of the present search; what was called useless stands higher here
    learned: FloatArray  # (memories, LEARNED)
    signals: FloatArray  # (memories, signals), standardised
    wanted: FloatArray  # the chance each memory should have of being first; they add up to 1


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """What was found: for `LEARNED`, and the change of each of the ranker's signals."""

    learned: tuple[float, float]
    change: FloatArray


def weigh(ballots: Sequence[Ballot]) -> Weights:
    """The weights under which what helped comes first: a softmax over each pool, by Newton.

    What is learned never counts against a memory.
    """
    usable = [one for one in ballots if one.wanted.sum() > 0]
    signals = ballots[0].signals.shape[1] if ballots else 0
    size = len(LEARNED) + signals
    ridge = np.concatenate([np.full(len(LEARNED), LEARNED_RIDGE), np.full(signals, SIGNAL_RIDGE)])
    fixed = np.zeros(size, bool)
    weight = np.zeros(size)
    while usable:
        weight = _newton(usable, ridge, fixed)
        wrong = np.flatnonzero((weight < 0) & (np.arange(size) < len(LEARNED)) & ~fixed)
        if not len(wrong):
            break
        fixed[wrong] = True
    first = np.clip(weight[: len(LEARNED)] / USUAL, 0, HEAVIEST)
    vector, words = (float(one) for one in first)
    return Weights((vector, words), weight[len(LEARNED) :].astype(np.float32))


def _newton(
    ballots: Sequence[Ballot], ridge: NDArray[np.float64], fixed: NDArray[np.bool_]
) -> NDArray[np.float64]:
    columns = [_columns(one) * ~fixed for one in ballots]
    weight = np.zeros(len(ridge))
    loss = np.inf
    part = 1.0
    for _ in range(STEPS):
        now, slope, curve = _derivatives(ballots, columns, weight, ridge)
        step = np.linalg.solve(curve, slope)
        if now > loss + CLOSE:
            part /= 2
        loss = now
        weight = weight - part * step
        if float(np.abs(part * step).max()) < CLOSE:
            break
    return weight * ~fixed


def _columns(one: Ballot) -> NDArray[np.float64]:
    return np.column_stack([one.learned / USUAL, one.signals]).astype(np.float64)


def _derivatives(
    ballots: Sequence[Ballot],
    columns: Sequence[NDArray[np.float64]],
    weight: NDArray[np.float64],
    ridge: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    loss = float(ridge @ weight**2) / 2
    slope, curve = ridge * weight, np.diag(ridge)
    for one, column in zip(ballots, columns, strict=True):
        scores = one.scores + column @ weight
        scores = scores - scores.max()
        chance = np.exp(scores)
        loss += float(np.log(chance.sum()) - one.wanted @ scores)
        chance = chance / chance.sum()
        middle = chance @ column
        slope = slope + middle - one.wanted @ column
        curve = curve + (column * chance[:, None]).T @ column - np.outer(middle, middle)
    return loss, slope, curve


def helped(
    scores: FloatArray, useful: NDArray[np.bool_], useless: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """Scores and wanted chances of a question with feedback."""
    higher = np.where(useless, np.float32(np.log(USELESS_TIMES)), np.float32(0))
    return scores + higher, (useful / max(int(useful.sum()), 1)).astype(np.float32)


def as_it_is(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Scores and wanted chances of a question whose ranking is to stay."""
    chance = np.exp(scores - scores.max(initial=0))
    return scores, (chance / max(float(chance.sum()), 1e-9)).astype(np.float32)
