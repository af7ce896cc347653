"""The text index's entries: a number for each term of a partition, another for where it stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np

from remanence.ports.store import Keys
from remanence.store.words import prefixed

COUNT_BITS = 8
MOST_COUNTED = (1 << COUNT_BITS) - 1


def term_numbers(partition: int, terms: Iterable[str]) -> list[int]:
    """What terms are called in the index; no two partitions share one."""
    digests = [
        blake2b(term.encode(), digest_size=8).digest() for term in prefixed(partition, terms)
    ]
    return [int(number) for number in np.frombuffer(b"".join(digests), ">i8")]


def entries(partition: int, key: int, terms: Sequence[str]) -> tuple[list[int], list[int]]:
    """A memory's terms and places, as the table `words` has them."""
    counts = Counter(terms)
    places = [key << COUNT_BITS | min(count, MOST_COUNTED) for count in counts.values()]
    return term_numbers(partition, counts), places


def occurrences(places: Keys) -> Keys:
    """The key at each place, once per occurrence."""
    return np.repeat(places >> COUNT_BITS, places & MOST_COUNTED)
