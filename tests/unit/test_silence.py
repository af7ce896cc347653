"""No library that tells its maker of its use is imported before it is silenced."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from remanence.model.telemetry import TALKATIVE

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "bench").glob("*.py")])


def test_every_talkative_library_is_silenced_before_it_is_imported() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in SOURCES}
    talking = having(sources, *TALKATIVE, "import_module")
    importing = having(sources, *(f".{path.stem} import" for path in talking))
    assert not list(unsilenced(talking | importing))


@pytest.mark.parametrize(
    "source",
    [
        "import onnxruntime\n",
        "def load():\n    import onnxruntime\n",
        "def load():\n    import onnxruntime\n    hush()\n",
        "def load():\n    from transformers.utils import logging\n",
        "def load():\n    try:\n        import chromadb\n    except ImportError:\n        pass\n",
        "def hushed():\n    hush()\ndef load():\n    import_module('peft')\n",
        "def load():\n    import chromadb\n    def again():\n        hush()\n",
    ],
)
def test_an_import_that_is_not_silenced_is_seen(source: str) -> None:
    assert list(unsilenced({Path("src/some.py"): source}))


def test_a_module_that_imports_one_is_as_talkative_itself() -> None:
    folder = {Path("src/remanence/folder.py"): "import chromadb\n"}
    engine = "def place():\n    {}from remanence.folder import Folder\n"
    quiet = {Path("src/remanence/engine.py"): engine.format("hush()\n    ")}
    loud = {Path("src/remanence/engine.py"): engine.format("")}
    assert not list(unsilenced(folder | quiet))
    assert list(unsilenced(folder | loud))


def having(sources: dict[Path, str], *words: str) -> dict[Path, str]:
    return {path: text for path, text in sources.items() if any(word in text for word in words)}


def unsilenced(sources: dict[Path, str]) -> Iterator[str]:
    """Each import of a talkative library, or of a module that imports one, without `hush()`."""
    trees = {path: ast.parse(text) for path, text in sources.items()}
    loud = talkative_modules(trees)
    named, imported = set(TALKATIVE) | set(loud.values()), imported_by(trees)
    for path, tree in trees.items():
        for scope in scopes(tree):
            if scope is tree and loud.get(path) in imported:
                continue  # whoever imports it is asked instead
            for line in imports_before_hush(scope, named):
                yield f"{path}:{line}"


def talkative_modules(trees: dict[Path, ast.Module]) -> dict[Path, str]:
    return {
        path: module_name(path)
        for path, tree in trees.items()
        if any(imports_before_hush(tree, set(TALKATIVE)))
    }


def imported_by(trees: dict[Path, ast.Module]) -> set[str]:
    return {name for tree in trees.values() for node in ast.walk(tree) for name in names_of(node)}


def module_name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts[path.parts.index("src") + 1 :])


def scopes(tree: ast.Module) -> Iterator[ast.AST]:
    yield tree
    yield from (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def imports_before_hush(scope: ast.AST, named: set[str]) -> Iterator[int]:
    nodes = sorted(own(scope), key=lambda node: (node.lineno, node.col_offset))
    for node in nodes:
        if isinstance(node, ast.Call) and called(node) == "hush":
            return
        if any(talks(name, named) for name in names_of(node)):
            yield node.lineno


def own(scope: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """What runs when the scope runs: nothing of the functions in it, nor what only types need."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.expr | ast.stmt):
            yield node
        yield from own(node)


def names_of(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
    if isinstance(node, ast.Call) and called(node) == "import_module":
        return given_to(node.args[0])
    return []


def given_to(name: ast.expr) -> list[str]:
    """What may be imported by a name; one that is put together begins with our own."""
    if isinstance(name, ast.JoinedStr):
        return []
    return [str(name.value)] if isinstance(name, ast.Constant) else sorted(TALKATIVE)


def called(node: ast.Call) -> str:
    return str(getattr(node.func, "id", getattr(node.func, "attr", "")))


def talks(name: str, named: set[str]) -> bool:
    return name.split(".")[0] in named or name in named
