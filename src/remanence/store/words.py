"""The words of a text index: which terms a text has, and how no two partitions share one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from remanence.text.flags import flags
from remanence.text.words import TERMS_VERSION, terms


@dataclass(frozen=True, slots=True)
class Words:
    """How texts become terms. Another `version` makes the store rebuild its text index."""

    terms: Callable[[str], list[str]] = terms
    version: str = TERMS_VERSION

    def analysed(self, text: str) -> tuple[list[str], tuple[int, int, int]]:
        """A text's terms; and what its row keeps: how many, its characters, its flags."""
        found = self.terms(text)
        return found, (len(found), len(text), flags(text))


def prefixed(partition: int, terms: Iterable[str]) -> list[str]:
    """Terms as they stand in the index: no two partitions share one."""
    return [f"{partition}x{term}" for term in terms]
