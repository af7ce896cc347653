"""How alike two names are, and which names are worth comparing at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations

from remanence.model.knowledge import folded_name

_WORD = re.compile(r"[^\W_]+")
_TITLES = frozenset(["dr", "mr", "mrs", "ms", "miss", "prof", "professor", "sir", "madam"])
_SMALL = frozenset(["of", "the", "and", "for", "de", "da", "do", "la", "le", "van", "von", "der"])
# A word in more names than this tells nothing about any two of them.
COMMON = 40
# Shorter names differ from each other by a letter all the time.
SHORTEST_MISSPELT = 4


class Sort(StrEnum):
    """In what way two names are alike."""

    SAME = "same"
    INITIALS = "initials"
    PART = "part"
    MISSPELT = "misspelt"


@dataclass(frozen=True, slots=True)
class NameLikeness:
    """How surely two names mean one thing by themselves; `fuller` if the second says more."""

    score: float
    why: str
    sort: Sort
    fuller: bool = False


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name as they are compared, without titles."""
    words = _WORD.findall(folded_name(name))
    return tuple(word for word in words if word not in _TITLES) or tuple(words)


def name_likeness(a: str, b: str) -> NameLikeness | None:
    """What speaks for two names being one; None if nothing does.

    >>> name_likeness("J. Smith", "John Smith").why
    'J. Smith may be short for John Smith'
    """
    first, second = words_of(a), words_of(b)
    if not first or not second or _numbers(first) != _numbers(second):
        return None
    if ("'s " in a) != ("'s " in b):  # Ana's mom is not Ana
        return None
    if first == second:
        return NameLikeness(0.93, "the same words", Sort.SAME, fuller=len(b) > len(a))
    if sorted(first) == sorted(second):
        return NameLikeness(0.9, "the same words in another order", Sort.SAME)
    if len(first) > len(second) or (len(first) == len(second) and len(a) > len(b)):
        mirrored = _shorter_first(second, first, b, a)
        return mirrored and replace(mirrored, fuller=False)
    return _shorter_first(first, second, a, b)


def pairs_worth_comparing(names: Mapping[str, Iterable[str]]) -> list[tuple[str, str]]:
    """Pairs of ids, each with all its names, that share a word, initials, or all but a letter."""
    shelves: dict[str, dict[str, None]] = {}
    for id, own in names.items():
        for key in {key for name in own for key in _keys(words_of(name))}:
            shelves.setdefault(key, {})[id] = None
    found = {
        (min(pair), max(pair))
        for ids in shelves.values()
        if len(ids) <= COMMON
        for pair in combinations(ids, 2)
    }
    return sorted(found)


def distance(a: str, b: str, most: int) -> int:
    """Letters to change, add, drop or swap to get from one word to the other; capped."""
    if abs(len(a) - len(b)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        before, last, row = row, before, [i]
        for j, right in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right))
            if i > 1 and j > 1 and left == b[j - 2] and a[i - 2] == right:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return min(row[-1], most + 1)


def _keys(words: tuple[str, ...]) -> Iterator[str]:
    yield from (f"word {word}" for word in words if word not in _SMALL and len(word) > 1)
    yield from (f"initials {letters}" for letters in (*_initials(words), "".join(words)))
    whole = "".join(words)
    if len(whole) >= SHORTEST_MISSPELT:
        yield f"spelt {whole}"
        yield from (f"spelt {whole[:at]}{whole[at + 1 :]}" for at in range(len(whole)))


def _shorter_first(
    short: tuple[str, ...], long: tuple[str, ...], a: str, b: str
) -> NameLikeness | None:
    if _abbreviates(short, long):
        return NameLikeness(0.85, f"{a} may be short for {b}", Sort.INITIALS, fuller=True)
    if _acronym(short, long):
        score = 0.75 if len("".join(short)) > 2 else 0.55
        return NameLikeness(score, f"{a} may be the initials of {b}", Sort.INITIALS, fuller=True)
    if _contained(short, long):
        return NameLikeness(0.55, f"{a} is part of {b}", Sort.PART, fuller=True)
    return _misspelling("".join(short), "".join(long), a, b)


def _abbreviates(short: Sequence[str], long: Sequence[str]) -> bool:
    """Whether some words stand for others by their first letter, and at least one stands whole."""
    if len(short) != len(long) or len(short) < 2:
        return False
    same = [x == y and len(x) > 1 for x, y in zip(short, long, strict=True)]
    initial = [len(x) == 1 and y.startswith(x) for x, y in zip(short, long, strict=True)]
    return any(same) and any(initial) and all(map(max, same, initial))


def _acronym(short: Sequence[str], long: Sequence[str]) -> bool:
    spelt = len(short) == 1 or all(len(word) == 1 for word in short)
    return spelt and "".join(short) in _initials(long)


def _initials(words: Sequence[str]) -> list[str]:
    """The first letters of a name of several words, with and without the small ones."""
    telling = [word for word in words if word not in _SMALL]
    return ["".join(word[0] for word in some) for some in (words, telling) if len(some) > 1]


def _contained(short: Sequence[str], long: Sequence[str]) -> bool:
    """Whether the short name's words stand in the long one, in order, at its start or end."""
    if len(short) >= len(long) or len("".join(short)) < 3:
        return False
    return tuple(long[: len(short)]) == tuple(short) or tuple(long[-len(short) :]) == tuple(short)


def _misspelling(short: str, long: str, a: str, b: str) -> NameLikeness | None:
    least = min(len(short), len(long))
    if least < SHORTEST_MISSPELT:
        return None
    allowed = 2 if least >= 9 else 1
    changes = distance(short, long, allowed)
    if changes > allowed:
        return None
    score = (0.45 if least == SHORTEST_MISSPELT else 0.65) - (0.2 if short[0] != long[0] else 0.0)
    why = f"{a} and {b} differ by {changes} letter{'s' * (changes > 1)}"
    return NameLikeness(score, why, Sort.MISSPELT)


def _numbers(words: Iterable[str]) -> list[str]:
    return sorted(word for word in words if any(c.isdigit() for c in word))
