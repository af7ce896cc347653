"""The context benchmark: how much of the gold evidence a prompt of so many tokens holds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from remanence.api.memory import Memory
from remanence.context.contexts import empty_sections, recent_section
from remanence.context.draft import compose
from remanence.context.entry import flat
from remanence.context.recalled import recalled_entries, recalled_section
from remanence.context.section import Prices, Section
from remanence.language.tokens import count_tokens
from remanence.model.context import Context
from remanence.model.hit import Hit
from remanence.model.memory import MemoryRecord
from remanence.model.scope import Reach
from remanence.tools.evaluation.datasets import Corpus, Probe, filled, load_corpora
from remanence.tools.evaluation.run import WARM_UP, by_system, percentiles

BUDGETS = (1500, 4000)
COLUMNS = ("gold", "all gold", "used", "p50 ms", "p95 ms")
# So much of a turn must stand in the text for the turn to count as held.
BEGINNING = 60
DENSE = 400
Step = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextContents:
    """What one system's context held for one question."""

    system: str
    dataset: str
    category: str
    budget: int
    gold: float
    all_gold: bool
    used: float
    milliseconds: float = 0.0


def context_report(
    data: Path,
    work: Path,
    step: Step | None = None,
    budgets: Sequence[int] = BUDGETS,
    **settings: Any,
) -> dict[str, dict[str, dict[str, float]]]:
    """Figures by budget, data set and category, then by system."""
    corpora = [corpus for corpus in load_corpora(data) if corpus.probes]
    found: list[ContextContents] = []
    for done, corpus in enumerate(corpora, 1):
        with filled(corpus, work, **settings) as memory:
            found += _asked(memory, corpus, budgets)
        if step:
            step(done, len(corpora))
    return _summary(found)


def _asked(memory: Memory, corpus: Corpus, budgets: Sequence[int]) -> list[ContextContents]:
    memory.context(WARM_UP, user_id=corpus.name)
    rivals = _Rivals(memory, corpus)
    found = []
    for probe in corpus.probes:
        for budget in budgets:
            started = time.perf_counter()
            ours = memory.context(
                probe.question, user_id=corpus.name, now=probe.now, max_tokens=budget
            )
            took = (time.perf_counter() - started) * 1000
            systems = {"remanence": ours, **rivals.contexts(probe, budget)}
            for name, context in systems.items():
                spent = took if name == "remanence" else 0.0
                found.append(rivals.held(name, context, probe, budget, spent))
    return found


class _Rivals:
    """The last turns that fit, and the nearest by vector that fit, printed in the same way."""

    def __init__(self, memory: Memory, corpus: Corpus) -> None:
        self._parts = memory.parts
        self._corpus = corpus
        [self._partition] = self._parts.store.recall.partitions(
            Reach(tenant=memory.tenant, user_id=corpus.name)
        )
        self._columns = self._parts.recall.views.columns(self._partition)
        keys = self._columns.key.tolist()
        self._records = self._parts.store.recall.records(self._partition, keys)
        self._outer = {record.id: str(record.external_id) for record in self._records.values()}
        self._last: dict[int, Context] = {}
        self._turns = {turn.id: flat(turn.text)[:BEGINNING] for turn in corpus.turns}

    def contexts(self, probe: Probe, budget: int) -> dict[str, Context]:
        """Both for one question."""
        if budget not in self._last:
            said = sorted(self._records.values(), key=lambda r: (r.happened_at, r.id))
            self._last[budget] = _composed(recent_section(said), budget)
        dense = _composed(_best_first(self._nearest(probe.question)), budget)
        return {"last turns": self._last[budget], "dense": dense}

    def held(
        self, system: str, context: Context, probe: Probe, budget: int, took: float
    ) -> ContextContents:
        """How much of the gold is there, by id and by text."""
        shown = {self._outer[id] for id in context.ids}
        there = [id for id in probe.turns & shown if self._turns[id] in context.text]
        return ContextContents(
            system=system,
            dataset=self._corpus.dataset,
            category=probe.category,
            budget=budget,
            gold=len(there) / len(probe.turns),
            all_gold=len(there) == len(probe.turns),
            used=context.tokens / budget,
            milliseconds=took,
        )

    def _nearest(self, question: str) -> list[MemoryRecord]:
        vector = self._parts.embedder.embed_query(question).vector
        found = self._parts.recall.vectors().nearest(self._partition, vector, DENSE)
        keys = dict.fromkeys(found.keys.tolist())
        return [self._records[key] for key in keys if key in self._records]


def _best_first(records: Iterable[MemoryRecord]) -> Section:
    hits = [Hit(memory=r, score=0.0, signals={}, passage=r.text) for r in records]
    return recalled_section(recalled_entries(hits, lambda _: {}, (), 0.0))


def _composed(section: Section, budget: int) -> Context:
    others = [section if s.name == section.name else s for s in empty_sections()]
    return compose(others, Prices(count_tokens), budget)


def _summary(found: Sequence[ContextContents]) -> dict[str, dict[str, dict[str, float]]]:
    placed = (
        (f"{one.dataset}, {one.budget} tokens", one.category, one.system, one) for one in found
    )
    return by_system(placed, _means)


def _means(held: Sequence[ContextContents]) -> dict[str, float]:
    return {
        "questions": len(held),
        "gold": float(np.mean([one.gold for one in held])),
        "all gold": float(np.mean([one.all_gold for one in held])),
        "used": float(np.mean([one.used for one in held])),
        **percentiles(one.milliseconds for one in held),
    }
