"""A partition's small facts as NumPy columns, in conversation order, moved along by the feed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.model.memory import Kind, State
from remanence.ports.store import Keys, Trait

KINDS = {kind.value: number for number, kind in enumerate(Kind)}
STATES = {state.value: number for number, state in enumerate(State)}
ROLES = {None: 0, "user": 1, "assistant": 2}
OTHER_ROLE = 3
ALONE = -1
MINUTE = 60_000_000

_DTYPES: dict[str, type[np.generic]] = {
    "key": np.int64,
    "session": np.int32,
    "speaker": np.int32,
    "agent": np.int32,
    "happened": np.int64,
    "created": np.int64,
    "terms": np.int32,
    "characters": np.int32,
    "importance": np.float32,
    "trust": np.float32,
    "role": np.uint8,
    "kind": np.uint8,
    "state": np.uint8,
    "flags": np.uint8,
}


class Lexicon:
    """Numbers for the names of sessions, speakers and agents; `ALONE` stands for none."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.names: list[str] = []

    def number(self, name: str | None) -> int:
        """The number of a name, new if need be."""
        if name is None:
            return ALONE
        found = self.numbers.get(name)
        if found is None:
            found = self.numbers[name] = len(self.names)
            self.names.append(name)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """One row per memory, ordered by session, time and key, so that neighbours stand together."""

    key: Keys
    session: NDArray[np.int32]
    speaker: NDArray[np.int32]
    agent: NDArray[np.int32]
    happened: NDArray[np.int64]
    created: NDArray[np.int64]
    terms: NDArray[np.int32]
    characters: NDArray[np.int32]
    importance: NDArray[np.float32]
    trust: NDArray[np.float32]
    role: NDArray[np.uint8]
    kind: NDArray[np.uint8]
    state: NDArray[np.uint8]
    flags: NDArray[np.uint8]
    by_key: NDArray[np.int32]  # row numbers in ascending order of key
    sessions: Lexicon
    speakers: Lexicon
    agents: Lexicon
    average_terms: float
    log_characters: float  # mean of the logarithm of each text's length
    session_terms: NDArray[np.int64]  # length of each session
    session_rows: NDArray[np.int64]  # first row of each session, then the number of rows

    def __len__(self) -> int:
        return len(self.key)

    @property
    def nbytes(self) -> int:
        """What the columns take in memory."""
        arrays = [self.by_key, *(getattr(self, name) for name in _DTYPES)]
        return sum(int(array.nbytes) for array in arrays)

    def rows_of(self, keys: Keys) -> NDArray[np.int64]:
        """Row numbers of these keys, -1 for a key that is not here."""
        if not len(self):
            return np.full(len(keys), -1, np.int64)
        places = np.searchsorted(self.key, keys, sorter=self.by_key)
        rows = self.by_key[np.minimum(places, len(self) - 1)].astype(np.int64)
        return np.where(self.key[rows] == keys, rows, -1)

    def neighbours(self, rows: NDArray[np.int64], offset: int) -> NDArray[np.int64]:
        """The row so many turns later in the same conversation, -1 where there is none."""
        moved = rows + offset
        clipped = np.clip(moved, 0, len(self) - 1)
        same = (self.session[clipped] == self.session[rows]) & (self.session[rows] != ALONE)
        return np.where(same & (clipped == moved), moved, -1)


def columns_of(traits: Sequence[Trait], before: Columns | None = None) -> Columns:
    """Columns from traits; names keep the numbers they had `before`."""
    sessions, speakers, agents = _lexicons(before)
    fields = {
        "key": [t.key for t in traits],
        "session": [sessions.number(t.session) for t in traits],
        "speaker": [speakers.number(t.speaker) for t in traits],
        "agent": [agents.number(t.agent) for t in traits],
        "happened": [t.happened for t in traits],
        "created": [t.created for t in traits],
        "terms": [t.terms for t in traits],
        "characters": [t.characters for t in traits],
        "importance": [t.importance for t in traits],
        "trust": [t.trust for t in traits],
        "role": [ROLES.get(t.role, OTHER_ROLE) for t in traits],
        "kind": [KINDS[t.kind] for t in traits],
        "state": [STATES[t.state] for t in traits],
        "flags": [t.flags for t in traits],
    }
    arrays = {name: np.array(fields[name], _DTYPES[name]) for name in _DTYPES}
    return _ordered(arrays, sessions, speakers, agents)


def changed(columns: Columns, keys: Iterable[int], traits: Sequence[Trait]) -> Columns:
    """The columns without the memories of `keys`, and with `traits` in their place."""
    fresh = columns_of(traits, columns)
    gone = columns.rows_of(np.fromiter(keys, np.int64))
    keep = np.ones(len(columns), bool)
    keep[gone[gone >= 0]] = False
    arrays = {
        name: np.concatenate([getattr(columns, name)[keep], getattr(fresh, name)])
        for name in _DTYPES
    }
    return _ordered(arrays, columns.sessions, columns.speakers, columns.agents)


def _lexicons(before: Columns | None) -> tuple[Lexicon, Lexicon, Lexicon]:
    if before is None:
        return Lexicon(), Lexicon(), Lexicon()
    return before.sessions, before.speakers, before.agents


def _ordered(
    arrays: dict[str, NDArray[Any]], sessions: Lexicon, speakers: Lexicon, agents: Lexicon
) -> Columns:
    order = np.lexsort((arrays["key"], arrays["happened"], arrays["session"]))
    placed = {name: array[order] for name, array in arrays.items()}
    by_key = np.argsort(placed["key"], kind="stable").astype(np.int32)
    average = float(np.mean(placed["terms"])) if len(order) else 1.0
    return Columns(
        **placed,
        by_key=by_key,
        sessions=sessions,
        speakers=speakers,
        agents=agents,
        average_terms=max(average, 1.0),
        log_characters=float(np.log1p(placed["characters"]).mean()) if len(order) else 0.0,
        session_terms=_sums(placed["session"], placed["terms"], len(sessions.names)),
        session_rows=np.searchsorted(placed["session"], np.arange(len(sessions.names) + 1)),
    )


def _sums(groups: NDArray[Any], values: NDArray[Any], count: int) -> NDArray[np.int64]:
    inside = groups != ALONE
    return np.bincount(groups[inside], values[inside], minlength=count).astype(np.int64)
