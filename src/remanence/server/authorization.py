"""The one door to the memory: whoever comes in by REST, MCP or another dialect comes through here.

It checks what the caller may do, gives what they write the trust and the name they have, takes
private data out where that is wanted, and has the deed written down.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any

from remanence.api.memory import Memory
from remanence.api.values import encoded
from remanence.api.verb import AnyVerb
from remanence.api.verbs.table import verb_of
from remanence.errors import Closed, Conflict, Forbidden, RemanenceError
from remanence.model.deadline import Deadline, unlimited, within
from remanence.model.progress import Progress
from remanence.server.access.audit import Audit
from remanence.server.access.caller import (
    Caller,
    authorise,
    check_extent,
    check_request,
    is_reserved,
    rule_of,
    told_to,
    trusting,
)
from remanence.server.access.writing import Intake, Redact, as_theirs, naming_own_key, redacted
from remanence.server.idempotency import Once
from remanence.server.jobs import Office, Work, both

VIEWS = 1_024  # tenants whose view stays at hand


class Tenants:
    """Gives each tenant its view of one store. Thread-safe."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._own = memory.tenant
        self._lock = threading.Lock()
        self._views: OrderedDict[str, Memory] = OrderedDict()

    def of(self, tenant: str) -> Memory:
        """The memory behind this tenant's wall."""
        if tenant == self._own:
            return self.memory
        if is_reserved(tenant):
            raise Forbidden(f"The tenant {tenant!r} is Remanence's own.")
        with self._lock:
            view = self._views.get(tenant)
            if view is not None:
                self._views.move_to_end(tenant)
                return view
        return self._opened(tenant)

    def write_uses(self) -> None:
        """Write what was noted of uses for each tenant; searches themselves never write."""
        with self._lock:
            views = list(self._views.values())
        with suppress(Closed):
            for each in (self.memory, *views):
                each.write_uses()

    def close(self) -> None:
        """Close every view, and the memory itself."""
        with self._lock:
            views = list(self._views.values())
            self._views.clear()
        for view in views:
            view.close()
        self.memory.close()

    def _opened(self, tenant: str) -> Memory:
        made = self.memory.for_tenant(tenant)
        with self._lock:
            view = self._views.setdefault(tenant, made)
            # One that is let go is not closed: a call may still be at work in it.
            late = [self._views.popitem(last=False)[1] for _ in range(len(self._views) - VIEWS)]
        for each in late:
            each.write_uses()
        return view


REFUSED = "refused"
EVERY_S = 60.0  # a caller's refusals of one kind are written down no more often than this
HELD = 10_000  # of them stay in mind
# What the log says of a request: whom and what it concerns.
TOLD = (
    *("id", "user_id", "agent_id", "session_id", "all_users", "label", "name", "erase", "steps"),
    *("repair", "source", "actor", "origin", "since", "until"),
)


@dataclass(eq=False)
class Door:
    """Runs operations for callers."""

    tenants: Tenants
    recorder: Audit | None = None
    redact: Redact | None = None
    watch: Callable[[str, float, BaseException | None], None] | None = None
    once: Once | None = None
    office: Office | None = None
    called: dict[str, float] = field(default_factory=dict, init=False)  # when last, by tenant
    _refused: dict[tuple[str, str, str], float] = field(default_factory=dict, init=False)
    _min_trust: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._min_trust = self.tenants.memory.settings.min_trust

    def memory(self, caller: Caller) -> Memory:
        """The caller's memory, for what is not an operation; whoever takes it asks `authorise`."""
        return self.tenants.of(caller.tenant)

    def intake(self, caller: Caller) -> Intake:
        """What becomes of the lines of the caller's import."""
        return Intake(caller, self.redact)

    def perform(
        self,
        caller: Caller,
        operation: AnyVerb,
        request: Any,
        progress: Progress | None = None,
        as_json: bool = False,
    ) -> Any:
        """Run an operation for a caller: an instance of its `response` or the bytes of that one's
        JSON, or a typed error."""
        started, rule, asked = time.perf_counter(), rule_of(operation), request
        failed: BaseException | None = None
        self.called[caller.tenant] = time.monotonic()
        try:
            authorise(caller, operation)
            check_request(operation, request)
            memory = self.tenants.of(caller.tenant)
            if rule.trusts and self._min_trust:
                request = trusting(caller, request, self._min_trust)
            if rule.inspects:
                check_extent(caller, operation, request, memory)
            if rule.writes:
                request = as_theirs(caller, operation, self._redacted(rule.name, request), memory)
            if rule.grave:
                self._account(caller, rule.name, request)
            if rule.lasts or rule.erases:
                answer = self._at_length(caller, memory, operation, request, progress)
            else:
                answer = operation.perform(memory, request, progress)
            answer = told_to(caller, operation, answer)
            return encoded(answer) if as_json else answer
        except Conflict as error:
            failed = naming_own_key(error, asked, request)
            raise failed from None
        except BaseException as error:
            failed = error
            if rule.grave and isinstance(error, Forbidden):
                self.refused(caller, operation, request)
            raise
        finally:
            if self.watch is not None:
                self.watch(rule.name, time.perf_counter() - started, failed)

    def check(self, caller: Caller, operation: AnyVerb, request: Any) -> None:
        """Refuse at once what would be refused when it is performed, as far as that is known."""
        authorise(caller, operation)
        check_request(operation, request)
        check_extent(caller, operation, request, self.memory(caller))

    def _account(self, caller: Caller, deed: str, request: Any) -> None:
        """Have it written down before it is done."""
        if self.recorder is not None and not getattr(request, "dry_run", False):
            with unlimited():
                self.recorder.record(caller, deed, told_of(request))

    def _at_length(
        self,
        caller: Caller,
        memory: Memory,
        operation: AnyVerb,
        request: Any,
        progress: Progress | None,
    ) -> Any:
        """What lasts is a job, by whatever way it came; what erases takes kept answers along."""
        with ExitStack() as stack:
            if operation.takes_long(request) and self.office is None:
                stack.enter_context(within(Deadline()))
            elif operation.takes_long(request) and self.office is not None:
                job = stack.enter_context(self.office.at_work(caller, Work.of(operation)))
                progress = both(progress, job.report)
            # For good, be it only one memory named by its id.
            erases = getattr(request, "erase", False) or operation.erases(memory, request)
            if self.once is not None and erases:
                self.once.forget(memory.tenant)
                stack.callback(self._forget_answers, self.once, memory.tenant)
            return operation.perform(memory, request, progress)

    def _forget_answers(self, once: Once, tenant: str) -> None:
        with unlimited():
            once.forget(tenant)

    def _redacted(self, name: str, request: Any) -> Any:
        if self.redact is None:
            return request
        given = {each.name: getattr(request, each.name) for each in fields(request)}
        return replace(request, **redacted(name, given, self.redact))

    def refused(self, caller: Caller, operation: AnyVerb, request: Any = None) -> None:
        """Write down a grave deed that was refused; a log that fails does not let anybody in."""
        kind, now = (caller.tenant, caller.name, operation.name), time.monotonic()
        if self.recorder is None or now - self._refused.get(kind, -EVERY_S) < EVERY_S:
            return
        if len(self._refused) >= HELD:
            self._refused.clear()
        self._refused[kind] = now
        with suppress(RemanenceError):
            about = {"operation": operation.name, **told_of(request)}
            self.recorder.record(caller, REFUSED, about)


def told_of(request: Any) -> dict[str, Any]:
    """What the log says of a request: whom and what it concerns, no text of any memory."""
    values = {name: getattr(request, name, None) for name in TOLD}
    values["filters"] = tuple(getattr(request, "filters", None) or ())
    told = {name: value for name, value in values.items() if value not in (None, (), False)}
    return {n: v.isoformat() if isinstance(v, datetime) else v for n, v in told.items()}


@dataclass(frozen=True, kw_only=True)
class Desk:
    """A caller at the door: what dialects make of their calls is done as theirs.

    `scope` is the user, agent and session that hold where a call names none.
    """

    door: Door
    caller: Caller
    scope: Mapping[str, str] = field(default_factory=dict)

    def do(self, name: str, /, **fields: Any) -> Any:
        """Run the operation of this name; its response."""
        wanted = verb_of(name)
        return self.door.perform(self.caller, wanted, wanted.request(**fields))
