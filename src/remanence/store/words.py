"""The words of a text index: which terms a text has, and how no two partitions share one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import NamedTuple

from remanence import deadline
from remanence.store.rows import moment
from remanence.text.flags import flags
from remanence.text.said import NO_TIME, said_days
from remanence.text.words import TERMS_VERSION, terms
from remanence.zones import placed


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

    terms: Callable[[str], list[str]] = terms
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
        return found, Derived(len(found), len(text), marks, *days)


def said(text: str, happened: int, zone: tzinfo = UTC) -> tuple[int, int]:
    """The days a text of that moment speaks of; none if a damaged row holds no moment."""
    try:
        return said_days(text, placed(moment(happened), zone))
    except OverflowError:
        return NO_TIME


def prefixed(partition: int, terms: Iterable[str]) -> list[str]:
    """Terms as they stand in the index: no two partitions share one."""
    return [f"{partition}x{term}" for term in terms]
