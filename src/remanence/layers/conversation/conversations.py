"""The verbs of conversations."""

from __future__ import annotations

import builtins
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import partial, partialmethod
from typing import Any
from uuid import UUID

from remanence.errors import InvalidInput, NotFound, RemanenceError
from remanence.language.summary import summarise
from remanence.layers.conversation.chronicle import Chronicle
from remanence.layers.conversation.derivation import (
    Summarise,
    SummaryDerivation,
    bounds,
    day_of,
    days_of,
    name_of,
)
from remanence.layers.conversation.summaries import Summaries
from remanence.layers.conversation.thread import Thread, told_from
from remanence.layers.conversation.window import (
    Descriptions,
    beside,
    conversation_of,
    fitted,
    named,
    tokens_of,
)
from remanence.layers.erasure.eraser import erase_copies
from remanence.memories.draft import fields_of, provenance, record_of
from remanence.memories.merges import bring_back
from remanence.memories.messages import message_of
from remanence.memories.removal import remove
from remanence.memories.writer import Writer
from remanence.memories.zones import Zones
from remanence.model import validation
from remanence.model.clock import Clock
from remanence.model.conversation import Conversation, Level, Window
from remanence.model.document import Address, Shelf
from remanence.model.hit import Hits
from remanence.model.memory import HALF, Kind, MemoryRecord, level_of, unit_interval
from remanence.model.ports.language_model import LanguageModel
from remanence.model.ports.store import Store
from remanence.model.query import MAX_LIMIT, check_limit, check_offset
from remanence.model.scope import Reach

WITHIN = ("everywhere", "conversation", "window")
SPOKEN = (Kind.MESSAGE, Kind.SUMMARY)
AT_ONCE = 8  # segments an append makes; the next ones make the rest
_log = logging.getLogger(__name__)
CALLS_BEFORE = 16  # messages read beyond the window, to find the call of its first answer


class Conversations:
    """Conversations of one tenant: a session of a user is one as soon as a message is in it."""

    def __init__(
        self,
        store: Store,
        writer: Writer,
        search: Callable[..., Hits],
        tenant: str,
        clock: Clock,
        new_id: Callable[[], UUID],
        max_text: int,
        window_messages: int,
        window_tokens: int,
        model: LanguageModel | None = None,
        said: Callable[[Sequence[MemoryRecord]], object] | None = None,
        forgotten: Callable[[Sequence[MemoryRecord], bool], object] | None = None,
        extract: Summarise = summarise,
        erase: Callable[[Sequence[MemoryRecord]], object] | None = None,
        zones: Zones | None = None,
        min_trust: float = 0.0,
    ) -> None:
        """`said` hears of messages once stored, `forgotten` of those gone, and if erased.

        `min_trust` is what counts where a read names none.
        `erase` removes for good; without it, no receipt is given.
        """
        self._store = store
        self._writer = writer
        self._search = search
        self._tenant = tenant
        self._clock = clock
        self._new_id = new_id
        self._max_text = max_text
        self._sizes = (window_messages, window_tokens)
        self._said = said
        self._forgotten = forgotten
        self._min_trust = min_trust
        self._erase = erase or partial(remove, store, clock, alone=True)
        self._described = Descriptions(store.documents, tenant, clock)
        deriving = SummaryDerivation(store, writer, clock, new_id)
        self.zones = zones or Zones(store.documents)
        self._summaries = Summaries(store, deriving, model, extract, self.zones)
        self.chronicle = Chronicle(store, deriving, self._summaries, extract, self.zones)

    # -- say

    def append(
        self,
        messages: Iterable[Mapping[str, Any]],
        *,
        session_id: str,
        user_id: str | None = None,
        agent_id: str | None = None,
        source: str | None = None,
        actor: str | None = None,
        trust: float = 1.0,
        quarantined: bool = False,
        idempotency_key: str | None = None,
    ) -> builtins.list[MemoryRecord]:
        """Add messages at the end of a conversation, together or not at all; durable on return."""
        shared: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id}
        shared |= {"session_id": named(session_id), "source": source, "trust": trust}
        shared |= provenance(actor, quarantined)
        given = validation.several("messages", messages)
        read = [message_of(message, n, tools=True) for n, message in enumerate(given)]
        fields = [shared | fields_of(message) for message in read if message is not None]
        records = [self._record(each) for each in fields]
        if not records:
            return []
        stored = self._writer.insert(self._tenant, records, fields, idempotency_key)
        if stored[0].id == records[0].id and not quarantined:
            self._after(stored, self._thread(session_id, user_id))
        return stored

    def describe(
        self,
        session_id: str,
        *,
        title: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> Conversation:
        """Give a conversation a title, metadata, or both; what is left out stays as it is."""
        self._described.put(named(session_id), user_id, agent_id, title, metadata)
        return self.get(session_id, user_id=user_id)

    # -- read

    def get(self, session_id: str, *, user_id: str | None = None) -> Conversation:
        """The conversation; `NotFound` if nothing was said in it and nobody described it."""
        spans = self._store.archive.spans(self._thread(session_id, user_id).reach, limit=1)
        described = self._described.of([(session_id, user_id)])
        if not spans and not described:
            raise NotFound(
                f"There is no conversation {session_id[:64]!r} here; `conversations.list` names "
                "those there are."
            )
        document = next(iter(described.values()), None)
        return conversation_of(session_id, user_id, next(iter(spans), None), document)

    def list(
        self,
        *,
        user_id: str | None = None,
        all_users: bool = False,
        limit: int = 100,
        offset: int = 0,
    ) -> builtins.list[Conversation]:
        """Conversations with messages in them, the one last spoken in first."""
        check_limit(limit)
        check_offset(offset)
        reach = Reach(tenant=self._tenant, user_id=user_id, all_users=all_users)
        spans = self._store.archive.spans(reach, limit=limit, offset=offset)
        described = self._described.of([(span.session_id, span.user_id) for span in spans])
        return [
            conversation_of(*whose, span, described.get(whose))
            for span in spans
            for whose in [(span.session_id, span.user_id)]
        ]

    def messages(
        self,
        session_id: str,
        *,
        user_id: str | None = None,
        limit: int = 100,
        before: str | datetime | None = None,
    ) -> builtins.list[MemoryRecord]:
        """The last `limit` messages, oldest first; or the last `before` a message or moment."""
        check_limit(limit)
        thread = self._thread(session_id, user_id)
        if isinstance(before, str) and _is_id(before):
            return thread.before(self._message(before, thread), limit)
        moment = None if before is None else validation.moment_of("before", before)
        return thread.newest(limit, moment)

    def window(
        self,
        session_id: str,
        *,
        user_id: str | None = None,
        max_messages: int | None = None,
        max_tokens: int | None = None,
        min_trust: float | None = None,
    ) -> Window:
        """The short-term window: the newest messages that fit, whole, oldest first."""
        thread = self._thread(session_id, user_id, min_trust)
        kept = self._fitted(thread, max_messages, max_tokens)
        return Window(
            messages=tuple(kept),
            tokens=sum(map(tokens_of, kept)),
            left=max(0, thread.count_spoken() - len(kept)),
            summary=self._summaries.told(thread),
        )

    def search(
        self,
        query: str,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        within: str = "everywhere",
        limit: int = 10,
        since: datetime | None = None,
        until: datetime | None = None,
        min_trust: float | None = None,
    ) -> Hits:
        """Messages and summaries that answer best: in all conversations, in one, or its window."""
        if within not in WITHIN:
            raise InvalidInput(f"within must be one of {', '.join(WITHIN)}; got {within!r:.40}.")
        asked: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id, "until": until}
        asked |= {"kinds": SPOKEN, "limit": limit, "since": since, "min_trust": min_trust}
        if within == "everywhere":
            if session_id is not None:
                named(session_id)
            return self._search(query, **asked)
        asked["session_id"] = named(session_id)
        if within == "conversation":
            return self._search(query, **asked)
        return self._search_window(query, self._thread(session_id, user_id, min_trust), asked)

    # -- sum up

    def summarise(
        self, session_id: str, *, user_id: str | None = None, refine: bool = True
    ) -> builtins.list[MemoryRecord]:
        """Summarise all that has left the window and is in no summary yet; what was written."""
        thread = self._thread(session_id, user_id)
        made: dict[str, MemoryRecord] = {}
        for level in thread.levels():
            made |= {one.id: one for one in self._summarised(thread.at(level), refine)}
        return list(made.values())

    def summary(
        self, session_id: str, *, user_id: str | None = None, min_trust: float | None = None
    ) -> str:
        """What was said before the window, in short; `""` if all of it is in the window."""
        return self._summaries.told(self._thread(session_id, user_id, min_trust))

    def _period(
        self,
        level: Level,
        day: date | str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        refine: bool = True,
        min_trust: float | None = None,
    ) -> MemoryRecord:
        """The summary of the user's day, week or month that holds the day, made when asked for."""
        least = self._least(min_trust)
        reach = Reach(tenant=self._tenant, user_id=user_id, agent_id=agent_id, min_trust=least)
        whole, wanted = Thread(self._store, reach), day_of(day)
        days = days_of(level, wanted)
        levels = told_from(whole.levels(bounds(days[0])[0], bounds(days[-1])[1]))
        if not levels:
            raise NotFound(f"Nothing was said in {name_of(level, wanted)}: there is no summary.")
        return self.chronicle.tell(whole.at(levels[0]), level, wanted, refine=refine)

    day = partialmethod(_period, Level.DAY)
    week = partialmethod(_period, Level.WEEK)
    month = partialmethod(_period, Level.MONTH)

    def forget(
        self, session_id: str, *, user_id: str | None = None, erase: bool = False
    ) -> builtins.list[MemoryRecord]:
        """Forget messages, summaries and description of a conversation; gives what is forgotten."""
        thread = self._thread(session_id, user_id)
        records = thread.everything(any_state=validation.truth_of("erase", erase))
        if erase:
            back = bring_back(self._store, self._clock, records)
            self._erase(records)
        else:
            back = self._writer.put_away(records, alone=True)
        self._described.discard(session_id, user_id)
        if erase:
            note = Address(shelf=Shelf.CONVERSATION, name=session_id, user_id=user_id)
            erase_copies(self._store.documents, self._tenant, [note])
        if self._forgotten is not None:
            self._forgotten([*records, *back], erase)
        return records

    # -- inside

    def _record(self, fields: Mapping[str, Any]) -> MemoryRecord:
        now = self._clock.now()
        return record_of(
            fields, tenant=self._tenant, id=str(self._new_id()), now=now, max_text=self._max_text
        )

    def _thread(
        self, session_id: str | None, user_id: str | None, min_trust: float | None = 0.0
    ) -> Thread:
        reach = Reach(
            tenant=self._tenant,
            user_id=user_id,
            session_id=named(session_id),
            min_trust=self._least(min_trust),
        )
        return Thread(self._store, reach)

    def _least(self, min_trust: float | None) -> float:
        return self._min_trust if min_trust is None else unit_interval("min_trust", min_trust)

    def _after(self, stored: Sequence[MemoryRecord], thread: Thread) -> None:
        """The messages are safe: tell of them, and let no trouble that comes of it be theirs."""
        for hear in (self._said, lambda _: self._sum_up(thread, stored[0].trust)):
            try:
                if hear is not None:
                    hear(stored)
            except Exception as error:
                known = isinstance(error, RemanenceError)
                _log.info("the messages are stored, but: %s", error, exc_info=not known)

    def _sum_up(self, thread: Thread, trust: float) -> None:
        """Bring up to date the summaries that what was said with this trust is told in."""
        if trust < HALF:
            levels = [level_of(trust)]
        else:
            levels = [level for level in thread.above(HALF).levels() if level <= trust]
        for level in levels:
            there = thread.at(level)
            window = self._fitted(there.above(level))
            if not window:
                continue
            made = self._summaries.fill(there, window[0], all_of_it=False, most=AT_ONCE)
            if made or self._summaries.whole(there) is None:
                self._summaries.roll_up(there)

    def _summarised(self, thread: Thread, refine: bool) -> builtins.list[MemoryRecord]:
        """What is written of all that has left the window, at one level of trust."""
        window = self._fitted(thread.above(0))
        made = self._summaries.fill(thread, window[0], all_of_it=True) if window else []
        if refine:
            made += self._refined(thread, Level.SEGMENT)
        rolled = self._summaries.roll_up(thread)
        made += [] if rolled is None else [rolled]
        if refine:
            made += self._refined(thread, Level.CONVERSATION)
        return made

    def _fitted(
        self, thread: Thread, max_messages: int | None = None, max_tokens: int | None = None
    ) -> builtins.list[MemoryRecord]:
        messages = _size_of("max_messages", max_messages, self._sizes[0])
        tokens = _size_of("max_tokens", max_tokens, self._sizes[1])
        most = min(messages + CALLS_BEFORE, MAX_LIMIT)
        trusted = thread.above(HALF).spoken(most)
        kept = fitted(trusted, messages, tokens)
        if thread.reach.min_trust >= HALF:
            return kept
        full = len(kept) < len(trusted)
        return beside(kept, thread.below(HALF).spoken(most), messages, tokens, full=full)

    def _refined(self, thread: Thread, level: Level) -> builtins.list[MemoryRecord]:
        summaries = list(thread.summaries(level))
        refined = [self._summaries.refine(record, level) for record in summaries]
        return [record for record in refined if record is not None]

    def _search_window(self, query: str, thread: Thread, asked: Mapping[str, Any]) -> Hits:
        check_limit(asked["limit"])
        kept = {record.id: record for record in self._fitted(thread)}
        if not kept:
            self._search(query, **asked)  # finds nothing here, but says what is wrong
            return Hits()
        start = min(record.happened_at for record in kept.values())
        since = asked["since"] and validation.moment_of("since", asked["since"])
        others = max(0, thread.count(start) - len(kept))
        most = min(asked["limit"] + others, MAX_LIMIT)
        found = self._search(
            query,
            **{**asked, "kinds": Kind.MESSAGE, "limit": most, "since": max(start, since or start)},
        )
        hits = [hit for hit in found if hit.memory.id in kept][: asked["limit"]]
        return Hits(
            hits,
            understood=found.understood,
            degraded=found.degraded,
            confidence=found.confidence,
            confidence_signals=found.confidence_signals,
        )

    def _message(self, id: str, thread: Thread) -> MemoryRecord:
        found = self._store.archive.get(self._tenant, [validation.id_of(id)])
        for record in found:
            if (record.user_id, record.session_id) == (
                thread.reach.user_id,
                thread.reach.session_id,
            ):
                return record
        raise validation.missing(id)


def _size_of(what: str, given: int | None, usual: int) -> int:
    return usual if given is None else validation.whole_of(what, given, 1, 10_000_000)


def _is_id(text: str) -> bool:
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False
