"""What an operation is: a verb of the memory with its request, its answer and whom it concerns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from remanence.memory import Memory
    from remanence.ports.store import Progress


class Scoping(StrEnum):
    """What of a store an operation can reach. Only `store` ever sees more than one tenant."""

    SCOPED = "scoped"  # memories of a user, agent or session of the tenant
    BY_ID = "by id"  # memories of the tenant, named by their ids
    TENANT = "tenant"  # all memories of the tenant
    STORE = "store"  # the whole store: for whoever runs it


class Answer(StrEnum):
    """What an answer can hold of what is stored. Whoever may not read gets no `STORED` one."""

    STORED = "stored"  # texts, names or values that were stored before the call
    WRITTEN = "written"  # only what this very call wrote
    FIGURES = "figures"  # ids, counts, times and states


class Group(StrEnum):
    """Where an operation stands in help and reference."""

    REMEMBER = "Remember"
    RECALL = "Recall"
    BLOCKS = "Core memory"
    CONVERSATIONS = "Conversations"
    SESSIONS = "Sessions"
    WORKING = "Working memory"
    FACTS = "Facts"
    GRAPH = "Graph"
    SNAPSHOTS = "Snapshots"
    SLEEP = "Sleep"
    LEARN = "Learn"
    ERASURES = "Erasures"
    LINK = "Link and learn"
    CARE = "Care"


# What the command of a layer is called where it is not the layer's own name.
COMMANDS = {
    "conversations": "conversation",
    "schedules": "schedule",
    "sessions": "session",
    "snapshots": "snapshot",
}


# Whether a request to a memory destroys more than one memory named by its id.
Erases: TypeAlias = "Callable[[Memory, Any], bool]"


def never(memory: Memory, request: Any) -> bool:
    """It destroys nothing, or one memory named by its id."""
    return False


def always(memory: Memory, request: Any) -> bool:
    """Whatever the request says, it destroys more than one memory named by its id."""
    return True


def where_erasing(memory: Memory, request: Any) -> bool:
    """Only where the request says `erase`."""
    return bool(request.erase)


def where_dated(memory: Memory, request: Any) -> bool:
    """Only where the request says what time it is: by another clock, nothing has run out yet."""
    return request.now is not None


def briefly(request: Any) -> bool:
    """It is over in a moment, whatever the request says."""
    return False


def for_long(request: Any) -> bool:
    """It may take as long as there is much stored, or as a language model thinks."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One verb: the command line makes a command of it, a server a route, the docs a section.

    A verb of a layer is named with it, as in `blocks.append`; `rem blocks append` runs it.
    `listing` names the list in the answer, if it is one. An operation that `reports` takes a
    progress callback. A `destructive` one is worth a question before it runs.

    `answers` says what its answer can hold, `erases` whether a request destroys for good more than
    one memory named by its id: what a caller must be allowed follows from both. `bare` makes of an
    answer what whoever may not read can have; without it they cannot run what answers `STORED`.
    What `lasts`, as all that reports does, is a job on a server rather than a call with a deadline.
    """

    name: str
    summary: str
    group: Group
    request: type
    response: type
    run: Callable[..., Any]
    writes: bool
    scope: Scoping
    listing: str | None = None
    command: str = ""
    reports: bool = False
    destructive: bool = False
    answers: Answer = Answer.STORED
    erases: Erases = never
    bare: Callable[[Any], Any] | None = None
    lasts: Callable[[Any], bool] = briefly

    @property
    def layer(self) -> str:
        """The layer it belongs to; empty for a verb of the memory itself."""
        return self.name.rpartition(".")[0]

    @property
    def verb(self) -> str:
        """Its name within the layer."""
        return self.name.rpartition(".")[2]

    @property
    def spelled(self) -> str:
        """Its name on the command line; that of its layer's command comes first."""
        own = self.command or self.verb.replace("_", "-")
        return f"{COMMANDS.get(self.layer, self.layer)} {own}" if self.layer else own

    def takes_long(self, request: Any) -> bool:
        """Whether this request may take minutes."""
        return self.reports or self.lasts(request)

    def perform(self, memory: Memory, request: Any, progress: Progress | None = None) -> Any:
        """Run the verb; gives an instance of `response`."""
        return self.run(memory, request, progress) if self.reports else self.run(memory, request)


def given(
    help: str,
    default: Any = None,
    *,
    short: str | None = None,
    flag: str | None = None,
    positional: bool = False,
    piped: bool = False,
    json: bool = False,
) -> Any:
    """A field of a request: its help, its spelling on a command line, whether stdin can give it.

    A field without a default is required: pass `...`. One of `json` takes any JSON value.
    """
    about = {"help": help, "short": short, "flag": flag, "positional": positional, "piped": piped}
    about |= {"json": json}
    return field(default=MISSING if default is ... else default, metadata=about)


def flags(each: Field[Any]) -> tuple[str, ...]:
    """How a field is spelled on a command line; a switch that may be on has a `--no-` form."""
    if each.metadata["positional"]:
        return ()
    long = each.metadata["flag"] or f"--{each.name.replace('_', '-')}"
    if "bool" in str(each.type) and each.default is not False:
        long = f"{long}/--no-{long.removeprefix('--')}"
    return (long, each.metadata["short"]) if each.metadata["short"] else (long,)


def arguments(request: Any) -> dict[str, Any]:
    """A request as keyword arguments; a list of one stands for its item, an empty one for None."""
    values = {each.name: getattr(request, each.name) for each in fields(request)}
    return {name: _unwrapped(value) for name, value in values.items()}


def changes(request: Any) -> Mapping[str, Any]:
    """The fields of a request that were given at all."""
    return {name: value for name, value in arguments(request).items() if value is not None}


def of_layer(
    name: str,
    summary: str,
    group: Group,
    request: type,
    response: type,
    *,
    writes: bool,
    scope: Scoping,
    wrap: Callable[[Any], Any] | None = None,
    listing: str | None = None,
    command: str = "",
    reports: bool = False,
    destructive: bool = False,
    answers: Answer = Answer.STORED,
    erases: Erases = never,
    bare: Callable[[Any], Any] | None = None,
    lasts: Callable[[Any], bool] = briefly,
) -> Operation:
    """A verb of a layer: called with the fields of the request, its answer wrapped if need be."""
    layer, _, verb = name.partition(".")

    def run(memory: Memory, request: Any, progress: Progress | None = None) -> Any:
        given = {each.name: getattr(request, each.name) for each in fields(request)}
        if reports:
            given["progress"] = progress
        answer = getattr(getattr(memory, layer), verb)(**given)
        return answer if wrap is None else wrap(answer)

    return Operation(
        name=name,
        summary=summary,
        group=group,
        request=request,
        response=response,
        run=run,
        writes=writes,
        scope=scope,
        listing=listing,
        command=command,
        reports=reports,
        destructive=destructive,
        answers=answers,
        erases=erases,
        bare=bare,
        lasts=lasts,
    )


def _unwrapped(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    return value[0] if len(value) == 1 else value or None
