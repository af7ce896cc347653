"""What a step of sleep is: a planner that decides, or a chore that loses nothing by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from remanence.model.sleep import Night, Plan, Step
from remanence.ports.store import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a chore did: counts of its own, and the memories it made, by id and version.

    `revised` are the versions that it gave to memories that stood before, with the verb of each.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    made: tuple[tuple[str, int], ...] = ()
    revised: tuple[tuple[str, int, str], ...] = ()


class Planner(Protocol):
    """A step that only decides. The engine does what it planned, in transactions, and can undo it.

    Deterministic: after a crash it plans again, and what is done already is not planned twice.
    A language model that fails or answers with nonsense is a `LanguageModelError`: nothing happens.
    """

    step: Step

    def plan(self, night: Night, progress: Progress | None = None) -> Plan:
        """What to do now; reads, and changes nothing."""


class Chore(Protocol):
    """A step that works through a layer or the store, in small transactions that may be repeated.

    It takes no memory out of recall. What it makes can be archived again, and what it revises has
    its former values in its history; anything else it does can be taken back by `undo`.
    """

    step: Step

    def foresee(self, night: Night) -> Plan:
        """What it would do, in `notes` and `looked_at`; reads, and changes nothing."""

    def run(self, night: Night, progress: Progress | None = None) -> Done:
        """Do it; calling again goes on where it stopped."""

    def undo(self, night: Night) -> int:
        """Take back what is not a memory, if that can be done; how much it was."""
