"""The verbs that read: search, explain, get, list, count, compare."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Unpack

from remanence.api import answers
from remanence.api.parameters import (
    QUERY,
    SHARE,
    SIZE,
    TEXT,
    AllUsers,
    Filters,
    Id,
    IncludeShared,
    Limit,
    MinTrust,
    Offset,
    Query,
    ScopeArguments,
    Since,
    Until,
    choice,
)
from remanence.api.verb import F, Group, Layer, Says, Scoping, verb
from remanence.language.tokens import CountTokens
from remanence.model.context import Context
from remanence.model.hit import Hits, WhyNot
from remanence.model.memory import Kind, MemoryRecord, Revision, State

Kinds = Annotated[
    str | Iterable[str] | None,
    Says(
        "only these kinds: message, episodic, semantic, procedural, reflection or summary",
        flag="--kind",
        bounds=choice(Kind),
        wire=tuple[str, ...] | None,
    ),
]
States = Annotated[
    str | Iterable[str] | None,
    Says(
        "active (when left out), archived, superseded, quarantined or any",
        flag="--state",
        bounds=choice(State, "any"),
        wire=tuple[str, ...] | None,
    ),
]
Now = Annotated[datetime | None, Says('what "yesterday" or "last May" count from')]
MinConfidence = Annotated[
    float | None,
    Says("no memories unless it is so probable that they answer, 0 to 1", bounds=SHARE),
]
TimeWeight = Annotated[
    float | None, Says("how fast recency fades, per day", bounds={"minimum": 0, "maximum": 100})
]
Diversity = Annotated[float, Says("0 to 1: how much near repetitions give way", bounds=SHARE)]
ContextQuery = Annotated[
    str | None, Says("what is asked; else the last thing the user said", bounds=QUERY)
]
A = Annotated[str, Says("a text or an id", bounds=TEXT)]
B = Annotated[str, Says("another text or id", bounds=TEXT)]


class Chosen(ScopeArguments, total=False):
    """Which memories."""

    filters: Filters
    kinds: Kinds
    states: States
    since: Since
    until: Until
    include_shared: IncludeShared
    all_users: AllUsers


class Searched(Chosen, total=False):
    """Which memories a search is about, and as of when."""

    as_of: Annotated[datetime | None, Says("as if asked then: leave out what happened later")]
    known_at: Annotated[datetime | None, Says("leave out what was learned later")]
    now: Now
    min_score: Annotated[float | None, Says("leave out hits below this score")]
    min_confidence: MinConfidence
    min_trust: MinTrust
    time_weight: TimeWeight


class Recalling(Layer[F], group=Group.RECALL):
    """The verbs that read: search, explain, get, list, count, compare."""

    @verb(
        "POST /v1/search",
        writes=False,
        example={"query": "Where does Ana live?", "user_id": "alice", "limit": 5},
    )
    def search(
        self,
        query: Query,
        *,
        limit: Limit = 10,
        diversity: Diversity = 0.0,
        **where: Unpack[Searched],
    ) -> Hits:
        """Find the memories that answer a question.

        The memories that answer best, best first; `limit` of them whenever that many match.

        `since`/`until` bound when it happened; `as_of` leaves out what happened later. `known_at`
        asks the memory as it was: without what was learned later, each with the text, state and
        fields of then, which is what conditions are about too. `now` is what "last May" or
        "yesterday" count from. With `min_trust` it is as if nothing that is trusted less had been
        written; left out, it is what the setting says. `confidence` in the answer is how probable
        it is that the first hits answer the question; below `min_confidence` there are none.
        """

    @verb(
        "POST /v1/context",
        writes=False,
        example={"query": "Where does Ana live?", "user_id": "alice", "max_tokens": 800},
    )
    def context(
        self,
        query: ContextQuery = None,
        *,
        max_tokens: Annotated[int, Says("so many tokens at most", "-n", bounds=SIZE)] = 1500,
        now: Now = None,
        include_shared: IncludeShared = False,
        min_trust: MinTrust = None,
        min_confidence: MinConfidence = None,
        recall: Annotated[bool, Says("search the memories too")] = True,
        tokens: CountTokens | None = None,
        **where: Unpack[ScopeArguments],
    ) -> Context:
        """Put together what a prompt should hold.

        What goes into the prompt: blocks, state, summary, recalled memories and recent turns.

        Never more than `max_tokens`, counted by `tokens` (an estimate that leans upwards when left
        out). Without a query, the last thing the user said in the session is what is asked. What
        is trusted less than by half is marked, and what is trusted less than `min_trust` (left
        out, the setting) is as if it were not there. Where what a search finds is less probably
        an answer than `min_confidence`, no memories are recalled; all else stays. Left out, none
        are below 0.05, and below 0.15 those that fit into a tenth of the budget.
        """

    @verb("POST /v1/search/why-not", writes=False)
    def why_not(
        self,
        query: Query,
        id: Id,
        *,
        limit: Limit = 10,
        diversity: Diversity = 0.0,
        **where: Unpack[Searched],
    ) -> WhyNot:
        """Say why a search does not return a memory.

        Which stage of `search(query, **arguments)` dropped this memory, and why.
        """

    @verb("GET /v1/memories/{id}")
    def get(self, id: Id) -> MemoryRecord:
        """Show a memory, in whatever state it is."""

    @verb(
        "POST /v1/memories/find",
        writes=False,
        command="list",
        example={"user_id": "alice", "kinds": ["episodic"], "limit": 20},
    )
    def find(
        self,
        *,
        limit: Limit = 100,
        offset: Offset = 0,
        newest_first: Annotated[bool, Says("newest first, or oldest first")] = True,
        **where: Unpack[Chosen],
    ) -> list[MemoryRecord]:
        """List memories by time, kind, metadata; no ranking.

        Memories that satisfy conditions, by when they happened, ties by insertion; no ranking.

        Each page is of its own moment: what others add at the front moves the later ones by as
        many, so one may come twice. With `newest_first=False` new memories come last, and pages
        stay as they are while nobody removes or backdates.
        """

    @verb("POST /v1/memories/count", writes=False, example={"user_id": "alice"})
    def count(self, **where: Unpack[Chosen]) -> int:
        """Count memories."""

    @verb("GET /v1/memories/{id}/history", answer=answers.History)
    def history(self, id: Id) -> list[Revision]:
        """Show every change of a memory, oldest first, with the values it had before."""

    @verb("GET /v1/memories/{id}/sources")
    def sources(self, id: Id) -> list[MemoryRecord]:
        """Show what a memory was made of, or stands for since it was merged, by time."""

    @verb(
        "POST /v1/similarity",
        writes=False,
        scope=Scoping.BY_ID,
        answer=answers.Similarity,
        example={"a": "Ana moved to Lisbon", "b": "Ana lives in Portugal now"},
    )
    def similarity(self, a: A, b: B) -> float:
        """Say how close two texts or memories are in meaning.

        The cosine of two texts, or of two memories given by id.
        """
