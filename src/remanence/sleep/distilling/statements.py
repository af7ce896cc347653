"""What was said of a theme in whole sentences: which to tell, and whether they go together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from remanence.model.memory import MemoryRecord
from remanence.sleep.distilling.nouns import telling_words, term_of
from remanence.sleep.distilling.occasions import written
from remanence.sleep.merging.agreeing import Telling
from remanence.sleep.merging.tables import NEGATIONS, OPPOSITE
from remanence.text.summary.clauses import cleaned, sentences
from remanence.text.words import stop_terms, terms

MOST_SAID = 400  # characters
MOST = 5
LONGEST = 160
_LEAST_WORDS = 3
_LEAST_NEW = 2  # words that no statement before has
_ALIKE = 0.6  # of the words of the shorter one: they speak of the same


@dataclass(frozen=True)
class Statement:
    """One sentence of a memory, as it was said."""

    text: str
    source: MemoryRecord

    @cached_property
    def told(self) -> Telling:
        """For comparison with others."""
        return Telling(self.text, self.source.happened_at)

    @cached_property
    def words(self) -> frozenset[str]:
        """The terms that tell, without numbers."""
        found = {term_of(word) for word in self.told.words} - stop_terms()
        return frozenset(term for term in found if term and not term[0].isdigit())

    @cached_property
    def denies(self) -> bool:
        """Whether it says that something is not so."""
        return not NEGATIONS.isdisjoint(self.told.forms)

    @property
    def quoted(self) -> str:
        """The sentence and its day, for "yesterday"'s sake."""
        said = self.text.rstrip(". ").replace('"', "'")
        return f'{written(self.source.happened_at.date())}: "{said}"'


def statements(word: str, sources: Iterable[MemoryRecord]) -> list[Statement]:
    """The whole sentences that have the word, the last of those with the same words."""
    wanted = term_of(word)
    found: dict[tuple[frozenset[str], bool], Statement] = {}
    for source in sources:
        for one in _sentences(source):
            if any(said.term == wanted for said in telling_words(one.text)):
                found[one.words, one.denies] = one
    return list(found.values())


def contradict(said: Sequence[Statement]) -> bool:
    """Whether one denies what another says, of the same words and not of different days."""
    return any(_against(one, other) for one, other in combinations(said, 2))


def denied(said: Sequence[Statement], others: Sequence[Statement]) -> bool:
    """Whether one of the others, which are not told, denies something in the same words."""
    denials = [one for one in others if one.denies]
    return any(_related(one, other) and not one.denies for one in said for other in denials) or any(
        _against(one, other) for one in said for other in others
    )


def chosen(said: Sequence[Statement]) -> list[Statement]:
    """Those that tell most, in order of time; none without what denies it in the same words."""
    kept: list[Statement] = []
    heard: set[str] = set()
    left = list(said)
    while left and len(kept) < MOST:
        best = max(left, key=lambda one: (len(one.words - heard), one.source.happened_at))
        left.remove(best)
        if kept and len(best.words - heard) < _LEAST_NEW:
            break
        with_it = [best, *(one for one in left if one.denies and _related(one, best))]
        if sum(len(one.quoted) + 2 for one in (*kept, *with_it)) <= MOST_SAID:
            kept += with_it
            left = [one for one in left if one not in with_it]
            heard.update(word for one in with_it for word in one.words)
    return sorted(kept, key=lambda one: (one.source.happened_at, one.source.id))


def _sentences(source: MemoryRecord) -> Iterator[Statement]:
    for one in sentences(cleaned(source.text), frozenset()):
        if not one.asks and len(one.text) <= LONGEST and len(terms(one.text)) >= _LEAST_WORDS:
            yield Statement(one.text, source)


def _related(one: Statement, other: Statement) -> bool:
    shared = len(one.words & other.words)
    return shared > 1 and shared >= _ALIKE * min(len(one.words), len(other.words))


def _against(one: Statement, other: Statement) -> bool:
    if one.told.days != other.told.days or not _related(one, other):
        return False
    return one.denies != other.denies or _swapped(one, other) or _opposed(one, other)


def _swapped(one: Statement, other: Statement) -> bool:
    """The same words in another order: who prefers what to what."""
    return one.told.forms == other.told.forms and one.told.words != other.told.words


def _opposed(one: Statement, other: Statement) -> bool:
    """They differ by a word and its opposite alone."""
    mine, yours = one.words - other.words, other.words - one.words
    opposite = {frozenset(term_of(word) for word in pair) for pair in OPPOSITE}
    return len(mine) == 1 and len(yours) == 1 and mine | yours in opposite
