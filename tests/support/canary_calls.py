"""Calls with many tenants' keys through every route and tool of a server, and what leaks by them.

Each tenant has words that are nowhere else. Callers know the names and ids of others and try them;
no answer may hold a word of another tenant that the caller has not sent itself, and what a tenant
has that never calls must be at the end as it was.
"""

from __future__ import annotations

import random
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import repeat
from logging import INFO, Handler, LogRecord, getLogger
from typing import Any

import httpx
import orjson

from remanence.api.memory import Memory
from remanence.config import load_settings
from remanence.server.app import make_app
from remanence.server.logs import formatter
from remanence.server.mcp.tools import PROFILES
from remanence.testing.chat_server import ChatRequest, ChatServer, Turn, says
from remanence.testing.patience import HANG_S
from remanence.testing.serving import Served, serving
from support import http
from support.canary_doors import Asked, Door, doors, unknown
from support.canary_tenants import Owners, Tenant, plant, state_of, tenants
from support.canary_values import Fill
from support.server_process import ServerProcess, server_process

WAYS = (*["admin"] * 4, "both", "both", "read", "humble", "waiting")
THEIRS = (0.0, 0.0, 0.3, 1.0)  # shares of names in a call that are a victim's
RARELY = 0.15  # how often a call that takes long or takes much away is made when its turn comes
LOGGERS = ("remanence", "uvicorn", "mcp")  # not the clients', who run in this process too
_UNEXPECTED = 500


@dataclass
class Report:
    """What was called and what was found."""

    seed: int
    calls: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    through: Counter[str] = field(default_factory=Counter)
    good: Counter[str] = field(default_factory=Counter)
    own: Counter[str] = field(default_factory=Counter)
    leaks: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    lines: int = 0


class _Lines(Handler):
    """Keeps every line of the log, as it would be written."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(formatter("json"))
        self.lines: list[bytes] = []

    def emit(self, record: LogRecord) -> None:
        self.lines.append(self.format(record).encode())


class Canaries:
    """Servers of one store, one for each profile of tools, and the tenants that call them."""

    def __init__(self, servers: Mapping[str, Served], *, count: int, seed: int) -> None:
        self.servers, self.report = servers, Report(seed)
        self.processes: list[ServerProcess] = []
        self.operator = ""
        self.tenants = tenants(count, max(1, count // 5), random.Random(seed))
        self._loud = [each for each in self.tenants if not each.silent]
        self._owners = Owners(self.tenants)
        self._doors, self._lines, self._lock = doors(), _Lines(), threading.Lock()
        self._over = threading.Event()

    def plant(self) -> None:
        """Fill the store."""
        main = self.servers["full"]
        for each in self.tenants:
            plant(self._view(each), main.app.state.keys, each)
        for server in self.servers.values():
            server.app.state.gate.refresh()

    def unknown(self) -> set[str]:
        """Routes and tools that no call of these goes through."""
        return {one for name, each in self.servers.items() for one in unknown(each.app, name)}

    def ask(self, name: str) -> Asked:
        """A request through the door of this name."""
        door = next(each for each in self._doors if each.name == name)
        return door.ask(Fill(random.Random(), self._loud[0], self.tenants[0], 0.5))

    def run(
        self, calls: int, threads: int = 2, tell: Callable[[int], None] = lambda done: None
    ) -> Report:
        """Make so many calls, through every door in turn; then look at what is left."""
        before = {each.name: state_of(self._view(each)) for each in self.tenants if each.silent}
        with self._logged():
            work = [
                threading.Thread(
                    target=self._work, args=(number, len(range(number, calls, threads)), tell)
                )
                for number in range(threads)
            ]
            for thread in work:
                thread.start()
            try:
                for thread in work:
                    thread.join()
            except KeyboardInterrupt:  # enough; what was done so far is told
                self._over.set()
                for thread in work:
                    thread.join()
        self._check_aside()
        self._check_state(before)
        return self.report

    @contextmanager
    def _logged(self) -> Iterator[None]:
        loggers = [getLogger(name) for name in LOGGERS]
        levels = [logger.level for logger in loggers]
        for logger in loggers:
            logger.setLevel(INFO)
            logger.addHandler(self._lines)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
                logger.removeHandler(self._lines)

    def _view(self, tenant: Tenant) -> Memory:
        view: Memory = self.servers["full"].app.state.tenants.of(tenant.name)
        return view

    def _work(self, number: int, calls: int, tell: Callable[[int], None]) -> None:
        chance = random.Random(f"{self.report.seed} {number}")
        order = chance.sample(self._doors, len(self._doors))
        with http.Client(timeout=HANG_S) as client:
            for turn in range(calls):
                if self._over.is_set():
                    return
                door = order[turn % len(order)]
                first = turn < len(order)
                if door.rare and not first and chance.random() > RARELY:
                    door = chance.choice(order)
                own = chance.choice(self._loud)
                at = self.tenants.index(own)
                near = [self.tenants[(at + step) % len(self.tenants)] for step in (1, 2, 3)]
                silent = [each for each in self.tenants if each.silent]
                fill = Fill(chance, own, chance.choice([*near, *silent]), chance.choice(THEIRS))
                self._call(client, door, fill)
                tell(1)

    def _call(self, client: httpx.Client, door: Door, fill: Fill) -> None:
        own, asked = fill.own, door.ask(fill)
        self._owners.sent(own, asked.raw)
        key = own.keys[fill.chance.choice(WAYS)]
        url = self.servers[door.server].url + asked.path
        headers = {**asked.headers, "authorization": f"Bearer {key}"}
        try:
            answer = client.request(asked.method, url, content=asked.body, headers=headers)
        except httpx.HTTPError as error:
            self._failed(f"{door.name}: {type(error).__name__}")
            return
        self._look(door, own, asked, answer)

    def _look(self, door: Door, own: Tenant, asked: Asked, answer: httpx.Response) -> None:
        raw = repr(answer.headers.raw).encode() + answer.content
        strangers, kinds = self._owners.strangers(own, raw), self._owners.kinds_of(own, raw)
        good = answer.is_success and b'"isError":true' not in answer.content
        if good and door.harvest is not None:
            own.ids[door.harvest].extend(_ids(answer.content))
        with self._lock:
            report = self.report
            report.calls += 1
            report.answers[str(answer.status_code)] += 1
            report.through[door.name] += 1
            report.good[door.name] += good
            report.own.update(kinds)
            report.leaks += [f"{door.name}, {asked.raw!r}, told {own.name}: {w}" for w in strangers]
        if answer.status_code == _UNEXPECTED or b"Something unexpected" in answer.content:
            self._failed(f"{door.name}: {asked.raw!r}: {answer.content[:300]!r}")

    def _failed(self, what: str) -> None:
        with self._lock:
            self.report.failures.append(what)

    def _check_aside(self) -> None:
        """The log and the figures hold nobody's words; a prompt passed on, only its caller's."""
        logged = [*self._lines.lines, *(line.encode() for p in self.processes for line in p.lines)]
        self.report.lines = len(logged)
        for line in logged:
            if words := self._owners.strangers(None, line):
                self.report.leaks.append(f"the log: {words}: {line!r}")
        for process in self.processes:
            headers = {"authorization": f"Bearer {self.operator}"}
            told = http.get(f"{process.url}/metrics", headers=headers, timeout=HANG_S)
            told.raise_for_status()
            if words := self._owners.strangers(None, told.content):
                self.report.leaks.append(f"the figures: {words}")
        for server in self.servers.values():
            figures = server.app.state.metrics.told(server.memory, server.app.state.calls)
            if words := self._owners.strangers(None, figures):
                self.report.leaks.append(f"the figures: {words}")

    def _check_state(self, before: Mapping[str, Any]) -> None:
        for each in self.tenants:
            view = self._view(each)
            now = state_of(view)
            if each.silent:
                was = before[each.name]
                self.report.changed += [f"{each.name}: {k}" for k in was if was[k] != now[k]]
            told = orjson.dumps({name: repr(value) for name, value in now.items()})
            if words := self._owners.strangers(each, told):
                self.report.leaks.append(f"{each.name} has {words}")


@contextmanager
def canaries(database: str, *, count: int, seed: int, **settings: Any) -> Iterator[Canaries]:
    """Servers with tenants full of canaries; `database` holds them all."""
    print(f"seed {seed}", file=sys.stderr)
    with ExitStack() as stack:
        upstream = stack.enter_context(ChatServer(*repeat(echo, 1_000_000)))
        servers = {
            profile: stack.enter_context(
                serving(
                    Memory(database, **settings),
                    tools=profile,
                    upstream_url=upstream.url,
                    **settings,
                )
            )
            for profile in PROFILES
        }
        made = Canaries(servers, count=count, seed=seed)
        made.plant()
        yield made


@contextmanager
def canaries_in_processes(
    database: str, *, count: int, seed: int, workers: int, before: str = ""
) -> Iterator[Canaries]:
    """The same with `rem serve`, so many processes for each profile, on a store they share.

    What looks at the store from aside is an app here that nobody calls.
    """
    with ExitStack() as stack:
        upstream = stack.enter_context(ChatServer(*repeat(echo, 1_000_000)))
        memory = stack.enter_context(Memory(database))
        aside = {
            profile: Served("", make_app(load_settings({"tools": profile}), memory), memory)
            for profile in PROFILES
        }
        made = Canaries(aside, count=count, seed=seed)
        made.plant()
        made.operator = aside["full"].key(name="operator", operator=True)
        processes = {
            profile: stack.enter_context(
                server_process(
                    database,
                    *("--workers", str(workers), "--tools", profile),
                    before=before,
                    rate_limit="0",
                    log_format="json",
                    upstream_url=upstream.url,
                )
            )
            for profile in PROFILES
        }
        made.processes += processes.values()
        made.servers = {name: replace(aside[name], url=processes[name].url) for name in PROFILES}
        yield made


def echo(asked: ChatRequest) -> Turn:
    """A model that says back all it was told, memories and all."""
    said = [str(each.get("content")) for each in asked.messages]
    return says(" ".join(said)[-4_000:])


def _ids(raw: bytes) -> list[str]:
    try:
        data = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return []
    items = next((v for v in data.values() if isinstance(v, list)), []) if data else []
    found = [data, *items] if isinstance(data, dict) else []
    return [one["id"] for one in found if isinstance(one, dict) and isinstance(one.get("id"), str)]
