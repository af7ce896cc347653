"""Where each key of a partition stands among its rows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from sys import getsizeof
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.language.words import fold
from remanence.model.memory import Kind, State
from remanence.model.ports.store import Keys, Trait

NOWHERE = -1
# Keys that lie close together get a table, which is no larger than the keys and rows themselves.
CLOSE = 3

KINDS = {kind.value: number for number, kind in enumerate(Kind)}
STATES = {state.value: number for number, state in enumerate(State)}
ROLES = {None: 0, "user": 1, "assistant": 2}
OTHER_ROLE = 3
ALONE = -1

# What a partition, a row's place by key, and a name cost beside the arrays, as measured.
OBJECT_BYTES = 4_000
ROW_BYTES = 12
NAME_BYTES = 500

_CHUNK = 4096
_WORD = re.compile(r"\w+")
_DTYPES: dict[str, type[np.generic]] = {
    "key": np.int64,
    "session": np.int32,
    "place": np.int32,
    "speaker": np.int32,
    "agent": np.int32,
    "happened": np.int64,
    "created": np.int64,
    "said_from": np.int32,
    "said_to": np.int32,
    "terms": np.int32,
    "characters": np.int32,
    "importance": np.float32,
    "trust": np.float32,
    "role": np.uint8,
    "kind": np.uint8,
    "state": np.uint8,
    "flags": np.uint8,
}


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The rows of keys: by a table over all keys from `first` on, or of the `keys` there are."""

    first: int
    rows: NDArray[np.int32]
    keys: Keys | None  # ascending; None where `rows` is a table

    def rows_of(self, keys: Keys) -> NDArray[np.int64]:
        """Row numbers of these keys, -1 for a key that is not here."""
        if not len(self.rows):
            return np.full(len(keys), NOWHERE, np.int64)
        if self.keys is not None:
            places = self.keys.searchsorted(keys)
            places[places == len(self.keys)] = 0
            rows = self.rows[places].astype(np.int64)
            rows[self.keys[places] != keys] = NOWHERE
            return rows
        places = np.subtract(keys, self.first, dtype=np.int64)
        rows = self.rows.take(places, mode="clip").astype(np.int64)
        rows[(places < 0) | (places >= len(self.rows))] = NOWHERE
        return rows


def places_of(key: Keys) -> Places:
    """The places of a column of keys, each once."""
    if not len(key):
        return Places(0, np.empty(0, np.int32), None)
    first, span = int(key.min()), int(key.max()) - int(key.min()) + 1
    if span <= CLOSE * len(key):
        table = np.full(span, NOWHERE, np.int32)
        table[key - first] = np.arange(len(key), dtype=np.int32)
        return Places(first, table, None)
    order = np.argsort(key, kind="stable").astype(np.int32)
    return Places(first, order, key[order])


def plain_words(text: str) -> list[str]:
    """The words of a text, folded, without what clings to them ("Ana's" is ana and s)."""
    return _WORD.findall(fold(text))


class Lexicon:
    """Numbers for the names of sessions, speakers or agents; `ALONE` stands for none."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.names: list[str] = []
        self.nbytes = 0
        self._by_word: dict[str, list[int]] = {}

    def number(self, name: str | None) -> int:
        """The number of a name, new if need be."""
        if name is None:
            return ALONE
        found = self.numbers.get(name)
        return self._added(name) if found is None else found

    def sharing(self, words: Iterable[str]) -> list[int]:
        """Names that have at least one of these folded words, ascending."""
        return sorted({number for word in words for number in self._by_word.get(word, ())})

    def _added(self, name: str) -> int:
        number = self.numbers[name] = len(self.names)
        self.names.append(name)
        self.nbytes += getsizeof(name) + NAME_BYTES
        for word in set(plain_words(name)):
            self._by_word.setdefault(word, []).append(number)
        return number


@dataclass(frozen=True, slots=True)
class Lexicons:
    """The names of one partition."""

    sessions: Lexicon
    speakers: Lexicon
    agents: Lexicon


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """One row per memory, ordered by session, time and key, so that neighbours stand together."""

    key: Keys
    session: NDArray[np.int32]  # whose turns are neighbours; a summary is nobody's neighbour
    place: NDArray[np.int32]  # the session it belongs to, summaries too
    speaker: NDArray[np.int32]
    agent: NDArray[np.int32]
    happened: NDArray[np.int64]
    created: NDArray[np.int64]
    said_from: NDArray[np.int32]  # the days its text speaks of, since 1970; both 0 for none
    said_to: NDArray[np.int32]  # the day after the last
    terms: NDArray[np.int32]
    characters: NDArray[np.int32]
    importance: NDArray[np.float32]
    trust: NDArray[np.float32]
    role: NDArray[np.uint8]
    kind: NDArray[np.uint8]
    state: NDArray[np.uint8]
    flags: NDArray[np.uint8]
    places: Places
    lexicons: Lexicons
    average_terms: float
    log_characters: float  # mean of the logarithm of each text's length
    session_terms: NDArray[np.int64]  # length of each session
    session_rows: NDArray[np.int64]  # first row of each session, then the number of rows
    whole: bool = True  # whether the partition has no other memories

    def __len__(self) -> int:
        return len(self.key)

    @property
    def nbytes(self) -> int:
        """What the columns take in memory, names and all."""
        width = sum(np.dtype(dtype).itemsize for dtype in _DTYPES.values()) + ROW_BYTES
        named = (self.lexicons.sessions, self.lexicons.speakers, self.lexicons.agents)
        names = sum(lexicon.nbytes for lexicon in named)
        return OBJECT_BYTES + len(self) * width + names + 2 * self.session_rows.nbytes

    def rows_of(self, keys: Keys) -> NDArray[np.int64]:
        """Row numbers of these keys, -1 for a key that is not here."""
        return self.places.rows_of(keys)

    def neighbours(
        self, rows: NDArray[np.int64], offset: int | NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """The row so many turns later in the same conversation, -1 where there is none.

        With several offsets, one below the other, a line of rows for each.
        """
        moved = rows + offset
        moved[(moved < 0) | (moved >= len(self))] = -1
        session = self.session[rows]
        moved[(self.session[moved] != session) | (session == ALONE)] = -1
        return moved


def columns_of(traits: Iterable[Trait], *, active: bool = False) -> Columns:
    """Columns from traits, in chunks: a large partition leaves no mountain of small objects.

    With `active` as if nothing else had ever been written.
    """
    lexicons = Lexicons(Lexicon(), Lexicon(), Lexicon())
    stream = iter(traits)
    chunks, whole = [_arrays([], lexicons)], True
    while chunk := list(islice(stream, _CHUNK)):
        kept = _active(chunk) if active else chunk
        whole = whole and len(kept) == len(chunk)
        chunks.append(_arrays(kept, lexicons))
    joined = _joined(chunks)
    chunks.clear()
    return _ordered(joined, lexicons, whole)


def _active(traits: Iterable[Trait]) -> list[Trait]:
    return [trait for trait in traits if trait.state == State.ACTIVE]


def changed(
    columns: Columns,
    keys: Iterable[int],
    traits: Iterable[Trait],
    *,
    apart: bool = False,
    active: bool = False,
) -> Columns:
    """The columns without the memories of `keys`, and with `traits` in their place.

    Their new names are the old columns' as well, unless they are kept `apart`. With `active` only
    what is so comes in.
    """
    every = list(traits)
    given = _active(every) if active else every
    whole = columns.whole and len(given) == len(every)
    lexicons = _apart(columns.lexicons, given) if apart else columns.lexicons
    fresh = _arrays(given, lexicons)
    gone = columns.rows_of(np.fromiter(keys, np.int64))
    keep = np.ones(len(columns), bool)
    keep[gone[gone >= 0]] = False
    kept = {name: getattr(columns, name)[keep] for name in _DTYPES}
    return _ordered(_joined([kept, fresh]), lexicons, whole)


def _apart(lexicons: Lexicons, traits: Iterable[Trait]) -> Lexicons:
    """Lexicons that can take the speakers of these traits while others read the given ones."""
    if all(one.speaker is None or one.speaker in lexicons.speakers.numbers for one in traits):
        return lexicons
    speakers = Lexicon()
    for name in list(lexicons.speakers.names):
        speakers.number(name)
    return replace(lexicons, speakers=speakers)


def trusted(columns: Columns, least: float, *, active: bool = False) -> Columns:
    """The columns as if nothing that is trusted less had ever been written, names included.

    With `active` nor anything that is not so.
    """
    keep = columns.trust >= np.float32(least)
    if active:
        keep &= columns.state == STATES[State.ACTIVE]
    if keep.all():
        return columns
    kept = {name: getattr(columns, name)[keep] for name in _DTYPES}
    named = columns.lexicons
    sessions = _renamed(named.sessions, kept, "session", "place")
    speakers = _renamed(named.speakers, kept, "speaker")
    agents = _renamed(named.agents, kept, "agent")
    return _ordered(kept, Lexicons(sessions, speakers, agents), whole=False)


def _renamed(names: Lexicon, kept: dict[str, NDArray[Any]], *columns: str) -> Lexicon:
    """The names that are left, numbered in the order in which memories brought them."""
    numbers = np.concatenate([kept[column] for column in columns])
    newest = np.concatenate([kept["key"]] * len(columns))
    order = np.argsort(newest, kind="stable")
    found, first = np.unique(numbers[order], return_index=True)
    found = found[np.argsort(first)]
    lexicon = Lexicon()
    renumbered = np.full(len(names.names) + 1, ALONE, np.int32)  # the last stands for none
    for old in found[found != ALONE].tolist():
        renumbered[old] = lexicon.number(names.names[old])
    for column in columns:
        kept[column] = renumbered[kept[column]]
    return lexicon


def _arrays(traits: list[Trait], lexicons: Lexicons) -> dict[str, NDArray[Any]]:
    fields: dict[str, list[Any]] = {
        "key": [t.key for t in traits],
        "session": [lexicons.sessions.number(_spoken_in(t)) for t in traits],
        "place": [lexicons.sessions.number(t.session) for t in traits],
        "speaker": [lexicons.speakers.number(t.speaker) for t in traits],
        "agent": [lexicons.agents.number(t.agent) for t in traits],
        "happened": [t.happened for t in traits],
        "created": [t.created for t in traits],
        "said_from": [t.said_from for t in traits],
        "said_to": [t.said_to for t in traits],
        "terms": [t.terms for t in traits],
        "characters": [t.characters for t in traits],
        "importance": [t.importance for t in traits],
        "trust": [t.trust for t in traits],
        "role": [ROLES.get(t.role, OTHER_ROLE) for t in traits],
        "kind": [KINDS[t.kind] for t in traits],
        "state": [STATES[t.state] for t in traits],
        "flags": [t.flags for t in traits],
    }
    return {name: np.array(fields[name], dtype) for name, dtype in _DTYPES.items()}


def _spoken_in(trait: Trait) -> str | None:
    return None if trait.kind == Kind.SUMMARY else trait.session


def _joined(chunks: list[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    return {name: np.concatenate([chunk.pop(name) for chunk in chunks]) for name in _DTYPES}


def _ordered(arrays: dict[str, NDArray[Any]], lexicons: Lexicons, whole: bool) -> Columns:
    """Columns of these arrays in conversation order; the arrays are let go one by one."""
    order = np.lexsort((arrays["key"], arrays["happened"], arrays["session"]))
    placed = {name: arrays.pop(name)[order] for name in _DTYPES}
    sessions = len(lexicons.sessions.names)
    return Columns(
        **placed,
        places=places_of(placed["key"]),
        lexicons=lexicons,
        average_terms=max(float(placed["terms"].mean()) if len(order) else 1.0, 1.0),
        log_characters=float(np.log1p(placed["characters"]).mean()) if len(order) else 0.0,
        session_terms=_sums(placed["session"], placed["terms"], sessions),
        session_rows=np.searchsorted(placed["session"], np.arange(sessions + 1)),
        whole=whole,
    )


def _sums(groups: NDArray[Any], values: NDArray[Any], count: int) -> NDArray[np.int64]:
    inside = groups != ALONE
    return np.bincount(groups[inside], values[inside], minlength=count).astype(np.int64)
