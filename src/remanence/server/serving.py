"""Running the server: where it listens, with how many processes, until it is told to stop."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn

from remanence.config import Settings, hand_over
from remanence.errors import ConfigError
from remanence.memory import Memory
from remanence.server.access.keys import Keys
from remanence.server.logs import set_up

GRACE_S = 30  # for calls under way when the server is told to stop
SWITCH_S = 0.001  # threads hand over more often than by default: searches wait less for each other


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def free_port(host: str) -> int:
    """A port that nobody listens at."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as one:
        one.bind((host, 0))
        return int(one.getsockname()[1])


def check_bind(settings: Settings, keys: Keys) -> None:
    """Refuse to listen where others can reach a server that needs no key."""
    if is_loopback(settings.host) or settings.jwt_issuer or keys.known():
        return
    raise ConfigError(
        f"A server at {settings.host} can be reached from other machines, and there is no key "
        "yet. Make one with `rem keys create NAME --scope read --scope write`, or listen at "
        "127.0.0.1."
    )


def serve(settings: Settings, memory: Memory) -> None:
    """Serve until SIGTERM or SIGINT; calls under way are finished, then the memory is closed."""
    from remanence.server.app import make_app

    set_up(settings.log_format)
    sys.setswitchinterval(SWITCH_S)
    server = uvicorn.Server(uvicorn.Config(make_app(settings, memory), **listening(settings)))
    server.run()


def serve_many(settings: Settings) -> None:
    """The same with several processes on one store."""
    with TemporaryDirectory(prefix="remanence-figures-") as figures:
        hand_over(settings)
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = figures
        config = uvicorn.Config(
            "remanence.server.worker:app",
            factory=True,
            workers=settings.workers,
            **listening(settings),
        )
        listening_at = config.bind_socket()
        from uvicorn.supervisors import Multiprocess

        Multiprocess(config, sockets=[listening_at]).run()


def listening(settings: Settings) -> dict[str, Any]:
    """What uvicorn is told."""
    return {
        "host": settings.host,
        "port": settings.port,
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "timeout_graceful_shutdown": GRACE_S,
        "h11_max_incomplete_event_size": 64 * 1024,
    }
