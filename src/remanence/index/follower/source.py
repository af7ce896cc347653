"""What a follower reads of a store."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from remanence.index.bits.source import Source
from remanence.model.scope import Reach


class FollowedSource(Source, Protocol):
    """The feed and the vectors, who is at work on them, and all the partitions there are."""

    def watch(self, timeout_s: float) -> list[int]:
        """As in `RecallSource`."""

    def alone(self, name: str) -> AbstractContextManager[bool]:
        """As in `Upkeep`."""

    def tenants(self) -> list[str]:
        """As in `Upkeep`."""

    def partitions(self, reach: Reach) -> list[int]:
        """As in `RecallSource`."""
