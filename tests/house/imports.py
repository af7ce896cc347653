"""The rooms of the package and who imports whom: read from the files, nothing is imported."""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TypeAlias

import grimp
import rustworkx

Imports: TypeAlias = Mapping[str, frozenset[str]]  # module → the modules of the package it imports


def rooms_in(folder: Path) -> dict[str, list[Path]]:
    """Every room with its `.py` files: a package right below `folder`, or a module there.

    The `__init__` of `folder` itself is the door of the house and no room.
    """
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*.py")):
        inside = path.relative_to(folder)
        if inside != Path("__init__.py"):
            found.setdefault(inside.with_suffix("").parts[0], []).append(path)
    return found


def rooms_of_contract(pyproject: Path) -> set[str]:
    """The rooms that import-linter's layers name."""
    linted = tomllib.loads(pyproject.read_text())["tool"]["importlinter"]
    layers = [layer for each in linted["contracts"] for layer in each.get("layers", ())]
    return {room.strip() for layer in layers for room in layer.split("|")}


def lines_of(files: Collection[Path]) -> int:
    """Physical lines, as `wc -l` counts them."""
    return sum(path.read_bytes().count(b"\n") for path in files)


def imports_of(package: str) -> Imports:
    """Who imports whom inside a package.

    Every import statement counts: at the top, inside a function, and under `if TYPE_CHECKING`,
    because a reader follows them all and a module that is moved takes them all along.
    """
    graph = grimp.build_graph(package, cache_dir=None)
    return {
        name: frozenset(graph.find_modules_directly_imported_by(name)) for name in graph.modules
    }


def entry_points(folder: Path, pyproject: Path) -> set[str]:
    """Modules that are started, not only imported: scripts, and those with a `__main__` guard."""
    scripts = tomllib.loads(pyproject.read_text())["project"].get("scripts", {})
    started = {target.partition(":")[0] for target in scripts.values()}
    return started | {
        ".".join(path.relative_to(folder.parent).with_suffix("").parts)
        for path in folder.rglob("*.py")
        if path.name == "__main__.py" or _is_guarded(path)
    }


def single_importers(imports: Imports, exempt: Collection[str] = ()) -> list[str]:
    """Modules that exactly one other module of the package imports, however often it does.

    A package's `__init__` is never one of them, but counts as an importer. `exempt` are entry
    points, which have another reason to be. Tests are no importers.
    """
    importers = Counter(name for imported in imports.values() for name in imported)
    packages = {name.rpartition(".")[0] for name in imports}
    return sorted(
        name for name, count in importers.items() if count == 1 and name not in {*packages, *exempt}
    )


def cycles_of(imports: Imports) -> list[list[str]]:
    """Groups of modules that all import each other, directly or not, the largest first."""
    graph: rustworkx.PyDiGraph[str, None] = rustworkx.PyDiGraph()
    names = sorted(imports)
    number = dict(zip(names, graph.add_nodes_from(names), strict=True))
    graph.add_edges_from_no_data(
        [(number[name], number[other]) for name in names for other in imports[name] & set(names)]
    )
    groups = [
        sorted(graph[n] for n in group) for group in rustworkx.strongly_connected_components(graph)
    ]
    return sorted((group for group in groups if len(group) > 1), key=lambda g: (-len(g), g))


def _is_guarded(path: Path) -> bool:
    tests = [node.test for node in ast.parse(path.read_bytes()).body if isinstance(node, ast.If)]
    return any(ast.unparse(test) == "__name__ == '__main__'" for test in tests)
