"""What batches saw: a file that only grows, so that a killed run goes on, and its sum."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from campaign import Batch, Campaign, Seen, batches_of

BEGIN, END = "<!-- soak: begin -->", "<!-- soak: end -->"
SHORT = 300  # characters of a violation in a table or on a terminal


@dataclass(frozen=True, slots=True)
class Done:
    """A batch that ended."""

    batch: Batch
    counts: dict[str, int]
    violations: list[str]
    seconds: float
    processor_s: float
    commit: str


class Results:
    """The results in a folder. One run at a time has them."""

    def __init__(self, folder: Path, seed: int, times: float) -> None:
        self.folder, self.seed, self.times = folder, seed, times
        self.begun = datetime.now(UTC).isoformat(timespec="seconds")
        self.done: dict[tuple[str, int], Done] = {}
        self._file = (folder / "results.jsonl").open("a+b")
        self._commit = _commit()

    @classmethod
    def open(cls, folder: Path, seed: int, times: float | None, *, anew: bool = False) -> Self:
        """Those of the run that was begun here, or new ones; `times` None takes what was begun."""
        folder.mkdir(parents=True, exist_ok=True)
        results = cls(folder, seed, 1.0 if times is None else times)
        try:
            fcntl.flock(results._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"Another soak is at work in {folder}.") from None
        if anew:
            results._file.truncate(0)
        lines = results._lines()
        if not lines:
            results._append({"seed": seed, "times": results.times, "begun": results.begun})
            return results
        head, *rest = lines
        if times is not None and head["times"] != times:
            raise SystemExit(
                f"The run in {folder} was begun with --times {head['times']}. Give the same to go "
                "on, or --anew to begin another."
            )
        results.seed, results.times, results.begun = head["seed"], head["times"], head["begun"]
        for one in rest:
            done = Done(**{**one, "batch": Batch(**one["batch"])})
            results.done[done.batch.campaign, done.batch.number] = done
        return results

    def add(self, batch: Batch, seen: Seen, seconds: float, processor_s: float) -> Done:
        """Keep what a batch saw, before anything else happens."""
        spent = round(seconds, 2), round(processor_s, 2)
        done = Done(batch, seen.counts, seen.violations, *spent, self._commit)
        self._append(asdict(done))
        self.done[batch.campaign, batch.number] = done
        if done.violations:
            with (self.folder / "failed.jsonl").open("a") as failed:
                failed.write(json.dumps(asdict(done)) + "\n")
        return done

    def missing(self, campaign: Campaign) -> list[Batch]:
        """The batches of a campaign that did not end yet."""
        every = batches_of(campaign, self.times, self.seed)
        return [one for one in every if (one.campaign, one.number) not in self.done]

    def of(self, campaign: Campaign) -> list[Done]:
        """The batches of a campaign that did."""
        every = batches_of(campaign, self.times, self.seed)
        found = (self.done.get((one.campaign, one.number)) for one in every)
        return [one for one in found if one is not None]

    def close(self) -> None:
        self._file.close()

    def _lines(self) -> list[dict[str, Any]]:
        """All that was written; the end of a line that a kill cut off is taken away."""
        self._file.seek(0)
        content = self._file.read()
        whole = content[: content.rfind(b"\n") + 1]
        self._file.truncate(len(whole))
        return [json.loads(line) for line in whole.splitlines()]

    def _append(self, told: dict[str, Any]) -> None:
        self._file.write(json.dumps(told).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def summary(results: Results, campaigns: Sequence[Campaign]) -> dict[str, Any]:
    """The whole of it, as JSON."""
    told = [_told(results, campaign) for campaign in campaigns]
    every = [done for campaign in campaigns for done in results.of(campaign)]
    return {
        "begun": results.begun,
        "seed": results.seed,
        "times": results.times,
        "whole": all(one["done"] == one["asked"] for one in told),
        "violations": sum(one["violations"] for one in told),
        "machine": _machine(),
        "commits": sorted({done.commit for done in every}),
        "campaigns": told,
        "failing": [asdict(done) for done in every if done.violations],
    }


def _told(results: Results, campaign: Campaign) -> dict[str, Any]:
    ended, counts = results.of(campaign), Counter[str]()
    for one in ended:
        counts.update(one.counts)
    return {
        "name": campaign.name,
        "promise": campaign.promise,
        "unit": campaign.unit,
        "full": campaign.total,
        "asked": sum(one.count for one in batches_of(campaign, results.times, results.seed)),
        "done": sum(one.batch.count for one in ended),
        "seen": dict(counts),
        "violations": sum(len(one.violations) for one in ended),
        "seconds": round(sum(one.seconds for one in ended), 1),
        "processor_s": round(sum(one.processor_s for one in ended), 1),
    }


def table(told: dict[str, Any]) -> str:
    """Markdown: what was asked, what was seen."""
    rows = [
        "| campaign | done | seen | violations | minutes | processor |",
        "|---|---|---|---|---|---|",
    ]
    for one in told["campaigns"]:
        if not one["done"]:
            rows.append(f"| `{one['name']}` | not run | | | | |")
            continue
        seen = ", ".join(
            f"{count:,} {name.replace('_', ' ')}" for name, count in one["seen"].items()
        )
        part = "" if one["done"] == one["full"] else f" of {one['full']:,}"
        rows.append(
            f"| `{one['name']}` | {one['done']:,}{part} {one['unit']} | {seen} | "
            f"{one['violations']} | {one['seconds'] / 60:.1f} | {one['processor_s'] / 60:.1f} |"
        )
    return "\n".join(rows)


def origin(told: dict[str, Any]) -> str:
    """Where the figures come from, in a sentence."""
    length = "In full" if told["times"] == 1 else f"At {told['times']:g} of its full length"
    whole = "" if told["whole"] else ", and not finished"
    return (
        f"{length}{whole}: begun {told['begun'][:10]}, seed {told['seed']}, commit "
        f"{', '.join(told['commits']) or 'unknown'}, {told['machine']}. Minutes are those of one "
        "of two workers, so the whole takes half their sum; those of the processor leave out the "
        "PostgreSQL that campaigns share."
    )


def write_into(page: Path, told: dict[str, Any]) -> None:
    """Put the table into a page, between its marks."""
    text = page.read_text(encoding="utf-8")
    head, found, rest = text.partition(BEGIN)
    _, ended, tail = rest.partition(END)
    if not (found and ended):
        raise SystemExit(f"{page} has no place for figures: {BEGIN} … {END}")
    made = f"{head}{BEGIN}\n{origin(told)}\n\n{table(told)}\n{END}{tail}"
    page.write_text(made, encoding="utf-8")


def failures(told: dict[str, Any]) -> Iterable[str]:
    """How to repeat each batch that saw what it should not have."""
    for one in told["failing"]:
        batch = one["batch"]
        again = f"--repeat {batch['campaign']} {batch['seed']} {batch['count']}"
        yield f"{again}\n    " + "\n    ".join(each[-SHORT:] for each in one["violations"])


def _machine() -> str:
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()}"


def _commit() -> str:
    """What is measured; a + for what is not committed."""
    try:
        said = [
            subprocess.run(
                ["git", *asked],
                cwd=Path(__file__).parent,
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
            for asked in (["rev-parse", "--short", "HEAD"], ["status", "--porcelain", "-uno"])
        ]
    except (OSError, subprocess.CalledProcessError):
        return ""
    return said[0] + ("+" if said[1] else "")
