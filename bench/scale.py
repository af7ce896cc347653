"""Beyond one machine: our store and indexes beside plain pgvector and plain Qdrant, in one run.

    python bench/scale.py --out bench/results/scale.json

Starts its own PostgreSQL and Qdrant on loopback (see support.services) and stops them.
Two shapes of the same memories: all of one tenant, and 1,000 tenants of equal size. The plain
engine gets the same vectors, index parameters and filter, through its own client, as its manual
says; every question is put to both, one after the other, so that the machine's moods hit both.
Vectors are synthetic (bench/synthetic.py).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from numpy.typing import NDArray

import synthetic
from engines import batches, bundled_fingerprint, insert_of
from plain import PlainPgvector, PlainQdrant
from remanence.api.memory import Memory
from remanence.model.ports.store import Store
from remanence.model.ports.vector_index import VectorIndex
from remanence.model.scope import Reach
from remanence.model.write import Batch
from speed import about
from support.services.postgres import Postgres
from support.services.qdrant import Qdrant

LIMITS = (10, 120)
WRITE = 1000
Figures = dict[str, Any]
Vectors = NDArray[np.float32]


def main() -> None:
    given = arguments()
    results: Figures = {"about": about(given), "shapes": {}}
    with ExitStack() as stack:
        postgres = Postgres.start(Path(mkdtemp(prefix="rem-")), durable=True)
        stack.callback(postgres.stop)
        qdrant = Qdrant.start(Path(mkdtemp(prefix="rem-")))
        stack.callback(qdrant.stop)
        vectors = made_vectors(given)
        results["ingest"] = ingest(postgres, vectors, given)
        for name, tenants in (("one tenant", 1), (f"{given.tenants} tenants", given.tenants)):
            shape = Shape(given, tenants, vectors)
            results["shapes"][name] = shape.measured(postgres, qdrant)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=1))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--tenants", type=int, default=1000)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("bench/results/scale.json"))
    return parser.parse_args()


def made_vectors(given: argparse.Namespace) -> Vectors:
    path = Path(mkdtemp(prefix="rem-")) / "vectors.npy"
    synthetic.save_vectors(path, given.size + given.queries, given.seed)
    return np.asarray(np.load(path))


class Shape:
    """So many memories shared out among so many tenants, row n to tenant n modulo their number."""

    def __init__(self, given: argparse.Namespace, tenants: int, vectors: Vectors) -> None:
        self.given, self.tenants = given, tenants
        self.rows, self.asked = vectors[: given.size], vectors[given.size :]
        self.fingerprint = bundled_fingerprint()

    def measured(self, postgres: Postgres, qdrant: Qdrant) -> Figures:
        """Both engines, plain and ours, and `Memory.search` as callers use it."""
        from remanence.backends.index.qdrant import QdrantEngine
        from remanence.backends.index.remote import FollowingIndex
        from remanence.store.postgres import PgVectorIndex, PostgresStore

        url = postgres.database()
        store = PostgresStore(url)
        with store.upkeep.bulk():
            self.load(store)
        ours = PgVectorIndex(store, self.fingerprint)
        ours.built()
        plain = PlainPgvector(postgres.database(), self.rows, self.tenants)
        figures = {"pgvector": self.beside(plain.nearest, store, ours)}
        plain.close()
        engine = QdrantEngine([qdrant.url], timeout_s=30, replicas=1)
        identity = store.upkeep.identity
        followed = FollowingIndex(store, self.fingerprint, engine, identity=identity)
        began = time.perf_counter()
        followed.rebuild()
        figures["qdrant follows"] = {"memories_per_s": self.given.size / since(began)}
        other = PlainQdrant(qdrant.url, self.rows, self.tenants)
        figures["qdrant"] = self.beside(other.nearest, store, followed)
        other.close()
        followed.close()
        store.close()
        figures["memory"] = self.searches(url)
        return figures

    def load(self, store: Store) -> float:
        """Write everything, tenant by tenant, in batches; how many a second."""
        began = time.perf_counter()
        for tenant, rows in self.by_tenant():
            for batch in batches(rows, WRITE):
                actions = tuple(insert_of(t, v, self.fingerprint, tenant) for t, v in batch)
                at = actions[0].record.created_at
                store.archive.write(Batch(tenant=tenant, at=at, actions=actions))
        return len(self.rows) / since(began)

    def by_tenant(self) -> Iterator[tuple[str, list[Any]]]:
        turns = list(synthetic.turns(len(self.rows), self.given.seed))
        for tenant in range(self.tenants):
            numbers = range(tenant, len(self.rows), self.tenants)
            yield f"t{tenant}", [(turns[n], self.rows[n]) for n in numbers]

    def beside(
        self, plain: Callable[[Any, int, int], list[int]], store: Store, ours: VectorIndex
    ) -> Figures:
        """The same questions to both, in turn; times, recall and whether enough came back."""
        partitions = [
            store.recall.partitions(Reach(tenant=f"t{n}"))[0] for n in range(self.tenants)
        ]
        numbers = self.numbers(store)
        for n, query in enumerate(self.asked):  # both have seen every tenant once
            plain(query, n % self.tenants, LIMITS[0])
            ours.nearest(partitions[n % self.tenants], query, LIMITS[0], exact=False)
        figures: Figures = {}
        for limit in LIMITS:
            times: dict[str, list[float]] = {"plain": [], "ours": []}
            right: dict[str, list[float]] = {"plain": [], "ours": []}
            short = 0
            for n, query in enumerate(self.asked):
                tenant = n % self.tenants
                truth = self.truth(query, tenant, limit)
                began = time.perf_counter()
                found = plain(query, tenant, limit)
                times["plain"].append(since(began))
                right["plain"].append(len(truth & set(found)) / len(truth))
                began = time.perf_counter()
                nearest = ours.nearest(partitions[tenant], query, limit, exact=False)
                times["ours"].append(since(began))
                named = {numbers[key] for key in nearest.keys.tolist()}
                right["ours"].append(len(truth & named) / len(truth))
                short += len(named) < len(truth)
            figures[f"limit {limit}"] = {
                **{f"{who} {name}": v for who, t in times.items() for name, v in told(t).items()},
                "ratio p50": float(np.median(times["ours"]) / np.median(times["plain"])),
                **{f"{who} recall": float(np.mean(r)) for who, r in right.items()},
                "answers too short": short,
            }
        return figures

    def numbers(self, store: Store) -> dict[int, int]:
        """The row number of every key."""
        named = (f"t{n}" for n in range(self.tenants))
        return {
            key: int(r.external_id or -1) for name in named for key, r in store.archive.scan(name)
        }

    def truth(self, query: Vectors, tenant: int, limit: int) -> set[int]:
        own = np.arange(tenant, len(self.rows), self.tenants)
        return set(own[np.argsort(-(self.rows[own] @ query))[:limit]].tolist())

    def searches(self, url: str) -> Figures:
        """`Memory.search` whole: embedding, words, vectors, ranking, records."""
        times = []
        questions = synthetic.questions(self.given.queries, self.given.seed)
        shown = min(self.tenants, 20)
        memories = [Memory(url, tenant=f"t{n}") for n in range(shown)]
        for memory in memories:
            memory.search(questions[0])
        for n, question in enumerate(questions):
            began = time.perf_counter()
            found = memories[n % shown].search(question)
            times.append(since(began))
            assert len(found) == 10
        for memory in memories:
            memory.close()
        return told(times)


def ingest(postgres: Postgres, vectors: Vectors, given: argparse.Namespace) -> Figures:
    """Memories a second with their vectors: the index built afterwards, and kept in place."""
    from remanence.store.postgres import PgVectorIndex, PostgresStore

    shape = Shape(given, 1, vectors)
    store = PostgresStore(postgres.database())
    PgVectorIndex(store, shape.fingerprint).built()
    with store.upkeep.bulk():
        after = shape.load(store)
        began = time.perf_counter()
    built = since(began)
    kept = store.upkeep.stats("t0", shape.fingerprint)
    by_part = {part: size / given.size for part, size in kept.bytes_by_part.items()}
    store.close()
    shape.rows = shape.rows[: given.size // 5]
    store = PostgresStore(postgres.database())
    PgVectorIndex(store, shape.fingerprint).built()
    in_place = shape.load(store)
    store.close()
    return {
        "bulk_per_s": after,
        "index_built_s": built,
        "in_place_per_s": in_place,
        "disk_bytes_per_memory": kept.bytes_on_disk / given.size,
        "disk_bytes_per_memory_by_part": by_part,
    }


def told(times: list[float]) -> dict[str, float]:
    return {f"p{n} ms": float(np.percentile(times, n) * 1000) for n in (50, 95)}


def since(began: float) -> float:
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
