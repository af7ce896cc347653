"""Recall for a prompt: how much to look for, and which hits would only repeat what is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from functools import partial

from remanence.context.chosen import Chosen, Prices
from remanence.context.compose import compose
from remanence.context.draft import ENOUGH
from remanence.context.entry import Entry
from remanence.context.neighbours import Neighbours
from remanence.context.parts import recalled_section
from remanence.context.recalled import recalled_entries
from remanence.context.section import Section
from remanence.context.shares import RECALLED, SHARES
from remanence.model.context import Context
from remanence.model.hit import Hit, Hits
from remanence.model.memory import Kind
from remanence.model.query import MAX_LIMIT
from remanence.ports.store import Links
from remanence.remember.lineage import SUMMARISES
from remanence.remember.tool_calls import says_nothing
from remanence.text.tokens import count_tokens
from remanence.text.words import query_terms

# Tokens of a rather short turn with its speaker. As many as would fill the budget are asked for.
SHORT_LINE = 20
FEWEST = 20
MOST = 400
FURTHER = 4
SAMPLE = "[Mon 8 May 2023]\nAna: I moved to Lisbon in March, and I have never been so happy before."


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What recall is asked; `search` takes a question and a limit, and keeps to the scope."""

    question: str
    search: Callable[[str, int], Hits]
    session_id: str | None = None
    min_trust: float = 0.0
    zone: tzinfo = UTC


class Recalling:
    """Puts what a search finds into the room that the other parts leave."""

    def __init__(self, links: Links, neighbours: Neighbours, tenant: str) -> None:
        self._links = links
        self._neighbours = neighbours
        self._tenant = tenant

    def composed(
        self, others: Sequence[Section], asked: Asked, prices: Prices, max_tokens: int
    ) -> Context:
        """The context of these sections and what is recalled; looks further while there is room."""
        limit = enough_hits(others, prices, max_tokens)
        while True:
            hits = asked.search(asked.question, limit)
            context = compose(self._sections(others, asked, hits), prices, max_tokens)
            full = context.tokens >= ENOUGH * max_tokens or context.part(RECALLED).left_out
            if full or len(hits) < limit or limit == MAX_LIMIT:
                return replace(context, degraded=hits.degraded)
            limit = min(limit * FURTHER, MAX_LIMIT)

    def _sections(self, others: Sequence[Section], asked: Asked, hits: Hits) -> list[Section]:
        entries = self._entries(asked, self._fresh(asked, hits))
        return [recalled_section(entries) if s.name == RECALLED else s for s in others]

    def _entries(self, asked: Asked, hits: Sequence[Hit]) -> tuple[Entry, ...]:
        wanted = query_terms(asked.question)
        around = partial(self._neighbours.around, min_trust=asked.min_trust)
        return recalled_entries(hits, around, wanted, asked.min_trust, asked.zone)

    def _fresh(self, asked: Asked, hits: Sequence[Hit]) -> list[Hit]:
        """Hits that say something: not the question, a tool's call, a summary of what is shown."""
        question, told = " ".join(asked.question.split()), self._told(asked, hits)
        return [
            hit
            for hit in hits
            if hit.memory.id not in told
            and not _says(hit.memory.text, question)
            and not says_nothing(hit.memory.text, hit.memory.metadata)
        ]

    def _told(self, asked: Asked, hits: Sequence[Hit]) -> set[str]:
        """Summaries of other hits, and of the session, whose own summary is a part already."""
        summaries = {hit.memory.id: hit.memory for hit in hits if hit.memory.kind is Kind.SUMMARY}
        told = {id for id, memory in summaries.items() if memory.session_id == asked.session_id}
        if asked.session_id is None:
            told.clear()
        frontier = [hit.memory.id for hit in hits]  # a week repeats its days, a day its segments
        while frontier and summaries.keys() - told:
            frontier = self._links.pointing(self._tenant, frontier, SUMMARISES)
            told.update(frontier)
        return told


def _says(text: str, question: str) -> bool:
    """Whether the text is the question, whatever the blanks in it."""
    return text[:1] == question[:1] and " ".join(text.split()) == question


def enough_hits(others: Sequence[Section], prices: Prices, max_tokens: int) -> int:
    """How many short lines would fill the room for them, whatever a token is worth."""
    taken = sum(Chosen(section, prices).need(max_tokens) for section in others)
    room = max(max_tokens - taken, SHARES[RECALLED] * max_tokens)
    ours = room * count_tokens(SAMPLE) / max(prices.count(SAMPLE), 1)
    return min(max(int(ours / SHORT_LINE), FEWEST), MOST)
