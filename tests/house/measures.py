"""How big the house is: what is measured, what may only fall, and the record beside this file.

cd tests && python -m house.measures            # a table, beside the record
cd tests && python -m house.measures --write    # and the record written anew

Files and lines of a room stay below a ceiling, which is set when the room is first recorded; who
writes the record anew keeps it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import remanence

from .imports import (
    Imports,
    cycles_of,
    entry_points,
    imports_of,
    lines_of,
    rooms_in,
    single_importers,
)
from .paths import four_paths
from .ports import methods_per_port

Things: TypeAlias = dict[str, dict[str, int]]  # a room, port or path → measure → number
Measures: TypeAlias = dict[str, Things]  # by kind

ROOT = Path(__file__).parents[2]
PYPROJECT = ROOT / "pyproject.toml"
PACKAGE = ROOT / "src" / "remanence"
RECORD = Path(__file__).with_name("baseline.json")
REWRITE = "(cd tests && python -m house.measures --write)"
IN_ALL = ("files", "lines", "single_importer")
REPORTED = ("files", "lines", "calls")  # these may rise; all others may only fall
SIZES = ("files", "lines")  # but these not above the ceiling of their room
HEADROOM = 0.03


def measure() -> Measures:
    """Everything, as it is now."""
    if Path(remanence.__file__).parent != PACKAGE:
        raise RuntimeError(f"another remanence would be measured: {remanence.__file__}")
    with TemporaryDirectory() as folder:
        hops = {name: asdict(path) for name, path in four_paths(Path(folder)).items()}
    return still(PACKAGE, PYPROJECT) | {"hops": hops}


def still(package: Path, pyproject: Path) -> Measures:
    """What can be read from the files."""
    imports, entries = imports_of(package.name), entry_points(package, pyproject)
    single, cycles = single_importers(imports, entries), cycles_of(imports)
    rooms = {
        room: {
            "files": len(files),
            "largest_cycle": _largest(_within(imports, f"{package.name}.{room}")),
            "lines": lines_of(files),
            "single_importer": len(_below(single, f"{package.name}.{room}")),
        }
        for room, files in rooms_in(package).items()
    }
    ports = methods_per_port(package / "model" / "ports")
    return {
        "cycles": {"all": {"count": len(cycles), "largest": _largest(imports)}},
        "ports": {name: {"methods": methods} for name, methods in ports.items()},
        "rooms": rooms,
    }


def risen(record: Measures, now: Measures) -> list[str]:
    """What is above the record and may not be; what the record does not know counts as 0 there."""
    before = _flat(record)
    return [
        f"{name} rose by {number - before.get(name, 0)}, from {before.get(name, 0)} to {number}"
        for name, number in _flat(now).items()
        if number > before.get(name, 0) and not name.endswith(REPORTED)
    ]


def too_large(record: Measures, now: Measures) -> list[str]:
    """The rooms above their ceilings."""
    ceilings = record["ceilings"]
    return [
        f"{room} has {size[what]:,} {what}, and room for {ceilings[room][what]:,}"
        for room, size in now["rooms"].items()
        for what in SIZES
        if size[what] > ceilings[room][what]
    ]


def ceilings(record: Measures, now: Measures) -> Things:
    """As they are recorded; a new room's is a little above what it has."""
    known = record.get("ceilings", {})
    return {
        room: known.get(room) or {what: ceil(size[what] * (1 + HEADROOM)) for what in SIZES}
        for room, size in now["rooms"].items()
    }


def read_record() -> Measures:
    """The numbers as they were recorded."""
    recorded: Measures = json.loads(RECORD.read_text())
    return recorded


def written(measures: Measures) -> str:
    """JSON with a line for each thing, sorted, so that a change shows what became of what."""
    kinds = [
        f'  "{kind}": {{\n'
        + ",\n".join(
            f'    "{name}": {json.dumps(told, sort_keys=True)}'
            for name, told in sorted(things.items())
        )
        + "\n  }"
        for kind, things in sorted(measures.items())
    ]
    return "{\n" + ",\n".join(kinds) + "\n}\n"


def table(record: Measures, now: Measures) -> str:
    """Every number; in brackets what the record has, if it has another."""
    return "\n\n".join(_kind(kind, now[kind], record.get(kind, {})) for kind in sorted(now))


def _kind(kind: str, now: Things, before: Things) -> str:
    columns = sorted({column for told in now.values() for column in told})
    lines = [f"{kind:18}" + "".join(f"{column:>18}" for column in columns)]
    for name, told in sorted(now.items()):
        cells = (_cell(told[column], before.get(name, {}).get(column)) for column in columns)
        lines.append(f"{name:18}" + "".join(f"{cell:>18}" for cell in cells))
    return "\n".join(lines)


def _sum(rooms: Things) -> str:
    told = {what: sum(room[what] for room in rooms.values()) for what in IN_ALL}
    return "all together: " + ", ".join(f"{number:,} {what}" for what, number in told.items())


def _cell(now: int, before: int | None) -> str:
    return f"{now:,}" if before in (None, now) else f"{now:,} ({before:,})"


def _flat(measures: Measures) -> dict[str, int]:
    return {
        f"{kind} {name} {what}": number
        for kind, things in measures.items()
        for name, told in things.items()
        for what, number in told.items()
    }


def _within(imports: Imports, room: str) -> Imports:
    return {name: imports[name] for name in _below(imports, room)}


def _below(names: Iterable[str], room: str) -> list[str]:
    return [name for name in names if name == room or name.startswith(f"{room}.")]


def _largest(imports: Imports) -> int:
    return max(map(len, cycles_of(imports)), default=0)


def main(arguments: list[str]) -> None:
    """Print what is measured, and write it down if told to."""
    record = read_record() if RECORD.exists() else {}
    now = measure()
    now["ceilings"] = ceilings(record, now)
    print(table(record, now), _sum(now["rooms"]), sep="\n")
    if "--write" in arguments:
        RECORD.write_text(written(now))


if __name__ == "__main__":
    main(sys.argv[1:])
