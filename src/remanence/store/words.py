"""The words of texts: which terms a text has, what its row keeps; those of a batch found before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import NamedTuple, TypeAlias, TypeGuard

from remanence.language.languages import index_terms, length_of
from remanence.language.traits import NO_TIME, flags, said_days
from remanence.language.words import TERMS_VERSION
from remanence.model import deadline
from remanence.model.memory import MemoryRecord
from remanence.model.write import Action, Batch, Insert, Remove, Revise
from remanence.model.zones import own_zone, placed, says_no_zone
from remanence.store.rows import micros, moment

_TELLING = {"text", "happened_at"}
Read: TypeAlias = Callable[[Sequence[str]], Iterable[MemoryRecord]]
"""The memories of a batch's tenant with these ids, as they stand now."""


class Derived(NamedTuple):
    """What a row keeps of its text, in the order of `row_of`; made again when the terms are."""

    terms: int
    characters: int
    flags: int
    said_from: int
    said_to: int


@dataclass(frozen=True, slots=True)
class Words:
    """How texts become terms. Another `version` makes the store rebuild its text index."""

    terms: Callable[[str], list[str]] = index_terms
    version: str = TERMS_VERSION
    zone: tzinfo = UTC  # in which "yesterday" is read where a moment says none

    def analysed(
        self, text: str, happened: int, zone: tzinfo | None = None
    ) -> tuple[list[str], Derived]:
        """A text's terms; and what the row keeps of a text that was said then."""
        found = self.terms(text)
        deadline.breathe()
        marks = flags(text)
        deadline.breathe()
        days = said(text, happened, zone or self.zone)
        return found, Derived(length_of(found), len(text), marks, *days)


def said(text: str, happened: int, zone: tzinfo = UTC) -> tuple[int, int]:
    """The days a text of that moment speaks of; none if a damaged row holds no moment."""
    try:
        return said_days(text, placed(moment(happened), zone))
    except OverflowError:
        return NO_TIME


def prefixed(partition: int, terms: Iterable[str]) -> list[str]:
    """Terms as they stand in the index: no two partitions share one."""
    return [f"{partition}x{term}" for term in terms]


class NotAnalysed(Exception):
    """Raised inside a transaction: a text has come that was not there before. Analyse, try again.

    `happened` is None where only its terms are asked for.
    """

    def __init__(self, text: str, happened: int | None) -> None:
        super().__init__()
        self.text, self.happened = text, happened


class Analysis:
    """The terms of texts and what rows keep of them, by text and moment.

    Texts that are replaced or removed are looked at too: their terms lead to their entries.
    """

    def __init__(self, words: Words) -> None:
        self._words = words
        self._terms: dict[str, list[str]] = {}
        self._derived: dict[tuple[str, int], Derived] = {}

    def prepare(self, batch: Batch, read: Read) -> None:
        """Analyse all that the batch will ask for, if nobody changes the memories meanwhile."""
        for action in batch.actions:
            if isinstance(action, Insert):
                happened_at = action.record.happened_at
                self.add(action.record.text, micros(happened_at), _zone(happened_at))
        changed = [one for one in batch.actions if _replaces(one)]
        old = {one.id: one for one in read([one.id for one in changed])} if changed else {}
        for one in changed:
            if one.id in old:
                self._prepare(one, old[one.id])

    def _prepare(self, action: Revise | Remove, old: MemoryRecord) -> None:
        self.add(old.text, None)
        if isinstance(action, Revise):
            happened = action.changes.get("happened_at", old.happened_at)
            self.add(action.changes.get("text", old.text), micros(happened), action.zone)

    def add(self, text: str, happened: int | None, zone: tzinfo | None = None) -> None:
        """Analyse a text that was said there; without a zone, where the store takes it to be."""
        deadline.breathe()
        if happened is None:
            self._terms[text] = self._words.terms(text)
        else:
            self._terms[text], self._derived[text, happened] = self._words.analysed(
                text, happened, zone
            )

    def terms(self, text: str) -> list[str]:
        """The terms of a text; `NotAnalysed` if it was not expected."""
        if text not in self._terms:
            raise NotAnalysed(text, None)
        return self._terms[text]

    def derived(self, text: str, happened: int) -> Derived:
        """What a row keeps of a text that was said then; `NotAnalysed` if it was not expected."""
        if (text, happened) not in self._derived:
            raise NotAnalysed(text, happened)
        return self._derived[text, happened]


def _zone(moment: datetime) -> tzinfo | None:
    return None if says_no_zone(moment) else own_zone(moment)


def _replaces(action: Action) -> TypeGuard[Revise | Remove]:
    if isinstance(action, Revise):
        return not _TELLING.isdisjoint(action.changes)
    return isinstance(action, Remove)
