"""What an MCP tool is: its arguments, its answer, and the operations it is made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from remanence.operations.operation import Operation
from remanence.operations.reading import Misfit, read
from remanence.operations.rendering import plain
from remanence.operations.table import operation
from remanence.server.access.caller import Caller, authorise
from remanence.server.door import Door
from remanence.server.mcp.shapes import Names, Schema, answer_schema, asked_schema, respelled
from remanence.server.mcp.visitor import Visitor


@dataclass(frozen=True, slots=True)
class Desk:
    """Where a tool's work is done: every operation goes through the door, as the visitor's."""

    door: Door
    visitor: Visitor

    def do(self, name: str, /, **fields: Any) -> Any:
        """Run the operation of this name; its response."""
        wanted = operation(name)
        return self.ask(wanted, wanted.request(**fields))

    def ask(self, wanted: Operation, request: Any) -> Any:
        """Run an operation whose request is at hand."""
        return self.door.perform(self.visitor.caller, wanted, request)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a tool answers: data for a program, and words for a model."""

    data: Mapping[str, Any]
    text: str


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
    def operations(self) -> tuple[Operation, ...]:
        """The operations it is made of."""
        return tuple(operation(name) for name in self.uses)

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

    def call(self, desk: Desk, arguments: Mapping[str, Any]) -> Told:
        """Answer a call; a typed error or a `Misfit` says what is wrong with it."""
        self.check(desk.visitor.caller)
        answer = self.run(desk, self._read(arguments, desk.visitor.scope))
        return Told(data=respelled(plain(answer), self.names), text=self.words(answer))

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
