"""The lines of an export, read from a stream that may be anything: bounded, numbered, checked.

What a record is written as and read by stands in one table for each type of line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import datetime
from typing import Any, BinaryIO, Generic, NoReturn, TypeAlias, TypeVar, get_type_hints

from remanence.errors import InvalidInput
from remanence.memories.draft import changes_of
from remanence.model import validation
from remanence.model.knowledge import Claim, Entity, Mention, Timespan
from remanence.model.memory import (
    Association,
    Kind,
    MemoryRecord,
    Metadata,
    Revision,
    State,
    unit_interval,
)
from remanence.model.scope import Scope, check_name
from remanence.version import __version__

# The longest text that max_text can allow, 10 million characters, escaped to 12 bytes each.
MAX_LINE = 160 << 20
MAX_WORD = 128

FORMAT = "remanence-export"
VERSION = 3
READABLE = (1, 2, 3)
ENDS = {"start", "end"}

Line: TypeAlias = Mapping[str, Any]
# What a field is called, its value in the line, and the most characters a text may have.
Reader: TypeAlias = Callable[[str, Any, int], Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NumberedLine:
    """A line: its number in the file, its length in bytes, and the object it holds."""

    number: int
    size: int
    content: Line


def read_lines(file: BinaryIO) -> Iterator[NumberedLine]:
    """Every line that is not empty, as it comes; `InvalidInput` names the one that is no object."""
    number = 0
    while raw := file.readline(MAX_LINE + 1):
        number += 1
        if len(raw) > MAX_LINE:
            raise InvalidInput(
                f"Line {number} is longer than {MAX_LINE:,} bytes; no export has such a line."
            )
        if raw.strip():
            yield NumberedLine(number, len(raw), _parsed(number, raw))


def _parsed(number: int, raw: bytes) -> Line:
    try:
        content = json.loads(raw, parse_constant=refused)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"Line {number} is not JSON ({str(error)[:80]}); import what `rem export` wrote, or "
            "chats with `rem import chat FILE`."
        ) from None
    if not isinstance(content, Mapping):
        raise InvalidInput(
            f"Line {number} is no JSON object, so `rem export` did not write it; "
            "chats are read by `rem import chat FILE`."
        )
    return content


def refused(word: str) -> NoReturn:
    """Refuse a number that Python's reader of JSON would take."""
    raise ValueError(f"{word} is not a number that JSON knows")


def check_header(line: Line) -> None:
    """Refuse what is not an export of ours, or one of a later format."""
    if line.get("type") != FORMAT:
        raise InvalidInput(
            "This is not a file that `rem export` made; chats are read by `rem import chat FILE`."
        )
    if line.get("version") not in READABLE:
        raise InvalidInput(
            f"The file has format {str(line.get('version'))[:20]!r}, written by Remanence "
            f"{str(line.get('remanence'))[:20]}, and Remanence {__version__} reads up to "
            f"{VERSION}; nothing was read in. Upgrade Remanence, and import again."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LineType(Generic[T]):
    """A type of line: whose fields it holds, and who reads those whose types do not say it.

    A field `type` is called `sort` in the line. It does not hold what is the importer's `own`;
    `beside` the fields it says which record it belongs to.
    """

    name: str
    model: type[T]
    readers: Mapping[str, Reader]
    sort: str = "type"
    own: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        kinds = get_type_hints(self.model)
        usual = {name: _USUAL[kind] for name, kind in kinds.items() if kind in _USUAL}
        object.__setattr__(self, "readers", usual | dict(self.readers))

    def told(self, one: T, **beside: Any) -> dict[str, Any]:
        """The line of a record."""
        told = {name: getattr(one, field) for name, field in self._fields().items()}
        return {"type": self.name, **beside, **told}

    def read(self, line: Line, max_text: int = 0, **own: Any) -> T:
        """The record of a line, with what the line does not say."""
        given = {n: v for n, v in line.items() if n != "type" and n not in self.beside}
        named = self._fields()
        if unknown := sorted(set(given) - set(named)):
            raise InvalidInput(f"Unknown field {unknown[0]!r}; update Remanence to read it.")
        if missing := sorted(self._needed() - set(given)):
            raise InvalidInput(f"The field {missing[0]!r} is missing.")
        read = {named[n]: self.readers[n](n, value, max_text) for n, value in given.items()}
        return self.model(**read, **own)

    def _fields(self) -> dict[str, str]:
        """The field that each name of a line stands for."""
        names = [each.name for each in fields(self.model)]  # type: ignore[arg-type]
        return {self.sort if n == "type" else n: n for n in names if n not in self.own}

    def _needed(self) -> set[str]:
        every = fields(self.model)  # type: ignore[arg-type]
        bare = {each.name for each in every if each.default is each.default_factory is MISSING}
        return {name for name, field in self._fields().items() if field in bare}


def whole(what: str, value: Any, most: int = 0) -> int:
    """A whole number that a store can keep."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise InvalidInput(f"{what} must be a whole number, 0 or more; got {value!r}.")
    return value


def _short(read: Callable[[str, Any], Any]) -> Reader:
    """What is as long as it is, whatever a text may be."""
    return lambda what, value, most: read(what, value)


moment = _short(validation.moment_of)
label = _short(validation.label_of)
_share = _short(unit_interval)
_truth = _short(validation.truth_of)


def word(what: str, value: Any, most: int = 0) -> str:
    """The name of a verb or of a sort of link."""
    return validation.text_of(what, value, MAX_WORD)


def maybe(read: Reader) -> Reader:
    """What may be null besides."""
    return lambda what, value, most: None if value is None else read(what, value, most)


def _id(what: str, value: Any, most: int) -> str:
    """An id in its canonical form."""
    try:
        return validation.id_of(value)
    except LookupError:
        raise InvalidInput(f"{what} must be a UUID; got {str(value)[:60]!r}.") from None


def _metadata(what: str, value: Any, most: int) -> Any:
    return validation.metadata_of(value)


def _before(what: str, value: Any, most: int) -> Any:
    if value is not None and not isinstance(value, Mapping):
        raise InvalidInput(f"{what} must be an object.")
    return changes_of(value, most) if value else {}


def _text(what: str, value: Any, most: int) -> str:
    """Any text that a store can keep, an empty one too."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be text, not {type(value).__name__}.")
    if len(value) > most:
        raise InvalidInput(f"{what} has {len(value):,} characters; at most {most:,} are taken.")
    return str(validation.json_of(what, value))


def _filled(what: str, value: Any, most: int) -> str:
    if value == "":
        raise InvalidInput(f"{what} is empty.")
    return _text(what, value, most)


def _name(what: str, value: Any, most: int) -> str | None:
    check_name(what, value)
    return None if value is None else str(value)


def _when(what: str, value: Any, most: int) -> Timespan:
    if not isinstance(value, Mapping) or set(value) - ENDS:
        raise InvalidInput(f"{what} must be an object with start and end.")
    end = maybe(moment)
    return Timespan(**{name: end(f"{what}.{name}", value.get(name), most) for name in ENDS})


_SCOPE = ("user_id", "agent_id", "session_id")
# What reads a field whose line type names nobody for it.
_USUAL: Mapping[Any, Reader] = {
    bool: _truth,
    datetime: moment,
    datetime | None: maybe(moment),
    float: _share,
    int: whole,
    Kind: lambda what, value, most: validation.kind_of(value),
    Metadata: _metadata,
    State: lambda what, value, most: validation.state_of(value),
    str | None: label,
    Timespan | None: maybe(_when),
}


MEMORY = LineType(
    name="memory",
    model=MemoryRecord,
    own=("tenant",),
    readers={"id": _id, "superseded_by": maybe(_id), "text": validation.text_of},
)
REVISION = LineType(
    name="revision", model=Revision, beside=("id",), readers={"verb": word, "before": _before}
)
ASSOCIATION = LineType(
    name="association",
    model=Association,
    sort="link",
    readers={"source": _id, "target": _id, "link": word},
)
ENTITY = LineType(
    name="entity",
    model=Entity,
    sort="sort",
    readers={"name": _filled, "sort": _filled, "id": _id, "user_id": _name},
)
CLAIM = LineType(
    name="claim",
    model=Claim,
    readers={
        **dict.fromkeys(_SCOPE, _name),
        **dict.fromkeys(("id", "subject"), _id),
        **dict.fromkeys(("object", "memory"), maybe(_id)),
        **dict.fromkeys(("predicate", "kind", "origin"), _filled),
        **dict.fromkeys(("value", "text"), _text),
        "reason": maybe(_text),
    },
)
MENTION = LineType(
    name="mention", model=Mention, readers={"entity": _id, "memory": _id, "session_id": _name}
)


def memory_of(line: Line, tenant: str, max_text: int) -> MemoryRecord:
    """The memory of a line under the given tenant, whose names are such as a scope has."""
    read = MEMORY.read(line, max_text, tenant=tenant)
    Scope(tenant=tenant, **{name: getattr(read, name) for name in _SCOPE})
    return read


def revision_of(line: Line, max_text: int) -> tuple[str, Revision]:
    """The revision of a line, after the id of its memory."""
    revision = REVISION.read(line, max_text)
    return _id("id", line.get("id"), 0), revision
