"""Where each operation is on a server: its method, its path, what a caller must be allowed.

Ids stand in the path; names, which may hold any character, in the query or the body.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cache
from typing import Any, get_type_hints

from remanence.operations.operation import Answer, Operation, Scoping, always, never
from remanence.operations.table import OPERATIONS


class Grant(StrEnum):
    """What a key allows. `admin` includes the others."""

    READ = "read"
    WRITE = "write"
    ERASE = "erase"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """An operation as a server has it."""

    operation: Operation
    method: str
    path: str

    @property
    def in_path(self) -> tuple[str, ...]:
        """The fields that stand in the path."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))

    @property
    def in_query(self) -> bool:
        """Whether the other fields stand in the query; else in a JSON body."""
        return self.method in ("GET", "DELETE")


# Paths that read better than the rule: `/v1/LAYER/VERB`, GET where nothing is written.
PATHS: Mapping[str, str] = {
    "add": "POST /v1/memories",
    "add_many": "POST /v1/memories/batch",
    "add_messages": "POST /v1/messages",
    "update": "PATCH /v1/memories/{id}",
    "pin": "PUT /v1/memories/{id}/pin",
    "forget": "POST /v1/memories/forget",
    "purge": "POST /v1/memories/purge",
    "cleanup": "POST /v1/memories/cleanup",
    "search": "POST /v1/search",
    "context": "POST /v1/context",
    "why_not": "POST /v1/search/why-not",
    "get": "GET /v1/memories/{id}",
    "find": "POST /v1/memories/find",
    "count": "POST /v1/memories/count",
    "history": "GET /v1/memories/{id}/history",
    "sources": "GET /v1/memories/{id}/sources",
    "similarity": "POST /v1/similarity",
    "associate": "POST /v1/associations",
    "dissociate": "DELETE /v1/associations",
    "related": "GET /v1/memories/{id}/related",
    "feedback": "POST /v1/memories/{id}/feedback",
    "stats": "GET /v1/stats",
    "doctor": "POST /v1/admin/doctor",
    "reembed": "POST /v1/admin/reembed",
    "reindex": "POST /v1/admin/reindex",
    "compact": "POST /v1/admin/compact",
    "blocks.list": "GET /v1/blocks",
    "blocks.get": "GET /v1/blocks/{label}",
    "blocks.create": "POST /v1/blocks",
    "blocks.rethink": "PUT /v1/blocks/{label}",
    "blocks.configure": "PATCH /v1/blocks/{label}",
    "blocks.delete": "DELETE /v1/blocks/{label}",
    "blocks.append": "POST /v1/blocks/{label}/append",
    "blocks.replace": "POST /v1/blocks/{label}/replace",
    "blocks.insert": "POST /v1/blocks/{label}/insert",
    "blocks.restore": "POST /v1/blocks/{label}/restore",
    "blocks.undo": "POST /v1/blocks/{label}/undo",
    "blocks.redo": "POST /v1/blocks/{label}/redo",
    "blocks.history": "GET /v1/blocks/{label}/history",
    "blocks.diff": "GET /v1/blocks/{label}/diff",
    "blocks.render": "GET /v1/prompts/blocks",
    "conversations.list": "GET /v1/conversations",
    "conversations.append": "POST /v1/conversations",
    "conversations.search": "POST /v1/conversations/search",
    "sessions.active": "GET /v1/sessions",
    "sessions.create": "POST /v1/sessions",
    "facts.find": "GET /v1/facts",
    "facts.add": "POST /v1/facts",
    "facts.extract": "POST /v1/facts/extract",
    "facts.get": "GET /v1/facts/by-id/{id}",
    "facts.confirm": "POST /v1/facts/by-id/{id}/confirm",
    "facts.correct": "POST /v1/facts/by-id/{id}/correct",
    "facts.retract": "POST /v1/facts/by-id/{id}/retract",
    "graph.entities": "GET /v1/graph/entities",
    "graph.add": "POST /v1/graph/entities",
    "graph.erase": "DELETE /v1/graph/entities",
    "graph.relate": "POST /v1/graph/relations",
    "graph.unrelate": "DELETE /v1/graph/relations",
    "snapshots.list": "GET /v1/snapshots",
    "snapshots.take": "POST /v1/snapshots",
    "snapshots.delete": "DELETE /v1/snapshots",
    "sleep.run": "POST /v1/sleep/runs",
    "sleep.log": "GET /v1/sleep/runs",
    "sleep.show": "GET /v1/sleep/runs/{id}",
    "sleep.undo": "POST /v1/sleep/runs/{id}/undo",
    "sleep.cancel": "POST /v1/sleep/runs/{id}/cancel",
    "schedules.list": "GET /v1/schedules",
    "schedules.set": "PUT /v1/schedules",
    "schedules.remove": "DELETE /v1/schedules",
    "erasures.list": "GET /v1/erasures",
    "erasures.get": "GET /v1/erasures/{id}",
}
# Verbs that only whoever is on the machine may use, because they read or write its files.
LOCAL: Mapping[str, str] = {
    "backup": "it writes a file; `rem backup` makes one where the server runs",
    "graph.plot": "it writes a file; `graph.export` gives the graph itself",
    "sleep.plot": "it writes a file; `sleep.forecast` gives the figures",
    "tuning.adapters": "adapters of a language model lie in folders of the machine",
    "tuning.examples": "it feeds a training run on the machine",
    "tuning.export_chat": "it writes a file",
    "tuning.finetune": "it trains for minutes and writes a folder",
}
# Fields that no caller from outside may give: a template is a program.
WITHHELD: Mapping[str, frozenset[str]] = {"blocks.render": frozenset({"template"})}
# Verbs that change what holds for everybody behind the wall.
GOVERNING = frozenset(
    {
        *("learn.rollback", "learn.train", "purge", "reembed", "schedules.remove"),
        *("schedules.reset", "schedules.set", "sleep.undo_night", "snapshots.restore"),
    }
)


def needs(operation: Operation) -> frozenset[Grant]:
    """What a caller must be allowed, all of it, to run it at all; a request may need more."""
    if operation.scope is Scoping.STORE or operation.name in GOVERNING:
        return frozenset({Grant.ADMIN})
    return frozenset(_needs(operation))


def may_erase(operation: Operation) -> bool:
    """Whether some request of it needs `erase`."""
    return operation.erases is not never


def _needs(operation: Operation) -> Iterator[Grant]:
    if operation.writes:
        yield Grant.WRITE
    if not operation.writes or (operation.answers is Answer.STORED and operation.bare is None):
        yield Grant.READ
    if operation.erases is always:
        yield Grant.ERASE


@cache
def routes() -> tuple[Route, ...]:
    """Every operation that a server has, paths without a parameter first."""
    found = [_route(each) for each in OPERATIONS if each.name not in LOCAL]
    return tuple(sorted(found, key=lambda route: route.path.count("{")))


@cache
def route_of(name: str) -> Route:
    """Where the operation of this name is."""
    return next(each for each in routes() if each.operation.name == name)


def asked_of(operation: Operation) -> tuple[str, ...]:
    """The fields of its request that a caller from outside may give."""
    withheld = WITHHELD.get(operation.name, frozenset())
    return tuple(each.name for each in fields(operation.request) if each.name not in withheld)


def _route(operation: Operation) -> Route:
    given = PATHS.get(operation.name)
    if given is not None:
        method, path = given.split(" ")
        return Route(operation=operation, method=method, path=path)
    own = operation.name.replace("_", "-").replace(".", "/")
    method = "POST" if operation.writes or not _flat(operation.request) else "GET"
    return Route(operation=operation, method=method, path=f"/v1/{own}")


def _flat(request: type) -> bool:
    """Whether every field can stand in a query."""
    return not any(_nested(kind) for kind in get_type_hints(request).values())


def _nested(kind: Any) -> bool:
    return "Mapping" in str(kind)
