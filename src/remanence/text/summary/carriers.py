"""What a clause carries that is worth keeping: names, numbers, times, titles, content words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from functools import cache
from math import log

from remanence.text.names import names
from remanence.text.summary.facts import numbers, times
from remanence.text.summary.hollow import HOLLOW
from remanence.text.words import fold, is_stop_word, stop_terms, terms

# From LoCoMo's development sessions; docs/summaries.md says how little they move the figures.
NAME, NUMBER, TIME, TITLE = 3.0, 2.5, 2.5, 3.0
WORD, TOPIC = 0.6, 0.3

_MOST_ALIKE = 20
_QUOTED = re.compile(r"[\"“«「『]([^\"“”«»「」『』]{2,60})[\"”»」』]")


class Carriers:
    """Finds what clauses carry, given all that is said and by whom.

    `people` are the folded names of those who talk, and what is short for one ("Mel" beside
    "Melanie").
    """

    def __init__(self, texts: Iterable[str], speakers: Set[str]) -> None:
        self.people = set(speakers)
        self._named: dict[str, list[str]] = {}
        self._turns: Counter[str] = Counter()
        self._small: set[str] = set()
        for text in texts:
            self._turns.update(set(terms(text)))
            self._small.update(filter(str.islower, text.split()))
            for name in names(text):
                self._add(name, speakers)

    def of(self, clause: str) -> dict[str, float]:
        """The carriers of a clause, each with what it is worth."""
        found = {term: self._worth(term) for term in terms(clause) if self._tells(term)}
        found |= {f"#{number}": NUMBER for number in numbers(clause)}
        found |= {f"@{time}": TIME for time in times(clause)}
        found |= {f'"{fold(title)}': TITLE for title in _QUOTED.findall(clause)}
        return found | dict.fromkeys(self._names(clause), NAME)

    def uncapitalised(self, text: str) -> str:
        """The text with a small first letter where that is how its first word is written."""
        first = text.partition(" ")[0]
        if not first[:1].isupper() or first[1:2] in ("", "'", "’") or not first[1:].islower():
            return text
        small = first.lower()
        if first in self._named or not (small in self._small or is_stop_word(small)):
            return text
        return text[0].lower() + text[1:]

    def _add(self, name: str, speakers: Set[str]) -> None:
        folded = fold(name)
        if any(known.startswith(folded) for known in speakers):
            self.people.add(folded)
            return
        alike = self._named.setdefault(name.split()[0], [])
        if name not in alike and len(alike) < _MOST_ALIKE:
            alike.append(name)

    def _tells(self, term: str) -> bool:
        return term not in _idle_terms() and term not in self.people

    def _worth(self, term: str) -> float:
        return WORD + TOPIC * log(self._turns[term] or 1)

    def _names(self, clause: str) -> Iterator[str]:
        for word in clause.split():
            for name in self._named.get(_without_marks(word), ()):
                if name in clause:
                    yield f"*{fold(name)}"


def _without_marks(word: str) -> str:
    return word.strip("\"'“”‘’(),.;:!?").removesuffix("'s").removesuffix("’s")


@cache
def _idle_terms() -> Set[str]:
    return stop_terms() | frozenset(terms(" ".join(HOLLOW)))
