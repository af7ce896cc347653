"""Work that takes long: what a tenant has under way, how far it is, and how it is called off."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import Any

import orjson

from remanence.api.verb import AnyVerb, Grant, Holds, Scoping
from remanence.errors import Cancelled, Conflict, Forbidden, NotFound, RemanenceError
from remanence.model.clock import Clock, IdMaker
from remanence.model.deadline import Deadline, unlimited, within
from remanence.model.document import Address, Discard, Document, Put, Shelf
from remanence.model.ports.store import Documents
from remanence.model.progress import Progress
from remanence.model.scope import Reach
from remanence.server.access.caller import Caller
from remanence.server.heap import regularly
from remanence.server.problems import problem_of

KEPT = timedelta(days=1)  # after its end, or its last sign of life
BEAT_S = 2.0
SILENT = timedelta(seconds=60)  # whose process gave no sign for so long is no longer at it
LARGEST = 1024 * 1024  # bytes of an answer that is kept
LISTED = 100
HELD = 100  # jobs of a key that are over and still known; the oldest go first
_TRIES = 20
_LESS = "ask for less, or without `Prefer: respond-async`."
_GONE = "The process that was at it has ended; what it had committed by then stays."
_ENDS = "The server is told to stop"
_log = logging.getLogger(__name__)
_current: ContextVar[Running | None] = ContextVar("job", default=None)


class JobState(StrEnum):
    """How a job stands."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Work that takes long, as whoever may do it sees it.

    `done` of `total` is what the work itself reports; `transactions` are those committed so far.
    `result` is the answer of a job that nobody waited for, as long as it is kept.
    """

    id: str
    operation: str
    state: JobState
    by: str
    started_at: datetime
    seen_at: datetime
    ended_at: datetime | None = None
    cancelling: bool = False
    done: int | None = None
    total: int | None = None
    transactions: int = 0
    error: dict[str, Any] | None = None
    result: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """The jobs of a tenant, the latest first."""

    jobs: tuple[Job, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is to be done: which operation, and who may see it and its answer."""

    name: str
    needs: Collection[Grant]
    operator: bool = False
    figures: bool = True

    @classmethod
    def of(cls, operation: AnyVerb) -> Work:
        """The work of an operation."""
        return cls(
            name=operation.name,
            needs=operation.needs,
            operator=operation.scope is Scoping.STORE,
            figures=operation.holds is Holds.FIGURES,
        )


class Running:
    """A job that this process is at."""

    def __init__(self, tenant: str, id: str, value: dict[str, Any]) -> None:
        self.tenant = tenant
        self.id = id
        self.deadline = Deadline()
        self._value = value
        self._progress: tuple[int, int] | None = None

    def report(self, done: int, total: int) -> None:
        """How far it is; raises once the job is called off."""
        self._progress = done, total
        self.deadline.check()

    def value(self, **changes: Any) -> dict[str, Any]:
        """What is written down of it now."""
        done, total = self._progress or (None, None)
        told = {"done": done, "total": total, "transactions": self.deadline.commits}
        return self._value | told | changes


class Office:
    """Keeps the jobs of every tenant in the store, so that each process of a server knows them."""

    def __init__(self, store: Documents, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._new_id = IdMaker()
        self._lock = threading.Lock()
        self._running: dict[str, Running] = {}
        self._tasks: set[asyncio.Future[None]] = set()

    @contextmanager
    def at_work(self, caller: Caller, work: Work, job: Running | None = None) -> Iterator[Running]:
        """Be at a job from here to the end; inside another, that is the job."""
        known = _current.get()
        if known is not None:
            yield known
            return
        job = job or self.opened(caller, work)
        token = _current.set(job)
        try:
            with within(job.deadline):
                yield job
        except BaseException as error:
            self.failed(job, error)
            raise
        else:
            self._ended(job, JobState.DONE)
        finally:
            _current.reset(token)

    def opened(self, caller: Caller, work: Work) -> Running:
        """A job that begins now."""
        now = self._clock.now()
        value = {
            "operation": work.name,
            "state": JobState.RUNNING,
            "by": caller.name,
            "needs": sorted(work.needs),
            "operator": work.operator,
            "figures": work.figures,
            "at": f"{socket.gethostname()}:{os.getpid()}",
            "cancel": False,
            "ended_at": None,
            "error": None,
        }
        job = Running(caller.tenant, str(self._new_id()), value)
        with unlimited():
            self._store.expire(caller.tenant, Shelf.JOB, now)
            self._make_room(caller)
            self._put(caller.tenant, _place(job.id), job.value(), expected=0)
        with self._lock:
            self._running[job.id] = job
        return job

    def keep_place(self, job: Running) -> None:
        """Keep a place for the answer. What erases meanwhile takes it away with all answers."""
        self._put(job.tenant, _answer(job.id), {}, expected=0)

    def keep_answer(self, job: Running, answer: bytes, *, anew: bool = False) -> None:
        """Keep the answer of a job that nobody waits for, if its place is still there.

        `anew`: even if it is not, as after what the job itself has erased.
        """
        large = len(answer) > LARGEST
        told = {"large": str(len(answer))} if large else {"answer": answer.decode()}
        with suppress(Conflict), unlimited():
            self._put(job.tenant, _answer(job.id), told, expected=None if anew else 1)

    def failed(self, job: Running, error: BaseException) -> None:
        """It came to nothing before anybody was at it."""
        if job.id in self._running:
            self._ended(job, _state_of(error), error=problem_of(error).body())

    def list(self, caller: Caller) -> Jobs:
        """The tenant's jobs that the caller could have begun; without their answers."""
        mine = [one for one in self._every(caller.tenant) if _shown(caller, one)]
        return Jobs(jobs=tuple(self._seen(caller, one) for one in mine[:LISTED]))

    def get(self, caller: Caller, id: str) -> Job:
        """A job with its answer, if the caller may have that; `NotFound` if it is not theirs."""
        found = self._found(caller, id)
        job = self._seen(caller, found)
        if job.state is not JobState.DONE or not (found.value["figures"] or _theirs(caller, found)):
            return job
        return replace(job, result=self._answer(caller.tenant, id))

    def cancel(self, caller: Caller, id: str) -> Job:
        """Call a job off, whichever process is at it; one that is over stays as it is."""
        for _ in range(_TRIES):
            found = self._found(caller, id)
            if found.value["by"] != caller.name and not caller.may(Grant.ADMIN):
                raise Forbidden("Another key began this job; it or one with `admin` cancels it.")
            if self._told(found).state is not JobState.RUNNING:
                return self._told(found)
            value = {**found.value, "cancel": True}
            put = Put(
                address=found.address,
                value=value,
                at=found.updated_at,  # no sign of life
                expected=found.version,
                expires_at=found.expires_at,
            )
            with suppress(Conflict):
                kept = self._store.put(caller.tenant, [put])
                if id in self._running:
                    self._running[id].deadline.cancel()
                return self._told(kept[0])
        raise Conflict("The job's state keeps changing; try again.")

    def beat(self) -> None:
        """Give a sign of life for every job that is at work here, and hear which are cancelled."""
        with self._lock:
            running = list(self._running.values())
        for job in running:
            with suppress(RemanenceError):
                self._beat(job)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """As long as the server runs; then what is under way is called off."""
        try:
            async with regularly(BEAT_S, self.beat):
                yield
        finally:
            with self._lock:
                for job in self._running.values():
                    job.deadline.cancel(_ENDS)
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def hand_over(self, work: asyncio.Future[None]) -> None:
        """Keep hold of what nobody waits for."""
        self._tasks.add(work)
        work.add_done_callback(self._tasks.discard)

    def _beat(self, job: Running) -> None:
        found = self._store.get(job.tenant, [_place(job.id)])
        if not found or job.id not in self._running:
            return
        if found[0].value["cancel"]:
            job.deadline.cancel()
        with suppress(Conflict):  # ended, or cancelled a moment ago: the next time
            told = job.value(cancel=found[0].value["cancel"])
            self._put(job.tenant, _place(job.id), told, expected=found[0].version)

    def _ended(self, job: Running, state: JobState, error: dict[str, Any] | None = None) -> None:
        with self._lock:
            self._running.pop(job.id, None)
        now = self._clock.now().isoformat()
        told = job.value(state=state, ended_at=now, error=error)
        with unlimited():
            try:
                self._put(job.tenant, _place(job.id), told)
            except RemanenceError:
                _log.exception("How the job %s ended could not be written down", job.id)

    def _put(
        self, tenant: str, at: Address, value: Mapping[str, Any], expected: int | None = None
    ) -> None:
        now = self._clock.now()
        put = Put(address=at, value=value, at=now, expected=expected, expires_at=now + KEPT)
        self._store.put(tenant, [put])

    def _every(self, tenant: str) -> Sequence[Document]:
        """The tenant's jobs, the latest first."""
        now = self._clock.now()
        every = self._store.walk_shelf(Reach(tenant=tenant), Shelf.JOB)
        alive = [one for one in every if one.alive(now)]
        return sorted(alive, key=lambda one: (one.created_at, one.address.name), reverse=True)

    def _make_room(self, caller: Caller) -> None:
        """Let go of a key's oldest jobs, so that no key fills the store with answers."""
        over = (
            one.address.name
            for one in self._every(caller.tenant)
            if one.value["by"] == caller.name and one.value["state"] != JobState.RUNNING
        )
        gone = [
            Discard(address=at(id)) for id in islice(over, HELD, None) for at in (_place, _answer)
        ]
        if gone:
            self._store.put(caller.tenant, gone)

    def _found(self, caller: Caller, id: str) -> Document:
        found = self._store.get(caller.tenant, [_place(id)])
        if not found or not found[0].alive(self._clock.now()) or not _shown(caller, found[0]):
            raise NotFound(f"There is no job {id[:80]!r} here; GET /v1/jobs lists those there are.")
        return found[0]

    def _answer(self, tenant: str, id: str) -> Any:
        found = self._store.get(tenant, [_answer(id)])
        told = found[0].value if found else {}
        if "large" in told:
            raise Conflict(f"The answer has {told['large']} bytes, more than a job keeps; {_LESS}")
        return orjson.loads(str(told["answer"])) if "answer" in told else None

    def _seen(self, caller: Caller, document: Document) -> Job:
        """A job as the caller may have it: why another's failed may quote what that one sent."""
        job = self._told(document)
        if job.error is None or _theirs(caller, document):
            return job
        return replace(job, error={n: v for n, v in job.error.items() if n != "detail"})

    def _told(self, document: Document) -> Job:
        value, state = document.value, JobState(document.value["state"])
        error = value["error"]
        lost = self._clock.now() - document.updated_at > SILENT
        if state is JobState.RUNNING and lost and document.address.name not in self._running:
            state, error = JobState.INTERRUPTED, {"detail": _GONE}
        ended = value["ended_at"]
        same = ("operation", "by", "done", "total", "transactions")
        return Job(
            id=document.address.name,
            state=state,
            started_at=document.created_at,
            seen_at=document.updated_at,
            ended_at=None if ended is None else datetime.fromisoformat(ended),
            cancelling=state is JobState.RUNNING and value["cancel"],
            error=error,
            **{name: value[name] for name in same},
        )


def _state_of(error: BaseException) -> JobState:
    if isinstance(error, Cancelled):
        return JobState.INTERRUPTED if str(error).startswith(_ENDS) else JobState.CANCELLED
    return JobState.FAILED


def _theirs(caller: Caller, document: Document) -> bool:
    """Whether what it says of memories is for the caller."""
    return document.value["by"] == caller.name or caller.may(Grant.READ)


def _shown(caller: Caller, document: Document) -> bool:
    """Whether the caller could have begun it."""
    able = all(caller.may(Grant(one)) for one in document.value["needs"])
    return able and (caller.operator or not document.value["operator"])


def _place(id: str) -> Address:
    return Address(shelf=Shelf.JOB, name=id)


def _answer(id: str) -> Address:
    return Address(shelf=Shelf.ANSWER, name=f"job {id}")


def both(first: Progress | None, second: Callable[[int, int], None]) -> Progress:
    """Reports to both."""

    def report(done: int, total: int) -> None:
        second(done, total)
        if first is not None:
            first(done, total)

    return report
