"""What a summary could hold: runs of clauses, what they carry, and how much that matters.

A clause carries names, numbers, times, titles and content words.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from math import log

from remanence.language.english import lexicon
from remanence.language.names import names
from remanence.language.summary.clauses import (
    PLAIN,
    WHEN,
    SpokenSentence,
    bare,
    hangs,
    manner_of,
    sentences,
    starts_well,
    together,
)
from remanence.language.summary.facts import numbers, times
from remanence.language.summary.turns import Voice, cleaned, passages
from remanence.language.words import fold, is_stop_word, stop_terms, terms

# Added to a clause's length: without it, scraps of three words win over what can be understood.
SHORT = 60
_LEAST_GAIN = 0.6
_DAY_LINE = len("2023-05-08\n")
_BETWEEN = len("; ")
_LONGEST_RUN = 4
_SHORT_ANSWER, _LONG_QUESTION = 24, 90
_MACHINES = frozenset(["assistant", "system", "tool", "ai", "bot", "model"])
_OF_A_MACHINE, _PASTED, _NOTED = 0.35, 0.4, 0.15
MACHINES_SHARE = 3  # one part in so many of a summary, where people speak too
NAME, NUMBER, TIME, TITLE = 1.5, 0.5, 1.0, 1.5
NAMED = 1.5  # that something was pasted at all
WORD, TOPIC = 0.6, 0.3
_MOST_ALIKE = 20
_QUOTED = re.compile(r"[\"“«「『]([^\"“”«»「」『』]{2,60})[\"”»」』]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A run of clauses of one sentence: where it stands, what it says and what that carries."""

    place: int
    sentence: int
    clauses: tuple[int, int]
    speaker: str
    day: date | None
    text: str
    carriers: Mapping[str, float]
    factor: float

    def worth(self, covered: Set[str] = frozenset(), least: float = _LEAST_GAIN) -> float:
        """What it would add for each character, given what is covered; 0 if too little."""
        new = sum(weight for key, weight in self.carriers.items() if key not in covered)
        gain = new * self.factor
        return gain / (len(self.text) + SHORT) if gain >= least else 0.0

    @property
    def by_machine(self) -> bool:
        """Whether a machine said it."""
        return is_machine(self.speaker)

    def parts(self) -> set[tuple[int, int]]:
        """The clauses it is made of."""
        first, last = self.clauses
        return {(self.sentence, number) for number in range(first, last + 1)}


def is_machine(speaker: str) -> bool:
    """Whether a label is that of a role and not of a person."""
    return speaker.lower() in _MACHINES


def choose(candidates: Sequence[Candidate], characters: int, days: bool) -> list[Candidate]:
    """The candidates of a summary in their order; written out, they fit into `characters`.

    Greedy. What a candidate adds only falls as others are taken, so it is looked at again only
    when it comes up.
    """
    alone = all(candidate.by_machine for candidate in candidates)
    share = characters if alone else characters // MACHINES_SHARE
    chosen = _Chosen(left=characters, left_to_machines=share, days=days)
    heap = [(-candidate.worth(), number) for number, candidate in enumerate(candidates)]
    heapq.heapify(heap)
    while heap:
        before, number = heapq.heappop(heap)
        worth = candidates[number].worth(chosen.covered)
        if worth <= 0:
            continue
        if -worth > before:
            heapq.heappush(heap, (-worth, number))
        elif chosen.fits(candidates[number]):
            chosen.take(number, candidates[number])
    return [candidates[number] for number in sorted(chosen.picked)]


@dataclass(slots=True, kw_only=True)
class _Chosen:
    left: int
    left_to_machines: int
    days: bool
    picked: list[int] = field(default_factory=list)
    covered: set[str] = field(default_factory=set)
    lines: set[tuple[date | None, str]] = field(default_factory=set)
    headed: set[date | None] = field(default_factory=lambda: {None})
    taken: set[tuple[int, int]] = field(default_factory=set)

    def fits(self, candidate: Candidate) -> bool:
        left = self.left_to_machines if candidate.by_machine else self.left
        return self._cost(candidate) <= left and self.taken.isdisjoint(candidate.parts())

    def take(self, number: int, candidate: Candidate) -> None:
        cost = self._cost(candidate)
        self.left -= cost
        self.left_to_machines = min(self.left_to_machines - cost * candidate.by_machine, self.left)
        self.picked.append(number)
        self.covered.update(candidate.carriers)
        self.lines.add((candidate.day, candidate.speaker))
        self.headed.add(candidate.day)
        self.taken |= candidate.parts()

    def _cost(self, candidate: Candidate) -> int:
        """A line "Ana: a; b." and its end take what its label and its clauses cost, no more."""
        cost = len(candidate.text) + _BETWEEN
        if (candidate.day, candidate.speaker) not in self.lines:
            cost += len(candidate.speaker) + len(": ")
        return cost + (_DAY_LINE if self.days and candidate.day not in self.headed else 0)


def candidates(heard: Sequence[Voice]) -> Iterator[Candidate]:
    """Every run of clauses that could stand in the summary, in the order of what was said."""
    speakers = frozenset(part for voice in heard for part in fold(voice.speaker).split())
    carriers = Carriers([cleaned(voice.text) for voice in heard], speakers)
    number, question = 0, ""
    for voice in heard:
        asked, question = question, ""
        for passage in passages(voice.text):
            if passage.pasted:
                yield _pasted(voice, passage.text, number, carriers)
                number += 1
                continue
            for sentence in sentences(cleaned(passage.text), carriers.people):
                found = _runs(voice, sentence, number, carriers)
                yield from (_answering(asked, run, carriers) for run in found) if asked else found
                number, asked = number + 1, ""
                question = sentence.text if sentence.asks else ""


def _pasted(voice: Voice, text: str, number: int, carriers: Carriers) -> Candidate:
    return Candidate(
        place=voice.place,
        sentence=number,
        clauses=(0, 0),
        speaker=voice.speaker,
        day=voice.day,
        text=carriers.uncapitalised(text),
        carriers=carriers.of(text) | {f"&{number}": NAMED},
        factor=_PASTED * _weight(voice, text),
    )


def _runs(
    voice: Voice, sentence: SpokenSentence, number: int, carriers: Carriers
) -> Iterator[Candidate]:
    clauses = [sentence.text[start:end] for start, end in sentence.clauses]
    carried = [carriers.of(clause) for clause in clauses]
    manners = [
        manner_of(clause, timed=any(key[0] == "@" for key in found), retold=voice.retold)
        for clause, found in zip(clauses, carried, strict=True)
    ]
    machine = is_machine(voice.speaker)
    weight = _weight(voice, sentence.text) * (not (machine and sentence.asks))
    for first, (start, _) in enumerate(sentence.clauses):
        for last in range(first, min(first + _LONGEST_RUN, len(sentence.clauses))):
            written = sentence.text[start : sentence.clauses[last][1]]
            if first and not starts_well(written) and sentence.text[start - 2] != ";":
                break
            text = bare(written, drop_self=bool(voice.speaker))
            if not text or (last == first < len(clauses) - 1 and hangs(written)):
                continue
            yield Candidate(
                place=voice.place,
                sentence=number,
                clauses=(first, last),
                speaker=voice.speaker,
                day=voice.day,
                text=carriers.uncapitalised(text),
                carriers={k: v for one in carried[first : last + 1] for k, v in one.items()},
                factor=weight * (PLAIN if machine else together(manners[first : last + 1]).worth),
            )


def _answering(question: str, run: Candidate, carriers: Carriers) -> Candidate:
    """A short answer with the question it answers, without which "five years" says nothing."""
    told = len(run.text) > _SHORT_ANSWER or run.factor > PLAIN + WHEN
    if told or len(question) > _LONG_QUESTION:
        return run
    asked = carriers.uncapitalised(bare(question, drop_self=False))
    return replace(
        run, text=f"{run.text} ({asked})", carriers={**carriers.of(question), **run.carriers}
    )


def _weight(voice: Voice, text: str) -> float:
    weight = _NOTED if text.startswith("[") else 1.0
    return weight * (_OF_A_MACHINE if is_machine(voice.speaker) else 1.0)


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
        return term not in idle_terms() and term not in self.people

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
def idle_terms() -> Set[str]:
    """Terms that say nothing: of stop words, and of what fills a chat."""
    return stop_terms() | frozenset(terms(" ".join(lexicon.words("hollow"))))
