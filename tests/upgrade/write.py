"""Writes the fixtures of this version: `python tests/upgrade/write.py FOLDER`.

Run it once, with the code of a release, and never again for that release; then
`write_encrypted.py`, which makes the encrypted store of the plain one.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from remanence import Memory
from remanence.backends.index.bits import BitsIndex
from remanence.tools.transfer import export_memory
from support.services.postgres import Postgres
from support.services.shared import short_folder
from support.upgrade.contents import TENANTS
from support.upgrade.dumps import program
from support.upgrade.fixtures import DATABASE, Manifest, pack, pack_database
from support.upgrade.writing import write

SMALL = 8  # vectors from which a partition has its sign bits in the index file; else 4,096


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    socket.gethostname = lambda: "writer"  # a run says where it ran
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)  # receipts tell the path of the database
        write_sqlite(folder)
        write_postgres(folder)


def write_sqlite(folder: Path) -> None:
    pack_manifest(write(DATABASE), folder / "sqlite.json.zst")
    with Manifest.read(folder / "sqlite.json.zst").opened(DATABASE) as memory:
        write_index(memory)
        write_exports(memory, folder)
        memory.backup("copy.db")
    pack(Path("copy.db"), folder / "sqlite.backup.zst")
    pack_database(folder, "sqlite")


def write_index(memory: Memory) -> None:
    parts = memory.parts
    store, fingerprint = parts.store, parts.embedder.fingerprint
    file, identity = Path(f"{DATABASE}.index"), store.upkeep.identity
    index = BitsIndex(store, fingerprint, identity=identity, file=file, small=SMALL)
    asked = parts.embedder.embed_query("anything").vector
    for number in range(1, 100):
        index.nearest(number, asked, 1)
    index.close()


def write_exports(memory: Memory, folder: Path) -> None:
    for tenant in TENANTS:
        with open("export.jsonl", "wb") as file:
            export_memory(memory.for_tenant(tenant), file)
        pack(Path("export.jsonl"), folder / f"{tenant}.jsonl.zst")


def write_postgres(folder: Path) -> None:
    with postgres() as server:
        url = server.database()
        pack_manifest(write(url), folder / "postgres.json.zst")
        with Manifest.read(folder / "postgres.json.zst").opened(url) as memory:
            memory.backup("copy.zip")
        shutil.copy("copy.zip", folder / "postgres.backup.zip")
        database = server.admin_url.rpartition("/")[0] + "/" + url.rpartition("/")[2]
        flags = ["--no-owner", "--no-privileges", "--exclude-extension=vector"]
        subprocess.run([program("pg_dump"), *flags, "-f", "dump.sql", "-d", database], check=True)
        pack(Path("dump.sql"), folder / "postgres.sql.zst")


def pack_manifest(manifest: dict[str, Any], target: Path) -> None:
    source = Path("manifest.json")
    source.write_text(json.dumps(manifest, ensure_ascii=False), "utf-8")
    pack(source, target)


@contextmanager
def postgres() -> Iterator[Postgres]:
    folder = short_folder()
    server = Postgres.start(folder, durable=False)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
