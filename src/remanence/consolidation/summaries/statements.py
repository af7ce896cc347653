"""How a theme is told by rules: who, how often, from when to when, in which sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import combinations

from remanence.consolidation.merges.judgement import MERGED, MERGED_INTO
from remanence.consolidation.summaries.themes import LONGEST, Theme
from remanence.language.english import lexicon
from remanence.language.english.agreement import Telling, opposites
from remanence.language.english.nouns import telling_words, term_of
from remanence.language.english.verbs import reported
from remanence.language.summary.clauses import sentences
from remanence.language.summary.turns import cleaned, label_of
from remanence.language.words import stop_terms, terms
from remanence.model.memory import MemoryRecord
from remanence.model.ports.store import Store


@dataclass(frozen=True, slots=True)
class Occasions:
    """The days and conversations in which something was said, one entry for each time."""

    said: tuple[tuple[date, str | None], ...]

    @property
    def days(self) -> list[date]:
        """The day of each time."""
        return [day for day, _ in self.said]

    @property
    def often(self) -> str:
        """How many times, on how many days or in how many conversations."""
        sessions = {session for _, session in self.said}
        if None in sessions or len(sessions) < 2:
            where = f"on {len(set(self.days))} days"
        else:
            where = f"in {len(sessions)} conversations"
        return f"at least {len(self.days)} times {where}"

    @property
    def span(self) -> str:
        """From the day of the first to that of the last."""
        return f"from {written(min(self.days))} to {written(max(self.days))}"

    def of_month(self, month: str) -> Occasions:
        """Those of one month, such as 2024-05."""
        return Occasions(tuple(one for one in self.said if f"{one[0]:%Y-%m}" == month))


def occasions(store: Store, sources: Sequence[MemoryRecord]) -> Occasions:
    """When the sources were said, and whatever was merged into them."""
    known = {one.id: one for one in sources}
    frontier = [one for one in sources if MERGED in one.metadata]
    while frontier:
        tenant = frontier[0].tenant
        found = store.links.pointing(tenant, [one.id for one in frontier], MERGED_INTO)
        frontier = store.archive.get(tenant, [id for id in found if id not in known])
        known |= {one.id: one for one in frontier}
    return Occasions(tuple((one.happened_at.date(), one.session_id) for one in known.values()))


def written(day: date) -> str:
    """A date as people write it: 3 May 2024."""
    return f"{day.day} {day:%B %Y}"


MOST_SAID = 400  # characters
MOST = 5
_LEAST_WORDS = 3
_LEAST_NEW = 2  # words that no statement before has
_ALIKE = 0.6  # of the words of the shorter one: they speak of the same


@dataclass(frozen=True)
class SaidSentence:
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
        return not lexicon.words("negations").isdisjoint(self.told.forms)

    @property
    def quoted(self) -> str:
        """The sentence and its day, for "yesterday"'s sake."""
        said = self.text.rstrip(". ").replace('"', "'")
        return f'{written(self.source.happened_at.date())}: "{said}"'


def statements(
    word: str, sources: Iterable[MemoryRecord], *, deeds: bool = False
) -> list[SaidSentence]:
    """The whole sentences that have the word, the last of those with the same words.

    With `deeds` only those in which a source tells what its speaker did.
    """
    wanted = term_of(word)
    found: dict[tuple[frozenset[str], bool], SaidSentence] = {}
    for source in sources:
        for one in _sentences(source):
            if (not deeds or reported(one.text)) and any(
                said.term == wanted for said in telling_words(one.text)
            ):
                found[one.words, one.denies] = one
    return list(found.values())


def contradict(said: Sequence[SaidSentence]) -> bool:
    """Whether one denies what another says, of the same words and not of different days."""
    return any(_against(one, other) for one, other in combinations(said, 2))


def denied(said: Sequence[SaidSentence], others: Sequence[SaidSentence]) -> bool:
    """Whether one of the others, which are not told, denies something in the same words."""
    denials = [one for one in others if one.denies]
    return any(_related(one, other) and not one.denies for one in said for other in denials) or any(
        _against(one, other) for one in said for other in others
    )


def chosen(said: Sequence[SaidSentence]) -> list[SaidSentence]:
    """The shortest, as long as each says more; in order of time.

    None without what denies it in the same words.
    """
    kept: list[SaidSentence] = []
    heard: set[str] = set()
    left = sorted(said, key=lambda one: len(one.text))
    while left and len(kept) < MOST:
        best = left.pop(0)
        if kept and len(best.words - heard) < _LEAST_NEW:
            continue
        with_it = [best, *(one for one in left if one.denies and _related(one, best))]
        if sum(len(one.quoted) + 2 for one in (*kept, *with_it)) <= MOST_SAID:
            kept += with_it
            left = [one for one in left if one not in with_it]
            heard.update(word for one in with_it for word in one.words)
    return sorted(kept, key=lambda one: (one.source.happened_at, one.source.id))


def _sentences(source: MemoryRecord) -> Iterator[SaidSentence]:
    for one in sentences(cleaned(source.text), frozenset()):
        if not one.asks and len(one.text) <= LONGEST and len(terms(one.text)) >= _LEAST_WORDS:
            yield SaidSentence(one.text, source)


def _related(one: SaidSentence, other: SaidSentence) -> bool:
    shared = len(one.words & other.words)
    return shared > 1 and shared >= _ALIKE * min(len(one.words), len(other.words))


def _against(one: SaidSentence, other: SaidSentence) -> bool:
    if one.told.days != other.told.days or not _related(one, other):
        return False
    return one.denies != other.denies or _swapped(one, other) or _opposed(one, other)


def _swapped(one: SaidSentence, other: SaidSentence) -> bool:
    """The same words in another order: who prefers what to what."""
    return one.told.forms == other.told.forms and one.told.words != other.told.words


def _opposed(one: SaidSentence, other: SaidSentence) -> bool:
    """They differ by a word and its opposite alone."""
    mine, yours = one.words - other.words, other.words - one.words
    opposite = {frozenset(term_of(word) for word in pair) for pair in opposites()}
    return len(mine) == 1 and len(yours) == 1 and mine | yours in opposite


_OFTEN = 5  # times the same was said, if nothing else was


def told(
    theme: Theme,
    sources: Sequence[MemoryRecord],
    others: Sequence[MemoryRecord],
    when: Occasions,
    *,
    month: bool = False,
) -> str:
    """Who spoke of it how often, and what they said; empty if that is better left untold.

    Sources come in order of time, all of one month with `month`; `others` have the theme's word
    and are not told.
    """
    found = statements(theme.word, sources, deeds=True)
    if contradict(found) or denied(found, statements(theme.word, others)):
        return ""
    said = chosen(found)
    if not said or (len(said) == 1 and len(when.days) < _OFTEN):
        return ""
    spoke = f"{_who(theme, 't' if month else 'T')} spoke of {theme.word} {when.often}"
    opening = f"In {sources[0].happened_at:%B %Y} {spoke}" if month else f"{spoke}, {when.span}"
    return f"{opening}. {'; '.join(one.quoted for one in said)}."


def _who(theme: Theme, the: str) -> str:
    if theme.speaker:
        return label_of(theme.speaker)
    if theme.role == "user":
        return f"{the}he user"
    return "Notes" if the.isupper() else "notes"
