"""How many judged times are told right: when, of what kind, and as exactly as was said.

    python bench/judged_times.py ../shared/bench ../shared/bench-beam

The judgements are in bench/judged/times.jsonl. `drawn` 1 was looked at while the rules were made,
2 was judged and kept out of sight until they stood.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from remanence.knowledge.belief import believe
from remanence.language.english.extraction.reading import read
from remanence.language.english.extraction.statement import NamedEntity, Statement
from remanence.language.traits import said_times
from remanence.model.knowledge import Claim, EntityType, entity_id
from remanence.tools.evaluation.datasets import Turn, load_corpora

JUDGED = Path(__file__).parent / "judged" / "times.jsonl"
DAY = timedelta(days=1)
ROLES = {"planned for": "plan", "planned": "plan", "since": "since", "began": "since",
         "until": "until", "ended by": "until", "ended": "until", "ends": "until"}  # fmt: skip
OPEN = ("before", "after")
Range = tuple[datetime, datetime]
Told = tuple[str, Range | str]  # what for, and when: a range, or on which side of something


def dates(text: str) -> Range:
    """2023, 2023-05, 2023-05-07, or the first and the last with two dots between."""
    first, _, last = text.partition("..")
    return _unit(first)[0], _unit(last or first)[1]


def _unit(text: str) -> Range:
    year, *rest = map(int, text.split("-"))
    if not rest:
        return datetime(year, 1, 1), datetime(year + 1, 1, 1)
    if len(rest) == 1:
        return datetime(year, rest[0], 1), datetime(year + rest[0] // 12, rest[0] % 12 + 1, 1)
    return datetime(year, *rest), datetime(year, *rest) + DAY


def told(printed: str) -> Told:
    """A time as it is printed, read back."""
    role = next((word for word in ROLES if printed.startswith(f"{word} ")), "")
    when = printed.removeprefix(role).strip()
    side = next((side for side in OPEN if when.startswith(side)), "")
    kind = ROLES.get(role) or ("since" if side == "after" else "on")
    if side or role == "ended by":
        return kind, side or "before"
    found = re.findall(r"[\d-]{4,10}", when)
    first, after = _unit(found[0])[0], _unit(found[-1])[1]
    if when.startswith("the week"):
        after = first + (2 if when.startswith("the weekend") else 7) * DAY
    if when.startswith("about"):
        slack = max((after - first) / 4, 4 * DAY if after - first == DAY else DAY)
        first, after = first - slack, after + slack
    return kind, (first, after)


def fits(judged: str, printed: Iterable[str]) -> bool:
    """Whether all that is printed is what was judged right, and nothing of it is missing."""
    got = dict(map(told, printed))
    words = [] if judged == "none" else judged.split()
    right = [
        _alike(when, got.pop(role, None))
        for role, when in zip(words[::2], words[1::2], strict=True)
    ]
    return all(right) and not got


def _alike(judged: str, printed: Range | str | None) -> bool:
    if judged == "soon":
        return printed in (None, "after")
    if judged == "recent":
        return printed in (None, "before")
    if printed is None or isinstance(printed, str):
        return False
    (low, high), (first, after) = dates(judged.lstrip("~")), printed
    if judged.startswith("~"):
        middle, slack = first + (after - first) / 2, (high - low) / 4
        ratio = (after - first) / (high - low)
        return low - slack <= middle <= high + slack and 1 / 3.5 <= ratio <= 3.5
    both = min(after, high) - max(first, low)
    return both / (max(after, high) - min(first, low)) >= 0.66


def printed_of(turn: Turn, judged: dict[str, Any]) -> list[str] | None:
    """What is told of the time that was judged; None if the fact is not stated any more."""
    if "at" in judged:
        first, last = judged["at"]
        near = " ".join(turn.text[max(first - 40, 0) : last + 40].split())
        said = " ".join(turn.text[first:last].split())
        found = [one for one in said_times(turn.text, turn.at) if one.text in near]
        return [one.when for one in found if said in one.text or one.text in said or
                _overlap(near, said, one.text)]  # fmt: skip
    speaker = NamedEntity(turn.speaker or "user", EntityType.PERSON)
    for one in read(turn.text, speaker=speaker, at=turn.at).statements:
        same = (one.subject.text, one.predicate) == (judged["subject"], judged["predicate"])
        if same and (one.value.startswith(judged["object"]) or judged["object"] == one.value
                     or (one.value and judged["object"].startswith(one.value))):  # fmt: skip
            return list(_parts(one, turn.at))
    return None


def _overlap(text: str, one: str, other: str) -> bool:
    first, second = text.find(one), text.find(other)
    return first < second + len(other) and second < first + len(one)


def _parts(said: Statement, at: datetime) -> Iterator[str]:
    claim = Claim(
        id="0", subject=entity_id(None, said.subject.text), predicate=said.predicate,
        value=said.value or "-", text="", kind=said.kind, observed_at=at, recorded_at=at,
        began=said.began, ended=said.ended,
    )  # fmt: skip
    [fact] = believe([claim], names={}, now=at)
    yield from filter(None, re.split(r" (?=until |ended |ends |planned )", fact.when))


def main(folders: list[Path], drawn: int, *, verbose: bool) -> None:
    wanted = defaultdict(list)
    for line in JUDGED.read_text().splitlines():
        one = json.loads(line)
        if one["drawn"] == drawn:
            wanted[one["set"], one["conversation"], one["turn"]].append(one)
    counts: Counter[tuple[str, bool | None]] = Counter()
    turns = ((c, turn) for folder in folders for c in load_corpora(folder) for turn in c.turns)
    for corpus, turn in turns:
        for one in wanted[corpus.dataset, corpus.name, turn.id]:
            of = "no time" if one["when"][0] == "x" else "said" if "at" in one else "stated"
            printed = printed_of(turn, one)
            if printed is None:
                counts[of, None] += 1
                continue
            right = any(not printed if when == "x" else _fits(of, when, printed)
                        for when in one["when"])  # fmt: skip
            counts[of, right] += 1
            if verbose and not right:
                print(of, printed, one["when"], corpus.name, turn.id, sep=" | ")
    for of in sorted({of for of, _ in counts}):
        right, all = counts[of, True], counts[of, True] + counts[of, False]
        print(f"{of}: {right} of {all} right ({right / all:.3f}); not stated {counts[of, None]}")


def _fits(of: str, when: str, printed: list[str]) -> bool:
    """Of the times of a turn, one must be right; of those of a fact, all."""
    if of == "stated":
        return fits(when, printed)
    return any(fits(when, [one]) for one in printed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--drawn", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    asked = parser.parse_args()
    main(asked.folders, asked.drawn, verbose=asked.verbose)
