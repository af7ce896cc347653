"""The tiers: room, recall and time of hot, cool and cold memories, and Chroma beside them.

    python bench/tiers.py --data ../shared/bench [--size 100000] [--out bench/results/tiers.json]

Texts, vectors and questions are LoCoMo's development conversations, embedded by the bundled model;
each is measured whole in every tier (a real store has all three). Codecs are compared on the half
of the turns that no dictionary has seen. `--size` adds as many synthetic memories (random words,
clustered vectors; bench/synthetic.py) for the sizes of a large store, with its index file; there
recall and time are of the vector index alone. Files are compacted first.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import synthetic
from engines import NOW, TENANT, Chroma, batches, bundled_fingerprint, insert_of
from remanence.api.memory import Memory
from remanence.backends.index.bits import BitsIndex
from remanence.model.embedding import restored
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.tier import TextCodec, Tier
from remanence.model.write import Batch
from remanence.store.packing import SOURCES, Dictionary, Packer, trained, unpacked
from remanence.store.sqlite import SqliteStore
from remanence.tools.evaluation.datasets import Corpus, load_corpora
from remanence.tools.evaluation.run import recall_at
from speed import about
from synthetic import Turn

Figures = dict[str, Any]
QUERIES = 100
EVER = NOW + timedelta(days=36_500)
PLAIN = {"extract_entities": False, "infer_relations": False}


def main() -> None:
    given = arguments()
    corpora = list(load_corpora(given.data / "locomo_dev.json"))
    results: Figures = {"about": about(given), "codecs": codecs(corpora)}
    with TemporaryDirectory() as name:
        folder = Path(name)
        for kind, settings in (("with knowledge", {}), ("without knowledge", PLAIN)):
            results[kind] = conversations(corpora, folder / kind, given.every, settings)
        results["chroma"] = {"turns": chroma_of_turns(folder / "without knowledge", folder / "c")}
        if given.size:
            results["synthetic"] = large(given.size, folder / "large")
            results["chroma"]["synthetic"] = chroma_of_rows(given.size, folder / "c2")
    tell(results)
    if given.out:
        given.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--size", type=int, default=0)
    parser.add_argument("--every", type=int, default=1, help="ask each n-th question only")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


def codecs(corpora: Sequence[Corpus]) -> Figures:
    """Bytes of held-out turns, raw against packed, and microseconds a text."""
    turns = [turn.text for corpus in corpora for turn in corpus.turns]
    order = np.random.default_rng(1).permutation(len(turns))
    seen, held_out = ([turns[n] for n in half] for half in np.array_split(order, 2))
    body = trained(seen[:SOURCES])
    assert body is not None
    dictionary = Dictionary(1, body)
    packers = {"zstd + dictionary": Packer(TextCodec.ZSTD, dictionary)}
    packers |= {str(codec): Packer(codec) for codec in TextCodec}
    return {name: _codec(packer, dictionary, held_out) for name, packer in packers.items()}


def _codec(packer: Packer, dictionary: Dictionary, texts: Sequence[str]) -> Figures:
    started = time.perf_counter()
    packed = [packer.packed(text) for text in texts]
    between = time.perf_counter()
    opened = [unpacked(one, lambda _: dictionary) for one in packed if one is not None]
    ended = time.perf_counter()
    raw = [len(text.encode()) for text in texts]
    stored = [size if one is None else len(one) for size, one in zip(raw, packed, strict=True)]
    return {
        "ratio": sum(raw) / sum(stored),
        "stays_raw": sum(one is None for one in packed) / len(packed),
        "pack_us": 1e6 * (between - started) / len(texts),
        "unpack_us": 1e6 * (ended - between) / max(len(opened), 1),
    }


def conversations(
    corpora: Sequence[Corpus], folder: Path, every: int, settings: Figures
) -> Figures:
    """Hot, cool and cold copies of the same memories, each asked the same questions."""
    folder.mkdir()
    with Memory(database=folder / "hot.db", **settings) as memory:
        for corpus in corpora:
            _fill(memory, corpus)
    found: Figures = {}
    for tier in Tier:
        path = folder / f"{tier.name.lower()}.db"
        if tier is not Tier.HOT:
            shutil.copy(folder / "hot.db", path)
        with packed(path, tier) as store:
            found[tier.name.lower()] = sizes(store, path)
    asked = {name: Asked(folder / f"{name}.db", settings) for name in found}
    for corpus in corpora:
        for probe in corpus.probes[::every]:
            for one in asked.values():  # in turn, so that the machine's moods hit all
                one.ask(corpus, probe)
    for name, one in asked.items():
        found[name] |= one.figures()
    return found


def _fill(memory: Memory, corpus: Corpus) -> None:
    for session in dict.fromkeys(turn.session for turn in corpus.turns):
        messages = [turn.message() for turn in corpus.turns if turn.session == session]
        memory.add_messages(messages, user_id=corpus.name, session_id=session)


@contextmanager
def packed(path: Path, tier: Tier) -> Iterator[Store]:
    """The store with everything in that tier, rewritten so that no room is left unused."""
    store = SqliteStore(path, durability="normal")
    try:
        reach = Reach(tenant=TENANT, all_users=True)
        while tier is not Tier.HOT and store.tiers.pack(reach, tier, before=EVER).memories:
            pass
        store.upkeep.compact()
        yield store
    finally:
        store.close()


def sizes(store: Store, path: Path) -> Figures:
    """Bytes a memory: texts, vectors and codes, the file by table, and the ratio asked for."""
    (use,) = store.tiers.uses(TENANT)
    memories = use.memories
    stats = store.upkeep.stats(TENANT)
    raw = use.text_raw + use.vectors_raw
    return {
        "memories": memories,
        "text": use.text_stored / memories,
        "vectors": use.vectors_stored / memories,
        "codes": use.codes_stored / memories,
        "raw_text_and_float32": raw / memories,
        "ratio": raw / (use.text_stored + use.vectors_stored),
        "file": sum(one.stat().st_size for one in path.parent.glob(f"{path.name}*")) / memories,
        "parts": {name: size / memories for name, size in sorted(stats.bytes_by_part.items())},
    }


class Asked:
    """One memory, the recall of its answers and the time they took."""

    def __init__(self, path: Path, settings: Figures) -> None:
        self._memory = Memory(database=path, **settings)
        self._recall: list[float] = []
        self._ms: list[float] = []

    def ask(self, corpus: Corpus, probe: Any) -> None:
        started = time.perf_counter()
        hits = self._memory.search(probe.question, user_id=corpus.name, limit=10, now=probe.now)
        self._ms.append((time.perf_counter() - started) * 1000)
        found = [str(hit.memory.external_id) for hit in hits]
        self._recall.append(recall_at(found, probe.turns, 10))

    def figures(self) -> Figures:
        self._memory.close()
        p50, p95 = np.percentile(self._ms, [50, 95])
        mean = float(np.mean(self._recall))
        return {"questions": len(self._ms), "recall_at_10": mean, "p50_ms": p50, "p95_ms": p95}


def chroma_of_turns(ours: Path, folder: Path) -> float:
    """Bytes a memory of Chroma's folder with the same texts, vectors, speakers and sessions."""
    store = SqliteStore(ours / "hot.db")
    rows = []
    for partition in store.recall.partitions(Reach(tenant=TENANT, all_users=True)):
        (fingerprint,) = store.vectors.embedders()
        vectors = {key: vector for key, _, vector in store.vectors.scan(fingerprint, partition)}
        for key, record in store.recall.records(partition, list(vectors)).items():
            turn = Turn(
                number=key,
                session=record.session_id or "",
                speaker=record.speaker or "",
                text=record.text,
                team="",
                codes=b"",
            )
            rows.append((turn, restored([vectors[key]])[0]))
    store.close()
    return _chroma_bytes(rows, folder)


def chroma_of_rows(count: int, folder: Path) -> float:
    """The same of synthetic memories."""
    return _chroma_bytes(list(_rows(count, folder)), folder)


def _chroma_bytes(rows: Sequence[tuple[Turn, Any]], folder: Path) -> float:
    folder.mkdir(exist_ok=True)
    engine = Chroma(folder)
    engine.load(rows)
    engine.close()
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / len(rows)


def large(count: int, folder: Path) -> Figures:
    """Sizes of a large store in every tier, and how long packing it takes."""
    folder.mkdir()
    path = folder / "agent.db"
    fingerprint = bundled_fingerprint()
    store = SqliteStore(path, durability="normal")
    for batch in batches(_rows(count, folder), 1000):
        actions = tuple(insert_of(turn, vector, fingerprint) for turn, vector in batch)
        store.archive.write(Batch(tenant=TENANT, at=NOW, actions=actions))
    store.close()
    found: Figures = {}
    for tier in Tier:
        started = time.perf_counter()
        with packed(path, tier) as store:
            took = time.perf_counter() - started
            nearest = _indexed(store, path, folder)
            figures = sizes(store, path) | {"seconds_with_compact": took}
            found[tier.name.lower()] = figures | nearest
    return found


def _indexed(store: Store, path: Path, folder: Path) -> Figures:
    """Write the index file; how long the nearest ten take, and how many of them are right."""
    vectors = np.load(folder.with_name(folder.name + ".npy"), mmap_mode="r")
    queries = np.asarray(vectors[:: max(len(vectors) // QUERIES, 1)][:QUERIES])
    truth = synthetic.exact_nearest(vectors, queries, 10)
    file = path.with_name(path.name + ".index")
    index = BitsIndex(store, bundled_fingerprint(), identity=store.upkeep.identity, file=file)
    (partition,) = store.recall.partitions(Reach(tenant=TENANT))
    index.nearest(partition, queries[0], 10)
    ms, right = [], []
    for query, wanted in zip(queries, truth, strict=True):
        started = time.perf_counter()
        found = index.nearest(partition, query, 10)
        ms.append((time.perf_counter() - started) * 1000)
        right.append(len(set((found.keys - 1).tolist()) & set(wanted.tolist())) / 10)
    index.close()
    p50, p95 = np.percentile(ms, [50, 95])
    return {"recall_at_10": float(np.mean(right)), "p50_ms": p50, "p95_ms": p95}


def _rows(count: int, folder: Path) -> Iterator[tuple[Turn, Any]]:
    path = folder.with_name(folder.name + ".npy")
    synthetic.save_vectors(path, count, 1)
    yield from zip(synthetic.turns(count, 1), np.load(path, mmap_mode="r"), strict=True)


def tell(results: Figures) -> None:
    """Print it as tables."""
    print("| codec | ratio | stays raw | pack µs | unpack µs |\n|---|---|---|---|---|")
    for name, one in results["codecs"].items():
        figures = f"{one['ratio']:.2f} | {one['stays_raw']:.0%}"
        print(f"| {name} | {figures} | {one['pack_us']:.1f} | {one['unpack_us']:.1f} |")
    chroma = results["chroma"]
    for kind in ("without knowledge", "with knowledge", "synthetic"):
        if kind in results:
            beside = chroma["synthetic" if kind == "synthetic" else "turns"]
            _tell_tiers(kind, results[kind], beside)


def _tell_tiers(kind: str, tiers: Figures, chroma: float) -> None:
    memories = next(iter(tiers.values()))["memories"]
    print(f"\n{memories:,} memories, {kind}; Chroma {chroma:.0f} B a memory")
    print("| tier | text | vectors | codes | ratio | file | Chroma : file | rec@10 | p50 ms |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, one in tiers.items():
        parts = " | ".join(f"{one[part]:.0f}" for part in ("text", "vectors", "codes"))
        asked = f"{one['recall_at_10']:.4f} | {one['p50_ms']:.1f}" if "p50_ms" in one else " | "
        whole = f"{one['file']:.0f} | {chroma / one['file']:.2f}"
        print(f"| {name} | {parts} | {one['ratio']:.2f} | {whole} | {asked} |")
    for name, one in tiers.items():
        large = {part: size for part, size in one["parts"].items() if size >= 10}
        print(name, ", ".join(f"{part} {size:.0f}" for part, size in large.items()))


if __name__ == "__main__":
    main()
