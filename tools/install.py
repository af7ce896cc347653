"""Installs what a file of `requirements/` names and says how far it is: `make run` calls it.

Every file that pip takes must have a digest that is written there. No source is built, as what
builds it would have none; this package alone is, by what was just installed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHECKED = ("--require-hashes", "--only-binary", ":all:")
OWN = ("--no-deps", "--no-build-isolation", "--editable")
EVERY_S = 5.0
_FOUND = re.compile(r"^\s*Collecting (\S+)")
_WORK = re.compile(r"^\s*(?:Downloading|Building|Preparing|Installing)\b")
_NAMES = re.compile(r"^Installing collected packages: (.+)")


def main(sets: list[str]) -> int:
    """Install these sets, then this package; what pip said is shown only when it fails."""
    began = time.monotonic()
    for name in sets:
        if code := _pip(*CHECKED, "-r", str(ROOT / "requirements" / f"{name}.txt")):
            return code
    if code := _pip(*OWN, str(ROOT)):
        return code
    print(f"Installed in {time.monotonic() - began:.0f} s.", flush=True)
    return 0


def _pip(*given: str) -> int:
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-color"]
    pip = subprocess.Popen(
        [*command, "--progress-bar", "off", *given],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert pip.stdout is not None
    said: list[str] = []
    _show(_states(_kept(pip.stdout, said)))
    code = pip.wait()
    if code:
        print("".join(said), file=sys.stderr)
    return code


def _kept(lines: Iterable[str], said: list[str]) -> Iterator[str]:
    for line in lines:
        said.append(line)
        yield line


def _states(lines: Iterable[str]) -> Iterator[str]:
    """What pip is at, in a few words, for each of its lines that tells."""
    found = 0
    for line in lines:
        if name := _FOUND.match(line):
            found += 1
            yield f"{found} packages found: {name[1]}"
        elif names := _NAMES.match(line):
            yield f"installing {names[1].count(',') + 1} packages"
        elif _WORK.match(line):
            yield " ".join(line.split())


def _show(states: Iterable[str]) -> None:
    """On a terminal one line that changes; elsewhere a line now and then."""
    shown_at = 0.0
    for state in states:
        if sys.stdout.isatty():
            print(f"\r\033[K  {state[:76]}", end="", flush=True)
        elif time.monotonic() - shown_at > EVERY_S or state.startswith("installing"):
            shown_at = time.monotonic()
            print(f"  {state[:76]}", flush=True)
    if sys.stdout.isatty():
        print("\r\033[K", end="", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
