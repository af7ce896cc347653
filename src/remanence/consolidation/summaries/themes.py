"""Themes: what one person keeps coming back to, found by words in common and by vectors."""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from remanence.consolidation.merges.groups import DERIVED
from remanence.consolidation.steps import in_reach, read, vectors_of
from remanence.language.cues import importance, is_question
from remanence.language.english.agreement import Telling
from remanence.language.english.kin import KIN
from remanence.language.english.nouns import Word, telling_words, term_of
from remanence.language.names import names
from remanence.language.words import terms
from remanence.model.embedding import Fingerprint
from remanence.model.knowledge import Claim, FactKind
from remanence.model.memory import Kind, MemoryRecord, level_of
from remanence.model.ports.store import Store
from remanence.model.predicates import predicate_of
from remanence.model.scope import Reach

_OWN = re.compile(r"(?:my|our)\s+([\w-]+)", re.IGNORECASE)
_THEIR = re.compile(r"['’]s?\s+([\w-]+)")
_AND_I = re.compile(r"\s+and\s+(?:i|me)\b", re.IGNORECASE)

LEAST, LEAST_DAYS, LEAST_SESSIONS = 3, 2, 2
_LEAST_WORDS = 2
_LEAST_IMPORTANCE = 0.5
_NOUN = 0.25  # of the times a word is said, it must stand as a noun
_LONG_CODE = 6
# "Did my Dutch lesson." leaves out who did it, and asks nothing.
_WITHOUT_I = re.compile(r"\s*did (?:my|our|the)\b[^?]*[.!]\s*", re.IGNORECASE)
_MACHINES = frozenset({"assistant", "system", "tool"})


def subject_of(text: str, speaker: str | None) -> str:
    """Who it is about, as one would say; empty for the speaker, for things, and if unclear.

    >>> subject_of("Nora's sister Ines lives in Porto.", None)
    "Nora's sister"
    >>> subject_of("My mother broke her wrist.", "Nora")
    "Nora's mother"
    """
    text = text.lstrip(" \"'“‘(*-")
    if own := _OWN.match(text):
        whose = f"{speaker}'s" if speaker else "the user's"
        return f"{whose} {own[1].lower()}" if own[1].lower() in KIN else ""
    first = next(iter(names(text)), "")
    if not first or not text.startswith(first) or _AND_I.match(text, len(first)):
        return ""
    theirs = _THEIR.match(text, len(first))
    if theirs:
        return f"{first}'s {theirs[1].lower()}" if theirs[1].lower() in KIN else ""
    return "" if speaker and first.lower() == speaker.lower() else first


@dataclass(slots=True)
class _Use:
    """A term of a voice: the rows that have it, how often it stood as a noun or before one."""

    written: str = ""
    nouns: int = 0
    before: int = 0
    rows: array[int] = field(default_factory=lambda: array("l"))

    def add(self, row: int, word: Word) -> None:
        self.rows.append(row)
        self.nouns += word.is_noun
        self.before += word.modifies
        if word.is_noun and not (self.written and self.written.islower()):
            self.written = word.written


@dataclass(slots=True)
class PersonVoice:
    """What one person said to one agent: rows are memories in order of key."""

    keys: array[int] = field(default_factory=lambda: array("q"))
    days: array[int] = field(default_factory=lambda: array("l"))
    sessions: list[str | None] = field(default_factory=list)
    subjects: list[str] = field(default_factory=list)
    uses: dict[str, _Use] = field(default_factory=dict)

    def add(self, key: int, record: MemoryRecord, words: Collection[Word]) -> None:
        """The next memory, in order of key."""
        row = len(self.keys)
        self.keys.append(key)
        self.days.append(record.happened_at.toordinal())
        self.sessions.append(record.session_id)
        self.subjects.append(subject_of(record.text, record.speaker))
        for word in words:
            self.uses.setdefault(word.term, _Use()).add(row, word)

    def names_a_theme(self, term: str) -> bool:
        """Whether it is a noun or a name."""
        use = self.uses[term]
        return use.nouns > 0 and use.nouns + use.before >= _NOUN * len(use.rows)

    def recurs(self, rows: Sequence[int]) -> bool:
        """Whether these of its memories do."""
        return recurs([self.days[row] for row in rows], [self.sessions[row] for row in rows])


def recurs(days: Sequence[object], sessions: Sequence[str | None]) -> bool:
    """Often enough, on several days, in several conversations where there are any."""
    apart = set(sessions)
    return (
        len(days) >= LEAST
        and len(set(days)) >= LEAST_DAYS
        and (apart == {None} or len(apart) >= LEAST_SESSIONS)
    )


def telling(record: MemoryRecord) -> list[Word]:
    """The words of a memory that tell, each once; none of small talk, questions and secrets."""
    text = f"I {record.text}" if _WITHOUT_I.fullmatch(record.text) else record.text
    if record.origin in DERIVED or record.role in _MACHINES or is_question(text):
        return []
    words: dict[str, Word] = {}
    for word in telling_words(record.text):
        if word.is_noun or word.term not in words:
            words[word.term] = word
    if len(words) < _LEAST_WORDS or importance(text, record.role) < _LEAST_IMPORTANCE:
        return []
    return [] if is_secret(record) else list(words.values())


def is_secret(record: MemoryRecord) -> bool:
    """Whether it may tell a password, an address or a code."""
    told = Telling(record.text, record.happened_at)
    return told.secret is not None or any(len(code) >= _LONG_CODE for code in told.codes)


NEAR = 0.6  # cosine of a memory to the middle of its theme
MOST = 200  # memories of a theme, the newest
_MOST_SEEDS = 400
_BESIDE = 0.5  # of a theme's memories must have a word that is told beside its own
_COMMON = 0.05  # of what somebody said: a word in more than that is their manner, not a theme
_FEW = 30
_MOST_PEOPLE = 20
_MOST_CLAIMS = 10_000
_MOST_LEFT_OUT = 1_000
_SAID = frozenset({Kind.EPISODIC, Kind.MESSAGE})
_TOLD_BY_FACTS = frozenset({FactKind.FACT, FactKind.PREFERENCE})


class ThemeOwner(NamedTuple):
    """Whose words: how far they are trusted, of which agent, by whom and in which role."""

    level: float
    agent: str | None
    speaker: str | None
    role: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """Memories of one person, in order of key, that turn on `word`; `also` are words beside it.

    `about` is whom they are about, if that is neither the person nor the word. `left_out` are
    other memories that have the word, whoever's they are: they may say the contrary.
    """

    speaker: str | None
    role: str | None
    word: str
    also: tuple[str, ...]
    keys: tuple[int, ...]
    about: str = ""
    left_out: tuple[int, ...] = ()
    level: float = 1.0

    @property
    def words(self) -> frozenset[str]:
        """The terms of all its words."""
        return frozenset(term_of(word) for word in (self.word, *self.also))


def themes(
    store: Store, partition: int, reach: Reach, fingerprint: Fingerprint | None
) -> tuple[list[Theme], int]:
    """The themes of a partition, person by person, and how many memories were read for them.

    No memory is in two of them. Each level of trust has its own, the most trusted first, and what
    is trusted less decides about none of those above it.
    """
    voices: dict[ThemeOwner, PersonVoice] = {}
    owners: set[str] = set()
    looked_at = 0
    for key, record in read(store, partition, in_reach(store, partition, reach, _SAID)):
        looked_at += 1
        if words := telling(record):
            whose = ThemeOwner(level_of(record.trust), record.agent_id, record.speaker, record.role)
            voices.setdefault(whose, PersonVoice()).add(key, record, words)
            owners.update([record.user_id] if record.user_id else [])
    found: list[Theme] = []
    for whose, voice in sorted(voices.items(), key=lambda one: -one[0].level):
        heard = {other: one for other, one in voices.items() if other.level >= whose.level}
        people = sorted({other.speaker for other in heard if other.speaker})[:_MOST_PEOPLE]
        known = frozenset(terms(" ".join([*people, *owners])))
        finding = _Finding(store, partition, reach, fingerprint, whose, voice, known)
        found += [
            replace(theme, left_out=_left_out(theme, whose.agent, heard))
            for theme in _joined(finding)
        ]
    return found, looked_at


def _left_out(
    theme: Theme, agent: str | None, voices: Mapping[ThemeOwner, PersonVoice]
) -> tuple[int, ...]:
    term, inside = term_of(theme.word), set(theme.keys)
    heard = [voice for one, voice in voices.items() if one.agent == agent and term in voice.uses]
    keys = (voice.keys[row] for voice in heard for row in voice.uses[term].rows)
    return tuple(sorted(key for key in keys if key not in inside)[-_MOST_LEFT_OUT:])


def _joined(finding: _Finding) -> list[Theme]:
    """The themes of a voice, those that are one as one: they share two words and whom."""
    kept: list[Theme] = []
    for theme in finding.themes():
        alike = [one for one in kept if one.about == theme.about and _same(one, theme)]
        if not alike:
            kept.append(theme)
        elif len(alike[0].words & theme.words) > 1:
            whole = tuple(sorted({*alike[0].keys, *theme.keys})[-MOST:])
            kept[kept.index(alike[0])] = replace(alike[0], keys=whole)
    return kept


def _same(one: Theme, other: Theme) -> bool:
    shared = one.words & other.words
    return len(shared) > 1 or shared in (one.words, other.words)


@dataclass(frozen=True, slots=True)
class _Finding:
    """Looks for the themes of one voice; `people` are terms of those who talk."""

    store: Store
    partition: int
    reach: Reach
    fingerprint: Fingerprint | None
    whose: ThemeOwner
    voice: PersonVoice
    people: frozenset[str]

    def themes(self) -> Iterator[Theme]:
        used: set[int] = set()
        for term in self._seeds():
            rows = [row for row in self.voice.uses[term].rows if row not in used][-MOST:]
            if not self.voice.recurs(rows):
                continue
            for about, near in self._by_subject(term, self._near(rows)):
                own = self._without_facts(term, near) if self.voice.recurs(near) else []
                if self.voice.recurs(own):
                    used.update(own)
                    yield self._theme(term, about, own)

    def _theme(self, term: str, about: str, rows: Sequence[int]) -> Theme:
        return Theme(
            speaker=self.whose.speaker,
            role=self.whose.role,
            level=self.whose.level,
            word=self.voice.uses[term].written,
            also=self._beside(term, rows, about),
            keys=tuple(self.voice.keys[row] for row in rows),
            about=about,
        )

    def _seeds(self) -> list[str]:
        """Nouns and names that recur and are not said all the time; those of most days first."""
        most = max(_FEW, _COMMON * len(self.voice.keys))
        days = {
            term: len({self.voice.days[row] for row in use.rows})
            for term, use in self.voice.uses.items()
            if LEAST <= len(use.rows) <= most and self._may_name(term)
        }
        uses = self.voice.uses
        return sorted(days, key=lambda one: (-days[one], -len(uses[one].rows), one))[:_MOST_SEEDS]

    def _may_name(self, term: str) -> bool:
        talks = any(term.startswith(one) or one.startswith(term) for one in self.people)
        return not talks and self.voice.names_a_theme(term)

    def _near(self, rows: Sequence[int]) -> list[int]:
        """Those near the middle of them all; without vectors, the word they share must do."""
        if self.fingerprint is None:
            return list(rows)
        keys = [self.voice.keys[row] for row in rows]
        vectors = vectors_of(self.store, self.fingerprint, self.partition, keys)
        held = [row for row in rows if self.voice.keys[row] in vectors]
        for _ in range(2):
            if len(held) < LEAST:
                return []
            stacked = np.stack([vectors[self.voice.keys[row]] for row in held])
            middle = stacked.mean(axis=0)
            close = stacked @ (middle / max(float(np.linalg.norm(middle)), 1e-9)) >= NEAR
            held = [row for row, near in zip(held, close, strict=True) if near]
        return held

    def _by_subject(self, term: str, rows: Sequence[int]) -> list[tuple[str, list[int]]]:
        """The rows by whom they are about; whoever the theme is named after is no other."""
        found: dict[str, list[int]] = {}
        for row in rows:
            about = self.voice.subjects[row]
            found.setdefault("" if term_of(about) == term else about, []).append(row)
        return sorted(found.items(), key=lambda one: (-len(one[1]), one[0]))

    def _without_facts(self, term: str, rows: Sequence[int]) -> list[int]:
        """Without memories of which facts tell just this: where somebody lives, what they like.

        Of whoever the theme is named after, every such fact counts.
        """
        named = {self.voice.keys[row] for row in rows if term_of(self.voice.subjects[row]) == term}
        records = self.store.recall.records(self.partition, [self.voice.keys[row] for row in rows])
        ids = {records[key].id: key for key in records}
        claims = self.store.knowledge.claims(self.reach, memories=list(ids), limit=_MOST_CLAIMS)
        told = {
            ids[claim.memory]
            for claim in claims
            if claim.memory in ids
            and predicate_of(claim.predicate).kind in _TOLD_BY_FACTS
            and (ids[claim.memory] in named or _says(claim, term))
        }
        return [row for row in rows if self.voice.keys[row] not in told]

    def _beside(self, seed: str, rows: Sequence[int], about: str) -> tuple[str, ...]:
        inside, taken = set(rows), {seed, term_of(about)}
        often: list[tuple[int, str]] = []
        for term, use in self.voice.uses.items():
            if term not in taken and len(use.rows) >= LEAST - 1 and self._may_name(term):
                often.append((sum(row in inside for row in use.rows), term))
        least = max(2.0, _BESIDE * len(rows))
        ranked = sorted((-count, term) for count, term in often if count >= least)
        return tuple(self.voice.uses[term].written for _, term in ranked[:3])


def _says(claim: Claim, term: str) -> bool:
    return not set(term.split()).isdisjoint(terms(claim.value or ""))
