"""What the verbs do that write memories: add, change, forget, link; and the layers of a memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Unpack

from remanence.api.parameters import ScopeArguments
from remanence.api.service.opened import layer
from remanence.api.service.reading import ReadMemory
from remanence.api.verb import UNSET
from remanence.config.assembly.erasure import make_eraser
from remanence.consolidation.learning.learn import Learn
from remanence.consolidation.learning.lora.tuning import Tuning
from remanence.consolidation.schedules.schedules import Schedules
from remanence.context.contexts import Contexts
from remanence.errors import Conflict, InvalidInput
from remanence.knowledge.facts import Facts
from remanence.knowledge.graph import Graph
from remanence.layers.blocks import Blocks
from remanence.layers.cleanup import Cleanup, cleanup_filter, days_before
from remanence.layers.conversation import Conversations
from remanence.layers.erasure.eraser import Eraser, erase_copies
from remanence.layers.erasure.receipts import Erasures
from remanence.layers.purge.purger import Purger
from remanence.layers.sessions import Sessions
from remanence.layers.snapshots import Snapshots
from remanence.layers.usage import LEADING
from remanence.layers.working import Working
from remanence.memories import draft
from remanence.memories.lineage import MERGED_INTO, sheltering
from remanence.memories.merges import as_active, hidden, resting, with_return
from remanence.memories.messages import message_of
from remanence.model import validation
from remanence.model.context import Context
from remanence.model.document import Shelf
from remanence.model.erasure import Blame, By, ErasureRequest, Forgotten, PurgeResult, asked_for
from remanence.model.filter import parse_filter
from remanence.model.hit import Hit, Hits
from remanence.model.memory import Association, Kind, MemoryRecord, State, unit_interval
from remanence.model.query import MAX_QUERY
from remanence.model.scope import Reach
from remanence.model.sleep import Step
from remanence.model.snapshot import SnapshotDiff
from remanence.recall.query import where_of

UPDATE_TRIES = 5
TICK = timedelta(microseconds=1)


class RememberingMemory(ReadMemory):
    """One tenant's memory, open, for whoever writes it, and its layers but for sleep."""

    # -- layers

    @layer
    def blocks(self) -> Blocks:
        """Core memory: labelled blocks that stand in every prompt and are edited in place."""
        return Blocks(
            self.parts.store.documents, self.tenant, self._clock, self.settings.block_limits
        )

    @layer
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
                told, ErasureRequest(by=By.FILTERS, filters=("session_id",))
            ),
            zones=parts.zones,
            min_trust=self.settings.min_trust,
        )

    @layer
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

    @layer
    def graph(self) -> Graph:
        """The graph: people, places and things, and how they are related."""
        return Graph(
            self.parts.store,
            self.tenant,
            self._clock,
            self._new_id,
            self._vectors,
            self.settings.one_at_a_time,
            self.settings.min_trust,
        )

    @layer
    def erasures(self) -> Erasures:
        """Erasures: the signed receipts of what was erased."""
        return Erasures(self.parts.store, self.tenant)

    @layer
    def learn(self) -> Learn:
        """Learning: feedback replayed, a retrieval adapter trained, judged and rolled back."""
        parts, noted = self.parts, self._uses.note_useful
        return Learn(
            parts.store, parts.recall, parts.embedder, self.tenant, self._clock, noted=noted
        )

    @layer
    def tuning(self) -> Tuning:
        """Tuning: a language model taught what the memory knows (the `train` extra)."""
        return Tuning(self.parts.store, self.tenant, self.facts, self._clock)

    @layer
    def schedules(self) -> Schedules:
        """Schedules: when the memory sleeps by itself."""
        ending, tenant = self._ending, self.tenant
        return Schedules(
            self.parts.store,
            tenant,
            self._clock,
            leave_out=self._not_done,
            changed=lambda: ending.look(tenant),
        )

    @property
    def _not_done(self) -> tuple[Step, ...]:
        """The steps that schedules leave out."""
        return () if self.settings.erase_after_days > 0 else (Step.ERASE,)

    @layer
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
            erased=lambda address: erase_copies(parts.store.documents, self.tenant, [address]),
        )

    @layer
    def working(self) -> Working:
        """Working memory: the state of a session's task, by key."""
        return Working(
            self.parts.store, self.tenant, self._clock, self.settings.session_ttl_s, self.add
        )

    @layer
    def snapshots(self) -> Snapshots:
        """Snapshots of a scope: taken, compared, restored."""
        parts = self.parts
        return Snapshots(parts.store, parts.writer, self.tenant, self._clock, self._put_back)

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
        """Remember a text. It is durable when this returns."""
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
        items = [
            draft.fields_given(m, n) for n, m in enumerate(validation.several("memories", memories))
        ]
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
        """Remember the turns of a conversation, in order, together or not at all."""
        shared: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id}
        shared |= {"session_id": session_id, "source": source, "trust": trust}
        shared |= draft.provenance(actor, quarantined)
        given = validation.several("messages", messages)
        read = [message_of(message, n) for n, message in enumerate(given)]
        said = [shared | draft.fields_of(message) for message in read if message is not None]
        if not said:  # nothing to keep, but what is wrong is said all the same
            self._drafted(shared | {"text": "nothing"}, self._clock.now())
        return self._insert(said, idempotency_key)

    def update(
        self, id: str, *, actor: str | None = None, reason: str | None = None, **changes: Any
    ) -> MemoryRecord:
        """Change fields of a memory; the old values are kept."""
        given = {name: value for name, value in changes.items() if value is not UNSET}
        wanted = draft.changes_of(given, self.settings.max_text)
        by = {
            "actor": validation.label_of("actor", actor),
            "reason": validation.label_of("reason", reason),
        }
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
        all_users: bool = False,
        erase: bool = False,
        dry_run: bool = False,
        actor: str | None = None,
        reason: str | None = None,
        **where: Unpack[ScopeArguments],
    ) -> Forgotten:
        """Forget memories by id, or those a filter finds in a scope; gives what is forgotten."""
        if id is not None and (filters or all_users or any(where.values())):
            raise InvalidInput("Give ids, or a scope and filters, not both.")
        erase = validation.truth_of("erase", erase)
        dry_run = validation.truth_of("dry_run", dry_run)
        actor, reason = validation.label_of("actor", actor), validation.label_of("reason", reason)
        reach = self._reach(**where, all_users=all_users)
        ids = None if id is None else [id] if isinstance(id, str) else validation.several("id", id)

        def look() -> list[MemoryRecord]:
            return self._matching(reach, filters, erase) if ids is None else self._all_of(ids)

        if not dry_run and erase:
            return self._eraser.erase(look, asked_for(reach, ids=ids is not None, filters=filters))
        records = look()
        if not dry_run:
            back = self.parts.writer.put_away(records, alone=id is None, actor=actor, reason=reason)
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
        """Archive what is older than `max_age_days` and less important than `min_importance`."""
        reach = self._reach(user_id, all_users=all_users)
        dry_run = validation.truth_of("dry_run", dry_run)
        moment = self._believed_now() if now is None else validation.moment_of("now", now)
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
    ) -> PurgeResult:
        """Take back all that a source, actor, origin or span of time brought in, of every user."""
        blame = Blame(source=source, actor=actor, origin=origin, since=since, until=until)
        everyone = validation.truth_of("all_users", all_users) and user_id is None
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
            erase=validation.truth_of("erase", erase),
            dry_run=validation.truth_of("dry_run", dry_run),
            reason=validation.label_of("reason", reason),
        )

    def context(
        self, query: str | None = None, *, min_trust: float | None = None, **given: Any
    ) -> Context:
        """What goes into the prompt: blocks, state, summary, recalled memories and recent turns."""
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
        ).context(query, min_trust=self._least(min_trust), **given)
        now = self._clock.now()
        self._uses.note((item.id for item in made.part("recalled").items), now)
        self._uses.note_together([id for id in best if id in made.ids], now)
        return made

    # -- associations and feedback

    def associate(
        self, a: str, b: str, type: str = "related_to", *, strength: float = 1.0
    ) -> Association:
        """Link memory `a` to memory `b`; again, to give the link of that type a new strength."""
        source, target = validation.id_of(a), validation.id_of(b)
        if source == target:
            raise InvalidInput("A memory cannot be associated with itself.")
        link = Association(
            source=source,
            target=target,
            type=validation.text_of("type", type, 128),
            strength=unit_interval("strength", strength),
            created_at=self._clock.now(),
        )
        return self.parts.store.links.associate(self.tenant, link)

    def dissociate(self, a: str, b: str, type: str | None = None) -> int:
        """Remove the links from `a` to `b` (of one type); how many there were."""
        return self.parts.store.links.dissociate(
            self.tenant, validation.id_of(a), validation.id_of(b), validation.label_of("type", type)
        )

    def feedback(self, hit_or_id: Hit | str, *, useful: bool, query: str | None = None) -> None:
        """Say whether a memory helped; it is kept for learning."""
        given = hit_or_id.memory.id if isinstance(hit_or_id, Hit) else hit_or_id
        id, now = validation.id_of(given), self._clock.now()
        asked = None if query is None else validation.text_of("query", query, MAX_QUERY)
        self.parts.store.archive.note_feedback(
            self.tenant, id, useful=validation.truth_of("useful", useful), query=asked, at=now
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
        return draft.record_of(given, max_text=self.settings.max_text, **own)

    def _updated(
        self, id: str, wanted: Mapping[str, Any], *, actor: str | None, reason: str | None
    ) -> MemoryRecord:
        before, store = self.get(id), self.parts.store
        wanted = with_return(store, before, wanted)
        new = {n: value for n, value in wanted.items() if not draft.same(value, getattr(before, n))}
        if not new:
            return before
        [after] = self.parts.writer.revise_all(
            [(before, new)], verb="updated", actor=actor, reason=reason
        )
        if before.superseded_by is not None and after.superseded_by != before.superseded_by:
            store.links.dissociate(self.tenant, before.id, before.superseded_by, MERGED_INTO)
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
        self.sessions.drop(self.parts.store.archive.get(self.tenant, ids))

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
