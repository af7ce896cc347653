"""How well facts are read out of real conversations, judged by labels that hold none of their text.

`statements.jsonl` says of what the rules read whether a reader would keep it (2), finds it true
and of no use (1) or wrong (0); `turns.jsonl` says what a reader keeps of a turn.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias

from remanence.errors import InvalidInput
from remanence.language.english.extraction.reading import read
from remanence.language.english.extraction.statement import NamedEntity, Statement
from remanence.language.english.extraction.worth import is_loose
from remanence.model.knowledge import EntityType
from remanence.tools.evaluation.datasets import Corpus, Turn

USEFUL, RIGHT = 2, 1
Key: TypeAlias = tuple[str, str, str]
_USER, _RECENT = "user", 3
_WORD = re.compile(r"[^\W_]+")
_SMALL = frozenset(["a", "an", "the", "my", "her", "his", "their", "our", "to", "of", "in", "at"])
# What readers call otherwise than the rules.
_SAME = {
    "pet": ("has pet",), "health": ("has condition", "takes", "allergic to"), "owns": ("has",),
    "goal": ("wants to", "plans to"), "plans to": ("plans to", "wants to"),
    "birthday": ("born on",), "religion": ("is",), "relationship status": ("dating", "married to"),
}  # fmt: skip
_ENOUGH = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A statement that the rules read in a turn, and the reader's verdict if there is one."""

    key: Key
    text: str
    speaker: NamedEntity
    statement: Statement
    verdict: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Of the statements of one sort: how many there are, and what readers said of those judged."""

    stated: int
    judged: int
    useful: float
    right: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Of the facts that a reader keeps of judged turns: how many there are and are stated."""

    wanted: int
    found: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RealReport:
    """Precision in all, by predicate and by rule, and what was found by predicate."""

    precision: Mapping[str, Figures]
    rules: Mapping[str, Figures]
    recall: Mapping[str, Found]


def real_report(corpora: Iterable[Corpus], judged: Path) -> RealReport:
    """Read every human turn, and compare with the labels in the folder."""
    corpora = list(corpora)
    told = list(statements(corpora, verdicts_of(judged)))
    read_here = {(corpus.dataset, corpus.name) for corpus in corpora}
    labels = [one for one in rows(judged / "turns.jsonl") if _where(one) in read_here]
    sorts = [("states of a person", [one for one in told if not is_loose(one.statement)])]
    sorts += [("all", told), *_grouped((_family(one.statement.predicate), one) for one in told)]
    return RealReport(
        precision={name: _figures(ones) for name, ones in sorts},
        rules={
            name: _figures(ones) for name, ones in _grouped((t.statement.rule, t) for t in told)
        },
        recall=_recall(told, labels),
    )


def _where(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["set"], row["conversation"]


def statements(
    corpora: Iterable[Corpus], verdicts: Mapping[tuple[Key, str], int], *, all: bool = False
) -> Iterator[Told]:
    """What a memory would read in the turns of people; with `all`, what it leaves out too."""
    for corpus in corpora:
        recent: dict[str, list[NamedEntity]] = defaultdict(list)
        for turn in corpus.turns:
            if turn.role != "assistant" or turn.speaker:
                yield from _of_turn(corpus, turn, recent[turn.session], verdicts, all)


def _of_turn(
    corpus: Corpus,
    turn: Turn,
    recent: list[NamedEntity],
    verdicts: Mapping[tuple[Key, str], int],
    all: bool,
) -> Iterator[Told]:
    speaker = NamedEntity(turn.speaker or _USER, EntityType.PERSON)
    reading = read(turn.text, speaker=speaker, at=turn.at, recent=recent[-_RECENT:], all=all)
    recent += [one for one in reading.names if one.type == EntityType.PERSON]
    key = (corpus.dataset, corpus.name, turn.id)
    for one in reading.statements:
        verdict = verdicts.get((key, digest(one)))
        yield Told(key=key, text=turn.text, speaker=speaker, statement=one, verdict=verdict)


def digest(one: Statement) -> str:
    """What a statement is known by in the labels, which hold no text."""
    times = (str(time) if time else "" for time in (one.began, one.ended))
    said = "\n".join((one.subject.text, one.predicate, one.value, *times))
    return blake2b(said.encode(), digest_size=8).hexdigest()


def verdicts_of(judged: Path) -> dict[tuple[Key, str], int]:
    """The readers' verdicts by turn and statement."""
    return {
        ((row["set"], row["conversation"], row["turn"]), row["said"]): row["verdict"]
        for row in rows(judged / "statements.jsonl")
    }


def rows(file: Path) -> list[dict[str, Any]]:
    """The labels of a file."""
    try:
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{file} cannot be read as labels: {error}") from error


def _grouped(named: Iterable[tuple[str, Told]]) -> list[tuple[str, list[Told]]]:
    """What has the same name, the most frequent first."""
    groups: dict[str, list[Told]] = defaultdict(list)
    for name, one in named:
        groups[name].append(one)
    return sorted(groups.items(), key=lambda group: -len(group[1]))


def _figures(ones: list[Told]) -> Figures:
    verdicts = [one.verdict for one in ones if one.verdict is not None]
    of = max(len(verdicts), 1)
    return Figures(
        stated=len(ones),
        judged=len(verdicts),
        useful=round(sum(one >= USEFUL for one in verdicts) / of, 4),
        right=round(sum(one >= RIGHT for one in verdicts) / of, 4),
    )


def _recall(told: Iterable[Told], labels: Iterable[Mapping[str, Any]]) -> dict[str, Found]:
    said: dict[Key, list[Statement]] = defaultdict(list)
    for one in told:
        said[one.key].append(one.statement)
    met: dict[str, list[bool]] = defaultdict(list)
    for row in labels:
        here = said[row["set"], row["conversation"], row["turn"]]
        for fact in row["facts"]:
            if not fact["optional"]:
                met[_family(fact["predicate"])].append(any(_says(one, fact) for one in here))
    ordered = sorted(met.items(), key=lambda pair: -len(pair[1]))
    return {name: Found(wanted=len(ones), found=sum(ones)) for name, ones in ordered}


def _family(predicate: str) -> str:
    return "favourite" if predicate.startswith("favourite") else predicate


def _says(one: Statement, fact: Mapping[str, Any]) -> bool:
    """Whether a statement says it, in about the words of one of its wordings."""
    wanted, given = _family(fact["predicate"]), _family(one.predicate)
    if given not in (wanted, *_SAME.get(wanted, ())):
        return False
    wordings = fact["object"] if isinstance(fact["object"], list) else [fact["object"]]
    words = _words(one.value) | _words(one.subject.text)
    return any(_share(_words(str(wording)), words) >= _ENOUGH for wording in wordings)


def _share(wanted: set[str], given: set[str]) -> float:
    return len(wanted & given) / max(len(wanted), 1)


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)} - _SMALL
