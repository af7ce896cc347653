"""What the retrieval adapter learns from a simulated user with private words, and what it costs.

python bench/adapter.py [--data ../shared/bench] [--work .bench] [--seed 0]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from private_words import PLAIN_SENSE, Told, memories
from remanence import Memory
from remanence.consolidation.learning.learn import Learn
from remanence.consolidation.learning.school import School, experiences_of, lessons_of
from remanence.consolidation.learning.trainer import teach
from remanence.model.clock import FixedClock
from remanence.model.learning import LearnPolicy
from remanence.model.scope import Reach
from remanence.recall.adapter import Adapter
from remanence.recall.adapters import PLAIN, Adapted
from remanence.recall.query import query_of
from remanence.tools.evaluation.datasets import filled, load_corpora
from remanence.tools.evaluation.run import ndcg_at, recall_at

BEGIN = datetime(2026, 1, 5, 9, tzinfo=UTC)
USER = "user"
# Of a thing's eight intents: those asked while learning, later in new words, and in plain words.
LEARNING, LATER, IN_PLAIN = (0, 3, 5), (1, 6), (2, 4)
LOOKED_AT = 60  # how far down the user looks for what was meant


@dataclass(frozen=True)
class Asked:
    """A question and the text of the memory that answers it; `thing` is what it is about."""

    question: str
    answer: str
    thing: str


def questions(told: Iterable[Told], wanted: Sequence[int], form: str) -> list[Asked]:
    """Questions of one form about some of each thing's intents, others for each thing."""
    places: defaultdict[str, int] = defaultdict(int)
    order: dict[str, int] = {}
    found = []
    for one in told:
        turn = order.setdefault(one.thing, len(order))
        if (places[one.thing] + turn) % 8 in wanted:
            found.append(Asked(getattr(one, form), one.text, one.thing))
        places[one.thing] += 1
    return found


class User:
    """The simulated user: a memory, a clock, and feedback on what searches return."""

    def __init__(self, folder: Path, name: str, seed: int) -> None:
        self.clock = FixedClock(BEGIN)
        self.memory = Memory(folder / f"{name}.db", clock=self.clock)
        texts = [one.text for one in memories()] + [text for text, _ in PLAIN_SENSE]
        records = [self.memory.add(text, user_id=USER) for text in texts]
        self.ids = {record.text: record.id for record in records}
        self.random = random.Random(seed)
        parts = self.memory.parts
        self.learn = Learn(
            parts.store, parts.recall, parts.embedder, self.memory.tenant, self.clock
        )

    def experience(self, asked: Sequence[Asked], *, noise: bool = False) -> int:
        """Ask in random order, one a day; say what helped, and what stood above it in vain."""
        noted = 0
        for one in self.random.sample(asked, len(asked)):
            self.clock.at += timedelta(days=1)
            hits = self.memory.search(one.question, user_id=USER, limit=LOOKED_AT)
            order = [hit.memory.id for hit in hits]
            meant = self.random.choice(order) if noise else self.ids[one.answer]
            if meant in order:
                above = [id for id in order[:2] if id != meant]
                noted += self.learn.outcome(one.question, useful=[meant], not_useful=above)
        return noted

    def figure(self, asked: Sequence[Asked]) -> float:
        """Mean nDCG@10 of searches as they are now."""
        return float(np.mean([self._figure(one) for one in asked]))

    def _figure(self, one: Asked) -> float:
        hits = self.memory.search(one.question, user_id=USER, limit=10)
        return ndcg_at([hit.memory.id for hit in hits], [self.ids[one.answer]], 10)

    def school(self) -> School:
        """The user's memories as training sees them."""
        parts = self.memory.parts
        return School(parts.store, parts.recall, parts.embedder, self.memory.tenant, USER)

    def close(self) -> None:
        self.memory.close()


def learned(folder: Path, seed: int) -> tuple[dict[str, object], Adapter]:
    """The main table: before and after, on what it is for and on what it must leave alone."""
    user = User(folder, "learned", seed)
    told = list(memories())
    sets = {
        "private words, new sentences": questions(told, LATER, "later"),
        "private words, as learned": questions(told, LEARNING, "learning"),
        "plain names": questions(told, IN_PLAIN, "plain"),
        "the same words, plain sense": [Asked(q, text, "") for text, q in PLAIN_SENSE],
    }
    noted = user.experience(questions(told, LEARNING, "learning"))
    before = {name: user.figure(asked) for name, asked in sets.items()}
    started = time.perf_counter()
    trained = user.learn.train(USER)
    took = time.perf_counter() - started
    after = {name: user.figure(asked) for name, asked in sets.items()}
    print(f"memories {len(user.ids)}, experiences {noted}, training {took:.1f} s")
    print(f"verdict: accepted {trained.accepted}, {trained.why}; {trained.judged}")
    for name, asked in sets.items():
        row(name, len(asked), before[name], after[name])
    speed(user, sets["private words, new sentences"])
    reach = Reach(tenant=user.memory.tenant, user_id=USER)
    [adapter] = user.memory.parts.recall.adapters.of(reach).adapters.values()
    user.close()
    return {"before": before, "after": after, "seconds": took}, adapter


def speed(user: User, asked: Sequence[Asked]) -> None:
    """What a search takes with the adapter and without."""
    times: dict[str, list[float]] = {"with": [], "without": []}
    reach = Reach(tenant=user.memory.tenant, user_id=USER)
    recall = user.memory.parts.recall
    for one in asked:
        query = query_of(one.question, tenant=reach.tenant, clock_now=user.clock.at, user_id=USER)
        for name, adapted in (("without", PLAIN), ("with", recall.adapters.of(reach))):
            started = time.perf_counter()
            recall.rank(query, recall.scenes(query, adapted))
            times[name].append((time.perf_counter() - started) * 1000)
    told = ", ".join(f"{name} {np.percentile(found, 50):.1f} ms" for name, found in times.items())
    print(f"median of a search: {told}")


def noise(folder: Path, seed: int) -> dict[str, object]:
    """Feedback that means nothing must teach nothing."""
    verdicts = []
    for turn in range(5):
        user = User(folder, f"noise{turn}", seed + turn)
        user.experience(questions(memories(), LEARNING, "learning"), noise=True)
        trained = user.learn.train(USER)
        verdicts.append(trained.accepted)
        print(f"noise {turn}: accepted {trained.accepted}, {trained.why}")
        user.close()
    return {"accepted": sum(verdicts), "of": len(verdicts)}


def forgetting(folder: Path, seed: int) -> dict[str, float]:
    """Half of the words first, the other half later: the first with and without replay."""
    user = User(folder, "forgetting", seed)
    told = list(memories())
    things = list(dict.fromkeys(one.thing for one in told))
    first = set(things[::2])
    learning, later = questions(told, LEARNING, "learning"), questions(told, LATER, "later")
    old = [one for one in later if one.thing in first]
    new = [one for one in later if one.thing not in first]
    figures = {"old, nothing learned": user.figure(old), "new, nothing learned": user.figure(new)}
    user.experience([one for one in learning if one.thing in first])
    user.learn.train(USER)
    changed_at = user.clock.at
    figures["old, learned"] = user.figure(old)
    user.experience([one for one in learning if one.thing not in first])
    reach = Reach(tenant=user.memory.tenant, user_id=USER)
    every = experiences_of(user.memory.parts.store, reach)
    only_new = lessons_of(one for one in every if one.at > changed_at)
    alone = teach(user.school(), only_new, LearnPolicy()).adapter
    user.learn.train(USER)
    figures["old, then new with replay"] = user.figure(old)
    figures["new, then new with replay"] = user.figure(new)
    school, key_of = user.school(), user.memory.parts.store.recall.key_of
    for name, asked in (("old", old), ("new", new)):
        found = [
            ndcg_at(
                [str(key) for key in school.found(one.question, user.clock.at, alone)],
                [str((key_of(reach.tenant, user.ids[one.answer]) or (0, 0))[1])],
                10,
            )
            for one in asked
        ]
        figures[f"{name}, then new without replay"] = float(np.mean(found))
    for name, figure in figures.items():
        print(f"{name:34} nDCG@10 {figure:.4f}")
    user.close()
    return figures


def elsewhere(data: Path, work: Path, adapter: Adapter) -> dict[str, float]:
    """The same adapter on other people's questions, as if they were this user's."""
    gains: list[tuple[float, float, float, float]] = []
    for corpus in load_corpora(data / "locomo_dev.json"):
        with filled(corpus, work) as memory:
            reach = Reach(tenant=memory.tenant, user_id=corpus.name)
            [partition] = memory.parts.store.recall.partitions(reach)
            using = Adapted({partition: adapter})
            gains += [
                _both(memory, corpus.name, probe.question, probe.now, using, probe.turns)
                for probe in corpus.probes
                if probe.turns
            ]
    before, after, recalled, recalled_after = np.mean(gains, axis=0).tolist()
    row("LoCoMo development, nDCG@10", len(gains), before, after)
    row("LoCoMo development, rec@10", len(gains), recalled, recalled_after)
    return {"before": before, "after": after}


def _both(
    memory: Memory, user: str, question: str, now: datetime, using: Adapted, gold: frozenset[str]
) -> tuple[float, float, float, float]:
    query = query_of(question, tenant=memory.tenant, clock_now=now, user_id=user)
    recall, store = memory.parts.recall, memory.parts.store
    [partition] = using.adapters
    orders = []
    for adapted in (PLAIN, using):
        keys = recall.rank(query, recall.scenes(query, adapted)).keys()[:10]
        records = store.recall.records(partition, keys)
        orders.append([str(records[key].external_id) for key in keys])
    first, second = orders
    return (
        ndcg_at(first, gold, 10),
        ndcg_at(second, gold, 10),
        recall_at(first, gold, 10),
        recall_at(second, gold, 10),
    )


def row(name: str, count: int, before: float, after: float) -> None:
    print(f"{name:34} {count:5} {before:8.4f} {after:8.4f} {100 * (after - before):+7.2f}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path)
    arguments.add_argument("--work", type=Path, default=Path(".bench"))
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'':34} {'asked':>5} {'before':>8} {'after':>8} {'points':>7}")
        figures, adapter = learned(Path(folder), given.seed)
        if given.data:
            figures["elsewhere"] = elsewhere(given.data, given.work, adapter)
        figures["forgetting"] = forgetting(Path(folder), given.seed)
        figures["noise"] = noise(Path(folder), given.seed)
    print(json.dumps(figures), file=sys.stderr)


if __name__ == "__main__":
    main()
