"""Conformance suite of the Store port: subclass it, give it `store` and `reopen`."""

from __future__ import annotations

from remanence.testing.store_suites.archive import ArchiveSuite
from remanence.testing.store_suites.documents import DocumentSuite
from remanence.testing.store_suites.knowledge import KnowledgeSuite
from remanence.testing.store_suites.known import KnownSuite
from remanence.testing.store_suites.learnt import LearntSuite
from remanence.testing.store_suites.links import LinkSuite
from remanence.testing.store_suites.machine import StoreMachine
from remanence.testing.store_suites.making import Reopen
from remanence.testing.store_suites.recall import RecallSuite, VectorSuite
from remanence.testing.store_suites.scope import FilterSuite, ScopeSuite, SpanSuite
from remanence.testing.store_suites.shelves import ShelfSuite
from remanence.testing.store_suites.tiers import TiersSuite
from remanence.testing.store_suites.together import TogetherSuite
from remanence.testing.store_suites.upkeep import ErasureSuite, TendingSuite, UpkeepSuite

__all__ = ["Reopen", "StoreMachine", "StoreSuite"]


class StoreSuite(
    ArchiveSuite,
    ScopeSuite,
    FilterSuite,
    LinkSuite,
    SpanSuite,
    DocumentSuite,
    ShelfSuite,
    TogetherSuite,
    ErasureSuite,
    KnowledgeSuite,
    KnownSuite,
    LearntSuite,
    RecallSuite,
    VectorSuite,
    TiersSuite,
    UpkeepSuite,
    TendingSuite,
):
    """Everything the Store port promises.

    `store` gives an empty store; `reopen(store)` closes it and opens the same data again (a store
    that lives in memory gives itself back).
    """
