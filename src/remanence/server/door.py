"""The one door to the memory: whoever comes in by REST, MCP or another dialect comes through here.

It checks what the caller may do, gives what they write the trust and the name they have, takes
private data out where that is wanted, and has the deed written down.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

from remanence.errors import Forbidden, InvalidInput
from remanence.memory import Memory
from remanence.model.memory import State
from remanence.operations.operation import Operation, Scoping
from remanence.operations.routes import GOVERNING, WITHHELD
from remanence.ports.store import Progress
from remanence.server.access.caller import Caller, authorise
from remanence.server.once import Once
from remanence.server.tenants import Tenants

Redact = Callable[[str], str]
# Fields that name things rather than say something: no word in them is ever taken out.
NAMES = frozenset(
    {
        *("id", "a", "b", "user_id", "agent_id", "session_id", "external_id", "idempotency_key"),
        *("kind", "state", "role", "type", "relation", "predicate", "label", "key", "name"),
        *("source", "actor", "origin", "author", "source_memory", "cron", "zone", "steps", "into"),
        *(
            "app_id",
            "categories",
            "mem0",
            "filters",
            "query",
            "at",
            "happened_at",
            "superseded_by",
            "receipt",
            "version",
        ),
    }
)


class Recorder(Protocol):
    """Writes down deeds that must be accounted for."""

    def record(self, caller: Caller, deed: str, about: Mapping[str, Any]) -> None:
        """Append to the tenant's log."""


class Watch(Protocol):
    """Sees how long things take, and how they end."""

    def saw(self, operation: str, seconds: float, error: BaseException | None) -> None:
        """One operation is over."""


@dataclass(frozen=True, slots=True)
class Unwatched:
    """Nobody looks."""

    def saw(self, operation: str, seconds: float, error: BaseException | None) -> None:
        """Do nothing."""


class Door:
    """Runs operations for callers."""

    def __init__(
        self,
        tenants: Tenants,
        *,
        recorder: Recorder | None = None,
        redact: Redact | None = None,
        watch: Watch | None = None,
        once: Once | None = None,
    ) -> None:
        self.once = once
        self._tenants = tenants
        self._recorder = recorder
        self._redact = redact
        self._watch = watch or Unwatched()

    def memory(self, caller: Caller) -> Memory:
        """The caller's memory, for what is not an operation; whoever takes it asks `authorise`."""
        return self._tenants.of(caller.tenant)

    def perform(
        self,
        caller: Caller,
        operation: Operation,
        request: Any,
        progress: Progress | None = None,
    ) -> Any:
        """Run an operation for a caller: an instance of its `response`, or a typed error."""
        started, failed = time.perf_counter(), None
        try:
            authorise(caller, operation)
            _check_withheld(operation, request)
            memory = self.memory(caller)
            if operation.writes:
                request = self._as_theirs(caller, operation, request)
                _check_standing(caller, operation, request, memory)
            if self._recorder is not None and accountable(operation, request):
                self._recorder.record(caller, operation.name, told_of(request))
            if self.once is None or not _erases(operation, request):
                return operation.perform(memory, request, progress)
            self.once.forget(caller.tenant)
            answer = operation.perform(memory, request, progress)
            self.once.forget(caller.tenant)
            return answer
        except BaseException as error:
            failed = error
            raise
        finally:
            self._watch.saw(operation.name, time.perf_counter() - started, failed)

    def _as_theirs(self, caller: Caller, operation: Operation, request: Any) -> Any:
        """What they write, with the trust and the name they have."""
        given = {each.name: getattr(request, each.name) for each in fields(request)}
        if self._redact is not None:
            given = {
                n: redacted(v, self._redact) if n not in NAMES else v for n, v in given.items()
            }
        for name in ("actor", "author"):
            if name in given and (given[name] is None or caller.trust < 1):
                given[name] = caller.name
        if caller.trust < 1:
            given = {name: _capped(name, value, caller) for name, value in given.items()}
        if caller.quarantine:
            given = _quarantined(given)
        return replace(request, **given)


def accountable(operation: Operation, request: Any) -> bool:
    """Whether a deed is written down: what cannot be undone, and what concerns everybody."""
    if getattr(request, "dry_run", False):
        return False
    grave = operation.destructive or operation.scope is Scoping.STORE
    return operation.writes and (grave or operation.name in GOVERNING)


def told_of(request: Any) -> dict[str, Any]:
    """What the log says of a request: whom and what it concerns, no text of any memory."""
    named = ("id", "user_id", "agent_id", "session_id", "label", "name", "erase", "steps", "repair")
    values = {name: getattr(request, name, None) for name in named}
    return {name: value for name, value in values.items() if value not in (None, (), False)}


def redacted(value: Any, redact: Redact) -> Any:
    """A value with every text in it redacted; what names things stays."""
    match value:
        case str():
            return redact(value)
        case Mapping():
            return {n: v if n in NAMES else redacted(v, redact) for n, v in value.items()}
        case list() | tuple():
            return type(value)(redacted(one, redact) for one in value)
    return value


def _capped(name: str, value: Any, caller: Caller) -> Any:
    if name == "trust":
        return caller.trust if value is None else min(value, caller.trust)
    if name == "memories" and isinstance(value, tuple):
        return tuple(_humbled(item, caller) for item in value)
    return value


def _humbled(item: Any, caller: Caller) -> Any:
    if isinstance(item, str):
        item = {"text": item}
    if not isinstance(item, Mapping):
        return item
    trust = item.get("trust", 1.0)
    if isinstance(trust, bool) or not isinstance(trust, int | float):
        raise InvalidInput(f"trust must be a number from 0 to 1; got {str(trust)[:40]!r}.")
    return {**item, "trust": min(trust, caller.trust), "actor": caller.name}


def _erases(operation: Operation, request: Any) -> bool:
    return operation.verb == "erase" or bool(getattr(request, "erase", False))


def _quarantined(given: dict[str, Any]) -> dict[str, Any]:
    """What is written waits for an admin's eyes; what cannot wait is refused by `authorise`."""
    if "quarantined" in given:
        return given | {"quarantined": True}
    if "memories" in given:
        items = ({"text": one} if isinstance(one, str) else one for one in given["memories"])
        return given | {"memories": tuple({**item, "quarantined": True} for item in items)}
    return given


def _check_withheld(operation: Operation, request: Any) -> None:
    for name in WITHHELD.get(operation.name, ()):
        if getattr(request, name) is not None:
            raise Forbidden(f"{name} cannot be given from outside.")


def _check_standing(caller: Caller, operation: Operation, request: Any, memory: Memory) -> None:
    """Who is trusted less changes and takes away only what is trusted no more than they are."""
    if caller.trust >= 1 or operation.name not in ("update", "forget"):
        return
    ids = request.id if isinstance(request.id, tuple) else (request.id,)
    if not ids:
        raise Forbidden("A key of limited trust forgets by id alone.")
    if getattr(request, "erase", False) or getattr(request, "state", None) == State.ACTIVE:
        raise Forbidden("A key of limited trust neither erases nor brings back.")
    for id in ids:
        if memory.get(id).trust > caller.trust:
            raise Forbidden("A key of limited trust changes nothing that is trusted more.")
