"""The judged sets: sentences and update scenarios with the facts a careful reader keeps."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

from remanence.errors import InvalidInput
from remanence.language.english.extraction.statement import Statement
from remanence.model.knowledge import FactKind, Timespan, folded_name
from remanence.model.predicates import predicate_of

T = TypeVar("T")

ANY = "*"
_PHRASES = frozenset({"did", "plans to", "wants to", "is", "note"})
_UNTIMED = frozenset({FactKind.EVENT, FactKind.PLAN})
_LEADING = re.compile(r"(?:(?:an?|the|my|your|his|her|its|our|their|some|this|that)\s+)+(?=\S)")
_EDGES = " .,;:!?\"'"


class Words(tuple[str, ...]):
    """One word or several, any of which will do."""

    __slots__ = ()


class Wanted(Struct, frozen=True, kw_only=True):
    """A fact that a reader keeps: any of its subjects, predicates and objects will do.

    `*` is any object and an empty one an end without a name. `began` and `ended` are ISO days or
    the beginnings of them; an empty `ended` says that it is over and not since when. What is
    `optional` may be left out and may be given.
    """

    subjects: Words = field(name="subject")
    predicates: Words = field(name="predicate")
    objects: Words = field(name="object")
    began: str | None = None
    ended: str | None = None
    optional: bool = False


class Sentence(Struct, frozen=True, kw_only=True):
    """A message and what it says."""

    id: str
    text: str
    speaker: str
    at: datetime
    split: str
    sort: str
    facts: tuple[Wanted, ...]


class Said(Struct, frozen=True, kw_only=True):
    """One statement of a scenario."""

    at: datetime
    speaker: str
    text: str


class Expected(Struct, frozen=True, kw_only=True):
    """What a memory should answer, now or `as_of` a moment; no objects: that nothing holds."""

    subject: str
    predicates: Words = field(name="predicate")
    objects: Words = field(name="object")
    as_of: datetime | None = None


class Scenario(Struct, frozen=True, kw_only=True):
    """Statements over time, in the order they are told, and what then holds, held and stays."""

    id: str
    split: str
    statements: tuple[Said, ...]
    now: tuple[Expected, ...]
    past: tuple[Expected, ...]
    untouched: tuple[Expected, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedFacts:
    """All that was read from a file or a folder."""

    sentences: tuple[Sentence, ...] = ()
    scenarios: tuple[Scenario, ...] = ()


def load_judged(data: Path | None = None) -> JudgedFacts:
    """The sets of a JSON-lines file or of a folder of them; without one, those that ship."""
    if data is None:
        with as_file(files("remanence.tools.evaluation") / "fact_sets") as folder:
            return load_judged(folder)
    rows = [row for file in _files(data) for row in _rows(file)]
    return JudgedFacts(
        sentences=tuple(_read(row, Sentence) for row in rows if "text" in row),
        scenarios=tuple(_read(row, Scenario) for row in rows if "statements" in row),
    )


def folded(text: str) -> str:
    """A name or a value as it is compared: case, accents, articles and edges do not count.

    >>> folded("the Old Volvo."), folded("My sister’s car")
    ('old volvo', "sister's car")
    """
    plain = folded_name(text.replace("’", "'")).strip(_EDGES)
    return _LEADING.sub("", plain, count=1) if _LEADING.match(plain) else plain


def same_object(predicate: str, given: str, accepted: Sequence[str]) -> bool:
    """Whether an object is one of those accepted; a phrase may say more than it must."""
    found = folded(given)
    wanted = [folded(one) for one in accepted]
    if ANY in accepted or found in wanted:
        return True
    inside = [one for one in wanted if one] if predicate in _PHRASES else []
    return any(f" {one} " in f" {found} " for one in inside)


def fits(wanted: Wanted, given: Statement, at: datetime) -> bool:
    """Whether a statement, said then, says the fact, and over or not as it is."""
    predicate = given.predicate.replace("favorite", "favourite")
    known = [name.replace("favorite", "favourite") for name in wanted.predicates]
    if predicate not in known or not _as_over(wanted, given, at):
        return False
    ends = [(given.subject.text, given.value)]
    if predicate_of(predicate).inverse == predicate:
        ends.append((given.value, given.subject.text))
    return any(
        folded(subject) in map(folded, wanted.subjects)
        and same_object(predicate, value, wanted.objects)
        for subject, value in ends
    )


def times_fit(wanted: Wanted, given: Statement, at: datetime) -> bool | None:
    """Whether the times are those; None where the fact has none to check."""
    pairs = [(wanted.began, given.began), (wanted.ended, given.ended)]
    timed = [(day, when) for day, when in pairs if day]
    return all(_falls(day, when, at) for day, when in timed) if timed else None


def _as_over(wanted: Wanted, given: Statement, at: datetime) -> bool:
    if predicate_of(given.predicate).kind in _UNTIMED or ANY in wanted.objects:
        return True
    over = given.ended is not None and not (given.ended.start and given.ended.start > at)
    return over if wanted.ended is not None else wanted.optional or not over


def _falls(day: str, when: Timespan | None, at: datetime) -> bool:
    ends = [] if when is None else [when.start, when.end]
    return any(end.astimezone(at.tzinfo).isoformat().startswith(day) for end in ends if end)


def _files(data: Path) -> list[Path]:
    found = sorted(data.glob("*.jsonl")) if data.is_dir() else [data]
    if not found or not all(file.is_file() for file in found):
        raise InvalidInput(f"{data} has no fact sets: name a .jsonl file or a folder of them.")
    return found


def _rows(file: Path) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InvalidInput(f"{file}, line {number} is not JSON: {error}.") from error
        if not isinstance(row, Mapping) or not {"text", "statements"} & set(row):
            raise InvalidInput(f"{file}, line {number} is neither a sentence nor a scenario.")
        yield row


def _read(row: Mapping[str, Any], kind: type[T]) -> T:
    return msgspec.convert(row, kind, dec_hook=_words)


def _words(kind: type, value: str | Sequence[str] | None) -> Any:
    return kind((value,) if isinstance(value, str) else value or ())
