"""Adds the encrypted store to fixtures: `python tests/upgrade/write_encrypted.py FOLDER`.

It is the plain one, encrypted by `rem encrypt`; so its manifest is the same. It needs
apsw-sqlite3mc in the place of apsw: run it with the Python of `.venv-encrypted`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from support.upgrade.fixtures import DATABASE, KEY, pack_database, unpack_database


def main() -> None:
    folder = Path(sys.argv[1]).absolute()
    rem = str(Path(sys.executable).with_name("rem"))
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        unpack_database(folder, Path())
        env = {**os.environ, "REMANENCE_ENCRYPTION_KEY": KEY}
        subprocess.run([rem, "--db", DATABASE, "encrypt"], env=env, check=True)
        Path(f"{DATABASE}.index").unlink(missing_ok=True)  # an encrypted store has none
        pack_database(folder, "encrypted")


if __name__ == "__main__":
    main()
