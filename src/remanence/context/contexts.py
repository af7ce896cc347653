"""The way into the prompt: reads the layers, searches, and composes a context of its parts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from datetime import datetime
from typing import Any

from remanence.context.draft import compose
from remanence.context.entry import PromptEntry, flat, gist_of, shortened
from remanence.context.known import FactQuestion, Known, speakers_of
from remanence.context.recalled import Neighbours, Recalling, recalled_section, says, who
from remanence.context.section import CORE, FACTS, RECENT, STATE, SUMMARY, Prices, Section
from remanence.errors import NotFound, StoreCorrupt
from remanence.knowledge.facts import Facts
from remanence.language.fences import Fence, disarmed, low_trust
from remanence.language.tokens import CountTokens, count_tokens
from remanence.layers.blocks.blocks import Blocks
from remanence.layers.blocks.templates import Shown, opening, shown
from remanence.layers.conversation.conversations import Conversations
from remanence.layers.conversation.window import as_chat
from remanence.layers.sessions.sessions import Sessions
from remanence.layers.working import Working
from remanence.memories.messages import OF_MEMORY
from remanence.memories.zones import Zones
from remanence.model.block import Block
from remanence.model.clock import Clock
from remanence.model.context import Context, checked_budget
from remanence.model.conversation import Window
from remanence.model.filter import Both, Compare
from remanence.model.hit import Hits
from remanence.model.knowledge import Fact, Standing
from remanence.model.memory import GUEST, HALF, Kind, MemoryRecord, State, unit_interval
from remanence.model.ports.store import Store
from remanence.model.query import MAX_QUERY
from remanence.model.scope import Reach
from remanence.model.session import Session, WorkingItem
from remanence.model.validation import local_moment_of, moment_of, text_of, truth_of
from remanence.recall.views import Views

# Blanks beyond these say nothing and cost tokens; code is not indented so far.
_WIDE = re.compile(r"[^\S\n]{40,}|\s{80,}")
# A value of the state longer than this is only hinted at: the rest belongs into a memory.
LONGEST_VALUE = 400


def core_section(blocks: Sequence[Block]) -> Section:
    """Blocks that somebody wrote, in their order."""
    written = [block for block in blocks if block.value or block.version]
    pairs = enumerate(zip(written, shown(written), strict=True))
    entries = (
        PromptEntry(
            id=block.label,
            prefix=_tag(seen),
            body=_WIDE.sub(" ", seen.value),
            suffix=f"\n</{block.label}>" if seen.value else f"</{block.label}>",
            reason="core block",
            at=block.updated_at,
            place=(place,),
        )
        for place, (block, seen) in pairs
    )
    return Section(name=CORE, fence=Fence.CORE, entries=tuple(entries), run=True, cuts=True)


def _tag(seen: Shown) -> str:
    """The opening line of a block, as `Blocks.render` writes it."""
    line = opening(replace(seen, description=disarmed(seen.description)))
    return line + "\n" if seen.value else line


def state_section(session: Session | None, working: Iterable[WorkingItem]) -> Section:
    """The session's data by key, then what the task has in mind, the important first."""
    data: Mapping[str, Any] = {} if session is None else session.data
    entries = [_value(f"session.{key}", key, data[key], "session data") for key in sorted(data)]
    items = sorted(working, key=_rank)
    entries += [_noted(item) for item in items]
    placed = tuple(entry.placed((place,)) for place, entry in enumerate(entries))
    return Section(name=STATE, fence=Fence.STATE, entries=placed)


def _rank(item: WorkingItem) -> tuple[bool, float, str]:
    """The important first, after all that is trusted by half."""
    return item.trust < HALF, -(item.importance or 0.0), item.key


def _noted(item: WorkingItem) -> PromptEntry:
    """An item of working memory; of a promoted one the memory says the same."""
    entry = _value(f"working.{item.key}", item.key, item.value, "working memory")
    return replace(entry, gist=entry.text, mark=low_trust(item.trust))


def _value(id: str, key: str, value: Any, why: str) -> PromptEntry:
    told = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return PromptEntry(
        id=id, prefix=f"{flat(key)}: ", body=shortened(flat(told), LONGEST_VALUE), reason=why
    )


def summary_section(summary: str) -> Section:
    """The rolling summary of what is no longer in the window."""
    entry = PromptEntry(
        id="summary",
        body=disarmed("\n".join(" ".join(line.splitlines()) for line in summary.split("\n"))),
        reason="tells of the turns before the window",
        gist=gist_of(summary),
    )
    told = (entry,) if summary.strip() else ()
    return Section(name=SUMMARY, fence=Fence.SUMMARY, entries=told, run=True, cuts=True)


def facts_section(facts: Sequence[Fact] = ()) -> Section:
    """What is known for a fact, the closest to the question first."""
    entries = (_fact(fact).placed((place,)) for place, fact in enumerate(facts))
    return Section(name=FACTS, fence=Fence.FACTS, entries=tuple(entries))


def _fact(fact: Fact) -> PromptEntry:
    notes = [fact.when, "disputed" if fact.standing is Standing.DISPUTED else ""]
    told = ", ".join(part for part in notes if part)
    text = flat(fact.text) + (f" ({told})" if told else "")
    return PromptEntry(
        id=fact.id,
        mark=low_trust(fact.trust),
        body=text,
        reason="known fact",
        at=fact.valid_from or fact.recorded_at,
        source=fact.sources[0] if fact.sources else None,
    )


def recent_section(turns: Sequence[MemoryRecord]) -> Section:
    """The last turns of the session, given oldest first.

    What the user said last is worth the most, then the newest; what is trusted less than by half
    takes no room from the rest.
    """
    entries = [_turn(turn, place) for place, turn in enumerate(turns)]
    asked = last_asked(turns)
    first = [] if asked is None else [entries.pop(asked)]
    entries.reverse()
    entries = first + sorted(entries, key=lambda entry: bool(entry.mark))
    return Section(name=RECENT, fence=Fence.TURNS, entries=tuple(entries), run=True)


def last_asked(turns: Sequence[MemoryRecord]) -> int | None:
    """The place of what the user said last; only where nobody is trusted by half, of anybody's."""
    there = [n for n, turn in enumerate(turns) if turn.role in (None, "user")]
    trusted = [n for n in there if by_user(turns[n])]
    if trusted or any(turn.trust >= HALF for turn in turns):
        return trusted[-1] if trusted else None
    return there[-1] if there else None


def by_user(turn: MemoryRecord) -> bool:
    """Whether a turn is to be taken for the user's own."""
    return turn.role in (None, "user") and turn.trust >= HALF


def _turn(turn: MemoryRecord, place: int) -> PromptEntry:
    chat, mark = as_chat(turn), low_trust(turn.trust, turn.role)
    if chat["content"]:
        chat["content"] = flat(chat["content"]) if mark else _WIDE.sub(" ", chat["content"])
    body = disarmed("\n  ".join(_WIDE.sub(" ", turn.text).splitlines()))
    return PromptEntry(
        id=turn.id,
        mark=mark,
        prefix=f"{flat(who(turn) or ('user' if turn.trust == 1 else GUEST))}: ",
        body=flat(turn.text) if mark else body,
        reason="recent turn",
        at=turn.happened_at,
        source=turn.session_id,
        place=(place,),
        gist=gist_of(turn.text),
        memory=True,
        chat=chat,
    )


def empty_sections() -> list[Section]:
    """All parts in the order of the prompt, the stable first, with nothing in them."""
    return [
        core_section([]),
        state_section(None, []),
        summary_section(""),
        facts_section(),
        recalled_section([]),
        recent_section([]),
    ]


NOTHING = Window(messages=(), tokens=0, left=0, summary="")


@dataclass(eq=False)
class Contexts:
    """Makes contexts for one tenant.

    `search` takes the arguments of `Memory.search` and counts no uses: not all hits are shown.
    """

    store: Store
    views: Views
    search: Callable[..., Hits]
    tenant: str
    _: KW_ONLY
    blocks: Blocks
    sessions: Sessions
    working: Working
    conversations: Conversations
    facts: Facts
    clock: Clock
    zones: Zones

    def __post_init__(self) -> None:
        self._neighbours = Neighbours(self.store.recall, self.views, self.tenant)
        self._known = Known(self.store.knowledge, self.facts)

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
        min_confidence: float | None = None,
        recall: bool = True,
        tokens: CountTokens | None = None,
    ) -> Context:
        """What goes into the prompt for a question, inside `max_tokens` by the counter `tokens`.

        Without a query the last thing the user said in the session is the question. What is trusted
        less than `min_trust` is as if it were not there; what is trusted less than by half is
        marked. Nothing is recalled where an answer is less probable than `min_confidence`; without
        it, nothing below 0.05, and below 0.15 what fits into a tenth of the budget.
        """
        budget, prices = checked_budget(max_tokens), Prices(tokens or count_tokens)
        trusted = unit_interval("min_trust", min_trust)
        Reach(tenant=self.tenant, user_id=user_id, agent_id=agent_id, session_id=session_id)
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
                tenant=self.tenant,
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
        more = {**scope, "now": now, "include_shared": include_shared, "min_trust": min_trust}
        more["min_confidence"] = min_confidence
        asked = tuple(turn.id for turn in turns if says(turn.text, question))
        told = None if now is None else local_moment_of("now", now)
        recalling = Recalling(
            links=self.store.links,
            neighbours=self._neighbours,
            tenant=self.tenant,
            question=question,
            search=lambda text, limit: self.search(text, limit=limit, apart=asked, **more),
            min_confidence=min_confidence,
            session_id=session_id,
            min_trust=trusted,
            zone=self.zones.here(self.tenant, user_id, told),
        )
        made = recalling.composed(others, prices, budget)
        return replace(made, degraded=(*made.degraded, *lost)) if lost else made

    def _facts(
        self, question: str, reach: Reach, now: datetime | None, turns: Sequence[MemoryRecord]
    ) -> list[Fact]:
        said = [turn.speaker for turn in turns if by_user(turn)]
        said = said or [self._usual_speaker(reach)]
        return self._known.facts(
            FactQuestion(
                question=question,
                reach=reach,
                now=self.clock.now() if now is None else moment_of("now", now),
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
        own = Reach(tenant=self.tenant, user_id=reach.user_id, min_trust=reach.min_trust)
        found = self.store.archive.find(own, where, limit=1) if reach.user_id is not None else []
        return found[0].speaker if found else None

    def _window(self, session_id: str | None, user_id: str | None, trusted: float) -> Window:
        if session_id is None:
            return NOTHING
        try:
            return self.conversations.window(session_id, user_id=user_id, min_trust=trusted)
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
            core_section(self.blocks.list(user_id=scope["user_id"], agent_id=scope["agent_id"])),
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
            session = self.sessions.get(session_id, user_id=user_id)
        items = self.working.items(session_id=session_id, user_id=user_id)
        return state_section(session, [one for one in items if one.trust >= trusted])


def _spoken(turn: MemoryRecord) -> bool:
    """Whether a turn is more than memory's own tools at work, which the blocks tell already."""
    return turn.metadata.get(OF_MEMORY) is not True


def _last_said(turns: Sequence[MemoryRecord]) -> str | None:
    """What the user said last."""
    asked = last_asked(turns)
    return None if asked is None else turns[asked].text[:MAX_QUERY]
