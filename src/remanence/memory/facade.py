"""The memory: remember, recall, explain. The public face of the library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from inspect import signature
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from remanence.clock import Clock
from remanence.context.contexts import Contexts
from remanence.errors import Conflict, InvalidInput
from remanence.knowledge.facts import Facts
from remanence.knowledge.graph import Graph
from remanence.layers.blocks import Blocks
from remanence.layers.cleanup import Cleanup, believed, cleanup_filter, days_before
from remanence.layers.conversation import Conversations
from remanence.layers.erasing import erase_copies
from remanence.layers.erasure import Eraser, Erasures
from remanence.layers.purging import Purger
from remanence.layers.sessions import Sessions
from remanence.layers.snapshots import Snapshots
from remanence.layers.uses import LEADING, faded
from remanence.layers.working import Working
from remanence.learn.learn import Learn
from remanence.learn.lora import Tuning
from remanence.memory.nights import background_of, sleep_of
from remanence.memory.opened import OpenMemory
from remanence.model import accept
from remanence.model.context import Context
from remanence.model.document import Shelf
from remanence.model.embedding import FloatArray
from remanence.model.erasure import Asked, By, Forgotten, asked_for
from remanence.model.filter import Filter, parse_filter
from remanence.model.hit import Hit, Hits, WhyNot
from remanence.model.memory import (
    Association,
    Kind,
    MemoryRecord,
    Related,
    Revision,
    State,
    unit_interval,
)
from remanence.model.purge import Blame, Purged
from remanence.model.query import MAX_QUERY, Query, check_limit
from remanence.model.scope import Reach
from remanence.model.snapshot import Snapshot, SnapshotDiff
from remanence.recall.ask import query_of, where_of
from remanence.recall.explain import why_not
from remanence.remember.archiving import put_away
from remanence.remember.draft import (
    changes_of,
    fields_given,
    fields_of,
    provenance,
    record_of,
    same,
)
from remanence.remember.lineage import MERGED_INTO, SUMMARISES, merged, sheltering
from remanence.remember.messages import message_of
from remanence.remember.unmerging import as_active, hidden, resting, with_return
from remanence.sleep.schedule import Schedules
from remanence.sleep.sleep import Sleep
from remanence.text.dates import may_hold_time
from remanence.text.tokens import CountTokens
from remanence.wiring.erasures import make_eraser
from remanence.zones import placed

UPDATE_TRIES = 5
TICK = timedelta(microseconds=1)

# The layers by the names they have on a memory; their verbs are the memory's too.
LAYERS: Mapping[str, type] = {
    "blocks": Blocks,
    "conversations": Conversations,
    "erasures": Erasures,
    "facts": Facts,
    "graph": Graph,
    "learn": Learn,
    "schedules": Schedules,
    "sessions": Sessions,
    "sleep": Sleep,
    "snapshots": Snapshots,
    "tuning": Tuning,
    "working": Working,
}


class Memory(OpenMemory):
    """A long-term memory in one file (or in a server's database), behind one tenant's wall.

    >>> with Memory(":memory:") as memory:
    ...     _ = memory.add("Ana moved to Lisbon", user_id="alice")
    ...     memory.search("where does Ana live?", user_id="alice")[0].memory.text
    'Ana moved to Lisbon'
    """

    def __init__(
        self,
        database: str | Path | None = None,
        *,
        tenant: str | None = None,
        config: str | Path | None = None,
        clock: Clock | None = None,
        ids: Callable[[], UUID] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(database, tenant=tenant, config=config, clock=clock, ids=ids, **settings)
        if self.settings.background:
            self._ending.background = background_of(self, self._clock)
            self._ending.background.start()

    # -- layers

    @property
    def blocks(self) -> Blocks:
        """Core memory: labelled blocks that stand in every prompt and are edited in place."""
        return Blocks(self.parts.store, self.tenant, self._clock, self.settings.block_limits)

    @property
    def conversations(self) -> Conversations:
        """Conversations: messages in order, the short-term window, summaries of the rest."""
        parts = self.parts
        return Conversations(
            parts.store,
            parts.writer,
            self.search,
            self.tenant,
            self._clock,
            self._new_id,
            self.settings.max_text,
            self.settings.window_messages,
            self.settings.window_tokens,
            parts.model,
            self._said,
            self._unsaid,
            erase=lambda told: self._eraser.erase_these(
                told, Asked(by=By.FILTERS, filters=("session_id",))
            ),
            zones=parts.zones,
            min_trust=self.settings.min_trust,
        )

    @property
    def facts(self) -> Facts:
        """Facts: what memories say and callers state, over two axes of time."""
        parts = self.parts
        return Facts(
            parts.store,
            self.tenant,
            self._clock,
            self._new_id,
            self.settings.one_at_a_time,
            min_trust=self.settings.min_trust,
            writer=parts.writer,
            learner=parts.learner,
            model=parts.model,
        )

    @property
    def graph(self) -> Graph:
        """The graph: people, places and things, and how they are related."""
        store = self.parts.store
        if self._graph is None:
            single = self.settings.one_at_a_time
            self._graph = Graph(
                store,
                self.tenant,
                self._clock,
                self._new_id,
                self._vectors,
                single,
                self.settings.min_trust,
            )
        return self._graph

    @property
    def erasures(self) -> Erasures:
        """Erasures: the signed receipts of what was erased."""
        return Erasures(self.parts.store, self.tenant)

    @property
    def learn(self) -> Learn:
        """Learning: feedback replayed, a retrieval adapter trained, judged and rolled back."""
        parts, noted = self.parts, self._uses.note_useful
        return Learn(
            parts.store, parts.recall, parts.embedder, self.tenant, self._clock, noted=noted
        )

    @property
    def tuning(self) -> Tuning:
        """Tuning: a language model taught what the memory knows (the `train` extra)."""
        return Tuning(self.parts.store, self.tenant, self.facts, self._clock)

    @property
    def schedules(self) -> Schedules:
        """Schedules: when the memory sleeps by itself."""
        return Schedules(self.parts.store, self.tenant, self._clock)

    @property
    def sleep(self) -> Sleep:
        """Sleep: consolidate, forget, compress, learn; planned first, and undone in one call."""
        self.parts  # noqa: B018 - a closed memory says so
        if self._sleep is None:
            self._sleep = sleep_of(self, self._clock, self._new_id, self._believed_now)
        return self._sleep

    @property
    def sessions(self) -> Sessions:
        """Sessions: state that lives as long as it is used."""
        parts, ttl_s = self.parts, self.settings.session_ttl_s
        return Sessions(
            parts.store,
            self.tenant,
            self._clock,
            ttl_s,
            parts.sessions,
            self._recent,
            new_id=self._new_id,
            erased=lambda address: erase_copies(parts.store, self.tenant, [address]),
        )

    @property
    def working(self) -> Working:
        """Working memory: the state of a session's task, by key."""
        return Working(
            self.parts.store, self.tenant, self._clock, self.settings.session_ttl_s, self.add
        )

    @property
    def snapshots(self) -> Snapshots:
        """Snapshots of a scope: taken, compared, restored."""
        parts = self.parts
        return Snapshots(parts.store, parts.writer, self.tenant, self._clock, self._put_back)

    def snapshot(
        self,
        name: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        all_users: bool = False,
        note: str | None = None,
    ) -> Snapshot:
        """Hold fast what a scope holds now; short for `snapshots.take`."""
        given = {n: v for n, v in locals().items() if n not in ("self", "name")}
        return self.snapshots.take(name, **given)

    # -- remember

    def add(
        self,
        text: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        kind: str = Kind.EPISODIC,
        importance: float | None = None,
        happened_at: datetime | None = None,
        source: str | None = None,
        actor: str | None = None,
        origin: str | None = None,
        trust: float = 1.0,
        metadata: Mapping[str, Any] | None = None,
        pinned: bool = False,
        speaker: str | None = None,
        role: str | None = None,
        external_id: str | None = None,
        quarantined: bool = False,
        idempotency_key: str | None = None,
    ) -> MemoryRecord:
        """Remember a text. It is durable when this returns.

        Importance is computed when not given; `happened_at` is now when not given. One that is
        `quarantined` is kept out of all recall until `update(id, state="active")` lets it in. With
        an `idempotency_key`, a repeated call gives the first call's record and writes nothing.
        """
        fields = {n: v for n, v in locals().items() if n not in ("self", "idempotency_key")}
        if quarantined is False:
            del fields["quarantined"]
        return self._insert([fields], idempotency_key)[0]

    def add_many(
        self,
        memories: Iterable[str | Mapping[str, Any]],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> list[MemoryRecord]:
        """Remember several, together or not at all: texts, or mappings of `add`'s arguments."""
        shared = {"user_id": user_id, "agent_id": agent_id, "session_id": session_id}
        items = [fields_given(m, n) for n, m in enumerate(accept.several("memories", memories))]
        return self._insert([shared | item for item in items], idempotency_key)

    def add_messages(
        self,
        messages: Iterable[Mapping[str, Any]],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        source: str | None = None,
        actor: str | None = None,
        trust: float = 1.0,
        quarantined: bool = False,
        idempotency_key: str | None = None,
    ) -> list[MemoryRecord]:
        """Remember the turns of a conversation, in order, together or not at all.

        Each is {"role", "content"} and optionally "name", "at", "id", "metadata". The id is kept
        as `external_id`. Turns without a text, such as bare tool calls, are passed over.
        """
        shared: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id}
        shared |= {"session_id": session_id, "source": source, "trust": trust}
        shared |= provenance(actor, quarantined)
        given = accept.several("messages", messages)
        read = [message_of(message, n) for n, message in enumerate(given)]
        said = [shared | fields_of(message) for message in read if message is not None]
        if not said:  # nothing to keep, but what is wrong is said all the same
            self._drafted(shared | {"text": "nothing"}, self._clock.now())
        return self._insert(said, idempotency_key)

    def update(
        self, id: str, *, actor: str | None = None, reason: str | None = None, **changes: Any
    ) -> MemoryRecord:
        """Change fields of a memory (text, kind, importance, metadata, …); the old values are kept.

        `metadata` is replaced as a whole. Changing to what it already is does nothing.
        """
        wanted = changes_of(changes, self.settings.max_text)
        by = {"actor": accept.label_of("actor", actor), "reason": accept.label_of("reason", reason)}
        for _ in range(UPDATE_TRIES - 1):
            try:
                return self._updated(id, wanted, **by)
            except Conflict:
                continue
        return self._updated(id, wanted, **by)

    def pin(self, id: str, pinned: bool = True) -> MemoryRecord:
        """Pin a memory, so that no rule ever forgets it; or unpin it."""
        return self.update(id, pinned=pinned)

    def forget(
        self,
        id: str | Iterable[str] | None = None,
        *,
        filters: Mapping[str, Any] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        all_users: bool = False,
        erase: bool = False,
        dry_run: bool = False,
        actor: str | None = None,
        reason: str | None = None,
    ) -> Forgotten:
        """Forget memories by id, or those a filter finds in a scope; gives what is forgotten.

        Forgotten memories are archived: no search finds them and `update(id, state="active")`
        brings them back. With `erase=True` they are removed for good, with all that was made of
        them; where only a scope is given, its blocks, sessions, working memory, snapshots and
        facts go with them. The `receipt` of what comes back tells of it. What was merged into
        them goes along where ids are given; else it goes only if it is in the scope and satisfies
        the filters itself, and is active again if not.
        Give ids, or else filters, a user, an agent, a session or `all_users=True`.
        """
        if id is not None and (filters or user_id or agent_id or session_id or all_users):
            raise InvalidInput("Give ids, or a scope and filters, not both.")
        erase, dry_run = accept.truth_of("erase", erase), accept.truth_of("dry_run", dry_run)
        actor, reason = accept.label_of("actor", actor), accept.label_of("reason", reason)
        reach = self._reach(user_id, agent_id, session_id, all_users=all_users)
        ids = None if id is None else [id] if isinstance(id, str) else accept.several("id", id)

        def look() -> list[MemoryRecord]:
            return self._matching(reach, filters, erase) if ids is None else self._all_of(ids)

        if not dry_run and erase:
            return self._eraser.erase(look, asked_for(reach, ids=ids is not None, filters=filters))
        records = look()
        if not dry_run:
            back = put_away(
                self.parts.store,
                self.parts.writer,
                self._clock,
                records,
                alone=id is None,
                actor=actor,
                reason=reason,
            )
            self.sessions.drop([*records, *back])
        return Forgotten(records)

    def cleanup(
        self,
        *,
        max_age_days: float = 30,
        min_importance: float = 0.3,
        user_id: str | None = None,
        all_users: bool = False,
        dry_run: bool = True,
        now: datetime | None = None,
    ) -> Cleanup:
        """Archive what is older than `max_age_days` and less important than `min_importance`.

        Pinned memories stay, those with source "user", what one of these was merged into, and
        what was made of other memories: summaries and all that sleep derived. A clock that stands
        years after the last write is not believed: pass `now` to say that it is right.
        """
        reach = self._reach(user_id, all_users=all_users)
        dry_run = accept.truth_of("dry_run", dry_run)
        moment = self._believed_now() if now is None else accept.moment_of("now", now)
        where = cleanup_filter(days_before(moment, max_age_days), min_importance)
        found = self._everything(reach, where)
        kept = sheltering(self.parts.store, self.tenant, [record.id for record in found])
        found = [record for record in found if record.id not in kept]
        if not dry_run:
            found = self.parts.writer.change_all(
                found,
                {"state": State.ARCHIVED},
                verb="cleaned up",
                unchanged=True,
                leave_summaries=True,
            )
            self.sessions.drop(found)
        return Cleanup(dry_run=dry_run, memories=tuple(found))

    def purge(
        self,
        *,
        source: str | None = None,
        actor: str | None = None,
        origin: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        user_id: str | None = None,
        all_users: bool = True,
        erase: bool = False,
        dry_run: bool = False,
        reason: str | None = None,
    ) -> Purged:
        """Take back all that a source, actor, origin or span of time brought in, of every user.

        Memories learned so go into quarantine, or are erased with a receipt. What the actor (or
        anybody, where only a span is given) changed, forgot or edited in memories and blocks of
        others is as it was before, unless somebody else changed it since: that is `kept`. What
        followed from it, such as merges and summaries, is undone too. After an interruption, call
        it again. Give a source, actor, origin or `since`; all that is given must hold.
        """
        blame = Blame(source=source, actor=actor, origin=origin, since=since, until=until)
        everyone = accept.truth_of("all_users", all_users) and user_id is None
        purger = Purger(
            self.parts.store,
            self.parts.writer,
            self._clock,
            erase=self._eraser.erase,
            unlearn=self._unlearn,
            dropped=self.sessions.drop,
        )
        return purger.purge(
            self._reach(user_id, all_users=everyone),
            blame,
            erase=accept.truth_of("erase", erase),
            dry_run=accept.truth_of("dry_run", dry_run),
            reason=accept.label_of("reason", reason),
        )

    # -- recall

    def search(
        self,
        query: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        limit: int = 10,
        kinds: str | Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        now: datetime | None = None,
        filters: Mapping[str, Any] | None = None,
        states: str | Iterable[str] | None = None,
        min_score: float | None = None,
        min_trust: float | None = None,
        time_weight: float | None = None,
        diversity: float = 0.0,
        include_shared: bool = False,
        all_users: bool = False,
    ) -> Hits:
        """The memories that answer best, best first; `limit` of them whenever that many match.

        `since`/`until` bound when it happened; `as_of` leaves out what happened later. `known_at`
        asks the memory as it was: without what was learned later, each with the text, state and
        fields of then, which is what conditions are about too. `now` is what "last May" or
        "yesterday" count from. With `min_trust` it is as if nothing that is trusted less had been
        written; left out, it is what the setting says.
        """
        arguments = {n: v for n, v in locals().items() if n not in ("self", "query")}
        hits = self._hits(query, **arguments)
        self._uses.note((hit.memory.id for hit in hits), self._clock.now())
        return hits

    def context(
        self,
        query: str | None = None,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        max_tokens: int = 1500,
        now: datetime | None = None,
        include_shared: bool = False,
        min_trust: float | None = None,
        recall: bool = True,
        tokens: CountTokens | None = None,
    ) -> Context:
        """What goes into the prompt: blocks, state, summary, recalled memories and recent turns.

        Never more than `max_tokens`, counted by `tokens` (an estimate that leans upwards when left
        out). Without a query, the last thing the user said in the session is what is asked. What
        is trusted less than by half is marked, and what is trusted less than `min_trust` (left
        out, the setting) is as if it were not there.
        """
        given = {n: v for n, v in locals().items() if n not in ("self", "query")}
        given["min_trust"] = self._least(min_trust)
        best: list[str] = []

        def hits(asked: str, **arguments: Any) -> Hits:
            found = self._hits(asked, **arguments)
            best[:] = [hit.memory.id for hit in found[:LEADING]]
            return found

        made = Contexts(
            self.parts.store,
            self.parts.recall.views,
            hits,
            self.tenant,
            blocks=self.blocks,
            sessions=self.sessions,
            working=self.working,
            conversations=self.conversations,
            facts=self.facts,
            clock=self._clock,
            zones=self.parts.zones,
        ).context(query, **given)
        now = self._clock.now()
        self._uses.note((item.id for item in made.part("recalled").items), now)
        self._uses.note_together([id for id in best if id in made.ids], now)
        return made

    def why_not(self, query: str, id: str, **arguments: Any) -> WhyNot:
        """Which stage of `search(query, **arguments)` dropped this memory, and why."""
        unknown = sorted(set(arguments) - set(signature(self.search).parameters))
        if unknown:
            raise InvalidInput(f"search has no argument {unknown[0]!r}.")
        return why_not(
            self.parts.recall, self.parts.store, self._query(query, arguments), accept.id_of(id)
        )

    def get(self, id: str) -> MemoryRecord:
        """The memory with this id, in whatever state it is; `NotFound` if it is not here."""
        found = self.parts.store.get(self.tenant, [accept.id_of(id)])
        if not found:
            raise accept.missing(id)
        return found[0]

    def find(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        kinds: str | Iterable[str] | None = None,
        states: str | Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 100,
        offset: int = 0,
        newest_first: bool = True,
        include_shared: bool = False,
        all_users: bool = False,
    ) -> list[MemoryRecord]:
        """Memories that satisfy conditions, by when they happened, ties by insertion; no ranking.

        Each page is of its own moment: what others add at the front moves the later ones by as
        many, so one may come twice. With `newest_first=False` new memories come last, and pages
        stay as they are while nobody removes or backdates.
        """
        check_limit(limit)
        if isinstance(offset, bool) or not isinstance(offset, int) or not 0 <= offset < 2**63:
            raise InvalidInput(f"offset must be a whole number, 0 or more; got {offset!r}.")
        reach = self._reach(user_id, agent_id, session_id, include_shared, all_users)
        where = where_of(filters, kinds, states, since, until)
        return self.parts.store.find(
            reach, where, limit=limit, offset=offset, newest_first=newest_first
        )

    def count(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        kinds: str | Iterable[str] | None = None,
        states: str | Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        include_shared: bool = False,
        all_users: bool = False,
    ) -> int:
        """How many memories satisfy the conditions."""
        reach = self._reach(user_id, agent_id, session_id, include_shared, all_users)
        return self.parts.store.count(reach, where_of(filters, kinds, states, since, until))

    def history(self, id: str) -> list[Revision]:
        """Every change of a memory, oldest first, with the values it had before."""
        return self.parts.store.history(self.tenant, accept.id_of(id))

    def sources(self, id: str) -> list[MemoryRecord]:
        """What a memory was made of, or stands for since it was merged, in any state; by time."""
        store, own = self.parts.store, self.get(id).id
        made_of = store.get(self.tenant, store.pointed(self.tenant, [own], SUMMARISES))
        found = [*merged(store, self.tenant, [own]), *made_of]
        return sorted(found, key=lambda record: (record.happened_at, record.id))

    def similarity(self, a: str, b: str) -> float:
        """The cosine of two texts, or of two memories given by id."""
        texts = [self._text_of(side) for side in (a, b)]
        first, second = self.parts.embedder.embed(texts)
        return float(np.dot(first.vector, second.vector))

    # -- calendars

    def timezone(self, *, user_id: str | None = None) -> str:
        """The time zone in which the user's days, and words like "yesterday", are meant."""
        named = self.parts.zones.named(self.tenant, self._reach(user_id).user_id)
        return named or self.settings.timezone

    def set_timezone(self, timezone: str | None = None, *, user_id: str) -> str:
        """Give a user a zone of their own (Europe/Lisbon, +05:45), or None to take it away.

        Words like "yesterday" count by it in questions and in what is stored from then on, and so
        do days, weeks and months. A `now` or `happened_at` that carries a zone goes by that.
        """
        reach = self._reach(accept.text_of("user_id", user_id, 1_024))
        self.parts.zones.give(self.tenant, str(reach.user_id), timezone, self._clock.now())
        return self.timezone(user_id=user_id)

    # -- associations and feedback

    def associate(
        self, a: str, b: str, type: str = "related_to", *, strength: float = 1.0
    ) -> Association:
        """Link memory `a` to memory `b`; again, to give the link of that type a new strength."""
        source, target = accept.id_of(a), accept.id_of(b)
        if source == target:
            raise InvalidInput("A memory cannot be associated with itself.")
        link = Association(
            source=source,
            target=target,
            type=accept.text_of("type", type, 128),
            strength=unit_interval("strength", strength),
            created_at=self._clock.now(),
        )
        return self.parts.store.associate(self.tenant, link)

    def dissociate(self, a: str, b: str, type: str | None = None) -> int:
        """Remove the links from `a` to `b` (of one type); how many there were."""
        return self.parts.store.dissociate(
            self.tenant, accept.id_of(a), accept.id_of(b), accept.label_of("type", type)
        )

    def related(
        self, id: str, *, type: str | None = None, direction: str = "both", limit: int = 100
    ) -> list[Related]:
        """Active memories linked with this one, strongest first; direction out, in or both.

        Memories that served one prompt together are linked as `used_together`: each time makes
        the link stronger, and it fades by itself.
        """
        check_limit(limit)
        if direction not in ("out", "in", "both"):
            raise InvalidInput(f"direction must be out, in or both; got {str(direction)[:40]!r}.")
        wanted = accept.label_of("type", type)
        found = self.parts.store.related(
            self.tenant, accept.id_of(id), type=wanted, direction=direction, limit=limit
        )
        return faded(found, self._clock.now())

    def feedback(self, hit_or_id: Hit | str, *, useful: bool, query: str | None = None) -> None:
        """Say whether a memory helped; it is kept for learning."""
        given = hit_or_id.memory.id if isinstance(hit_or_id, Hit) else hit_or_id
        id, now = accept.id_of(given), self._clock.now()
        asked = None if query is None else accept.text_of("query", query, MAX_QUERY)
        self.parts.store.note_feedback(
            self.tenant, id, useful=accept.truth_of("useful", useful), query=asked, at=now
        )
        if useful and asked is not None:
            self._uses.note_useful(id, asked, now)

    # -- inside

    @property
    def _eraser(self) -> Eraser:
        return make_eraser(
            self.parts,
            self.settings,
            self.sessions,
            self.tenant,
            self._clock,
            self._new_id,
            self._unlearn,
        )

    def _unlearn(self, ids: Sequence[str]) -> Mapping[str, int]:
        """Whatever learned from these memories forgets it."""
        return {**self.learn.unlearn(ids), **self.tuning.unlearn(ids)}

    def _insert(self, given: Sequence[Mapping[str, Any]], key: str | None) -> list[MemoryRecord]:
        self.parts  # noqa: B018 - a closed memory says so before anything is checked
        now, last = self._clock.now(), len(given) - 1
        # What comes first in a batch was said first.
        records = [self._drafted(one, now - (last - n) * TICK) for n, one in enumerate(given)]
        self._uses.write_if_due()
        return self.parts.writer.insert(self.tenant, records, given, key) if records else []

    def _drafted(self, given: Mapping[str, Any], now: datetime) -> MemoryRecord:
        own: dict[str, Any] = {"tenant": self.tenant, "id": str(self._new_id()), "now": now}
        return record_of(given, max_text=self.settings.max_text, **own)

    def _updated(
        self, id: str, wanted: Mapping[str, Any], *, actor: str | None, reason: str | None
    ) -> MemoryRecord:
        before, store = self.get(id), self.parts.store
        wanted = with_return(store, before, wanted)
        new = {n: value for n, value in wanted.items() if not same(value, getattr(before, n))}
        if not new:
            return before
        after = self.parts.writer.revise(
            before, replace(before, **new), new, verb="updated", actor=actor, reason=reason
        )
        if before.superseded_by is not None and after.superseded_by != before.superseded_by:
            store.dissociate(self.tenant, before.id, before.superseded_by, MERGED_INTO)
        self.sessions.drop([before])
        return after

    def _said(self, messages: Sequence[MemoryRecord]) -> None:
        """Messages of one conversation were stored: its session has them at hand."""
        first = messages[0]
        if first.session_id is not None:
            self.sessions.push(first.session_id, messages, user_id=first.user_id)

    def _unsaid(self, messages: Sequence[MemoryRecord], erased: bool) -> None:
        if erased:
            self.parts.clean_index(messages)
        self.sessions.drop(messages)

    def _put_back(self, diff: SnapshotDiff) -> None:
        """A snapshot was restored: no copy of a session or its messages is older than that."""
        changed = [one for one in diff.sessions if one.shelf is Shelf.SESSION]
        self.sessions.renew((one.name, one.user_id) for one in changed)
        ids = [one.id for one in (*diff.added, *diff.removed, *diff.changed)]
        self.sessions.drop(self.parts.store.get(self.tenant, ids))

    def _recent(
        self, session_id: str, *, user_id: str | None = None, limit: int = 100
    ) -> list[MemoryRecord]:
        """The last messages of a session, oldest first."""
        found = self.find(session_id=session_id, user_id=user_id, kinds=Kind.MESSAGE, limit=limit)
        return found[::-1]

    def _hits(self, query: str, **arguments: Any) -> Hits:
        """What a search finds, without counting it as a use."""
        live = arguments.get("now") is None
        return self.parts.recall.search(self._query(query, arguments), live=live)

    def _query(self, text: str, arguments: Mapping[str, Any]) -> Query:
        user_id = arguments.get("user_id")
        given = {**arguments, "min_trust": self._least(arguments.get("min_trust"))}
        asked = query_of(text, tenant=self.tenant, clock_now=self._clock.now(), **given)
        zone = self.settings.zone
        if isinstance(user_id, str) and may_hold_time(text):  # else its zone is of no interest
            zone = self.parts.zones.of(self.tenant, user_id)
        return asked if zone is UTC else replace(asked, now=placed(asked.now, zone))

    def _least(self, min_trust: float | None) -> float:
        return self.settings.min_trust if min_trust is None else min_trust

    def _believed_now(self) -> datetime:
        everyone = self._reach(all_users=True)
        return believed(self._clock.now(), lambda where: self.parts.store.count(everyone, where))

    def _all_of(self, ids: Sequence[str]) -> list[MemoryRecord]:
        wanted = [accept.id_of(id) for id in ids]
        found = self.parts.store.get(self.tenant, wanted)
        known = {record.id for record in found}
        for id in wanted:
            if id not in known:
                raise accept.missing(id)
        return found

    def _matching(
        self, reach: Reach, filters: Mapping[str, Any] | None, erase: bool
    ) -> list[MemoryRecord]:
        narrow = reach.user_id or reach.agent_id or reach.session_id or reach.all_users
        if not filters and not narrow:
            raise InvalidInput("Say what to forget: an id, filters, or a user, agent or session.")
        where = parse_filter(filters) if erase else where_of(filters, None, None, None, None)
        found = {record.id: record for record in self._everything(reach, where)}
        if where is not None and as_active(where) != where:
            merged = hidden(self.parts.store, self._everything(reach, resting(where)))
            found |= {record.id: record for record in merged}
        return list(found.values())

    def _everything(self, reach: Reach, where: Filter | None) -> list[MemoryRecord]:
        """All that satisfy the filter, by when they happened."""
        return sorted(self.parts.store.walk(reach, where), key=lambda one: one.happened_at)

    def _vectors(self, texts: Sequence[str]) -> FloatArray:
        """The vectors of texts, a row each."""
        return np.stack([one.vector for one in self.parts.embedder.embed(list(texts))])

    def _text_of(self, text_or_id: str) -> str:
        try:
            UUID(text_or_id)
        except (ValueError, AttributeError, TypeError):
            return accept.text_of("text", text_or_id, self.settings.max_text)
        return self.get(text_or_id).text
