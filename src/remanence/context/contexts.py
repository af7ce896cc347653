"""The bridge into the prompt: reads the layers, searches, and composes a context."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from remanence.clock import Clock
from remanence.context.chosen import Prices
from remanence.context.compose import compose
from remanence.context.known import Asking, Known, speakers_of
from remanence.context.neighbours import Neighbours
from remanence.context.parts import (
    by_user,
    core_section,
    facts_section,
    last_asked,
    recalled_section,
    recent_section,
    state_section,
    summary_section,
)
from remanence.context.recalling import Asked, Recalling
from remanence.context.section import Section
from remanence.errors import NotFound, StoreCorrupt
from remanence.knowledge.facts import Facts
from remanence.layers.blocks.blocks import Blocks
from remanence.layers.conversation.conversations import Conversations
from remanence.layers.sessions.sessions import Sessions
from remanence.layers.working import Working
from remanence.model.accept import local_moment_of, moment_of, text_of, truth_of
from remanence.model.context import Context, checked_budget
from remanence.model.conversation import Window
from remanence.model.filter import Both, Compare
from remanence.model.hit import Hits
from remanence.model.knowledge import Fact
from remanence.model.memory import HALF, Kind, MemoryRecord, State, unit_interval
from remanence.model.query import MAX_QUERY
from remanence.model.scope import Reach
from remanence.ports.store import Store
from remanence.recall.views import Views
from remanence.remember.tool_calls import OF_MEMORY
from remanence.remember.zones import Zones
from remanence.text.tokens import CountTokens, count_tokens

NOTHING = Window(messages=(), tokens=0, left=0, summary="")


class Contexts:
    """Makes contexts for one tenant.

    `search` takes the arguments of `Memory.search` and counts no uses: not all hits are shown.
    """

    def __init__(
        self,
        store: Store,
        views: Views,
        search: Callable[..., Hits],
        tenant: str,
        *,
        blocks: Blocks,
        sessions: Sessions,
        working: Working,
        conversations: Conversations,
        facts: Facts,
        clock: Clock,
        zones: Zones,
    ) -> None:
        self._store = store
        self._zones = zones
        self._search = search
        self._tenant = tenant
        self._recalling = Recalling(store, Neighbours(store, views, tenant), tenant)
        self._blocks = blocks
        self._sessions = sessions
        self._working = working
        self._conversations = conversations
        self._known = Known(store, facts)
        self._clock = clock

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
        min_trust: float = 0.0,
        recall: bool = True,
        tokens: CountTokens | None = None,
    ) -> Context:
        """What goes into the prompt for a question, inside `max_tokens` by the counter `tokens`.

        Without a query the last thing the user said in the session is the question. What is trusted
        less than `min_trust` is as if it were not there; what is trusted less than by half is
        marked.
        """
        budget, prices = checked_budget(max_tokens), Prices(tokens or count_tokens)
        trusted = unit_interval("min_trust", min_trust)
        Reach(tenant=self._tenant, user_id=user_id, agent_id=agent_id, session_id=session_id)
        scope: dict[str, str | None] = {"user_id": user_id, "agent_id": agent_id}
        asking = truth_of("recall", recall)
        question = None if query is None else text_of("query", query, MAX_QUERY)
        window = self._window(session_id, user_id, trusted)
        turns = [turn for turn in window.messages if _spoken(turn)]
        question = question or _last_said(turns)
        facts: Sequence[Fact] = ()
        lost: tuple[str, ...] = ()
        if question is not None and asking:
            reach = Reach(
                tenant=self._tenant,
                user_id=user_id,
                agent_id=agent_id,
                include_shared=include_shared,
                min_trust=trusted,
            )
            try:
                facts = self._facts(question, reach, now, turns)
            except StoreCorrupt as error:
                lost = (f"facts: {error}",)
        others = self._others(scope, session_id, window.summary, turns, facts, trusted)
        if question is None or not asking:
            return compose(others, prices, budget)
        more: dict[str, Any] = {
            "now": now,
            "include_shared": include_shared,
            "min_trust": min_trust,
        }

        def search(text: str, limit: int) -> Hits:
            return self._search(text, limit=limit, **scope, **more)

        told = None if now is None else local_moment_of("now", now)
        zone = self._zones.here(self._tenant, user_id, told)
        asked = Asked(
            question=question,
            search=search,
            session_id=session_id,
            min_trust=trusted,
            zone=zone,
        )
        made = self._recalling.composed(others, asked, prices, budget)
        return replace(made, degraded=(*made.degraded, *lost)) if lost else made

    def _facts(
        self,
        question: str,
        reach: Reach,
        now: datetime | None,
        turns: Sequence[MemoryRecord],
    ) -> list[Fact]:
        said = [turn.speaker for turn in turns if by_user(turn)]
        said = said or [self._usual_speaker(reach)]
        return self._known.facts(
            Asking(
                question=question,
                reach=reach,
                now=self._clock.now() if now is None else moment_of("now", now),
                speakers=speakers_of(said, reach.user_id),
            )
        )

    def _usual_speaker(self, reach: Reach) -> str | None:
        """Who spoke last as the user, in any session, of those that are trusted."""
        where = Both(
            (
                Compare("state", "eq", State.ACTIVE, field=True),
                Compare("kind", "eq", Kind.MESSAGE, field=True),
                Compare("role", "eq", "user", field=True),
                Compare("trust", "gte", HALF, field=True),
            )
        )
        own = Reach(tenant=self._tenant, user_id=reach.user_id, min_trust=reach.min_trust)
        found = self._store.find(own, where, limit=1) if reach.user_id is not None else []
        return found[0].speaker if found else None

    def _window(self, session_id: str | None, user_id: str | None, trusted: float) -> Window:
        if session_id is None:
            return NOTHING
        try:
            return self._conversations.window(session_id, user_id=user_id, min_trust=trusted)
        except NotFound:
            return NOTHING

    def _others(
        self,
        scope: Mapping[str, str | None],
        session_id: str | None,
        summary: str,
        turns: Sequence[MemoryRecord],
        facts: Sequence[Fact],
        trusted: float,
    ) -> list[Section]:
        """Every part but what is recalled, the stable first."""
        return [
            core_section(self._blocks.list(user_id=scope["user_id"], agent_id=scope["agent_id"])),
            self._state(session_id, scope["user_id"], trusted),
            summary_section(summary),
            facts_section(facts),
            recalled_section([]),
            recent_section(turns),
        ]

    def _state(self, session_id: str | None, user_id: str | None, trusted: float) -> Section:
        if session_id is None:
            return state_section(None, [])
        session = None
        with suppress(NotFound):
            session = self._sessions.get(session_id, user_id=user_id)
        items = self._working.items(session_id=session_id, user_id=user_id)
        return state_section(session, [one for one in items if one.trust >= trusted])


def _spoken(turn: MemoryRecord) -> bool:
    """Whether a turn is more than memory's own tools at work, which the blocks tell already."""
    return turn.metadata.get(OF_MEMORY) is not True


def _last_said(turns: Sequence[MemoryRecord]) -> str | None:
    """What the user said last."""
    asked = last_asked(turns)
    return None if asked is None else turns[asked].text[:MAX_QUERY]
