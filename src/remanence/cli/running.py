"""What runs until it is told to stop: `rem serve`, and `rem worker`, which sleeps on schedule."""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from remanence.cli.common import PANEL, Opening, command
from remanence.cli.terminal import note, tell

if TYPE_CHECKING:
    from remanence.api.memory import Memory
    from remanence.config import Settings
    from remanence.consolidation.schedules.worker import ServedMoment, Worker

# The defaults that help shows are those of `Settings`, which is not loaded for it.
Host = Annotated[
    str | None,
    typer.Option(
        help="the address to listen at; any but loopback needs keys", show_default="127.0.0.1"
    ),
]
Port = Annotated[
    int | None,
    typer.Option(
        "--port", "-p", min=0, max=65_535, help="the port; 0: a free one", show_default="8005"
    ),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", "-w", min=1, help="processes that share the store", show_default="1"),
]
Tools = Annotated[
    str | None,
    typer.Option(help="which tools MCP shows: default, graph or full", show_default="default"),
]
Sample = Annotated[bool, typer.Option("--sample", help="load a sample conversation the first time")]
JSON = "content-type:application/json"
KEY = " -H 'Authorization: Bearer YOUR-KEY'"
RETRIEVE = "curl '{url}/memory/retrieve?q={asked}&k=1{whose}'{key}"
STORE = """curl {url}/memory/store{key} -H {json} -d '{{"context": "Ana moved to Lisbon"}}'"""
SEARCH = """curl {url}/v1/search{key} -H {json} -d '{{"query": "where does Ana live?"}}'"""
HEAD = "Remanence {version} at {url} ({doing}Ctrl-C stops it). Three things to try:"
AGENTS = "Agents: MCP at {url}/mcp · OpenAI-compatible at {url}/v1 · API at {url}/openapi.json"
BY_NAME = "Other machines reach it only under {own}names in REMANENCE_HOSTS; there are none yet."
ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - no name to call it by
_log = logging.getLogger("remanence")


@command("database", "tenant")
def serve(
    asked: Opening,
    host: Host = None,
    port: Port = None,
    workers: Workers = None,
    tools: Tools = None,
    sample: Sample = False,
) -> None:
    """Serve the memory: REST, MCP, mem0's and OpenAI's dialects, on 127.0.0.1:8005.

    Without keys only this machine may call; `rem keys create` makes one.
    """
    gc.disable()  # until the server is up: all that is made before stays
    check_installed("The server", "starlette", "uvicorn")
    _one_thread_each()
    given: dict[str, Any] = {"host": host, "port": port, "workers": workers, "tools": tools}
    wanted = {name: value for name, value in given.items() if value is not None}
    _run(replace(asked.settings(), **wanted), sample)


def _run(settings: Settings, sample: bool) -> None:
    from remanence.api.memory import Memory
    from remanence.config.assembly.models import BY_WORDS, missing_model
    from remanence.errors import StoreUnavailable
    from remanence.model.clock import SystemClock
    from remanence.server.access.keys import Keys
    from remanence.server.app import memory_settings
    from remanence.server.logs import set_up
    from remanence.server.serving import check_bind, check_shared, listen, serve, serve_many

    check_shared(settings)
    _check_address(settings.host)
    set_up(settings.log_format)
    try:
        memory = Memory(settings.database_url, **memory_settings(settings))
    except StoreUnavailable as error:
        _wait(settings, error)
        return
    try:
        keys = Keys(memory.parts.store.documents, SystemClock())
        check_bind(settings, keys)
        at = listen(settings)
        settings = replace(settings, port=at.getsockname()[1])
        loaded = sample and _load_sample(memory)
        locked = bool(settings.jwt_issuer) or keys.known()
        typer.echo(welcome(settings, sample=sample or loaded, locked=locked), err=True)
        if missing := missing_model(memory.settings):
            _log.warning("No embedder: %s %s.", missing, BY_WORDS)
        if settings.workers == 1:
            serve(settings, memory, at)
            return
    finally:
        memory.close()
    serve_many(settings, at)


def _wait(settings: Settings, error: Exception) -> None:
    """Serve all the same: calls are told to come again until the database answers."""
    from remanence.server.serving import listen, serve_many, serve_when_there

    at = listen(settings)
    settings = replace(settings, port=at.getsockname()[1])
    typer.echo(welcome(settings, locked=True), err=True)
    _log.warning("%s The server waits for it.", error)
    (serve_when_there if settings.workers == 1 else serve_many)(settings, at)


def _load_sample(memory: Memory) -> bool:
    """Put the sample conversation into a memory that does not have it yet."""
    from remanence.cli.demo import USER, remember_sample

    if memory.count(user_id=USER):
        return False
    remember_sample(memory)
    return True


def _check_address(host: str) -> None:
    """Refuse an address that this machine does not have, before keys come into it."""
    from remanence.errors import ConfigError

    bare = host.strip("[]")
    try:
        with socket.socket(socket.AF_INET6 if ":" in bare else socket.AF_INET) as tried:
            tried.bind((bare, 0))
    except OSError as error:
        raise ConfigError(
            f"Cannot listen at {host}: this machine has no such address; 127.0.0.1 is this "
            "machine alone, 0.0.0.0 all its addresses."
        ) from error


def welcome(settings: Settings, *, sample: bool = False, locked: bool = False) -> str:
    """What people read when the server starts; `locked`: calls need a key."""
    from remanence.config.assembly.models import missing_model
    from remanence.version import __version__

    asked, whose = ("where+does+Ana+live", "")
    if sample:
        asked, whose = "what+is+Tom+allergic+to", "&user_id=demo"
    tries = [RETRIEVE, STORE, SEARCH] if sample else [STORE, RETRIEVE, SEARCH]
    notes = _by_name(settings)
    if missing := missing_model(settings):
        notes.append(f"Searching by words alone, for want of a model. {missing}")
    lines = [HEAD, "", *(f"  {one}" for one in tries), "", AGENTS]
    told = "\n".join(["", *lines]).format(
        json=JSON,
        key=KEY if locked else "",
        version=__version__,
        url=_url(settings),
        doing=f"starting {settings.workers} workers; " if settings.workers > 1 else "",
        asked=asked,
        whose=whose,
    )
    return "\n".join([told, *notes, ""])


def _by_name(settings: Settings) -> list[str]:
    from remanence.model.validation import is_loopback

    if settings.hosts or is_loopback(settings.host):
        return []
    return [BY_NAME.format(own="" if settings.host in ANYWHERE else f"{settings.host} and ")]


def _url(settings: Settings) -> str:
    host = ANYWHERE.get(settings.host, settings.host)
    host = f"[{host}]" if ":" in host else host
    return f"http://{host}:{settings.port}"


def _one_thread_each() -> None:
    """Calls run beside each other already; threads of OpenBLAS would only spin between them.

    With them a server of two cores answered 69 questions a second, without 97. It has to be said
    before NumPy is loaded.
    """
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def check_installed(what: str, *modules: str) -> None:
    """Refuse what needs the packages of the server, where they are not there."""
    from importlib.util import find_spec

    from remanence.errors import ConfigError
    from remanence.version import __version__

    if any(find_spec(module) is None for module in modules):
        raise ConfigError(
            f"{what} is not installed: install the wheel with the extra `server`, e.g. "
            f"`pip install 'dist/remanence-{__version__}-py3-none-any.whl[server]'`."
        )


ALL = "all"
_EVERY_S = 30.0

Once = Annotated[bool, typer.Option("--once", help="do what is due now, and end")]
Every = Annotated[float, typer.Option(metavar="SECONDS", min=0.1, help="how often to look")]
Tenant = Annotated[
    str | None, typer.Option(help=f"whose memory; {ALL}: everybody's", rich_help_panel=PANEL)
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What one look found to do."""

    outcomes: tuple[ServedMoment, ...]


@command(tenant=Tenant)
def worker(asked: Opening, once: Once = False, every: Every = _EVERY_S) -> bool:
    """Sleep on schedule: consolidate, forget, compress and tidy up whenever that is due.

    Any number of workers may share a database; each due moment is served by one of them.
    """
    everybody = asked.tenant == ALL
    if everybody:
        asked = replace(asked, tenant=None)
    with asked.memory(create=False) as memory:
        worker = _worker(asked, memory, everybody, told=not once)
        with _stopped_by_signals(worker):
            if not once:
                worker.run(every)
                return False
            report = Report(outcomes=tuple(worker.tick()))
    asked.answer(report, _show)
    return any(one.error is not None for one in report.outcomes)


def _worker(asked: Opening, memory: Memory, everybody: bool, told: bool) -> Worker:
    """A worker on the memory's store, for its tenant or all."""
    from remanence.consolidation.schedules.worker import Worker

    def of(tenant: str) -> Memory:
        return memory if tenant == memory.tenant else memory.for_tenant(tenant)

    def tell(outcome: ServedMoment) -> None:
        if told:
            asked.answer(outcome, _show_one)

    return Worker(
        memory.parts.store,
        lambda tenant: of(tenant).service.runner(),
        tenants=None if everybody else lambda: [memory.tenant],
        tell=tell,
    )


@contextmanager
def _stopped_by_signals(worker: Worker) -> Iterator[None]:
    """The first SIGTERM or SIGINT ends it after the transaction under way; a second one at once."""

    def stop(number: int, _frame: object) -> None:
        worker.stop()
        signal.signal(number, before[number])

    before = {int(one): signal.signal(one, stop) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _show(report: Report) -> None:
    for outcome in report.outcomes:
        _show_one(outcome)
    if not report.outcomes:
        note("Nothing is due.")


def _show_one(outcome: ServedMoment) -> None:
    tell(_line(outcome))


def _line(outcome: ServedMoment) -> str:
    done = "; ".join(
        f"{run.step} {', '.join(f'{name} {n:,}' for name, n in run.counts.items()) or 'nothing'}"
        for run in outcome.runs
    )
    line = (
        f"{outcome.due:%Y-%m-%d %H:%M:%S} {outcome.tenant} {outcome.schedule} ({outcome.cause}): "
        f"{done or 'nothing to do'}, {outcome.seconds:.1f} s"
    )
    if outcome.error is None:
        return line
    again = f"; again at {outcome.again_at:%H:%M:%S}" if outcome.again_at else "; given up"
    return f"{line}; failed: {outcome.error}{again}"
