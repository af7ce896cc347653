"""Writes `aio.pyi`, the signatures of AsyncMemory, from those of Memory: `make docs`."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

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
VERBS = "def verbs() -> dict[str, Callable[..., Any]]: ..."


def stub() -> str:
    """The stub as it should be."""
    source = ast.parse((PACKAGE / "memory.py").read_text(encoding="utf-8"))
    body = [*ast.parse(VERBS).body, _shell(source)]
    names = {node.id for part in body for node in ast.walk(part) if isinstance(node, ast.Name)}
    module = ast.Module([*_imports(source, names), *body], [])
    return _formatted(HEAD + ast.unparse(module))


def _shell(source: ast.Module) -> ast.ClassDef:
    [shell] = ast.parse(SHELL).body
    [core] = (part for part in source.body if isinstance(part, ast.ClassDef))
    assert isinstance(shell, ast.ClassDef)
    shell.body += [
        _signature(part, ast.FunctionDef if part.name == "__init__" else ast.AsyncFunctionDef)
        for part in core.body
        if isinstance(part, ast.FunctionDef)
        if part.name == "__init__" or not part.name.startswith("_")
        if not part.decorator_list
    ]
    return shell


def _signature(
    verb: ast.FunctionDef, kind: type[ast.FunctionDef | ast.AsyncFunctionDef]
) -> ast.FunctionDef | ast.AsyncFunctionDef:
    nothing = ast.Expr(ast.Constant(...))
    made = kind(name=verb.name, args=verb.args, body=[nothing], decorator_list=[])
    made.returns = verb.returns
    return ast.fix_missing_locations(ast.copy_location(made, verb))


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
