"""Writes `aio.pyi` and `client/remote.pyi`, whose signatures are those of Memory: `make docs`."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from remanence.client.answers import INSTEAD
from remanence.client.remote import reachable
from remanence.memory import LAYERS, Memory

Signature: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Kind: TypeAlias = type[ast.FunctionDef] | type[ast.AsyncFunctionDef]
PACKAGE = Path(__file__).parents[1] / "src" / "remanence"
STUB = PACKAGE / "aio.pyi"
CLIENT_STUB = PACKAGE / "client" / "remote.pyi"
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
CLIENT_HEAD = (
    '"""Signatures of RemoteMemory, made from Memory\'s by tools/make_stub.py; do not edit."""\n'
)
CLIENT_IMPORTS = """
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self
import httpx
from remanence.client.line import AsyncLine, Line
"""
CLIENT_PARTS = """
URL: str
SHORT: dict[str, str]
REMOTE: dict[str, type[RemoteLayer]]
ASYNC_REMOTE: dict[str, type[AsyncRemoteLayer]]

def reachable() -> dict[str, Callable[..., Any]]: ...

class RemoteLayer:
    def __init__(self, line: Line) -> None: ...

class AsyncRemoteLayer:
    def __init__(self, line: AsyncLine) -> None: ...
"""
REMOTE = """
class RemoteMemory:
    def __init__(
        self,
        url: str = ...,
        *,
        key: str | None = None,
        timeout_s: float = 30.0,
        retries: int = 3,
        transport: httpx.BaseTransport | None = None,
    ) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
"""


def stub() -> str:
    """The stub as it should be."""
    body = [*ast.parse(VERBS).body, *ast.parse(LAYER).body]
    body += [*map(_layer, LAYERS.values()), _shell()]
    return _written(STUB, HEAD, body)


def client_stub() -> str:
    """The stub of the client as it should be."""
    body = [*ast.parse(CLIENT_PARTS).body]
    for prefix, kind in (("Remote", ast.FunctionDef), ("AsyncRemote", ast.AsyncFunctionDef)):
        body += [_remote_layer(prefix, layer, kind) for layer in LAYERS]
        body.append(_remote(prefix, kind))
    return _written(CLIENT_STUB, CLIENT_HEAD, body, ast.parse(CLIENT_IMPORTS).body)


def _remote(prefix: str, kind: Kind) -> ast.ClassDef:
    text = REMOTE if prefix == "Remote" else _awaited(REMOTE)
    shell = _class(ast.parse(text), f"{prefix}Memory")
    own = [f"{name}: {prefix}{layer.__name__}" for name, layer in LAYERS.items()]
    shell.body[:0] = ast.parse("\n".join(own)).body
    shell.body += _reachable("", Memory, kind)
    return shell


def _awaited(text: str) -> str:
    for plain, awaited in (
        ("class Remote", "class AsyncRemote"),
        ("httpx.Base", "httpx.AsyncBase"),
        ("def close", "async def close"),
        ("def __enter__", "async def __aenter__"),
        ("def __exit__", "async def __aexit__"),
    ):
        text = text.replace(plain, awaited)
    return text


def _remote_layer(prefix: str, layer: str, kind: Kind) -> ast.ClassDef:
    name = f"{prefix}{LAYERS[layer].__name__}"
    shell = _class(ast.parse(f"class {name}({prefix}Layer): ..."), name)
    shell.body = [*_reachable(layer, LAYERS[layer], kind)]
    return shell


def _reachable(layer: str, owner: type, kind: Kind) -> list[Signature]:
    known = reachable()
    found = []
    for verb in _verbs(owner, kind):
        name = f"{layer}.{verb.name}" if layer else verb.name
        if name in known:
            if name in INSTEAD:
                verb.returns = ast.parse(f"list[{INSTEAD[name].__name__}]", mode="eval").body
            found.append(verb)
    return found


def _written(target: Path, head: str, body: list[ast.stmt], more: Sequence[ast.stmt] = ()) -> str:
    names = {node.id for part in body for node in ast.walk(part) if isinstance(node, ast.Name)}
    sources = [_source(each) for kind in (Memory, *LAYERS.values()) for each in _kinds(kind)]
    imports = [*more, *(each for source in sources for each in _imports(source, names))]
    if "Memory" in names:
        imports += ast.parse("from remanence.memory import Memory").body
    for kind in INSTEAD.values():
        if kind.__name__ in names:
            imports += ast.parse(f"from {kind.__module__} import {kind.__name__}").body
    imports += ast.parse("import builtins").body if "builtins" in names else []
    return _formatted(target, head + ast.unparse(ast.Module([*imports, *body], [])))


def _source(kind: type) -> ast.Module:
    return ast.parse(Path(str(inspect.getsourcefile(kind))).read_text(encoding="utf-8"))


def _class(source: ast.Module, name: str) -> ast.ClassDef:
    return next(
        part for part in source.body if isinstance(part, ast.ClassDef) and part.name == name
    )


def _kinds(kind: type) -> list[type]:
    """The class and those of ours that it inherits verbs from, the outermost last."""
    return [each for each in reversed(kind.__mro__) if each.__module__.startswith("remanence.")]


def _verbs(kind: type, made: Kind = ast.AsyncFunctionDef) -> list[Signature]:
    """The signatures of a class, inherited ones first; what it overrides is told once."""
    found = {
        verb.name: verb
        for each in _kinds(kind)
        for verb in _signatures(_class(_source(each), each.__name__), made)
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


def _signatures(core: ast.ClassDef, made: Kind) -> list[Signature]:
    return [
        _signature(part, ast.FunctionDef if part.name == "__init__" else made)
        for part in core.body
        if isinstance(part, ast.FunctionDef)
        if part.name == "__init__" or not part.name.startswith("_")
        if not part.decorator_list
    ]


def _signature(verb: ast.FunctionDef, kind: Kind) -> Signature:
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
    return [
        ast.ImportFrom(part.module, [name for name in part.names if name.name in names], 0)
        for part in source.body
        if isinstance(part, ast.ImportFrom) and {name.name for name in part.names} & names
    ]


def _formatted(target: Path, text: str) -> str:
    for step in (["check", "--fix", "--select", "I"], ["format"]):
        command = [sys.executable, "-m", "ruff", *step, "--quiet", "--stdin-filename", str(target)]
        done = subprocess.run(
            [*command, "-"], input=text, capture_output=True, text=True, check=True
        )
        text = done.stdout
    return text


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
    CLIENT_STUB.write_text(client_stub(), encoding="utf-8")
