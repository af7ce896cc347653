"""What verbs answer as JSON where their own value is a bare list, text, number or nothing.

`of` makes it of the value, `taken` gives the value back: a server does the one, a client the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, make_dataclass, replace
from pathlib import Path
from types import GenericAlias
from typing import Any, ClassVar, Self, TypeVar

from remanence.api.verb import ANSWERS, Holds, MemoryHere
from remanence.errors import Conflict
from remanence.model import erasure
from remanence.model.erasure import Erasure
from remanence.model.hit import Hit, Hits, Understanding
from remanence.model.memory import Json, MemoryRecord, Related, Revision
from remanence.model.stats import Finding

T = TypeVar("T")


def picked(kind: type[T], source: Any, **more: Any) -> T:
    """An answer of this type: its fields as the source has them, but for those given."""
    names = (each.name for each in fields(kind) if each.name not in more)  # type: ignore[arg-type]
    return kind(**{name: getattr(source, name) for name in names}, **more)


class Wrapped:
    """An answer of one field holds the value, a list as a tuple; one of several, its fields."""

    __slots__ = ()
    listing: ClassVar[str | None] = None  # the field that is a list of what was asked for
    holds: ClassVar[Holds] = Holds.STORED

    def __init_subclass__(cls, listing: str | None = None, holds: Holds | None = None) -> None:
        cls.listing, cls.holds = listing or cls.listing, holds or cls.holds

    @classmethod
    def of(cls, value: Any, request: Any, memory: MemoryHere) -> Self:
        """What the verb gave for a request, as an answer."""
        first, *others = fields(cls)  # type: ignore[arg-type]
        if others:
            return picked(cls, value)
        return cls(**{first.name: tuple(value) if isinstance(value, list) else value})

    def taken(self) -> Any:
        """What the verb gave."""
        (only,) = fields(self)  # type: ignore[arg-type]
        value = getattr(self, only.name)
        return list(value) if isinstance(value, tuple) else value


def wrapped(name: str, about: str, holds: Holds = Holds.STORED, **only: Any) -> type[Wrapped]:
    """An answer of one field, of the type that is given by its name."""
    told: dict[str, Any] = {"__doc__": about, "__module__": __name__, "holds": holds}
    return make_dataclass(
        name, only.items(), bases=(Wrapped,), namespace=told, frozen=True, slots=True, kw_only=True
    )


def listed(name: str, about: str, holds: Holds = Holds.STORED, **of: Any) -> type[Wrapped]:
    """An answer that is a list of one kind of thing, under the name that is given with it."""
    (field,) = of
    made = wrapped(name, about, holds, **{field: GenericAlias(tuple, (of[field], ...))})
    made.listing = field
    return made


Zone = wrapped("Zone", "The time zone in which days are meant.", timezone=str)
Count = wrapped("Count", "How many.", Holds.FIGURES, count=int)
History = listed("History", "Every change, oldest first.", revisions=Revision)
Similarity = wrapped("Similarity", "The cosine of two texts.", Holds.FIGURES, cosine=float)
Neighbours = listed("Neighbours", "Linked memories, strongest first.", related=Related)
FreedSpace = wrapped("FreedSpace", "How much room came free.", Holds.FIGURES, bytes=int)
TextAnswer = wrapped("TextAnswer", "A text.", text=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Value(Wrapped):
    """A value, as JSON has it."""

    value: Json

    @classmethod
    def of(cls, value: Json, request: Any, memory: MemoryHere) -> Self:
        return cls(value=value)

    def taken(self) -> Json:
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryList(Wrapped, listing="memories"):
    """Several memories."""

    memories: tuple[MemoryRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult(Wrapped, listing="hits"):
    """Hits, best first; what was read out of the question; parts that could not take part.

    `confidence` is how probable it is that the first hits answer the question, `confidence_signals`
    what its log-odds are made of.
    """

    hits: tuple[Hit, ...]
    understood: Understanding
    degraded: tuple[str, ...]
    confidence: float | None = None
    confidence_signals: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, value: Hits, request: Any, memory: MemoryHere) -> Self:
        return cls(
            hits=tuple(value),
            understood=value.understood,
            degraded=value.degraded,
            confidence=value.confidence,
            confidence_signals=value.confidence_signals,
        )

    def taken(self) -> Hits:
        return Hits(
            self.hits,
            understood=self.understood,
            degraded=self.degraded,
            confidence=self.confidence,
            confidence_signals=self.confidence_signals,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetResult(Wrapped, listing="memories"):
    """What was forgotten, or would be (`dry_run`). What was erased has a receipt.

    `ids` are those of `memories`, which stay out where the caller may not read.
    """

    dry_run: bool
    erased: bool
    memories: tuple[MemoryRecord, ...]
    ids: tuple[str, ...] = ()
    receipt: Erasure | None = None

    @classmethod
    def of(cls, value: erasure.Forgotten, request: Any, memory: MemoryHere) -> Self:
        return cls(
            dry_run=request.dry_run,
            erased=request.erase,
            memories=tuple(value),
            ids=tuple(record.id for record in value),
            receipt=value.receipt,
        )

    def taken(self) -> erasure.Forgotten:
        return erasure.Forgotten(self.memories, receipt=self.receipt)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackGiven(Wrapped, holds=Holds.FIGURES):
    """The feedback as it was kept."""

    id: str
    useful: bool

    @classmethod
    def of(cls, value: None, request: Any, memory: MemoryHere) -> Self:
        return cls(id=request.id, useful=request.useful)

    def taken(self) -> None:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination(Wrapped, listing="findings", holds=Holds.FIGURES):
    """What `doctor` looked at; `healthy` when nothing wrong is left."""

    healthy: bool
    findings: tuple[Finding, ...]

    @classmethod
    def of(cls, value: Sequence[Finding], request: Any, memory: MemoryHere) -> Self:
        healthy = all(each.problems <= each.repaired for each in value)
        return cls(healthy=healthy, findings=tuple(value))

    def taken(self) -> list[Finding]:
        return list(self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied(Wrapped, holds=Holds.FIGURES):
    """Where the copy lies and how large it is."""

    path: Path
    bytes: int

    @classmethod
    def of(cls, value: Path, request: Any, memory: MemoryHere) -> Self:
        return cls(path=value, bytes=value.stat().st_size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement(Wrapped, holds=Holds.FIGURES):
    """Whether there was anything to do."""

    done: bool

    @classmethod
    def of(cls, value: bool | None, request: Any, memory: MemoryHere) -> Self:
        return cls(done=value is None or bool(value))


ANSWERS |= {"int": Count, "str": TextAnswer, "bool": Acknowledgement, "None": Acknowledgement}
ANSWERS |= {"Hits": SearchResult, "list[MemoryRecord]": MemoryList}


def untouched(record: MemoryRecord) -> MemoryRecord:
    """A memory as the caller wrote it; a repeated write whose memory was changed since is none."""
    if record.version > 1:
        raise Conflict(
            "This was stored before, and the memory was changed since; to see it takes a key with "
            "the scope `read`."
        )
    return record


def all_untouched(answer: MemoryList) -> MemoryList:
    """Memories as the caller wrote them."""
    return MemoryList(memories=tuple(map(untouched, answer.memories)))


def ids_only(answer: ForgetResult) -> ForgetResult:
    """What was forgotten, without what it said."""
    return replace(answer, memories=())
