"""The verbs between memories, and the one that says whether a memory helped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from remanence.model.memory import Association
from remanence.operations.operation import Answer, Group, Operation, Scoping, arguments, given
from remanence.operations.responses import Count, Neighbours, Noted

if TYPE_CHECKING:
    from remanence.memory import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Associate:
    """A link from one memory to another."""

    a: str = given("the id of the memory the link starts at", ..., positional=True)
    b: str = given("the id of the memory it leads to", ..., positional=True)
    type: str = given("what kind of link it is", "related_to", short="-t")
    strength: float = given("how strong it is, 0 to 1", 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dissociate:
    """Links to remove."""

    a: str = given("the id of the memory the links start at", ..., positional=True)
    b: str = given("the id of the memory they lead to", ..., positional=True)
    type: str | None = given("only links of this type", short="-t")


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedTo:
    """A memory whose neighbours are wanted."""

    id: str = given("the memory's id", ..., positional=True)
    type: str | None = given("only links of this type", short="-t")
    direction: str = given("out, in or both", "both")
    limit: int = given("how many at most", 100, short="-k")


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """Whether a memory helped."""

    id: str = given("the memory's id", ..., positional=True)
    useful: bool = given("it helped, or it did not", ...)
    query: str | None = given("the question it was returned for")


def _associate(memory: Memory, request: Associate) -> Association:
    return memory.associate(**arguments(request))


def _dissociate(memory: Memory, request: Dissociate) -> Count:
    return Count(count=memory.dissociate(**arguments(request)))


def _related(memory: Memory, request: RelatedTo) -> Neighbours:
    return Neighbours(related=tuple(memory.related(**arguments(request))))


def _feedback(memory: Memory, request: Feedback) -> Noted:
    memory.feedback(request.id, useful=request.useful, query=request.query)
    return Noted(id=request.id, useful=request.useful)


LINKING = (
    Operation(
        name="associate",
        summary="Link one memory to another.",
        group=Group.LINK,
        request=Associate,
        response=Association,
        run=_associate,
        writes=True,
        scope=Scoping.BY_ID,
        answers=Answer.WRITTEN,
    ),
    Operation(
        name="dissociate",
        summary="Remove links between two memories.",
        group=Group.LINK,
        request=Dissociate,
        response=Count,
        run=_dissociate,
        writes=True,
        scope=Scoping.BY_ID,
        answers=Answer.FIGURES,
    ),
    Operation(
        name="related",
        summary="Show the memories linked with one.",
        group=Group.LINK,
        request=RelatedTo,
        response=Neighbours,
        run=_related,
        writes=False,
        scope=Scoping.BY_ID,
        listing="related",
    ),
    Operation(
        name="feedback",
        summary="Say whether a memory helped.",
        group=Group.LINK,
        request=Feedback,
        response=Noted,
        run=_feedback,
        writes=True,
        scope=Scoping.BY_ID,
        answers=Answer.FIGURES,
    ),
)
