"""The verbs of a memory itself, and of its layers: all that one has."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Unpack

from remanence.api import answers
from remanence.api.parameters import QUERY, SHARE, TEXT, Id, Limit, Overwrite, ScopeArguments
from remanence.api.verb import F, Group, Holds, Layer, Says, Scoping, Verb, for_long, verb
from remanence.api.verbs.recalling import Recalling
from remanence.api.verbs.remembering import Remembering
from remanence.model.hit import Hit
from remanence.model.memory import Association, Related
from remanence.model.progress import Progress
from remanence.model.snapshot import Snapshot
from remanence.model.stats import Finding, Stats

if TYPE_CHECKING:
    from remanence.api.verbs.blocks import Blocks
    from remanence.api.verbs.conversations import Conversations
    from remanence.api.verbs.facts import Facts
    from remanence.api.verbs.graph import Graph
    from remanence.api.verbs.learn import Learn, Tuning
    from remanence.api.verbs.sessions import Sessions, Working
    from remanence.api.verbs.sleep import Schedules, Sleep
    from remanence.api.verbs.snapshots import Erasures, Snapshots

A = Annotated[str, Says("the id of the memory the link starts at", bounds=TEXT)]
B = Annotated[str, Says("the id of the memory it leads to", bounds=TEXT)]
AssociateType = Annotated[str, Says("what kind of link it is", "-t", bounds=TEXT, argument=False)]
Strength = Annotated[float, Says("how strong it is, 0 to 1", bounds=SHARE)]
LinkType = Annotated[str | None, Says("only links of this type", "-t", bounds=TEXT, argument=False)]
Direction = Annotated[str, Says("out, in or both", bounds={"enum": ["out", "in", "both"]})]
HitOrId = Annotated[Hit | str, Says("the memory's id", wire=str, name="id")]
Useful = Annotated[bool, Says("it helped, or it did not")]
FeedbackQuery = Annotated[str | None, Says("the question it was returned for", bounds=QUERY)]


class Linking(Layer[F], group=Group.LINK):
    """The verbs that link memories, and learn from use."""

    @verb("POST /v1/associations", scope=Scoping.BY_ID, holds=Holds.WRITTEN)
    def associate(
        self, a: A, b: B, type: AssociateType = "related_to", *, strength: Strength = 1.0
    ) -> Association:
        """Link one memory to another, or give that link a new strength."""

    @verb("DELETE /v1/associations", scope=Scoping.BY_ID)
    def dissociate(self, a: A, b: B, type: LinkType = None) -> int:
        """Remove links between two memories."""

    @verb("GET /v1/memories/{id}/related", answer=answers.Neighbours)
    def related(
        self, id: Id, *, type: LinkType = None, direction: Direction = "both", limit: Limit = 100
    ) -> list[Related]:
        """Show the active memories linked with one, strongest first.

        Memories that served one prompt together are linked as `used_together`: each time makes
        the link stronger, and it fades by itself.
        """

    @verb("POST /v1/memories/{id}/feedback", answer=answers.FeedbackGiven)
    def feedback(self, hit_or_id: HitOrId, *, useful: Useful, query: FeedbackQuery = None) -> None:
        """Say whether a memory helped; it is kept for learning."""


Repair = Annotated[bool, Says("mend what can be mended")]


class Caring(Layer[F], group=Group.CARE):
    """The verbs that look after a store: figures, vectors, checks, copies."""

    @verb("GET /v1/stats", scope=Scoping.TENANT, holds=Holds.FIGURES)
    def stats(self) -> Stats:
        """Show counts, growth per day, and sizes on disk and in memory against the budget."""

    @verb("POST /v1/admin/doctor", scope=Scoping.STORE, answer=answers.Examination, lasts=for_long)
    def doctor(self, *, repair: Repair = False) -> list[Finding]:
        """Check the store against itself, and the embedder."""

    @verb("POST /v1/admin/reembed", scope=Scoping.TENANT, governs=True)
    def reembed(self, progress: Progress | None = None) -> int:
        """Give every memory vectors of the present embedder, while searches go on.

        Stop it at any time: the next call goes on where this one stopped. When all is done, the
        vectors of former embedders are removed.
        """

    @verb("POST /v1/admin/reindex", scope=Scoping.STORE)
    def reindex(self, progress: Progress | None = None) -> int:
        """Make the vector index anew from the store, while searches go on.

        An index in this process is read again by the next search, and 0 comes back.
        """

    @verb("POST /v1/admin/compact", scope=Scoping.STORE, answer=answers.FreedSpace, lasts=for_long)
    def compact(self) -> int:
        """Rewrite the store, so that no byte of what was erased stays in it.

        Writers wait meanwhile. Gives the bytes that came free.
        """

    @verb(
        local="it writes a file; `rem backup` makes one where the server runs",
        scope=Scoping.STORE,
        answer=answers.Copied,
    )
    def backup(
        self,
        target: Annotated[str | Path, Says("the file to write", bounds=TEXT, wire=Path)],
        progress: Progress | None = None,
        *,
        overwrite: Overwrite = False,
    ) -> Path:
        """Copy the whole store into one file while it is in use.

        A file that is there already is kept unless `overwrite`; the database itself always is.
        """


L = TypeVar("L")
# Layers that stand in the module of another.
BESIDE = {"working": "sessions", "schedules": "sleep", "tuning": "learn", "erasures": "snapshots"}


def layer(declared: Callable[[Any], L]) -> cached_property[L]:
    """A layer of a memory, whose module is read when it is first asked for."""
    name = declared.__name__

    @wraps(declared)
    def made(memory: Layer[Any]) -> Any:
        kind = getattr(import_module(f"{__package__}.{BESIDE.get(name, name)}"), name.title())
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
