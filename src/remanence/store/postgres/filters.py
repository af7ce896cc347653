"""Filters as PostgreSQL's conditions; the other half of `store.conditions`.

What only Python can tell (casefolded text, texts too long for a label) is read first and becomes a
list of keys; PostgreSQL's own `lower` is not `casefold`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from remanence.model.filter import Filter
from remanence.model.scope import Reach
from remanence.store.conditions import COLUMNS, SIGNS, Compiler, Condition, joined
from remanence.store.labels import any_long_text
from remanence.store.postgres.arrays import Int8s, byteas, float8s, int8s, texts
from remanence.store.postgres.faults import translated
from remanence.store.postgres.session import Session
from remanence.store.postgres.texts import Texts
from remanence.store.postgres.words import LONG_TEXTS, NUMBERS, SHORT_TEXTS, encoded
from remanence.store.rows import Row

_CHUNK = 2000
_USES = "coalesce((SELECT count FROM uses WHERE tenant = m.tenant AND memory = m.key), 0)"


def reached(
    session: Session, partitions: Sequence[int], reach: Reach, where: Filter | None
) -> Condition:
    """What a read of these partitions may see and wants to see."""
    return _PostgresCompiler(session, partitions).reached(reach, where)


def within(session: Session, partition: int, where: Filter) -> Condition:
    """What satisfies the filter in one partition."""
    compiler = _PostgresCompiler(session, [partition])
    return joined("AND", [compiler.inside(), compiler.condition(where)])


def check(where: Filter | None) -> None:
    """Refuse what no statement could hold; for reads that find nothing to look into."""
    with translated("the store"):
        values = () if where is None else _Checker().condition(where).values
        for value in values:
            if isinstance(value, str):
                value.encode()


class _PostgresCompiler(Compiler):
    columns = {**COLUMNS, "uses": _USES}  # noqa: RUF012

    def __init__(self, session: Session, partitions: Sequence[int]) -> None:
        self._session = session
        self._texts = Texts()
        self._partitions = int8s(partitions)
        self._here = (session.tenant, partitions[0] if len(partitions) == 1 else self._partitions)
        self._among = "= ?" if len(partitions) == 1 else "= ANY(?)"

    def inside(self) -> Condition:
        return Condition(f"m.tenant = ?::integer AND m.partition {self._among}", self._here)

    def contains(self, folded: str) -> Condition:
        folded.encode()  # refuses lone surrogates
        others = self._keys_where(
            "texts_beyond_ascii", lambda row: folded in self._text(row[1]).casefold()
        )
        found = Condition("m.key = ANY(?)", (others,))
        if not folded.isascii():
            return found
        plain = Condition(
            "octet_length(m.text) = m.characters AND position(? IN lower(m.text)) > 0", (folded,)
        )
        return joined("OR", [plain, found])

    def _text(self, stored: bytes) -> str:
        return self._texts.opened(self._session, stored)

    def among(self, column: str, values: Sequence[Any]) -> Condition:
        if all(isinstance(value, str) for value in values):
            return Condition(f"{column} = ANY(?)", (texts(values),))
        exact = all(isinstance(value, int) for value in values)
        return Condition(f"{column} = ANY(?)", (int8s(values) if exact else float8s(values),))

    def labelled(self, name: str) -> Condition:
        return self._labelled(name, "TRUE")

    def labelled_any(self, name: str, values: Sequence[Any]) -> Condition:
        return self._labelled(name, "value = ANY(?)", byteas(map(encoded, values)))

    def labelled_so(self, name: str, operator: str, value: Any) -> Condition:
        least, end = SHORT_TEXTS if isinstance(value, str) else NUMBERS
        test = f"value {SIGNS[operator]} ? AND value >= ? AND value < ?"
        short = self._labelled(name, test, encoded(value), least, end)
        if not isinstance(value, str):
            return short
        least, end = LONG_TEXTS
        long = self._keys_where(
            "metadata_with_long_text",
            lambda row: any_long_text(row[1], name, operator, value),
            name=name,
            least=least,
            end=end,
        )
        return joined("OR", [short, Condition("m.key = ANY(?)", (long,))])

    def _labelled(self, name: str, test: str, *values: Any) -> Condition:
        text = (
            "SELECT memory FROM labels WHERE tenant = ?::integer"  # noqa: S608
            f" AND partition {self._among} AND name = ? AND {test}"
        )
        return Condition(f"m.key IN ({text})", (*self._here, name, *values))

    def _keys_where(self, name: str, test: Callable[[Row], bool], /, **values: Any) -> Int8s:
        found = [row[0] for row in self._streamed(name, values) if test(row)]
        return int8s(np.array(found, np.int64))

    def _streamed(self, name: str, values: dict[str, Any]) -> Iterator[Row]:
        after = 0
        while True:
            asked = values | {"partitions": self._partitions, "after": after, "most": _CHUNK}
            rows = self._session.rows(name, **asked)
            yield from rows
            if len(rows) < _CHUNK:
                return
            after = rows[-1][0]


class _Checker(_PostgresCompiler):
    """Compiles as if there were nothing to read."""

    def __init__(self) -> None:
        self._partitions = int8s([])
        self._here = (0, self._partitions)
        self._among = "= ANY(?)"

    def _keys_where(self, name: str, test: Callable[[Row], bool], /, **values: Any) -> Int8s:
        return int8s([])
