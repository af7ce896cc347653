"""Themes: what one person did again and again, found by words in common and by vectors."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from remanence.consolidation.merges.groups import DERIVED
from remanence.consolidation.steps import in_reach, read, vectors_of
from remanence.language.english import lexicon
from remanence.language.english.agreement import Telling
from remanence.language.english.nouns import Word, telling_words, term_of
from remanence.language.english.verbs import reported, verb
from remanence.language.summary.clauses import sentences
from remanence.language.summary.turns import cleaned
from remanence.language.words import terms
from remanence.model.embedding import Fingerprint
from remanence.model.memory import Kind, MemoryRecord, level_of
from remanence.model.ports.store import Store
from remanence.model.scope import Reach

LEAST, LEAST_DAYS, LEAST_OCCASIONS = 3, 2, 3
LONGEST = 160  # characters of a sentence
_NOUN = 0.25  # of the times a word is said, it must stand as a noun
_LONG_CODE = 6
_MACHINES = frozenset({"assistant", "system", "tool"})


@dataclass(slots=True)
class _Use:
    """A term of a voice: the rows that have it, how often it stood as a noun, before one, or as
    a verb."""

    written: str = ""
    nouns: int = 0
    before: int = 0
    verbs: int = 0
    rows: array[int] = field(default_factory=lambda: array("l"))

    def add(self, row: int, word: Word) -> None:
        if not self.written or (word.is_noun and not (self.nouns and self.written.islower())):
            self.written = word.written
        self.rows.append(row)
        self.nouns += word.is_noun
        self.before += word.modifies
        self.verbs += not word.is_noun and verb(word.written.lower()) is not None


@dataclass(slots=True)
class PersonVoice:
    """What one person did, as they told one agent: rows are memories in order of key.

    `denials` are the keys of those beside them that deny something, by term.
    """

    keys: array[int] = field(default_factory=lambda: array("q"))
    days: array[int] = field(default_factory=lambda: array("l"))
    sessions: list[str | None] = field(default_factory=list)
    uses: dict[str, _Use] = field(default_factory=dict)
    denials: dict[str, array[int]] = field(default_factory=dict)

    def add(self, key: int, record: MemoryRecord, words: Collection[Word]) -> None:
        """The next memory that reports something, in order of key."""
        row = len(self.keys)
        self.keys.append(key)
        self.days.append(record.happened_at.toordinal())
        self.sessions.append(record.session_id)
        for word in words:
            self.uses.setdefault(word.term, _Use()).add(row, word)

    def names_a_theme(self, term: str) -> bool:
        """Whether it is a noun or a name; where none can be told, whether it may be one.

        What stands before nouns and never alone is an adjective.
        """
        use = self.uses[term]
        if use.nouns:
            return use.nouns + use.before >= _NOUN * len(use.rows)
        return not use.verbs and 2 * use.before < len(use.rows)

    def recurs(self, rows: Sequence[int]) -> bool:
        """Whether these of its memories do."""
        return recurs([self.days[row] for row in rows], [self.sessions[row] for row in rows])

    def with_term(self, term: str) -> list[int]:
        """The keys of all that has the term."""
        told = [self.keys[row] for row in self.uses[term].rows] if term in self.uses else []
        return [*told, *self.denials.get(term, ())]


def recurs(days: Sequence[object], sessions: Sequence[str | None]) -> bool:
    """Often enough, on several days, in three conversations; what has none counts by its day."""
    apart = {session or day for day, session in zip(days, sessions, strict=True)}
    return len(days) >= LEAST and len(set(days)) >= LEAST_DAYS and len(apart) >= LEAST_OCCASIONS


def reports(text: str) -> list[str]:
    """The sentences of a text in which its speaker tells what they did."""
    return [
        one.text
        for one in sentences(cleaned(text), frozenset())
        if not one.asks and len(one.text) <= LONGEST and reported(one.text)
    ]


def _heard(voice: PersonVoice, key: int, record: MemoryRecord) -> None:
    """Take in a memory: what it reports, or else what it denies."""
    if said := reports(record.text):
        words: dict[str, Word] = {}
        for word in telling_words("\n".join(said)):
            if word.is_noun or word.term not in words:
                words[word.term] = word
        if words and not is_secret(record):
            voice.add(key, record, words.values())
    elif not lexicon.words("negations").isdisjoint(record.text.lower().split()):
        for term in {word.term for word in telling_words(record.text)}:
            voice.denials.setdefault(term, array("q")).append(key)


def is_secret(record: MemoryRecord) -> bool:
    """Whether it may tell a password, an address or a code."""
    told = Telling(record.text, record.happened_at)
    return told.secret is not None or any(len(code) >= _LONG_CODE for code in told.codes)


NEAR = 0.45  # mean cosine of a memory to the others of its theme
CORE = 0.6  # of the memories that have a word must be near each other, or they only share the word
MOST = 200  # memories of a theme, the newest
_MOST_SEEDS = 400
_MOST_PEOPLE = 20
_MOST_LEFT_OUT = 1_000
_SAID = frozenset({Kind.EPISODIC, Kind.MESSAGE})


class ThemeOwner(NamedTuple):
    """Whose words: how far they are trusted, of which agent, by whom and in which role."""

    level: float
    agent: str | None
    speaker: str | None
    role: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """Memories of one person, in order of key, that turn on `word`.

    `left_out` are other memories that have the word, whoever's they are: they may say the
    contrary.
    """

    speaker: str | None
    role: str | None
    word: str
    keys: tuple[int, ...]
    left_out: tuple[int, ...] = ()
    level: float = 1.0


def themes(
    store: Store, partition: int, reach: Reach, fingerprint: Fingerprint | None
) -> tuple[list[Theme], int]:
    """The themes of a partition, person by person, and how many memories were read for them.

    No memory is in two of them. Each level of trust has its own, the most trusted first, and what
    is trusted less decides about none of those above it. Without vectors nobody can tell a theme
    from a word that is said of many things: there are none.
    """
    if fingerprint is None:
        return [], 0
    voices: dict[ThemeOwner, PersonVoice] = {}
    owners: set[str] = set()
    looked_at = 0
    for key, record in read(store, partition, in_reach(store, partition, reach, _SAID)):
        looked_at += 1
        if record.origin not in DERIVED and record.role not in _MACHINES:
            whose = ThemeOwner(level_of(record.trust), record.agent_id, record.speaker, record.role)
            _heard(voices.setdefault(whose, PersonVoice()), key, record)
            owners.update([record.user_id] if record.user_id else [])
    found: list[Theme] = []
    for whose, voice in sorted(voices.items(), key=lambda one: -one[0].level):
        heard = {other: one for other, one in voices.items() if other.level >= whose.level}
        people = sorted({other.speaker for other in heard if other.speaker})[:_MOST_PEOPLE]
        known = frozenset(terms(" ".join([*people, *owners])))
        finding = _Finding(store, partition, fingerprint, whose, voice, known)
        found += [
            replace(theme, left_out=_left_out(theme, whose.agent, heard))
            for theme in finding.themes()
        ]
    return found, looked_at


def _left_out(
    theme: Theme, agent: str | None, voices: Mapping[ThemeOwner, PersonVoice]
) -> tuple[int, ...]:
    term, inside = term_of(theme.word), set(theme.keys)
    heard = (voice for one, voice in voices.items() if one.agent == agent)
    keys = {key for voice in heard for key in voice.with_term(term)}
    return tuple(sorted(keys - inside)[-_MOST_LEFT_OUT:])


@dataclass(frozen=True, slots=True)
class _Finding:
    """Looks for the themes of one voice; `people` are terms of those who talk."""

    store: Store
    partition: int
    fingerprint: Fingerprint
    whose: ThemeOwner
    voice: PersonVoice
    people: frozenset[str]

    def themes(self) -> Iterator[Theme]:
        used: set[int] = set()
        for term in self._seeds():
            rows = [row for row in self.voice.uses[term].rows if row not in used][-MOST:]
            near = self._near(rows) if self.voice.recurs(rows) else []
            if len(near) >= CORE * len(rows) and self.voice.recurs(near):
                used.update(near)
                yield self._theme(term, near)

    def _theme(self, term: str, rows: Sequence[int]) -> Theme:
        return Theme(
            speaker=self.whose.speaker,
            role=self.whose.role,
            level=self.whose.level,
            word=self.voice.uses[term].written,
            keys=tuple(self.voice.keys[row] for row in rows),
        )

    def _seeds(self) -> list[str]:
        """Nouns and names that recur, those of most days first, and then what is surely one."""
        uses = self.voice.uses
        days = {
            term: len({self.voice.days[row] for row in use.rows})
            for term, use in uses.items()
            if len(use.rows) >= LEAST and self._may_name(term)
        }
        order = sorted(
            days, key=lambda one: (-days[one], -len(uses[one].rows), not uses[one].nouns, one)
        )
        return order[:_MOST_SEEDS]

    def _may_name(self, term: str) -> bool:
        talks = any(term.startswith(one) or one.startswith(term) for one in self.people)
        return not talks and self.voice.names_a_theme(term)

    def _near(self, rows: Sequence[int]) -> list[int]:
        """Those that are near each other: the farthest leaves as long as it is too far."""
        keys = [self.voice.keys[row] for row in rows]
        vectors = vectors_of(self.store, self.fingerprint, self.partition, keys)
        held = [row for row in rows if self.voice.keys[row] in vectors]
        if len(held) < LEAST:
            return []
        stacked = np.stack([vectors[self.voice.keys[row]] for row in held])
        alike = stacked @ stacked.T
        np.fill_diagonal(alike, 0)
        inside = list(range(len(held)))
        while len(inside) >= LEAST:
            near = alike[np.ix_(inside, inside)].sum(axis=1) / (len(inside) - 1)
            farthest = int(near.argmin())
            if near[farthest] >= NEAR:
                return [held[place] for place in inside]
            del inside[farthest]
        return []
