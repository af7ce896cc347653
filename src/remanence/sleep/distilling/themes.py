"""Themes: what one person keeps coming back to, found by words in common and by vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from remanence.model.embedding import Fingerprint
from remanence.model.knowledge import Claim, FactKind
from remanence.model.memory import Kind, level_of
from remanence.model.predicates import predicate_of
from remanence.model.scope import Reach
from remanence.ports.store import Store
from remanence.sleep.distilling.nouns import term_of
from remanence.sleep.distilling.voices import LEAST, LEAST_DAYS, LEAST_SESSIONS, Voice, telling
from remanence.sleep.merging.likeness import vectors_of
from remanence.sleep.merging.reading import in_reach, read
from remanence.text.words import terms

__all__ = ["LEAST", "LEAST_DAYS", "LEAST_SESSIONS", "Theme", "themes"]

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


class Whose(NamedTuple):
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
    voices: dict[Whose, Voice] = {}
    owners: set[str] = set()
    looked_at = 0
    for key, record in read(store, partition, in_reach(store, partition, reach, _SAID)):
        looked_at += 1
        if words := telling(record):
            whose = Whose(level_of(record.trust), record.agent_id, record.speaker, record.role)
            voices.setdefault(whose, Voice()).add(key, record, words)
            owners.update([record.user_id] if record.user_id else [])
    found: list[Theme] = []
    for whose, voice in sorted(voices.items(), key=lambda one: -one[0].level):
        heard = {other: one for other, one in voices.items() if other.level >= whose.level}
        people = sorted({other.speaker for other in heard if other.speaker})[:_MOST_PEOPLE]
        known = frozenset(terms(" ".join([*people, *owners])))
        finding = _Finding(store, partition, reach, fingerprint, voice, known)
        found += [
            replace(
                theme,
                speaker=whose.speaker,
                role=whose.role,
                level=whose.level,
                left_out=_left_out(theme, whose.agent, heard),
            )
            for theme in _joined(finding)
        ]
    return found, looked_at


def _left_out(theme: Theme, agent: str | None, voices: Mapping[Whose, Voice]) -> tuple[int, ...]:
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
    voice: Voice
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
            speaker=None,
            role=None,
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
        records = self.store.records(self.partition, [self.voice.keys[row] for row in rows])
        ids = {records[key].id: key for key in records}
        claims = self.store.claims(self.reach, memories=list(ids), limit=_MOST_CLAIMS)
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
