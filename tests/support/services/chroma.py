"""A Chroma server from the `chromadb` package."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Self

from support.services.loopback import http_ok
from support.services.process import Launch, Process, Service, folder_of, on_free_ports

# What the `chroma` program runs, without the .8 s that importing chromadb takes.
PROGRAM = "import sys, chromadb_rust_bindings as b; b.cli(['chroma', *sys.argv[1:]])"


class Chroma(Service):
    """One Chroma server that keeps its data in `folder`."""

    @classmethod
    def start(cls, folder: Path, *, owner: int | None = None) -> Self:
        """Start in an empty or earlier folder; it ends with `owner`, by default this process."""
        folder_of("chromadb_rust_bindings", "chromadb")
        return on_free_ports(1, lambda ports: cls._on(folder, ports[0], owner or os.getpid()))

    @classmethod
    def _on(cls, folder: Path, port: int, owner: int) -> Self:
        flags = {"path": str(folder / "data"), "host": "127.0.0.1", "port": str(port)}
        launch = Launch(
            command=[
                *(sys.executable, "-c", PROGRAM, "run"),
                *(part for name, value in flags.items() for part in (f"--{name}", value)),
            ],
            folder=folder,
            port=port,
            answers=lambda: http_ok(port, "/api/v2/heartbeat"),
            environment={"ANONYMIZED_TELEMETRY": "False"},
            owner=owner,
        )
        return cls([Process(launch)], [f"http://127.0.0.1:{port}"])
