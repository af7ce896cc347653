"""The one door to the memory: whoever comes in by REST, MCP or another dialect comes through here.

It checks what the caller may do, gives what they write the trust and the name they have, takes
private data out where that is wanted, and has the deed written down.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Protocol

from remanence.deadline import Deadline, unlimited, within
from remanence.errors import Forbidden, RemanenceError
from remanence.memory import Memory
from remanence.operations.operation import Operation, Scoping
from remanence.operations.routes import GOVERNING, WITHHELD
from remanence.ports.store import Progress
from remanence.server.access.caller import Caller, authorise, check_request, told_to, trusting
from remanence.server.access.redacting import Redact, redacted
from remanence.server.access.writing import Intake, as_theirs
from remanence.server.jobs import Office, Work, both
from remanence.server.once import Once
from remanence.server.sizes import check_sizes
from remanence.server.tenants import Tenants

REFUSED = "refused"
EVERY_S = 60.0  # a caller's refusals of one kind are written down no more often than this
HELD = 10_000  # of them stay in mind
# What the log says of a request: whom and what it concerns.
TOLD = (
    *("id", "user_id", "agent_id", "session_id", "all_users", "label", "name", "erase", "steps"),
    *("repair", "source", "actor", "origin", "since", "until"),
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
        office: Office | None = None,
    ) -> None:
        self.once = once
        self._office = office
        self._tenants = tenants
        self._recorder = recorder
        self._redact = redact
        self._watch = watch or Unwatched()
        self._refused: dict[tuple[str, str, str], float] = {}

    def memory(self, caller: Caller) -> Memory:
        """The caller's memory, for what is not an operation; whoever takes it asks `authorise`."""
        return self._tenants.of(caller.tenant)

    def intake(self, caller: Caller) -> Intake:
        """What becomes of the lines of the caller's import."""
        return Intake(caller, self._redact)

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
            check_sizes(request)
            memory = self.memory(caller)
            request = trusting(caller, request, memory.settings.min_trust)
            check_request(caller, operation, request, memory)
            if operation.writes:
                request = as_theirs(caller, operation, self._redacted(operation, request), memory)
            if self._recorder is not None and accountable(operation, request):
                with unlimited():
                    self._recorder.record(caller, operation.name, told_of(request))
            answer = self._answer(caller, memory, operation, request, progress)
            return told_to(caller, operation, answer)
        except BaseException as error:
            failed = error
            if isinstance(error, Forbidden) and is_grave(operation):
                self.refused(caller, operation, request)
            raise
        finally:
            self._watch.saw(operation.name, time.perf_counter() - started, failed)

    def check(self, caller: Caller, operation: Operation, request: Any) -> None:
        """Refuse at once what would be refused when it is performed, as far as that is known."""
        authorise(caller, operation)
        _check_withheld(operation, request)
        check_sizes(request)
        check_request(caller, operation, request, self.memory(caller))

    def erases(self, caller: Caller, operation: Operation, request: Any) -> bool:
        """Whether a request destroys more than one memory."""
        return operation.erases(self.memory(caller), request)

    def _answer(
        self,
        caller: Caller,
        memory: Memory,
        operation: Operation,
        request: Any,
        progress: Progress | None,
    ) -> Any:
        """What lasts is a job, by whatever way it came."""
        if not operation.takes_long(request):
            return self._done(memory, operation, request, progress)
        if self._office is None:
            with within(Deadline()):
                return self._done(memory, operation, request, progress)
        with self._office.at_work(caller, Work.of(operation)) as job:
            return self._done(memory, operation, request, both(progress, job.report))

    def _done(
        self, memory: Memory, operation: Operation, request: Any, progress: Progress | None
    ) -> Any:
        if self.once is None or not _erases(operation, request):
            return operation.perform(memory, request, progress)
        self.once.forget(memory.tenant)
        try:
            return operation.perform(memory, request, progress)
        finally:
            with unlimited():
                self.once.forget(memory.tenant)

    def _redacted(self, operation: Operation, request: Any) -> Any:
        if self._redact is None:
            return request
        given = {each.name: getattr(request, each.name) for each in fields(request)}
        return replace(request, **redacted(operation.name, given, self._redact))

    def refused(self, caller: Caller, operation: Operation, request: Any = None) -> None:
        """Write down a grave deed that was refused; a log that fails does not let anybody in."""
        kind, now = (caller.tenant, caller.name, operation.name), time.monotonic()
        if self._recorder is None or now - self._refused.get(kind, -EVERY_S) < EVERY_S:
            return
        if len(self._refused) >= HELD:
            self._refused.clear()
        self._refused[kind] = now
        with suppress(RemanenceError):
            about = {"operation": operation.name, **told_of(request)}
            self._recorder.record(caller, REFUSED, about)


def is_grave(operation: Operation) -> bool:
    """What cannot be undone, and what concerns everybody."""
    wide = operation.scope is Scoping.STORE or operation.name in GOVERNING
    return operation.writes and (operation.destructive or wide)


def accountable(operation: Operation, request: Any) -> bool:
    """Whether a deed is written down."""
    return is_grave(operation) and not getattr(request, "dry_run", False)


def told_of(request: Any) -> dict[str, Any]:
    """What the log says of a request: whom and what it concerns, no text of any memory."""
    values = {name: getattr(request, name, None) for name in TOLD}
    values["filters"] = tuple(getattr(request, "filters", None) or ())
    told = {name: value for name, value in values.items() if value not in (None, (), False)}
    return {n: v.isoformat() if isinstance(v, datetime) else v for n, v in told.items()}


def _erases(operation: Operation, request: Any) -> bool:
    return operation.verb == "erase" or bool(getattr(request, "erase", False))


def _check_withheld(operation: Operation, request: Any) -> None:
    for name in WITHHELD.get(operation.name, ()):
        if getattr(request, name) is not None:
            raise Forbidden(f"{name} cannot be given from outside.")
