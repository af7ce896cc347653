"""The context benchmark: how much of the gold evidence a prompt of so many tokens holds."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from remanence.api.memory import Memory
from remanence.context.entry import flat, sentences
from remanence.language.tokens import count_tokens
from remanence.language.words import terms
from remanence.tools.evaluation.datasets import Corpus, Probe, Turn, filled, load_corpora
from remanence.tools.evaluation.run import WARM_UP, by_system, percentiles

BUDGETS = (500, 1000, 2000)
COLUMNS = ("gold", "whole", "all gold", "used", "p50 ms", "p95 ms")
DEPTH = 100
Step = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a prompt shows: its text, the turns it takes it from, and what it takes."""

    text: str
    turns: Collection[str]
    tokens: int
    milliseconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextContents:
    """What one system's context held for one question.

    `gold` is the share of what the gold turns say that is there, `whole` that of the turns that are
    there to the last word.
    """

    system: str
    dataset: str
    category: str
    budget: int
    gold: float
    whole: float
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
        found += contents_of(corpus, work, budgets, **settings)
        if step:
            step(done, len(corpora))
    return context_summary(found)


def contents_of(
    corpus: Corpus, work: Path, budgets: Sequence[int] = BUDGETS, **settings: Any
) -> list[ContextContents]:
    """Every question of a corpus at every budget, for us and for the hits as they come."""
    with filled(corpus, work, **settings) as memory:
        memory.context(WARM_UP, user_id=corpus.name)
        outer = dict(_outer(memory, corpus))
        return [
            _held(system, shown, corpus, probe, budget)
            for probe in corpus.probes
            for budget in budgets
            for system, shown in _asked(memory, corpus, probe, budget, outer).items()
        ]


def _outer(memory: Memory, corpus: Corpus) -> Iterator[tuple[str, str]]:
    """The turn's own id for each memory."""
    for one in memory.find(user_id=corpus.name, limit=len(corpus.turns)):
        yield one.id, str(one.external_id)


def _asked(
    memory: Memory, corpus: Corpus, probe: Probe, budget: int, outer: dict[str, str]
) -> dict[str, Shown]:
    started = time.perf_counter()
    ours = memory.context(probe.question, user_id=corpus.name, now=probe.now, max_tokens=budget)
    took = (time.perf_counter() - started) * 1000
    turns = {outer[id] for id in ours.ids if id in outer}
    shown = Shown(text=ours.text, turns=turns, tokens=ours.tokens, milliseconds=took)
    hits = memory.search(probe.question, user_id=corpus.name, now=probe.now, limit=DEPTH)
    found = [str(hit.memory.external_id) for hit in hits]
    known = {turn.id: turn for turn in corpus.turns}
    return {"remanence": shown, "top hits": packed([known[id] for id in found], budget)}


def packed(turns: Sequence[Turn], budget: int) -> Shown:
    """The turns as they come, each whole on a line of its own, as many as fit."""
    left, lines, chosen = budget, [], []
    for turn in turns:
        line = f"{turn.speaker or turn.role}: {flat(turn.text)}"
        cost = count_tokens(f"{line}\n")
        if cost <= left:
            left -= cost
            lines.append(line)
            chosen.append(turn.id)
    return Shown(text="\n".join(lines), turns=chosen, tokens=budget - left)


def _held(system: str, shown: Shown, corpus: Corpus, probe: Probe, budget: int) -> ContextContents:
    gold = [turn for turn in corpus.turns if turn.id in probe.turns]
    found = [held(turn.text, probe, shown.text) if turn.id in shown.turns else 0.0 for turn in gold]
    whole = [turn.id in shown.turns and flat(turn.text) in shown.text for turn in gold]
    return ContextContents(
        system=system,
        dataset=corpus.dataset,
        category=probe.category,
        budget=budget,
        gold=float(np.mean(found)),
        whole=float(np.mean(whole)),
        used=shown.tokens / budget,
        milliseconds=shown.milliseconds,
    )


def held(text: str, probe: Probe, shown: str) -> float:
    """How much of what matters of a turn is shown, by its sentences that are there word by word.

    What matters are the words of the gold answer that the question does not say; where the turn has
    none of them, or no answer is known, all of its words.
    """
    told = [(flat(one), frozenset(terms(one))) for one in sentences(text)]
    said = frozenset[str]().union(*(words for _, words in told))
    new = frozenset(terms(probe.answer)) - frozenset(terms(probe.question))
    wanted = said & new or said
    there = frozenset[str]().union(*(words for one, words in told if one in shown))
    return len(wanted & there) / len(wanted) if wanted else float(flat(text) in shown)


def context_summary(
    found: Sequence[ContextContents],
) -> dict[str, dict[str, dict[str, float]]]:
    """Mean figures by data set and budget, and by category, then by system."""
    placed = (
        (f"{one.dataset}, {one.budget} tokens", one.category, one.system, one) for one in found
    )
    return by_system(placed, _means)


def _means(held: Sequence[ContextContents]) -> dict[str, float]:
    return {
        "questions": len(held),
        "gold": float(np.mean([one.gold for one in held])),
        "whole": float(np.mean([one.whole for one in held])),
        "all gold": float(np.mean([one.gold == 1 for one in held])),
        "used": float(np.mean([one.used for one in held])),
        **percentiles(one.milliseconds for one in held),
    }
