"""Writes `aio.pyi`, the signatures of AsyncMemory, from those of Memory: `make docs`."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

from remanence.memory import LAYERS, Memory

PACKAGE = Path(__file__).parents[1] / "src" / "remanence"
STUB = PACKAGE / "aio.pyi"
HEAD = '"""Signatures of AsyncMemory, made from Memory\'s by tools/make_stub.py; do not edit."""\n'
SHELL = """
class AsyncMemory:
    memory: Memory
    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
"""
VERBS = """
SHELLS: dict[str, type[AsyncLayer]]

def verbs() -> dict[str, Callable[..., Any]]: ...
"""
LAYER = """
class AsyncLayer:
    memory: Memory
    def __init__(self, memory: Memory) -> None: ...
"""


def stub() -> str:
    """The stub as it should be."""
    body = [*ast.parse(VERBS).body, *ast.parse(LAYER).body]
    body += [*map(_layer, LAYERS.values()), _shell()]
    names = {node.id for part in body for node in ast.walk(part) if isinstance(node, ast.Name)}
    sources = [_source(each) for kind in (Memory, *LAYERS.values()) for each in _kinds(kind)]
    imports = [each for source in sources for each in _imports(source, names)]
    imports += ast.parse("import builtins").body if "builtins" in names else []
    return _formatted(HEAD + ast.unparse(ast.Module([*imports, *body], [])))


def _source(kind: type) -> ast.Module:
    return ast.parse(Path(str(inspect.getsourcefile(kind))).read_text(encoding="utf-8"))


def _class(source: ast.Module, name: str) -> ast.ClassDef:
    return next(
        part for part in source.body if isinstance(part, ast.ClassDef) and part.name == name
    )


def _kinds(kind: type) -> list[type]:
    """The class and those of ours that it inherits verbs from, the outermost last."""
    return [each for each in reversed(kind.__mro__) if each.__module__.startswith("remanence.")]


def _verbs(kind: type) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The signatures of a class, inherited ones first; what it overrides is told once."""
    found = {
        verb.name: verb
        for each in _kinds(kind)
        for verb in _signatures(_class(_source(each), each.__name__))
    }
    return list(found.values())


def _shell() -> ast.ClassDef:
    shell = _class(ast.parse(SHELL), "AsyncMemory")
    for name, kind in LAYERS.items():
        shell.body.insert(1, ast.parse(f"{name}: Async{kind.__name__}").body[0])
    shell.body += _verbs(Memory)
    return shell


def _layer(kind: type) -> ast.ClassDef:
    shell = _class(
        ast.parse(f"class Async{kind.__name__}(AsyncLayer): ..."), f"Async{kind.__name__}"
    )
    shell.body = [each for each in _verbs(kind) if each.name != "__init__"]
    return shell


def _signatures(core: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [
        _signature(part, ast.FunctionDef if part.name == "__init__" else ast.AsyncFunctionDef)
        for part in core.body
        if isinstance(part, ast.FunctionDef)
        if part.name == "__init__" or not part.name.startswith("_")
        if not part.decorator_list
    ]


def _signature(
    verb: ast.FunctionDef, kind: type[ast.FunctionDef | ast.AsyncFunctionDef]
) -> ast.FunctionDef | ast.AsyncFunctionDef:
    nothing = ast.Expr(ast.Constant(...))
    verb.args.kw_defaults = [_default(each) for each in verb.args.kw_defaults]
    made = kind(name=verb.name, args=verb.args, body=[nothing], decorator_list=[])
    made.returns = verb.returns
    return ast.fix_missing_locations(ast.copy_location(made, verb))


def _default(value: ast.expr | None) -> ast.expr | None:
    """A default as it can be told; one that is private to a module, or its constant, cannot."""
    inside = [] if value is None else [n for n in ast.walk(value) if isinstance(n, ast.Name)]
    hidden = any(name.id.startswith("_") or name.id.isupper() for name in inside)
    return ast.Constant(...) if hidden else value


def _imports(source: ast.Module, names: set[str]) -> list[ast.stmt]:
    kept: list[ast.stmt] = [
        ast.ImportFrom(part.module, [name for name in part.names if name.name in names], 0)
        for part in source.body
        if isinstance(part, ast.ImportFrom) and {name.name for name in part.names} & names
    ]
    return [*kept, *ast.parse("from remanence.memory import Memory").body]


def _formatted(text: str) -> str:
    for step in (["check", "--fix", "--select", "I"], ["format"]):
        command = [sys.executable, "-m", "ruff", *step, "--quiet", "--stdin-filename", str(STUB)]
        done = subprocess.run(
            [*command, "-"], input=text, capture_output=True, text=True, check=True
        )
        text = done.stdout
    return text


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
