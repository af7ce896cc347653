"""How much each port asks of whoever implements it: read from the files, nothing is imported."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

_METHODS = (ast.FunctionDef, ast.AsyncFunctionDef)


def methods_per_port(folder: Path) -> dict[str, int]:
    """The public methods of every `Protocol` class in a folder, with those it inherits.

    A property is a method; an overloaded one counts once; attributes do not count. Inherited
    means from classes of the same folder, so their names must differ.
    """
    classes = _classes(folder)
    return {
        name: len(_methods(name, classes))
        for name, made in sorted(classes.items())
        if "Protocol" in _bases(made)
    }


def _classes(folder: Path) -> dict[str, ast.ClassDef]:
    found: dict[str, ast.ClassDef] = {}
    for path in sorted(folder.rglob("*.py")):
        for node in ast.parse(path.read_bytes()).body:
            if isinstance(node, ast.ClassDef):
                if node.name in found:
                    raise ValueError(f"two classes of {folder.name} are called {node.name}")
                found[node.name] = node
    return found


def _methods(name: str, classes: Mapping[str, ast.ClassDef]) -> set[str]:
    if name not in classes:
        return set()
    made = classes[name]
    own = {node.name for node in made.body if isinstance(node, _METHODS)}
    inherited = (_methods(base, classes) for base in _bases(made))
    return {each for each in own.union(*inherited) if not each.startswith("_")}


def _bases(made: ast.ClassDef) -> list[str]:
    """Their bare names: `typing.Protocol[T]` is `Protocol`."""
    named = (base.value if isinstance(base, ast.Subscript) else base for base in made.bases)
    return [ast.unparse(base).rpartition(".")[2] for base in named]
