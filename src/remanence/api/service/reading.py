"""What the verbs do that read memories: search, explain, get, list, count, compare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Unpack
from uuid import UUID

import numpy as np

from remanence.api.service.opened import OpenMemory
from remanence.api.verbs.recalling import Chosen, Searched
from remanence.errors import InvalidInput
from remanence.language.english.dates import may_hold_time
from remanence.layers.cleanup import believed
from remanence.layers.usage import faded
from remanence.memories.lineage import SUMMARISES, merged
from remanence.model import validation
from remanence.model.embedding import FloatArray
from remanence.model.filter import Filter
from remanence.model.hit import Hits, WhyNot
from remanence.model.memory import Kind, MemoryRecord, Related, Revision
from remanence.model.query import Query, check_limit, check_offset
from remanence.model.scope import Reach
from remanence.model.zones import placed
from remanence.recall.explanation import why_not
from remanence.recall.query import query_of, where_of


class ReadMemory(OpenMemory):
    """One tenant's memory, open, for whoever reads it."""

    def search(
        self, query: str, *, limit: int = 10, diversity: float = 0.0, **where: Unpack[Searched]
    ) -> Hits:
        """The memories that answer best, best first; `limit` of them whenever that many match."""
        hits = self._hits(query, limit=limit, diversity=diversity, **where)
        self._uses.note((hit.memory.id for hit in hits), self._clock.now())
        return hits

    def why_not(self, query: str, id: str, **arguments: Any) -> WhyNot:
        """Which stage of `search(query, **arguments)` dropped this memory, and why."""
        return why_not(
            self.parts.recall, self.parts.store, self._query(query, arguments), validation.id_of(id)
        )

    def get(self, id: str) -> MemoryRecord:
        """The memory with this id, in whatever state it is; `NotFound` if it is not here."""
        found = self.parts.store.archive.get(self.tenant, [validation.id_of(id)])
        if not found:
            raise validation.missing(id)
        return found[0]

    def find(
        self,
        *,
        limit: int = 100,
        offset: int = 0,
        newest_first: bool = True,
        **chosen: Unpack[Chosen],
    ) -> list[MemoryRecord]:
        """Memories that satisfy conditions, by when they happened; no ranking."""
        check_limit(limit)
        check_offset(offset)
        reach, where = self._chosen(**chosen)
        return self.parts.store.archive.find(
            reach, where, limit=limit, offset=offset, newest_first=newest_first
        )

    def count(self, **chosen: Unpack[Chosen]) -> int:
        """How many memories satisfy the conditions."""
        return self.parts.store.archive.count(*self._chosen(**chosen))

    def history(self, id: str) -> list[Revision]:
        """Every change of a memory, oldest first, with the values it had before."""
        return self.parts.store.archive.history(self.tenant, validation.id_of(id))

    def sources(self, id: str) -> list[MemoryRecord]:
        """What a memory was made of, or stands for since it was merged, in any state; by time."""
        store, own = self.parts.store, self.get(id).id
        made_of = store.archive.get(
            self.tenant, store.links.pointed(self.tenant, [own], SUMMARISES)
        )
        found = [*merged(store, self.tenant, [own]), *made_of]
        return sorted(found, key=lambda record: (record.happened_at, record.id))

    def similarity(self, a: str, b: str) -> float:
        """The cosine of two texts, or of two memories given by id."""
        texts = [self._text_of(side) for side in (a, b)]
        first, second = self.parts.embedder.embed(texts)
        return float(np.dot(first.vector, second.vector))

    def related(
        self, id: str, *, type: str | None = None, direction: str = "both", limit: int = 100
    ) -> list[Related]:
        """Active memories linked with this one, strongest first; direction out, in or both."""
        check_limit(limit)
        if direction not in ("out", "in", "both"):
            raise InvalidInput(f"direction must be out, in or both; got {str(direction)[:40]!r}.")
        wanted = validation.label_of("type", type)
        found = self.parts.store.links.related(
            self.tenant, validation.id_of(id), type=wanted, direction=direction, limit=limit
        )
        return faded(found, self._clock.now())

    def timezone(self, *, user_id: str | None = None) -> str:
        """The time zone in which the user's days, and words like "yesterday", are meant."""
        named = self.parts.zones.named(self.tenant, self._reach(user_id).user_id)
        return named or self.settings.timezone

    def set_timezone(self, timezone: str | None = None, *, user_id: str) -> str:
        """Give a user a zone of their own (Europe/Lisbon, +05:45), or None to take it away."""
        reach = self._reach(validation.text_of("user_id", user_id, 1_024))
        self.parts.zones.give(self.tenant, str(reach.user_id), timezone, self._clock.now())
        return self.timezone(user_id=user_id)

    # -- inside

    def _chosen(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        kinds: str | Iterable[str] | None = None,
        states: str | Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        **whose: Any,
    ) -> tuple[Reach, Filter]:
        return self._reach(**whose), where_of(filters, kinds, states, since, until)

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
        return believed(
            self._clock.now(), lambda where: self.parts.store.archive.count(everyone, where)
        )

    def _all_of(self, ids: Sequence[str]) -> list[MemoryRecord]:
        wanted = [validation.id_of(id) for id in ids]
        found = self.parts.store.archive.get(self.tenant, wanted)
        known = {record.id for record in found}
        for id in wanted:
            if id not in known:
                raise validation.missing(id)
        return found

    def _everything(self, reach: Reach, where: Filter | None) -> list[MemoryRecord]:
        """All that satisfy the filter, by when they happened."""
        return sorted(self.parts.store.archive.walk(reach, where), key=lambda one: one.happened_at)

    def _vectors(self, texts: Sequence[str]) -> FloatArray:
        """The vectors of texts, a row each."""
        return np.stack([one.vector for one in self.parts.embedder.embed(list(texts))])

    def _text_of(self, text_or_id: str) -> str:
        try:
            UUID(text_or_id)
        except (ValueError, AttributeError, TypeError):
            return validation.text_of("text", text_or_id, self.settings.max_text)
        return self.get(text_or_id).text
