"""Nothing is taken for granted that only POSIX has."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath

import apsw
import pytest

from remanence.config.assembly import database_path
from remanence.model.system.files import address_of
from support.as_windows import MODULES, OF_OS, OF_SIGNAL, OF_SOCKET

ROOT = Path(__file__).parents[2] / "src" / "remanence"
POSIX_ONLY = {"posix_locks.py"}  # `locks` imports it where it can
MISSING = {
    "os": {*OF_OS, "O_TMPFILE", "fdatasync", "setgroups", "waitid", "WNOHANG"},
    "signal": {*OF_SIGNAL, "SIGKILL", "SIGCHLD", "pthread_kill"},
    "socket": {*OF_SOCKET, "AF_UNIX", "AF_NETLINK", "AF_PACKET", "sethostname"},
    "time": {"tzset"},
    "asyncio": {"open_unix_connection", "start_unix_server"},
}


def test_no_module_needs_posix() -> None:
    paths = [path for path in ROOT.rglob("*.py") if "testing" not in path.parts]
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in paths
        if path.name not in POSIX_ONLY
        for line in needs(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "import fcntl",
        "from pwd import getpwuid",
        "def f():\n    import resource",
        "os.fork()",
        "flags = os.O_RDWR | os.O_CLOEXEC",
        "from os import pread",
        "loop.add_signal_handler(signal.SIGTERM, stop)",
        "if hasattr(os, 'fork'):\n    os.pread(0, 1, 1)",
        "if hasattr(os, 'pread'):\n    pass\nelse:\n    os.pread(0, 1, 1)",
    ],
)
def test_what_needs_posix_is_seen(source: str) -> None:
    assert list(needs(ast.parse(source)))


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    import fcntl\nexcept ImportError:\n    fcntl = None",
        "with suppress(ImportError):\n    import resource\n    resource.getrlimit(1)",
        "if hasattr(os, 'pread'):\n    os.pread(0, 1, 1)",
        "try:\n    os.sysconf('x')\nexcept (OSError, AttributeError):\n    pass",
    ],
)
def test_what_asks_first_is_let_pass(source: str) -> None:
    assert not list(needs(ast.parse(source)))


@pytest.mark.parametrize(
    ("path", "address"),
    [
        (PurePosixPath("/a b/c?d#e%.db"), "file:///a%20b/c%3Fd%23e%25.db"),
        (PureWindowsPath(r"C:\Users\Ana Lu\m.db"), "file:///C:/Users/Ana%20Lu/m.db"),
        (PureWindowsPath(r"\\server\share\m.db"), "file:////server/share/m.db"),
    ],
)
def test_a_file_as_sqlite_takes_it(path: PurePosixPath | PureWindowsPath, address: str) -> None:
    assert address_of(path) == address


def test_sqlite_opens_the_address(tmp_path: Path) -> None:
    path = tmp_path / "a b?c#d%41é.db"
    flags = apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    apsw.Connection(f"{address_of(path)}?mode=rwc", flags=flags).execute("CREATE TABLE t(x)")
    assert path.stat().st_size > 0


@pytest.mark.parametrize(
    ("setting", "path"),
    [
        (r"C:\Users\Ana\m.db", r"C:\Users\Ana\m.db"),
        ("sqlite:///C:/Users/Ana/m.db", "C:/Users/Ana/m.db"),
        (r"\\server\share\m.db", r"\\server\share\m.db"),
    ],
)
def test_a_drive_is_no_scheme(setting: str, path: str) -> None:
    assert database_path(setting) == path


def needs(tree: ast.AST, allowed: frozenset[str] = frozenset()) -> Iterator[int]:
    """Lines that only POSIX can run, without having asked whether it is there."""
    match tree:
        case ast.Import(names=names) if any(one.name in MODULES for one in names):
            if "ImportError" not in allowed:
                yield tree.lineno
        case ast.ImportFrom(module=module, names=names):
            taken = {one.name for one in names} & MISSING.get(module or "", set())
            if (module in MODULES or taken) and "ImportError" not in allowed:
                yield tree.lineno
        case ast.Attribute(attr="add_signal_handler"):
            yield tree.lineno
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            if name in MISSING.get(module, ()) and not {name, "AttributeError"} & allowed:
                yield tree.lineno
    for field in tree._fields:
        value = getattr(tree, field)
        inside = allowed | guards(tree) if field == "body" else allowed
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from needs(child, inside)


def guards(node: ast.AST) -> frozenset[str]:
    """What the body of a statement may take for granted: names asked for, errors caught."""
    match node:
        case ast.If(test=ast.Call(func=ast.Name(id="hasattr"), args=[_, ast.Constant(value=name)])):
            return frozenset({str(name)})
        case ast.Try(handlers=handlers):
            caught = [part for one in handlers if one.type for part in ast.walk(one.type)]
        case ast.With(items=items):
            caught = [part for one in items for part in ast.walk(one.context_expr)]
        case _:
            caught = []
    return frozenset(part.id for part in caught if isinstance(part, ast.Name))
