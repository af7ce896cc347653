"""Writes `requirements/`: what is installed, with the digests of every file of each release.

Versions come from `constraints.txt`, files from the index that pip is configured with. Names,
versions and digests are all that is kept of it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from html.parser import HTMLParser
from importlib import metadata
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote
from urllib.request import urlopen

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

ROOT = Path(__file__).parents[1]
# What each file adds to the one it continues.
SETS: Mapping[str, tuple[str | None, str]] = {
    "serve": (None, "remanence[server]"),
    "run": ("serve", "remanence[build] hatchling editables"),
    "image": ("serve", "remanence[otel,postgres,redis]"),
    "test": ("run", "remanence[dev]"),
}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SYSTEMS = {
    "linux": {"platform_system": "Linux", "os_name": "posix", "platform_machine": "x86_64"},
    "darwin": {"platform_system": "Darwin", "os_name": "posix", "platform_machine": "arm64"},
    "win32": {"platform_system": "Windows", "os_name": "nt", "platform_machine": "AMD64"},
}
OWN = "remanence"
TIMEOUT_S = 120
_DIGEST = re.compile(r"#sha256=([0-9a-f]{64})")

Place = tuple[str, str]  # a system and a version of Python
EVERYWHERE = frozenset(product(SYSTEMS, PYTHONS))
NOWHERE: frozenset[Place] = frozenset()


def main() -> int:
    """Write every file anew."""
    pins = pinned()
    for name, (base, wanted) in SETS.items():
        there = _there(base, pins)
        missing = {n: at - there.get(n, NOWHERE) for n, at in closure(wanted, pins).items()}
        needed = {name: places for name, places in missing.items() if places}
        lines = "".join(_lines(base, needed, pins))
        (ROOT / "requirements" / f"{name}.txt").write_text(lines, "utf-8", newline="\n")
        print(f"requirements/{name}.txt: {len(needed)} packages", flush=True)
    return 0


def pinned() -> dict[str, str]:
    """The version of each package by `constraints.txt`."""
    lines = (ROOT / "constraints.txt").read_text("utf-8").split()
    return {
        canonicalize_name(name): version for name, _, version in (o.partition("==") for o in lines)
    }


def closure(wanted: str, pins: Mapping[str, str]) -> dict[str, frozenset[Place]]:
    """Every package that these requirements come to, and where it is needed."""
    found: dict[str, set[Place]] = {}
    for place in EVERYWHERE:
        for name in _needed(wanted.split(), place, pins):
            found.setdefault(name, set()).add(place)
    return {name: frozenset(places) for name, places in found.items()}


def _there(base: str | None, pins: Mapping[str, str]) -> dict[str, frozenset[Place]]:
    """What a file that is continued holds already, and for where."""
    if base is None:
        return {}
    there = _there(SETS[base][0], pins)
    own = closure(SETS[base][1], pins)
    return there | {name: at | there.get(name, NOWHERE) for name, at in own.items()}


def _needed(wanted: list[str], place: Place, pins: Mapping[str, str]) -> set[str]:
    left, seen = [Requirement(one) for one in wanted], set[tuple[str, str]]()
    while left:
        one = left.pop()
        name = canonicalize_name(one.name)
        for extra in {"", *one.extras}:
            if (name, extra) not in seen:
                seen.add((name, extra))
                left += _asked(name, extra, place, pins)
    return {name for name, _ in seen if name != OWN}


def _asked(name: str, extra: str, place: Place, pins: Mapping[str, str]) -> Iterator[Requirement]:
    """What a package asks for at a place, with one of its extras."""
    system, python = place
    if name != OWN and name not in pins:
        raise SystemExit(
            f"{name} is needed on {system} with Python {python}: pin it in constraints.txt."
        )
    about = SYSTEMS[system] | {"sys_platform": system, "python_version": python}
    about |= {"python_full_version": f"{python}.0", "extra": canonicalize_name(extra)}
    about |= {"implementation_name": "cpython", "platform_python_implementation": "CPython"}
    for line in _own() if name == OWN else _requires(name, pins[name]):
        asked = Requirement(line)
        if asked.marker is None or asked.marker.evaluate(about):
            yield asked


@cache
def _own() -> tuple[str, ...]:
    """What this package asks for, as its metadata would have it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].items()
    return (*project["dependencies"], *(_if(extra, one) for extra, some in extras for one in some))


def _if(extra: str, line: str) -> str:
    named, _, marker = line.partition(";")
    condition = f"({marker.strip()}) and " if marker else ""
    return f'{named} ; {condition}extra == "{extra}"'


@cache
def _requires(name: str, version: str) -> tuple[str, ...]:
    """What a release asks for, by what is installed or, where it is not, by its wheel."""
    try:
        if metadata.version(name) == version:
            return tuple(metadata.requires(name) or ())
    except metadata.PackageNotFoundError:
        pass
    told = _reported(f"{name}=={version}") or _reported(f"{name}=={version}", "win_amd64", "any")
    if told is None:
        raise SystemExit(f"pip finds no wheel of {name} {version}; pin another version.")
    return told


def _reported(pin: str, *platforms: str) -> tuple[str, ...] | None:
    """What pip tells of a release without installing it."""
    command = [sys.executable, "-m", "pip", "install", "-q", "--dry-run", "--ignore-installed"]
    command += ["--no-deps", "--only-binary", ":all:", "--report", "-", pin]
    command += [word for one in platforms for word in ("--platform", one)]
    with TemporaryDirectory() as folder:
        told = subprocess.run([*command, "--target", folder], capture_output=True, check=False)
    if told.returncode:
        return None
    [release] = json.loads(told.stdout)["install"]
    return tuple(release["metadata"].get("requires_dist", ()))


def _lines(
    base: str | None, needed: Mapping[str, frozenset[Place]], pins: Mapping[str, str]
) -> Iterator[str]:
    yield "# Made by `make requirements` from constraints.txt and pyproject.toml.\n"
    if base:
        yield f"-r {base}.txt\n"
    for name in sorted(needed):
        where = _marker(needed[name])
        hashes = [f"    --hash=sha256:{one}" for one in _digests(name, pins[name])]
        yield " \\\n".join([f"{name}=={pins[name]}{where}", *hashes]) + "\n"


def _marker(places: frozenset[Place]) -> str:
    """The condition that holds at these places alone; empty if it is everywhere."""
    if places == EVERYWHERE:
        return ""
    by_system = {one: [each for each in PYTHONS if (one, each) in places] for one in SYSTEMS}
    told = [_on(system, tuple(some)) for system, some in by_system.items() if some]
    if len({tuple(some) for some in by_system.values()}) == 1:
        told = [_with(tuple(by_system["linux"]))]
    return f" ; {' or '.join(told)}"


def _on(system: str, pythons: tuple[str, ...]) -> str:
    named = f'sys_platform == "{system}"'
    return named if pythons == PYTHONS else f"{named} and ({_with(pythons)})"


def _with(pythons: tuple[str, ...]) -> str:
    """Newer versions than are known here count as the newest."""
    first, last = f'python_version >= "{pythons[0]}"', f'python_version <= "{pythons[-1]}"'
    ends = [first] * (pythons[0] != PYTHONS[0]) + [last] * (pythons[-1] != PYTHONS[-1])
    return " and ".join(ends)


def _digests(name: str, version: str) -> list[str]:
    """Of every file of a release, from the first index that has it."""
    for index in _indexes():
        found = {digest for file, digest in _files(index, name) if _is_of(file, name, version)}
        if found:
            return sorted(found)
    raise SystemExit(f"No index has {name} {version}; change its pin in constraints.txt.")


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep a file that has a digest."""
        link = dict(attrs).get("href") or ""
        if tag == "a" and (digest := _DIGEST.search(link)):
            self.found.append((unquote(link.partition("#")[0].rpartition("/")[2]), digest[1]))


@cache
def _files(index: str, name: str) -> tuple[tuple[str, str], ...]:
    links = _Links()
    try:
        with urlopen(f"{index.rstrip('/')}/{name}/", timeout=TIMEOUT_S) as page:
            links.feed(page.read().decode())
    except OSError:
        return ()
    return tuple(links.found)


def _is_of(file: str, name: str, version: str) -> bool:
    """Whether a file is of this release and in a form that pip installs."""
    try:
        parsed = parse_wheel_filename(file) if file.endswith(".whl") else parse_sdist_filename(file)
    except ValueError:
        return False
    return parsed[0] == name and parsed[1] == Version(version)


@cache
def _indexes() -> tuple[str, ...]:
    """Those of pip's settings; its own where none is set."""
    told = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    )
    named = dict(re.findall(r"(index-url|extra-index-url)='(.*)'", told.stdout))
    first = named.get("index-url") or os.environ.get("PIP_INDEX_URL") or _usual()
    return (first, *named.get("extra-index-url", "").replace("\\n", " ").split())


def _usual() -> str:
    from pip._internal.models.index import PyPI  # the one place that names it

    return str(PyPI.simple_url)


if __name__ == "__main__":
    sys.exit(main())
