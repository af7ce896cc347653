"""A memory and its server where the system has neither fork nor POSIX locks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import httpx

from support.as_windows import AS_WINDOWS
from support.server_process import server_process

WAIT_S = 120
EVERY_VERB = """
import sys
from pathlib import Path
from remanence import Memory
from remanence.errors import StoreBusy
from remanence.layers.erasure.receipts import Tombstones

path, copy = Path(sys.argv[1]), Path(sys.argv[2])
with Memory(path, background=True) as memory:
    memory.add_many([f"Note {n} about the garden" for n in range(50)], user_id="u")
    ana = memory.add("Ana moved to Lisbon", user_id="u")
    hits = memory.search("where does Ana live?", user_id="u")
    assert hits[0].memory.id == ana.id and not hits.degraded, hits
    memory.sleep.run(user_id="u")
    memory.backup(copy)
    memory.backup(copy, overwrite=True)
    memory.forget(ana.id, erase=True)
    memory.compact(), memory.doctor(repair=True), memory.reindex()
    assert not memory.search("Lisbon", user_id="u")[0].memory.text.startswith("Ana")
    assert memory.stats().memories == 50
    try:
        Memory.restore(copy, path)
    except StoreBusy as error:
        assert "is open" in str(error)
    else:
        raise AssertionError("an open store was replaced")
assert len(Tombstones(Path(f"{path}.erasures")).read()) == 1
with Memory.restore(copy, path) as memory:
    print(memory.count(user_id="u"))
assert [one for one in path.parent.iterdir() if one.name.startswith(".")] == []
import os
assert sys.modules["fcntl"] is None and not hasattr(os, "fork") and not hasattr(os, "pread")
assert "remanence.model.system.windows_locks" in sys.modules
"""


REPLACED = """
import os, sys
from pathlib import Path
from remanence.store.sqlite.encrypting import last_of, overwrite, sweep
from remanence.model.system.files import replace

old, new = Path(sys.argv[1]), Path(sys.argv[2])
with last_of(old):
    replace(new, old)
print(old.read_bytes().decode())
for name, bytes_left in ((".old.former", b"old"), (".old.rewritten", b"secret")):
    old.with_name(name).write_bytes(bytes_left)
sweep(old)
with last_of(old):
    pass
overwrite(old)
print(os.listdir(old.parent))
"""


def test_a_memory_without_posix(tmp_path: Path) -> None:
    assert run(EVERY_VERB, tmp_path / "memory.db", tmp_path / "copy.db") == "50\n"


def test_a_server_without_posix(tmp_path: Path) -> None:
    with server_process(tmp_path / "memory.db", before=AS_WINDOWS) as server:
        made = httpx.post(f"{server.url}/v1/memories", json={"text": "Ben plays chess"})
        found = httpx.post(f"{server.url}/v1/search", json={"query": "chess"}, timeout=WAIT_S)
        assert made.status_code == 200
        assert found.json()["hits"][0]["memory"]["text"] == "Ben plays chess"


def test_a_replaced_file_leaves_no_byte_without_posix(tmp_path: Path) -> None:
    old, new, other_name = (tmp_path / name for name in ("store/old", "new", "other"))
    old.parent.mkdir()
    old.write_bytes(b"was here")
    new.write_bytes(b"is here")
    other_name.hardlink_to(old)
    assert run(REPLACED, old, new) == "is here\n[]\n"
    assert other_name.read_bytes() == bytes(len("was here"))


def run(program: str, *given: Path) -> str:
    command = [sys.executable, "-c", AS_WINDOWS + program, *map(str, given)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S)
    assert done.returncode == 0, done.stderr
    return done.stdout
