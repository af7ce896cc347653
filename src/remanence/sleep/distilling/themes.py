"""Themes: what one person keeps coming back to, found by words in common and by vectors."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from remanence.model.embedding import Fingerprint
from remanence.model.memory import Kind, MemoryRecord
from remanence.model.scope import Reach
from remanence.ports.store import Store
from remanence.sleep.merging.likeness import vectors_of
from remanence.sleep.merging.members import DERIVED
from remanence.sleep.merging.reading import in_reach, read
from remanence.text.cues import importance, is_question
from remanence.text.date_words import meanings
from remanence.text.summary.hollow import HOLLOW
from remanence.text.words import stop_terms, terms, word_spans

LEAST, LEAST_DAYS, LEAST_SESSIONS = 3, 2, 2
NEAR = 0.6  # cosine of a memory to the middle of its theme
MOST = 200  # memories of a theme, the newest
_MOST_SEEDS = 400
_COMMON = 0.05  # of what somebody said: a word in more than that is their manner, not a theme
_FEW = 30
_MOST_PEOPLE = 20
_LEAST_WORDS = 3
_LEAST_IMPORTANCE = 0.5
_MACHINES = frozenset({"assistant", "system", "tool"})
# Words that are said of anything.
_GENERAL = """
new old big small little long short whole different same first last next other another important
special favourite favorite real like time times photo picture pic pics image video kind sort part
place people person someone everyone friend friends name way ways moment moments reminder reminds
remind happen happens happened show shows showing put puts use uses using help helps helping give
gives giving find finds finding work works working need needs try trying start starting love loves
want wants able experience experiences idea ideas plan plans stuff life world home today lots
"""
_SAID = frozenset({Kind.EPISODIC, Kind.MESSAGE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """Memories of one person, in order of key, that turn on `word`; `also` are words beside it.

    `others` are those whom the person talks to.
    """

    speaker: str | None
    role: str | None
    word: str
    also: tuple[str, ...]
    keys: tuple[int, ...]
    others: tuple[str, ...] = ()


@dataclass(slots=True)
class _Voice:
    """What one person said to one agent, as numbers: rows are memories in order of key."""

    keys: array[int] = field(default_factory=lambda: array("q"))
    days: array[int] = field(default_factory=lambda: array("l"))
    sessions: list[str | None] = field(default_factory=list)
    rows: dict[str, array[int]] = field(default_factory=dict)
    spelled: dict[str, str] = field(default_factory=dict)

    def add(self, key: int, record: MemoryRecord, words: Mapping[str, str]) -> None:
        row = len(self.keys)
        self.keys.append(key)
        self.days.append(record.happened_at.toordinal())
        self.sessions.append(record.session_id)
        for term, word in words.items():
            self.rows.setdefault(term, array("l")).append(row)
            self.spelled.setdefault(term, word)

    def recurs(self, rows: Sequence[int]) -> bool:
        """Often enough, on several days, in several conversations where there are any."""
        sessions = {self.sessions[row] for row in rows}
        return (
            len(rows) >= LEAST
            and len({self.days[row] for row in rows}) >= LEAST_DAYS
            and (sessions == {None} or len(sessions) >= LEAST_SESSIONS)
        )


def themes(
    store: Store, partition: int, reach: Reach, fingerprint: Fingerprint | None
) -> tuple[list[Theme], int]:
    """The themes of a partition, person by person, and how many memories were read for them.

    No memory is in two of them.
    """
    voices: dict[tuple[str | None, ...], _Voice] = {}
    looked_at = 0
    for key, record in read(store, partition, in_reach(store, partition, reach, _SAID)):
        looked_at += 1
        if words := telling(record):
            whose = (record.agent_id, record.speaker, record.role)
            voices.setdefault(whose, _Voice()).add(key, record, words)
    people = sorted({speaker for _, speaker, _ in voices if speaker})[:_MOST_PEOPLE]
    found = [
        replace(theme, speaker=speaker, role=role, others=tuple(people))
        for (_, speaker, role), voice in voices.items()
        for theme in _of_voice(store, partition, fingerprint, voice, set(terms(" ".join(people))))
    ]
    return found, looked_at


def telling(record: MemoryRecord) -> dict[str, str]:
    """The terms of a memory that could be a theme, as written; none of small talk or questions."""
    if record.origin in DERIVED or record.role in _MACHINES or is_question(record.text):
        return {}
    spelled = (record.text[start:end] for start, end in word_spans(record.text))
    found = {(terms(word) or [""])[0]: word for word in spelled if not _is_time(word)}
    kept = {t: w for t, w in found.items() if len(t) > 2 and t not in _idle() and t.isalpha()}
    if len(kept) < _LEAST_WORDS or importance(record.text, record.role) < _LEAST_IMPORTANCE:
        return {}
    return kept


def _of_voice(
    store: Store,
    partition: int,
    fingerprint: Fingerprint | None,
    voice: _Voice,
    people: set[str],
) -> Iterator[Theme]:
    used: set[int] = set()
    for term in _seeds(voice, people):
        rows = [row for row in voice.rows[term] if row not in used][-MOST:]
        if not voice.recurs(rows):
            continue
        keys = [voice.keys[row] for row in rows]
        near = _near(store, partition, fingerprint, keys)
        rows = [row for row in rows if voice.keys[row] in near]
        if voice.recurs(rows):
            used.update(rows)
            yield Theme(
                speaker=None,
                role=None,
                word=voice.spelled[term],
                also=_beside(voice, term, rows, people),
                keys=tuple(voice.keys[row] for row in rows),
            )


def _seeds(voice: _Voice, people: set[str]) -> list[str]:
    """Words that recur and are not said all the time; those of most days first."""
    most = max(_FEW, _COMMON * len(voice.keys))
    days = {
        term: len({voice.days[row] for row in rows})
        for term, rows in voice.rows.items()
        if LEAST <= len(rows) <= most
        and not voice.spelled[term].lower().endswith("ed")
        and not any(term.startswith(one) or one.startswith(term) for one in people)
    }
    return sorted(days, key=lambda term: (-days[term], -len(voice.rows[term]), term))[:_MOST_SEEDS]


def _near(
    store: Store, partition: int, fingerprint: Fingerprint | None, keys: Sequence[int]
) -> set[int]:
    """Those near the middle of them all; without vectors, the word they share must do."""
    vectors = vectors_of(store, fingerprint, partition, keys)
    if len(vectors) < LEAST:
        return set(keys) if fingerprint is None else set()
    rows, held = np.stack(list(vectors.values())), np.array(list(vectors))
    for _ in range(2):
        middle = rows.mean(axis=0)
        close = rows @ (middle / max(float(np.linalg.norm(middle)), 1e-9)) >= NEAR
        rows, held = rows[close], held[close]
        if len(held) < LEAST:
            return set()
    return set(held.tolist())


def _beside(voice: _Voice, seed: str, rows: Sequence[int], people: set[str]) -> tuple[str, ...]:
    inside = set(rows)
    counts = Counter(
        {
            term: sum(row in inside for row in found)
            for term, found in voice.rows.items()
            if term != seed
            and len(found) >= LEAST - 1
            and not any(term.startswith(one) or one.startswith(term) for one in people)
        }
    )
    often = [(count, term) for term, count in counts.items() if count >= max(2, len(rows) / 3)]
    ranked = sorted(often, key=lambda one: (-one[0], one[1]))
    return tuple(voice.spelled[term] for _, term in ranked[:3])


@cache
def _idle() -> frozenset[str]:
    return stop_terms() | frozenset(terms(" ".join((*HOLLOW, _GENERAL))))


@cache
def _times() -> frozenset[str]:
    return frozenset(meanings())


def _is_time(word: str) -> bool:
    return word.lower() in _times()
