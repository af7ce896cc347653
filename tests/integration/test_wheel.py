"""The wheel alone is enough, and holds no more: no network, no cache, no source checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
NO_NETWORK = """
import socket

def refuse(*arguments, **options):
    raise OSError("the network was used")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
"""
EMBED = """
import sys
from pathlib import Path
from remanence.backends.embedding.models import DEFAULT_MODEL, find_model
from remanence.backends.embedding.onnx import OnnxEmbedder

folder = find_model(DEFAULT_MODEL, Path(sys.argv[1]))
assert folder.is_relative_to(sys.prefix), folder
embedder = OnnxEmbedder(folder)
[first, second] = embedder.embed(["Ana lives in Lisbon", "Where is Ana's home?"])
print(float(first.vector @ second.vector))
"""
RECALL = """
from remanence import Memory

memory = Memory("agent.db")
memory.add("Ana moved to Lisbon", user_id="alice")
print(memory.search("where does Ana live?", user_id="alice")[0].memory.text)
"""

# What the author of another backend needs; what only our own tests need is in tests/support.
TESTING = """
    __init__ cache chat_server embedder patience serving session_cache store vector_index
    store_suites/__init__ store_suites/archive store_suites/documents
    store_suites/knowledge store_suites/known store_suites/learnt store_suites/links
    store_suites/machine store_suites/making store_suites/recall store_suites/scope
    store_suites/shelves store_suites/tiers store_suites/together store_suites/upkeep
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, as it is built from the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    _pip("wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(ROOT))
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path) -> Path:
    """An interpreter in which only the wheel and what it needs are installed."""
    folder = wheel.with_name("venv")
    venv.create(folder)
    python = folder / "bin" / "python"
    _pip("--python", str(python), "install", "--no-deps", "--no-compile", str(wheel))
    [packages] = folder.glob("lib/python*/site-packages")
    [installed] = Distribution.discover(name="remanence", path=[str(packages)])
    for needed in _needed_by(installed, set()):
        _link(needed, packages)
    (packages / "sitecustomize.py").write_text(NO_NETWORK)
    return python


def test_it_holds_the_package_and_no_private_support(wheel: Path) -> None:
    names = ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"remanence"}
    room = "remanence/testing/"
    modules = {name.removeprefix(room).removesuffix(".py") for name in names if room in name}
    assert modules == set(TESTING.split())


def test_it_embeds_without_a_network(python: Path, tmp_path: Path) -> None:
    score = _run(python, tmp_path, "-c", EMBED, str(tmp_path / "cache"))
    assert float(score) > 0.6


def test_three_lines_remember_and_recall(python: Path, tmp_path: Path) -> None:
    assert _run(python, tmp_path, "-c", RECALL) == "Ana moved to Lisbon\n"


def test_the_command_line_comes_with_it(python: Path, tmp_path: Path) -> None:
    rem = str(python.with_name("rem"))
    _run(python, tmp_path, rem, "add", "The heron stands in the reeds")
    assert "heron" in _run(python, tmp_path, rem, "search", "which bird was it?")
    assert "Maya" in _run(python, tmp_path, rem, "demo")


def _run(python: Path, home: Path, *arguments: str) -> str:
    environment = {"HOME": str(home), "REMANENCE_CACHE": str(home / "cache"), "PATH": ""}
    command = [str(python), *arguments]
    done = subprocess.run(
        command, cwd=home, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _needed_by(one: Distribution, known: set[str]) -> Iterator[Distribution]:
    """What a package asks for, and what that asks for, from the environment of the tests."""
    for asked in map(Requirement, one.requires or ()):
        if asked.marker is None or asked.marker.evaluate({"extra": ""}):
            found = distribution(asked.name)
            assert asked.specifier.contains(found.version), asked
            if found.name not in known:
                known.add(found.name)
                yield found
                yield from _needed_by(found, known)


def _link(one: Distribution, packages: Path) -> None:
    for file in one.files or ():
        if ".." not in file.parts:
            (packages / file).parent.mkdir(parents=True, exist_ok=True)
            (packages / file).symlink_to(file.locate())


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
