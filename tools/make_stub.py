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
    core = _source(Memory)
    layers = {name: _source(kind) for name, kind in LAYERS.items()}
    body = [*ast.parse(VERBS).body, *ast.parse(LAYER).body]
    body += [
        _layer(source, kind) for source, kind in zip(layers.values(), LAYERS.values(), strict=True)
    ]
    body.append(_shell(core))
    names = {node.id for part in body for node in ast.walk(part) if isinstance(node, ast.Name)}
    imports = [each for source in (core, *layers.values()) for each in _imports(source, names)]
    imports += ast.parse("import builtins").body if "builtins" in names else []
    return _formatted(HEAD + ast.unparse(ast.Module([*imports, *body], [])))


def _source(kind: type) -> ast.Module:
    return ast.parse(Path(str(inspect.getsourcefile(kind))).read_text(encoding="utf-8"))


def _class(source: ast.Module, name: str) -> ast.ClassDef:
    return next(
        part for part in source.body if isinstance(part, ast.ClassDef) and part.name == name
    )


def _shell(source: ast.Module) -> ast.ClassDef:
    shell = _class(ast.parse(SHELL), "AsyncMemory")
    for name, kind in LAYERS.items():
        shell.body.insert(1, ast.parse(f"{name}: Async{kind.__name__}").body[0])
    shell.body += _signatures(_class(source, "Memory"))
    return shell


def _layer(source: ast.Module, kind: type) -> ast.ClassDef:
    shell = _class(
        ast.parse(f"class Async{kind.__name__}(AsyncLayer): ..."), f"Async{kind.__name__}"
    )
    core = _class(source, kind.__name__)
    shell.body = [each for each in _signatures(core) if each.name != "__init__"]
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
    """A default as it can be told; one that is private to a module cannot."""
    inside = [] if value is None else [n for n in ast.walk(value) if isinstance(n, ast.Name)]
    return ast.Constant(...) if any(name.id.startswith("_") for name in inside) else value


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
