"""All verbs of a memory: its own, and those of its layers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from remanence.api.parameters import ScopeArguments
from remanence.api.verb import F, Layer, Verb, verb
from remanence.api.verbs.caring import Caring
from remanence.api.verbs.linking import Linking
from remanence.api.verbs.recalling import Recalling
from remanence.api.verbs.remembering import Remembering
from remanence.model.snapshot import Snapshot

if TYPE_CHECKING:
    from remanence.api.verbs.blocks import Blocks
    from remanence.api.verbs.conversations import Conversations
    from remanence.api.verbs.erasures import Erasures
    from remanence.api.verbs.facts import Facts
    from remanence.api.verbs.graph import Graph
    from remanence.api.verbs.learn import Learn
    from remanence.api.verbs.schedules import Schedules
    from remanence.api.verbs.sessions import Sessions
    from remanence.api.verbs.sleep import Sleep
    from remanence.api.verbs.snapshots import Snapshots
    from remanence.api.verbs.tuning import Tuning
    from remanence.api.verbs.working import Working

L = TypeVar("L")


def layer(declared: Callable[[Any], L]) -> cached_property[L]:
    """A layer of a memory, whose module is read when it is first asked for."""
    name = declared.__name__

    @wraps(declared)
    def made(memory: Layer[Any]) -> Any:
        kind = getattr(import_module(f"{__package__}.{name}"), name.title())
        whole = memory._service
        return kind(None if whole is None else lambda: getattr(whole(), name), memory._call)

    return cached_property(made)


class Verbs(Remembering[F], Recalling[F], Linking[F], Caring[F]):
    """A memory: remember, recall, explain."""

    @layer
    def blocks(self) -> Blocks[F]:
        """Core memory: labelled blocks that stand in every prompt and are edited in place."""

    @layer
    def conversations(self) -> Conversations[F]:
        """Conversations: messages in order, the short-term window, summaries of the rest."""

    @layer
    def erasures(self) -> Erasures[F]:
        """Erasures: the signed receipts of what was erased."""

    @layer
    def facts(self) -> Facts[F]:
        """Facts: what memories say and callers state, over two axes of time."""

    @layer
    def graph(self) -> Graph[F]:
        """The graph: people, places and things, and how they are related."""

    @layer
    def learn(self) -> Learn[F]:
        """Learning: feedback replayed, a retrieval adapter trained, judged and rolled back."""

    @layer
    def schedules(self) -> Schedules[F]:
        """Schedules: when the memory sleeps by itself."""

    @layer
    def sessions(self) -> Sessions[F]:
        """Sessions: state that lives as long as it is used."""

    @layer
    def sleep(self) -> Sleep[F]:
        """Sleep: consolidate, forget, compress, learn; planned first, and undone in one call."""

    @layer
    def snapshots(self) -> Snapshots[F]:
        """Snapshots of a scope: taken, compared, restored."""

    @layer
    def tuning(self) -> Tuning[F]:
        """Tuning: a language model taught what the memory knows (the `train` extra)."""

    @layer
    def working(self) -> Working[F]:
        """Working memory: the state of a session's task, by key."""

    @verb(short_for="snapshots.take")
    def snapshot(
        self,
        name: str,
        *,
        all_users: bool = False,
        note: str | None = None,
        **where: Unpack[ScopeArguments],
    ) -> Snapshot:
        """Hold fast what a scope holds now; short for `snapshots.take`."""


def verbs_of(layer: type[Layer[Any]]) -> tuple[Verb[..., Any], ...]:
    """The verbs of a layer in the order they are declared in."""
    declared = (vars(each).values() for each in reversed(layer.__mro__))
    found = (each for values in declared for each in values if isinstance(each, Verb))
    return tuple(each for each in found if not each.short_for)


OWN = verbs_of(Verbs)
