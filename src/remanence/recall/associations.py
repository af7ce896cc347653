"""What a partition's memories have to do with each other: who and what they speak of, as arrays.

A name in a question reaches the memories that speak of it, from there whatever else those speak of
or what is known to belong to it, and so memories two steps away. Each step fades, and fades the
more the more there is at its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from remanence.language.words import is_stop_word
from remanence.model.embedding import FloatArray
from remanence.model.ports.store import Keys, RecallSource
from remanence.recall.columns import Lexicon, plain_words

Numbers = NDArray[np.int64]
Pairs = NDArray[np.int64]  # (n, 2), each once
Ties = NDArray[np.void]

DECAY = 0.5
# Who is spoken of in more than one of so many memories leads everywhere, which is nowhere.
WIDE = 25
FEW = 20
# Each pair is held twice, in either order.
PAIR_BYTES = 32
# What the feed says when knowledge changed that no memory holds.
NO_MEMORY = 0
_TIE = [("subject", np.int64), ("object", np.int64), ("key", np.int64), ("trust", np.float64)]
NOTHING: tuple[Keys, FloatArray] = np.zeros(0, np.int64), np.zeros(0, np.float32)


@dataclass(frozen=True, eq=False)
class Associations:
    """Names of a partition, which memories speak of them, and which are tied to each other."""

    lexicon: Lexicon  # of the names
    number: dict[int, int]  # the lexicon's number for the store's
    spoken: Pairs  # (memory, name)
    tied: Pairs  # (name, name), in both directions
    ties: Ties  # what claims say, with the memory that says so

    @property
    def nbytes(self) -> int:
        """What it takes in memory."""
        tied = self.tied.nbytes + self.ties.nbytes
        return PAIR_BYTES * len(self.spoken) + tied + self.lexicon.nbytes

    @cached_property
    def _by_name(self) -> Pairs:
        return self.spoken[np.lexsort((self.spoken[:, 0], self.spoken[:, 1]))]

    def named(self, text: str) -> list[int]:
        """The names a text says whole; those that are ordinary words do not count."""
        words = set(plain_words(text))
        return [n for n in self.lexicon.sharing(words) if _says(words, self.lexicon.names[n])]

    def reached(self, text: str, memories: int) -> tuple[Keys, FloatArray]:
        """The memories that the names in a text reach, by key, and how strongly, 1 at most."""
        named = np.array(self.named(text), np.int64) if len(self.lexicon.names) else None
        if named is None or not len(named):
            return NOTHING
        most = max(FEW, memories // WIDE)
        near, near_strength = self._memories(named, np.ones(len(named)), most)
        others, strength = self._beyond(named, near, near_strength)
        far, far_strength = self._memories(others, strength, most)
        keys, total = _summed(
            np.concatenate([near, far]), np.concatenate([near_strength, far_strength])
        )
        return keys, np.minimum(total, 1).astype(np.float32)

    def _memories(
        self, names: Numbers, strength: NDArray[np.float64], most: int
    ) -> tuple[Keys, NDArray[np.float64]]:
        """The memories that speak of names; one that many speak of gives each of them less."""
        starts, counts = _stretches(self._by_name[:, 1], names)
        narrow = counts <= most
        counts = counts[narrow]
        rows = _ranges(starts[narrow], counts)
        each = np.repeat(strength[narrow] / np.sqrt(np.maximum(counts, 1)), counts)
        return _summed(self._by_name[rows, 0], each)

    def _beyond(
        self, named: Numbers, near: Keys, strength: NDArray[np.float64]
    ) -> tuple[Numbers, NDArray[np.float64]]:
        """What the near memories speak of besides, and what is tied to the names themselves."""
        starts, counts = _stretches(self.spoken[:, 0], near)
        beside = self.spoken[_ranges(starts, counts), 1]
        tie_starts, ties = _stretches(self.tied[:, 0], named)
        tied = self.tied[_ranges(tie_starts, ties), 1]
        passed = np.concatenate(
            [
                np.repeat(strength / np.maximum(counts, 1), counts),
                np.repeat(1 / np.maximum(ties, 1), ties),
            ]
        )
        others, total = _summed(np.concatenate([beside, tied]), DECAY * passed)
        fresh = ~np.isin(others, named)
        return others[fresh], np.minimum(total[fresh], DECAY)


def associations_of(source: RecallSource, partition: int) -> Associations:
    """All that the store knows of a partition."""
    lexicon = Lexicon()
    number = {one.number: lexicon.number(one.name) for one in source.names(partition)}
    known = [
        (number[t.subject], number[t.object], t.key, t.trust)
        for t in source.ties(partition)
        if t.subject in number and t.object in number
    ]
    spoken = ((key, number[n]) for key, n in source.mentioned(partition) if n in number)
    told = ((key, name) for a, b, key, _ in known if key for name in (a, b))
    ties = np.array(known, _TIE)
    return Associations(lexicon, number, _pairs(chain(spoken, told)), _both_ways(ties), ties)


def trusted(held: Associations, keys: Keys, least: float) -> Associations:
    """What is left of the associations where only these (ascending) memories count.

    Of claims that no memory holds, those that are trusted at least so far.
    """
    spoken = held.spoken[np.isin(held.spoken[:, 0], keys)]
    told = np.isin(held.ties["key"], keys) | (held.ties["key"] == NO_MEMORY)
    ties = held.ties[told & (held.ties["trust"] >= least)]
    return Associations(held.lexicon, held.number, spoken, _both_ways(ties), ties)


def _both_ways(ties: Ties) -> Pairs:
    there = np.column_stack([ties["subject"], ties["object"]])
    return _unique(np.concatenate([there, there[:, ::-1]]))


def moved(
    held: Associations, source: RecallSource, partition: int, keys: Sequence[int]
) -> Associations:
    """The associations after memories changed; read afresh if one speaks of a name not known yet.

    What ties names to each other is read with the names.
    """
    fresh = list(source.mentioned(partition, keys))
    if NO_MEMORY in keys or any(n not in held.number for _, n in fresh):
        return associations_of(source, partition)
    stay = held.spoken[~np.isin(held.spoken[:, 0], keys)]
    spoken = _pairs((key, held.number[n]) for key, n in fresh)
    joined = np.concatenate([stay, spoken])
    ordered = joined[np.lexsort(joined.T[::-1])]
    return Associations(held.lexicon, held.number, ordered, held.tied, held.ties)


def _pairs(pairs: Iterable[tuple[int, int]]) -> Pairs:
    """Ascending, each once; no Python object stays for any of them."""
    return _unique(np.fromiter(chain.from_iterable(pairs), np.int64).reshape(-1, 2))


def _unique(found: Pairs) -> Pairs:
    found = found[np.lexsort(found.T[::-1])]
    return found[np.append(True, (found[1:] != found[:-1]).any(axis=1))] if len(found) else found


def _says(words: set[str], name: str) -> bool:
    parts = plain_words(name)
    return words.issuperset(parts) and not all(map(is_stop_word, parts))


def _stretches(ascending: Numbers, wanted: Numbers) -> tuple[Numbers, Numbers]:
    """Where each wanted number stands, and how often."""
    starts = np.searchsorted(ascending, wanted)
    return starts, np.searchsorted(ascending, wanted, side="right") - starts


def _ranges(starts: Numbers, counts: Numbers) -> Numbers:
    """All places of the stretches, one after the other."""
    before = np.repeat(np.cumsum(counts) - counts, counts)
    return np.arange(counts.sum()) - before + np.repeat(starts, counts)


def _summed(numbers: Numbers, values: NDArray[np.float64]) -> tuple[Numbers, NDArray[np.float64]]:
    """Each number once, ascending, with the sum of its values."""
    once, place = np.unique(numbers, return_inverse=True)
    return once, np.bincount(place, values, minlength=len(once)).astype(np.float64)
