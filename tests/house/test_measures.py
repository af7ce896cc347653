"""The measures measure: small made-up packages of which everything is known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from .imports import (
    cycles_of,
    entry_points,
    imports_of,
    lines_of,
    rooms_in,
    rooms_of_contract,
    single_importers,
)
from .measures import Measures, ceilings, risen, still, too_large, written
from .ports import methods_per_port

PYPROJECT = """
[project]
scripts = { toy = "toy.started:main" }
[[tool.importlinter.contracts]]
layers = ["kitchen | hall", "cellar"]
"""
TOY = {
    "__init__.py": "from toy.hall import knock\n",
    "cellar.py": "",
    "started.py": "def main(): ...\n",
    "guarded.py": 'if __name__ == "__main__":\n    print()\n',
    "hall/__init__.py": "from toy.hall.door import knock\n",
    "hall/door.py": "from toy import cellar\n\n\ndef knock(): ...\n",
    "kitchen/__init__.py": "",
    "kitchen/stove.py": (
        "from typing import TYPE_CHECKING\nfrom toy import cellar, guarded\n"
        "if TYPE_CHECKING:\n    from toy.kitchen.table import lay\n"
    ),
    "kitchen/table.py": "def lay():\n    from toy.kitchen import cook\n",
    "kitchen/cook.py": "import toy.kitchen.stove\nfrom toy import started\n",
    "model/__init__.py": "",
    "model/ports/__init__.py": "",
    "model/ports/ears.py": """
import typing
class Listener(typing.Protocol):
    volume: int
    @property
    def ears(self) -> int: ...
    def hear(self) -> None: ...
    def _strain(self) -> None: ...
""",
    "model/ports/mouth.py": """
from typing import Protocol, TypeVar
from toy.model.ports.ears import Listener
T = TypeVar("T")
class Speaker(Protocol[T]):
    async def say(self, what: T) -> None: ...
class Talker(Speaker[str], Listener, Protocol):
    def hear(self) -> None: ...
    def laugh(self) -> None: ...
class Parrot(Speaker[str]):
    async def say(self, what: str) -> None: ...
""",
}


def build(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def pyproject(tmp_path: Path) -> Path:
    return build(tmp_path, {"pyproject.toml": PYPROJECT}) / "pyproject.toml"


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return build(tmp_path / "toy", TOY)


def test_rooms_are_packages_and_modules_but_not_the_door_of_the_house(toy: Path) -> None:
    rooms = rooms_in(toy)
    assert list(rooms) == ["cellar", "guarded", "hall", "kitchen", "model", "started"]
    assert [path.name for path in rooms["hall"]] == ["__init__.py", "door.py"]
    assert lines_of(rooms["hall"]) == 5


def test_the_contract_names_its_rooms(pyproject: Path) -> None:
    assert rooms_of_contract(pyproject) == {"kitchen", "hall", "cellar"}


def test_a_cycle_is_found_inside_functions_and_for_types_too(toy: Path) -> None:
    assert cycles_of(imports_of(toy.name)) == [
        ["toy.kitchen.cook", "toy.kitchen.stove", "toy.kitchen.table"]
    ]


def test_the_largest_cycle_comes_first() -> None:
    pair = {"a": frozenset("b"), "b": frozenset("a")}
    ring = {"x": frozenset("y"), "y": frozenset("z"), "z": frozenset("x")}
    assert cycles_of(pair | ring | {"self": frozenset({"self"})}) == [["x", "y", "z"], ["a", "b"]]


def test_modules_with_one_importer(toy: Path, pyproject: Path) -> None:
    entries = entry_points(toy, pyproject)
    assert entries == {"toy.started", "toy.guarded"}
    imports = imports_of(toy.name)
    ring = ["toy.kitchen.cook", "toy.kitchen.stove", "toy.kitchen.table"]
    known = ["toy.hall.door", *ring, "toy.model.ports.ears"]  # two import the cellar
    assert single_importers(imports, entries) == known
    assert single_importers(imports) == sorted([*known, *entries])


def test_a_port_has_its_own_and_inherited_public_methods(toy: Path) -> None:
    assert methods_per_port(toy / "model" / "ports") == {"Listener": 2, "Speaker": 1, "Talker": 4}


def test_two_ports_of_one_name_are_refused(toy: Path) -> None:
    build(toy, {"model/ports/nose.py": "class Listener: ...\n"})
    with pytest.raises(ValueError, match="Listener"):
        methods_per_port(toy / "model" / "ports")


def test_everything_is_told_by_room(toy: Path, pyproject: Path) -> None:
    told = still(toy, pyproject)
    assert told["cycles"] == {"all": {"count": 1, "largest": 3}}
    assert told["ports"]["Talker"] == {"methods": 4}
    assert told["rooms"]["kitchen"] == {
        "files": 4,
        "largest_cycle": 3,
        "lines": 8,
        "single_importer": 3,
    }
    assert told["rooms"]["cellar"] == {
        "files": 1,
        "largest_cycle": 0,
        "lines": 0,
        "single_importer": 0,
    }


def test_only_what_may_not_rise_is_said_to_have_risen() -> None:
    record: Measures = {"rooms": {"hall": {"files": 1, "lines": 1, "single_importer": 2}}}
    grown: Measures = {"rooms": {"hall": {"files": 9, "lines": 9, "single_importer": 5}}}
    assert risen(record, record) == []
    assert risen(grown, record) == []
    assert risen(record, grown) == ["rooms hall single_importer rose by 3, from 2 to 5"]
    assert risen({}, {"ports": {"Ear": {"methods": 2}}}) == [
        "ports Ear methods rose by 2, from 0 to 2"
    ]


def test_a_room_stays_below_its_ceiling() -> None:
    hall: Measures = {"rooms": {"hall": {"files": 3, "lines": 110}}}
    record: Measures = hall | {"ceilings": {"hall": {"files": 3, "lines": 100}}}
    assert too_large(record, hall) == ["hall has 110 lines, and room for 100"]
    assert too_large(hall | {"ceilings": ceilings({}, hall)}, hall) == []


def test_only_a_new_room_sets_a_ceiling() -> None:
    grown: Measures = {
        "rooms": {"hall": {"files": 9, "lines": 900}, "attic": {"files": 1, "lines": 100}}
    }
    record: Measures = {"ceilings": {"hall": {"files": 3, "lines": 100}}}
    assert ceilings(record, grown) == {
        "hall": {"files": 3, "lines": 100},
        "attic": {"files": 2, "lines": 103},
    }


def test_a_record_has_a_line_for_each_thing() -> None:
    told: Measures = {"ports": {"B": {"methods": 2}, "A": {"methods": 1}}}
    told |= {"cycles": {"all": {"largest": 0, "count": 0}}}
    assert json.loads(written(told)) == told
    assert written(told).splitlines()[1:-1] == [
        '  "cycles": {',
        '    "all": {"count": 0, "largest": 0}',
        "  },",
        '  "ports": {',
        '    "A": {"methods": 1},',
        '    "B": {"methods": 2}',
        "  }",
    ]
