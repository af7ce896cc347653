"""What an MCP tool is: who calls it, what it takes and gives, and the operations it is made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, TypeAlias

from remanence.api.schema import Schemas
from remanence.api.values import Misfit, plain, read
from remanence.api.verb import AnyVerb, parameters_of, request_of, signature_of
from remanence.api.verbs.table import verb_of
from remanence.errors import Unauthenticated
from remanence.server.access.caller import Caller, authorise
from remanence.server.authorization import Desk, Door


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool: `run` takes a desk and an `asked`, and gives an `answer` that `words` puts in words.

    `uses` names its operations: whoever may not run them all does not see the tool. `fills` are
    the arguments that the visitor's own scope stands in for. `names` is how fields are spelled
    on the wire, where that is not how they are spelled here; `also` are other names that an
    argument goes by, for a model that mixes them up.
    """

    name: str
    about: str
    asked: type
    answer: type
    run: Callable[[Desk, Any], Any]
    words: Callable[[Any], str]
    uses: tuple[str, ...]
    repeats: bool = False
    fills: tuple[str, ...] = ()
    withheld: frozenset[str] = frozenset()
    names: Names = field(default_factory=dict)
    also: Names = field(default_factory=dict)

    @cached_property
    def operations(self) -> tuple[AnyVerb, ...]:
        """The operations it is made of."""
        return tuple(verb_of(name) for name in self.uses)

    @property
    def writes(self) -> bool:
        """Whether it may change anything."""
        return any(each.writes for each in self.operations)

    @property
    def destructive(self) -> bool:
        """Whether it may take something away."""
        return any(each.destructive for each in self.operations)

    @property
    def repeatable(self) -> bool:
        """Whether doing it twice is as good as doing it once."""
        return self.repeats or not self.writes

    @cached_property
    def takes(self) -> Schema:
        """The schema of its arguments."""
        return asked_schema(self.asked, self.names, self.withheld)

    @cached_property
    def gives(self) -> Schema:
        """The schema of its answer."""
        return answer_schema(self.answer, self.names)

    def check(self, caller: Caller) -> None:
        """Refuse whoever may not use it."""
        for each in self.operations:
            authorise(caller, each)

    def call(self, desk: Desk, arguments: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
        """Answer a call, in data for a program and in words for a model.

        A typed error or a `Misfit` says what is wrong with it.
        """
        self.check(desk.caller)
        answer = self.run(desk, self._read(arguments, desk.scope))
        return respelled(plain(answer), self.names), self.words(answer)

    def _read(self, arguments: Mapping[str, Any], scope: Mapping[str, str]) -> Any:
        there = self._named({n: given for n, given in arguments.items() if given is not None})
        own = {name: text for name, text in scope.items() if name in self.fills}
        try:
            return read(self.asked, {**own, **respelled(there, self.names, back=True)})
        except Misfit as error:
            raise Misfit(self._as_spelled(str(error))) from error

    def _named(self, given: dict[str, Any]) -> dict[str, Any]:
        """The arguments by their own names; one that is given by both stays as it is."""
        return {
            name if (own := self.also.get(name, name)) in given else own: value
            for name, value in given.items()
        }

    def _as_spelled(self, text: str) -> str:
        """A message with the fields' names as the caller knows them."""
        if not self.names:
            return text
        return re.sub(r"\w+", lambda word: self.names.get(word[0], word[0]), text)


def tool(*uses: str, **terms: Any) -> Callable[[Callable[..., Any]], Tool]:
    """Declare a tool by a function: its name, its words, what it takes after a desk, its answer.

    It gets the arguments that were given at all. The visitor's scope stands in for those of its
    names, and an id for a memory's. `terms` are the other fields of a `Tool`.
    """

    def declare(run: Callable[..., Any]) -> Tool:
        signature = signature_of(run)
        taken = parameters_of(signature)
        names = [each.name for each in taken]
        return Tool(
            name=run.__name__,
            about=" ".join((run.__doc__ or "").split()),
            asked=request_of(run.__name__, taken, run.__module__),
            answer=signature.return_annotation,
            run=lambda desk, asked: run(desk, **given(asked)),
            uses=uses,
            fills=tuple(name for name in HEADERS if name in names),
            also={"id": "memory_id"} if "memory_id" in names else {},
            **terms,
        )

    return declare


def given(asked: Any) -> dict[str, Any]:
    """The fields that were given at all."""
    values = {each.name: getattr(asked, each.name) for each in fields(asked)}
    return {name: value for name, value in values.items() if value is not None}


HEADERS: Mapping[str, str] = {
    "user_id": "x-memory-user-id",
    "agent_id": "x-memory-agent-id",
    "session_id": "x-memory-session-id",
}


def desk_of(door: Door, request: Any) -> Desk:
    """Who sent an HTTP request, as the guard found; nobody is let in by default."""
    caller = getattr(request.state, "caller", None) if request is not None else None
    if not isinstance(caller, Caller):
        raise Unauthenticated("Send a key: `Authorization: Bearer …`. `rem keys create` makes one.")
    shown = {name: request.headers.get(header) for name, header in HEADERS.items()}
    return Desk(
        door=door, caller=caller, scope={name: text for name, text in shown.items() if text}
    )


Names: TypeAlias = Mapping[str, str]
Schema: TypeAlias = dict[str, Any]
DEFS = "#/$defs/"


def asked_schema(kind: type, names: Names, withheld: frozenset[str] = frozenset()) -> Schema:
    """The schema of a tool's arguments; what is unknown is refused at every depth.

    Null is not offered to a model: it leaves out what it does not need.
    """
    schemas = Schemas(DEFS)
    schema = schemas.request(kind, without=withheld, offered=True)
    if schemas.components:
        schema["$defs"] = schemas.components
    return _respelled_schema(schema, names)


def answer_schema(kind: type, names: Names) -> Schema:
    """The schema of a tool's answer: an object at its root, as older clients want it."""
    schemas = Schemas(DEFS)
    root = schemas.of(kind)["$ref"].removeprefix(DEFS)
    schema = dict(schemas.components[root])
    defs = {name: part for name, part in schemas.components.items() if name != root}
    if f'"{DEFS}{root}"' in str(schemas.components).replace("'", '"'):
        defs[root] = schemas.components[root]
    return _respelled_schema({**schema, "$defs": defs} if defs else schema, names)


def respelled(data: Any, names: Names, *, back: bool = False) -> Any:
    """JSON data with its keys as they are on the wire, or `back` as they are here."""
    if not names:
        return data
    known = {wire: here for here, wire in names.items()} if back else names
    return _renamed(data, known)


def _renamed(data: Any, known: Names) -> Any:
    if isinstance(data, Mapping):
        return {known.get(name, name): _renamed(item, known) for name, item in data.items()}
    if isinstance(data, list):
        return [_renamed(item, known) for item in data]
    return data


def _respelled_schema(schema: Schema, names: Names) -> Schema:
    def told(part: Any, where: str) -> Any:
        if isinstance(part, Mapping):
            ours = names if where == "properties" else {}
            return {ours.get(n, n): told(p, "" if ours else n) for n, p in part.items()}
        if isinstance(part, list):
            return [names.get(p, p) if where == "required" else told(p, "") for p in part]
        return part

    return told(schema, "") if names else schema
