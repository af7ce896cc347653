"""What one person said, as numbers: which memories have which words, on which days."""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from remanence.model.memory import MemoryRecord
from remanence.sleep.distilling.nouns import Word, telling_words
from remanence.sleep.distilling.subjects import subject_of
from remanence.sleep.merging.agreeing import Telling
from remanence.sleep.merging.members import DERIVED
from remanence.text.cues import importance, is_question

LEAST, LEAST_DAYS, LEAST_SESSIONS = 3, 2, 2
_LEAST_WORDS = 2
_LEAST_IMPORTANCE = 0.5
_NOUN = 0.25  # of the times a word is said, it must stand as a noun
_LONG_CODE = 6
# "Did my Dutch lesson." leaves out who did it, and asks nothing.
_WITHOUT_I = re.compile(r"\s*did (?:my|our|the)\b[^?]*[.!]\s*", re.IGNORECASE)
_MACHINES = frozenset({"assistant", "system", "tool"})


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
class Voice:
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
        """Often enough, on several days, in several conversations where there are any."""
        sessions = {self.sessions[row] for row in rows}
        return (
            len(rows) >= LEAST
            and len({self.days[row] for row in rows}) >= LEAST_DAYS
            and (sessions == {None} or len(sessions) >= LEAST_SESSIONS)
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
