"""Writes docs/benchmarks.md and its plots from bench/results/recall.json and speed.json.

python bench/left_out.py --data … --encoders …
rem bench facts --json > bench/results/facts.json
python bench/speed.py --out bench/results/speed.json
python bench/report.py
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench" / "results"
IMAGES = ROOT / "docs" / "images"
SYSTEMS = ("dense", "bm25", "rrf", "remanence")
COLOURS = {"dense": "#b8c4d6", "bm25": "#8fa5c4", "rrf": "#6482ad", "remanence": "#d1495b"}
ENGINES = {"remanence": "#d1495b", "chroma": "#6482ad", "sqlite-vec": "#8fa5c4"}
RECALL = ("rec@10", "session any@5", "session all@5", "rec@5", "rec@50", "ndcg@10", "mrr")
SPEED = {
    "search_p50_ms": "search p50, ms",
    "search_p95_ms": "search p95, ms",
    "filtered_p50_ms": "with a 1 % filter p50, ms",
    "recall_at_10": "recall@10 of exact",
    "durable_add_p50_ms": "durable add p50, ms",
    "bulk_adds_per_s": "bulk adds per s",
    "cold_start_ms": "cold start, ms",
    "resident_mb": "resident, MiB",
    "resident_after_mb": "resident after 600 searches, with the benchmark's lists, MiB",
    "disk_bytes_per_memory": "disk, B per memory",
    "index_bytes_per_vector": "index RAM, B per vector",
}


SCALE = (
    *("plain p50 ms", "ours p50 ms", "ratio p50", "plain p95 ms", "ours p95 ms"),
    *("plain recall", "ours recall", "answers too short"),
)


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    mpl.rcParams.update({"font.size": 9, "svg.hashsalt": "remanence", "axes.spines.top": False})
    recall = json.loads((RESULTS / "recall.json").read_text())
    speed = json.loads((RESULTS / "speed.json").read_text())
    recall_plot(recall)
    growth_plot(speed["sizes"])
    scale = json.loads((RESULTS / "scale.json").read_text())
    facts = json.loads((RESULTS / "facts.json").read_text())["data"]
    page = page_head() + recall_part(recall) + facts_part(facts)
    page += speed_part(speed) + scale_part(scale)
    (ROOT / "docs" / "benchmarks.md").write_text(page, encoding="utf-8")


def page_head() -> str:
    return (
        "# Benchmarks\n\nMade by `python bench/report.py` from the runs in `bench/results`; "
        "see [bench/README.md](../bench/README.md) for the commands.\n"
    )


def recall_part(figures: Mapping[str, Any]) -> str:
    sets = [name for name in figures if "·" not in name]
    lines = [
        "\n## Recall\n",
        "Development sets, no language model. Every conversation was read by an encoder and ranked "
        "by weights that never saw it (four folds); the baselines have the same encoder and words. "
        "The strict figure comes first: of the turns that hold the evidence, how many are among "
        "the first ten. `session any@5`, which others quote, asks only whether one of the right "
        "sessions is among the first five. A question of LongMemEval is .042.\n",
        "`python bench/left_out.py --data … --encoders …`\n",
        "![recall@10, and one of the right sessions among five](images/recall.svg)\n",
    ]
    for name in sets:
        lines += [
            f"### {name}\n",
            *table(["system", *RECALL, "tokens of 10 hits"], recall_rows(figures[name])),
        ]
        lines += ["", *table(["category", "questions", *SYSTEMS], category_rows(figures, name)), ""]
    return "\n".join(lines)


def recall_rows(systems: Mapping[str, Mapping[str, float]]) -> list[list[str]]:
    return [
        [name, *(f"{systems[name][c]:.3f}" for c in RECALL), f"{systems[name]['tokens']:.0f}"]
        for name in SYSTEMS
    ]


def category_rows(figures: Mapping[str, Any], name: str) -> list[list[str]]:
    rows = []
    for key in sorted(key for key in figures if key.startswith(f"{name} · ")):
        found = figures[key]
        count = f"{found['remanence']['questions']:.0f}"
        rows.append(
            [key.partition(" · ")[2], count, *(f"{found[s]['rec@10']:.3f}" for s in SYSTEMS)]
        )
    return rows


def speed_part(speed: Mapping[str, Any]) -> str:
    about = speed["about"]
    packages = ", ".join(f"{n} {v}" for n, v in about["packages"].items())
    lines = [
        "\n## Speed and size\n",
        f"{about['processor']}, one core, Python {about['python']}; {packages}. {about['note']}. "
        "`memory` is `Memory.search(text)`: embedding, words, late interaction and ranking. The "
        "engines up to 100,000 were measured in one run; `memory`, the million and the embedding "
        "in runs of their own. `Memory`'s filtered searches repeat questions, so they leave the "
        "embedding out.\n",
        "![growth](images/growth.svg)\n",
    ]
    for size, engines in speed["sizes"].items():
        head = ["", *engines]
        rows = [
            [label, *(shown(engine.get(name)) for engine in engines.values())]
            for name, label in SPEED.items()
        ]
        lines += [f"### {int(size):,} memories\n", *table(head, rows), ""]
    if "embedding" in speed:
        rows = [[name, shown(value)] for name, value in speed["embedding"].items()]
        lines += ["### Embedding a question\n", *table(["", "figure"], rows), ""]
    return "\n".join(lines)


def scale_part(scale: Mapping[str, Any]) -> str:
    lines = [
        "\n## Beyond one machine\n",
        "100,000 memories in PostgreSQL 18 with pgvector 0.8.5, and in one Qdrant 1.16 node that "
        "follows it, all on the same two cores. `plain` is the engine by its own client and "
        "manual, with the same vectors and index parameters; both got every question in turn, on a "
        "machine that was not quiet. pgvector's effort for 10 results was 160 then and is 240 now. "
        "`ours` sets the tenant, obeys row-level security, and sees the write before it.\n",
    ]
    for shape, found in scale["shapes"].items():
        rows = [
            [engine, asked, *(shown(row[column]) for column in SCALE)]
            for engine in ("pgvector", "qdrant")
            for asked, row in found[engine].items()
        ]
        lines += [f"### {shape}\n", *table(["engine", "asked for", *SCALE], rows), ""]
        p50, p95 = found["memory"]["p50 ms"], found["memory"]["p95 ms"]
        lines += [f"`Memory.search(text)` whole: p50 {p50:.1f} ms, p95 {p95:.1f} ms.\n"]
    made = scale["ingest"]
    lines += [
        f"Memories with vectors, in batches of 1,000: {made['bulk_per_s']:,.0f} a second with "
        f"the HNSW index built afterwards ({made['index_built_s']:.0f} s), "
        f"{made['in_place_per_s']:,.0f} a second in place. On disk "
        f"{made['disk_bytes_per_memory']:,.0f} bytes a memory.\n",
    ]
    return "\n".join(lines)


def shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def facts_part(facts: Mapping[str, Any]) -> str:
    lines = [
        "\n## Facts\n",
        "Sentences and update scenarios written for the project, read by rules alone "
        "(`rem bench facts`). The rules were made with the tuning part; the part kept out was not "
        "looked at. A sentence counts for every fact that a careful reader would keep; a scenario "
        "tells 3 to 8 statements in order and asks what holds, what held at a date, and whether "
        "anything unrelated was retired.\n",
    ]
    for split, found in facts["sentences"].items():
        lines += [
            f"### {split}\n",
            *table(
                ["sort", "sentences", "facts", "precision", "recall", "times right", "ms"],
                [
                    [name, f"{s['sentences']}", f"{s['facts']}"]
                    + [f"{s[key]:.3f}" for key in ("precision", "recall", "times", "ms")]
                    for name, s in found.items()
                ],
            ),
            "",
        ]
    head = ["update scenarios", "scenarios", "questions", "current", "past", "retired", "unknown"]
    keys = ("scenarios", "questions", "current", "past", "retired", "unknown")
    rows = [
        [split, *(f"{u[key]:.3f}" if key in ("current", "past") else f"{u[key]}" for key in keys)]
        for split, u in facts["updates"].items()
    ]
    return "\n".join([*lines, *table(head, rows), ""])


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]


def recall_plot(figures: Mapping[str, Any]) -> None:
    bars = [(name, "rec@10") for name in ("locomo", "longmemeval", "beam")]
    bars.append(("longmemeval", "session any@5"))
    chart, axes = plt.subplots(figsize=(7, 2.8))
    for place, system in enumerate(SYSTEMS):
        values = [figures[name][system][metric] for name, metric in bars]
        at = [n + (place - 1.5) * 0.2 for n in range(len(bars))]
        drawn = axes.bar(at, values, 0.18, label=system, color=COLOURS[system])
        axes.bar_label(drawn, [f"{value:.2f}" for value in values], fontsize=7, padding=1)
    axes.set_xticks(range(len(bars)), [f"{name}\n{metric}" for name, metric in bars])
    axes.set_ylim(0, 1.1)
    axes.legend(ncols=4, frameon=False, loc="upper left", fontsize=8)
    save(chart, "recall.svg")


def growth_plot(sizes: Mapping[str, Any]) -> None:
    panels = {
        "search_p50_ms": "search p50, ms",
        "filtered_p50_ms": "1 % filter p50, ms",
        "resident_mb": "resident, MiB",
        "disk_bytes_per_memory": "disk, B per memory",
    }
    chart, grid = plt.subplots(1, 4, figsize=(10, 2.6))
    for axes, (figure, label) in zip(grid, panels.items(), strict=True):
        for engine, colour in ENGINES.items():
            known = {int(s): e[engine][figure] for s, e in sizes.items() if engine in e}
            axes.plot(list(known), list(known.values()), "o-", color=colour, label=engine, ms=3)
        axes.set_xscale("log")
        if figure != "disk_bytes_per_memory":
            axes.set_yscale("log")
        axes.set_title(label, fontsize=9)
    grid[0].legend(frameon=False, fontsize=7)
    save(chart, "growth.svg")


def save(chart: Any, name: str) -> None:
    chart.tight_layout()
    chart.savefig(IMAGES / name, metadata={"Date": None})
    plt.close(chart)


if __name__ == "__main__":
    main()
