"""The wheel alone is enough: no network, no cache, no source checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

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
from remanence.embedding.models import DEFAULT_MODEL, find_model
from remanence.embedding.onnx import OnnxEmbedder

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


pytestmark = pytest.mark.xdist_group("wheel")  # it is built and installed once


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter in which only the wheel and what it needs are installed."""
    folder = tmp_path_factory.mktemp("wheel")
    _pip(sys.executable, "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(ROOT))
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    [wheel] = folder.glob("*.whl")
    _pip(str(python), "install", str(wheel))
    [packages] = (folder / "venv").glob("lib/python*/site-packages")
    (packages / "sitecustomize.py").write_text(NO_NETWORK)
    return python


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


def _pip(python: str, *arguments: str) -> None:
    command = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
