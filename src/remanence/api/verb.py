"""A verb is one decorated method. REST, MCP, the command line and every face are read off it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from copy import copy
from dataclasses import MISSING, dataclass, field, make_dataclass
from enum import Enum, StrEnum
from functools import cache, cached_property, reduce, wraps
from operator import attrgetter, or_
from types import MethodType, NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    get_args,
    get_type_hints,
    overload,
)

if TYPE_CHECKING:
    from remanence.config import Settings
    from remanence.config.assembly.parts import Parts
    from remanence.model.progress import Progress

P = ParamSpec("P")
R = TypeVar("R")
Call = Callable[["Verb[..., Any]", tuple[Any, ...], dict[str, Any]], Any]
# Whether a request to a memory destroys more than one memory named by its id.
Erases = Callable[["MemoryHere", Any], bool]


class Unset(Enum):
    """What stands for an argument that was not given, where None is a value."""

    UNSET = "unset"


UNSET = Unset.UNSET


class Sync:
    """Verbs give their answers."""


class Async:
    """Verbs are awaited."""


F = TypeVar("F", Sync, Async)


class MemoryHere(Protocol):
    """A memory in this process, as far as the terms of its verbs look at it."""

    @property
    def settings(self) -> Settings:
        """The settings it was opened with."""

    @property
    def tenant(self) -> str:
        """Whose it is."""

    @property
    def parts(self) -> Parts:
        """Its working parts."""


class Scoping(StrEnum):
    """What of a store a verb can reach. Only `store` ever sees more than one tenant."""

    SCOPED = "scoped"  # memories of a user, agent or session of the tenant
    BY_ID = "by id"  # memories of the tenant, named by their ids
    TENANT = "tenant"  # all memories of the tenant
    STORE = "store"  # the whole store: for whoever runs it


class Holds(StrEnum):
    """What an answer can hold of what is stored. Whoever may not read gets no `STORED` one."""

    STORED = "stored"  # texts, names or values that were stored before the call
    WRITTEN = "written"  # only what this very call wrote
    FIGURES = "figures"  # ids, counts, times and states


class Grant(StrEnum):
    """What a key allows. `admin` includes the others."""

    READ = "read"
    WRITE = "write"
    ERASE = "erase"
    ADMIN = "admin"


class Group(StrEnum):
    """Where a verb stands in help and reference."""

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


@dataclass(frozen=True, slots=True)
class Says:
    """What a parameter is for, how a command line spells it, and what it may be.

    `wire` is its type where JSON has another than Python, `name` its name there. One that is
    `local` cannot be given from outside. `bounds` are of its JSON Schema; what is `like` a verb is
    a list of that verb's requests.
    """

    help: str
    short: str | None = None
    flag: str | None = None
    bounds: Mapping[str, Any] = field(default_factory=dict)
    wire: Any = None
    name: str = ""
    argument: bool | None = None  # of a command, where Python does not tell
    piped: bool = False  # stdin can give it
    json: bool = False  # it takes any JSON value
    local: bool = False
    like: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter as it stands in a request; null there is `absent` here."""

    own: str  # its name in Python
    given: Any  # its type there
    name: str  # its name in the request
    kind: Any
    default: Any
    says: Says
    argument: bool
    absent: Any

    @property
    def flags(self) -> tuple[str, ...]:
        """How a command line spells it; a switch that may be on has a `--no-` form."""
        if self.argument:
            return ()
        long = self.says.flag or f"--{self.name.replace('_', '-')}"
        if bool in _parts(self.kind) and self.default is not False:
            long = f"{long}/--no-{long.removeprefix('--')}"
        return (long, self.says.short) if self.says.short else (long,)

    def field(self) -> tuple[str, Any, Any]:
        """It as a field of the request's dataclass."""
        says = self.says
        about = {"help": says.help, "bounds": says.bounds, "like": says.like}
        return self.name, self.kind, field(default=self.default, metadata=about)

    def of(self, request: Any) -> Any:
        """Its value in a request, as Python has it."""
        value = getattr(request, self.name)
        return self.absent if value is None else value


def never(memory: MemoryHere, request: Any) -> bool:
    """It destroys nothing, or one memory named by its id."""
    return False


def always(memory: MemoryHere, request: Any) -> bool:
    """Whatever the request says, it destroys more than one memory named by its id."""
    return True


def where_erasing(memory: MemoryHere, request: Any) -> bool:
    """Only where the request says `erase`."""
    return bool(request.erase)


def where_dated(memory: MemoryHere, request: Any) -> bool:
    """Only where the request says what time it is: by another clock, nothing has run out yet."""
    return request.now is not None


def briefly(request: Any) -> bool:
    """It is over in a moment, whatever the request says."""
    return False


def for_long(request: Any) -> bool:
    """It may take as long as there is much stored, or as a language model thinks."""
    return True


class Layer(Generic[F]):
    """A group of verbs: they run a service here, or are handed to whoever calls it elsewhere."""

    def __init_subclass__(cls, layer: str = "", group: Group = Group.CARE) -> None:
        for each in vars(cls).values():
            if isinstance(each, Verb):
                each.layer, each.group = layer, each.under or group

    def __init__(self, service: Callable[[], Any] | None = None, call: Call | None = None) -> None:
        self._service = service
        self._call = call

    @property
    def service(self) -> Any:
        """What does the work, if that is here; `Closed` after the memory was closed."""
        if self._service is None:
            raise TypeError("This memory is elsewhere; it has verbs only.")
        return self._service()


@dataclass(kw_only=True, eq=False)
class Terms:
    """What is said of a verb beside its signature.

    `route` is where it is on a server; one that is `local` instead says why it has none. `answer`
    is the class its value is wrapped in where that is a bare list, text or number; `listing` names
    the list in the answer, if it is one. One that `reports` takes a progress callback. A
    `destructive` one is worth a question before it runs. What follows from route and signature
    (see `_usual`) is said only where it is otherwise.

    `holds` says what the answer can hold, where its class does not say so; `erases` whether a
    request destroys for good more than one memory named by its id: what a caller must be allowed
    follows from both, and from whether the verb `governs` what holds for everybody. `bare` makes of
    an answer what whoever may not read can have; without it they cannot run what answers `STORED`.
    What `lasts`, as all that reports does, is a job on a server rather than a call with a deadline.
    """

    route: str = ""
    local: str = ""
    writes: bool = False
    scope: Scoping = Scoping.SCOPED
    under: Group | None = None
    answer: type | None = None
    listing: str | None = None
    command: str = ""
    reports: bool = False
    destructive: bool = False
    governs: bool = False
    holds: Holds = Holds.STORED
    erases: Erases = never
    bare: Callable[[Any], Any] | None = None
    lasts: Callable[[Any], bool] = briefly
    example: Mapping[str, Any] | None = None
    short_for: str = ""


class Verb(Terms, Generic[P, R]):
    """A verb: its name, its signature, its words, and its terms."""

    def __init__(self, declared: Callable[..., R], **terms: Any) -> None:
        whole = _spelled(declared)
        self._spelled = whole.replace(parameters=tuple(whole.parameters.values())[1:])
        names = self._spelled.parameters.keys()
        usual = _usual(terms.get("route", ""), names, declared.__annotations__.get("return"))
        super().__init__(**usual | terms)
        self.declared = declared
        self.listing = self.listing or getattr(self.answer, "listing", None)
        self.holds = terms.get("holds", getattr(self.answer, "holds", Holds.STORED))
        self.layer, self.group = "", Group.CARE
        self.verb = declared.__name__
        self.__doc__ = inspect.getdoc(declared)
        found = attrgetter(self.short_for or self.verb)

        @wraps(declared)
        def run(layer: Layer[Any], /, *args: Any, **named: Any) -> Any:
            if not named.keys() <= names:  # a service may take them together, by any name
                self.bound(args, named)
            try:
                return found(layer.service)(*args, **named)
            except TypeError:
                self.bound(args, named)
                raise

        run.__signature__ = whole  # type: ignore[attr-defined]
        self._run = run

    @overload
    def __get__(self, layer: None, owner: type) -> Verb[P, R]: ...
    @overload
    def __get__(self, layer: Layer[Sync], owner: type) -> Callable[P, R]: ...
    @overload
    def __get__(self, layer: Layer[Async], owner: type) -> Callable[P, Coroutine[Any, Any, R]]: ...
    def __get__(self, layer: Layer[Any] | None, owner: type) -> Any:
        if layer is None:
            return self
        here, call = MethodType(self._run, layer), layer._call
        if call is None:
            return here
        if inspect.iscoroutinefunction(call):

            async def awaited(*args: Any, **named: Any) -> Any:
                return await call(self, args, named)

            return self._spelled_out(awaited)
        return self._spelled_out(lambda *args, **named: call(self, args, named))

    def _spelled_out(self, told: Any) -> Any:
        wraps(self.declared)(told)
        told.__signature__ = self._spelled
        return told

    def bound(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call by their names; `TypeError` for one that is wrong or missing."""
        try:
            return self._spelled.bind(*args, **named).arguments
        except TypeError as error:
            raise TypeError(f"Memory.{self.name}() {error}") from None

    def of(self, memory: Layer[Any]) -> Callable[P, Any]:
        """It, bound to a memory or to the layer of one."""
        layer = getattr(memory, self.layer) if self.layer else memory
        return self.__get__(layer, type(layer))

    @property
    def name(self) -> str:
        """Its name; that of its layer comes first, as in `blocks.append`."""
        return f"{self.layer}.{self.verb}" if self.layer else self.verb

    @property
    def summary(self) -> str:
        """What it does, in one line."""
        return (self.__doc__ or "").partition("\n")[0]

    @property
    def spelled(self) -> str:
        """Its name on the command line; that of its layer's command comes first."""
        own = self.command or self.verb.replace("_", "-")
        return f"{COMMANDS.get(self.layer, self.layer)} {own}" if self.layer else own

    @property
    def method(self) -> str:
        """How it is asked on a server; empty if it is not there."""
        return self.route.partition(" ")[0]

    @property
    def path(self) -> str:
        """Where it is on a server."""
        return self.route.partition(" ")[2]

    @property
    def in_path(self) -> tuple[str, ...]:
        """The fields that stand in the path."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))

    def at(self, route: str) -> Verb[P, R]:
        """The same verb at another place of a server."""
        other = copy(self)
        other.route = route
        return other

    @property
    def in_query(self) -> bool:
        """Whether the other fields stand in the query; else in a JSON body."""
        return self.method in ("GET", "DELETE")

    @cached_property
    def needs(self) -> frozenset[Grant]:
        """What a caller must be allowed, all of it, to run it at all; a request may need more."""
        if self.scope is Scoping.STORE or self.governs:
            return frozenset({Grant.ADMIN})
        bared = self.holds is not Holds.STORED or self.bare is not None
        wanted = {Grant.WRITE} if self.writes else set()
        wanted |= set() if self.writes and bared else {Grant.READ}
        return frozenset(wanted | ({Grant.ERASE} if self.erases is always else set()))

    @cached_property
    def versioned(self) -> bool:
        """Whether it can be held to a version of the block that it changes."""
        return self.layer == "blocks" and any(
            one.name == "version" and one.default is None for one in self.parameters
        )

    @property
    def may_erase(self) -> bool:
        """Whether some request of it needs `erase`."""
        return self.erases is not never

    @cached_property
    def signature(self) -> inspect.Signature:
        """Its signature, every type resolved."""
        return signature_of(self.declared)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that a request has; the others are for Python alone."""
        return parameters_of(self.signature)

    @cached_property
    def request(self) -> type:
        """The request, as a frozen dataclass."""
        return request_of(self.name.replace(".", "_"), self.parameters, self.declared.__module__)

    @cached_property
    def response(self) -> type:
        """The type of the answer, as JSON has it."""
        kind: type = self.answer or self.signature.return_annotation
        return kind

    @cached_property
    def withheld(self) -> frozenset[str]:
        """The fields that no caller from outside may give."""
        return frozenset(each.name for each in self.parameters if each.says.local)

    @cached_property
    def asked(self) -> tuple[str, ...]:
        """The fields that a caller from outside may give."""
        return tuple(each.name for each in self.parameters if not each.says.local)

    def takes_long(self, request: Any) -> bool:
        """Whether this request may take minutes."""
        return self.reports or self.lasts(request)

    def perform(self, memory: MemoryHere, request: Any, progress: Progress | None = None) -> Any:
        """Do what a request asks; the answer is a `response`."""
        given = {one.own: one.of(request) for one in self.parameters}
        if self.reports:
            given["progress"] = progress
        layer: Any = getattr(memory, self.layer) if self.layer else memory
        answer = self._run(layer, **given)
        wrapped: Any = self.answer
        return answer if wrapped is None else wrapped.of(answer, request, memory)


AnyVerb: TypeAlias = Verb[..., Any]
ANSWERS: dict[str, type] = {}  # what values are wrapped in, by what signatures call their types
# What the command of a layer is called where it is not the layer's own name.
COMMANDS = {
    "conversations": "conversation",
    "schedules": "schedule",
    "sessions": "session",
    "snapshots": "snapshot",
}


def verb(route: str = "", **terms: Any) -> Callable[[Callable[Concatenate[Any, P], R]], Verb[P, R]]:
    """Declare a verb: where it is on a server, and its other `Terms`.

    What is declared has a signature and words, and no body: the method of its name on the layer's
    service does the work, so the two take the same.
    """
    return lambda declared: Verb(declared, route=route, **terms)


def _usual(route: str, names: Collection[str], gives: object) -> dict[str, Any]:
    """What holds of a verb that does not say it, by its route, its parameters and its answer."""
    return {
        "writes": not route.startswith("GET") and bool(route),
        "scope": Scoping.BY_ID if "{id}" in route else Scoping.SCOPED,
        "answer": ANSWERS.get(str(gives).removeprefix("builtins.")),
        "reports": "progress" in names,
        "erases": where_erasing if "erase" in names else never,
    }


def signature_of(declared: Callable[..., Any]) -> inspect.Signature:
    """The signature of what is declared, after its first parameter, every type resolved."""
    hints = get_type_hints(declared, include_extras=True)
    _, *own = _spelled(declared).parameters.values()
    wanted = [one.replace(annotation=hints.get(one.name, one.annotation)) for one in own]
    return inspect.Signature(wanted, return_annotation=hints["return"])


def parameters_of(signature: inspect.Signature) -> tuple[Parameter, ...]:
    """The parameters of a signature that a request has."""
    return tuple(filter(None, map(_parameter, signature.parameters.values())))


def request_of(name: str, parameters: Iterable[Parameter], module: str) -> type:
    """A request with these parameters, as a frozen dataclass of a module that knows their types."""
    made, title = [each.field() for each in parameters], name.title().replace("_", "")
    request = make_dataclass(title, made, frozen=True, slots=True, kw_only=True)
    request.__module__ = module
    return request


def _spelled(declared: Callable[..., Any]) -> inspect.Signature:
    """The signature with each keyword of a group that is unpacked in it."""
    own = inspect.signature(declared)
    *others, last = own.parameters.values()
    if last.kind is not last.VAR_KEYWORD:
        return own
    group = str(last.annotation).removeprefix("Unpack[").removesuffix("]")
    return own.replace(parameters=[*others, *_grouped(declared.__globals__[group])])


@cache
def _grouped(group: type) -> tuple[inspect.Parameter, ...]:
    """The keywords of a group; one that is not given is off where it is a switch, and else None."""
    kind, hints = inspect.Parameter.KEYWORD_ONLY, get_type_hints(group, include_extras=True)
    return tuple(
        inspect.Parameter(
            name, kind, default=False if hint.__origin__ is bool else None, annotation=hint
        )
        for name, hint in hints.items()
    )


def _parameter(found: inspect.Parameter) -> Parameter | None:
    marks = getattr(found.annotation, "__metadata__", ())
    says = next((each for each in marks if isinstance(each, Says)), None)
    if says is None:
        return None
    kind = says.wire or _on_wire(found.annotation.__origin__)
    default = MISSING if found.default is found.empty else found.default
    in_order = found.kind is found.POSITIONAL_OR_KEYWORD
    return Parameter(
        own=found.name,
        given=found.annotation.__origin__,
        name=says.name or found.name,
        kind=kind,
        default=None if default is UNSET else default,
        says=says,
        argument=in_order if says.argument is None else says.argument,
        absent=UNSET if default is UNSET else None,
    )


def _on_wire(given: Any) -> Any:
    """A type as JSON has it: what need not be given may be null there."""
    if Unset not in get_args(given):
        return given
    return reduce(or_, (each for each in get_args(given) if each not in (Unset, NoneType))) | None


def _parts(kind: Any) -> tuple[Any, ...]:
    options = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    return tuple(each for each in options if each is not NoneType)
