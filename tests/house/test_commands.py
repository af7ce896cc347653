"""`make help` lists every command, and a commit is checked by what `make check` runs."""

from __future__ import annotations

import re
import subprocess

import yaml

from .measures import ROOT

MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def recipe(target: str) -> list[str]:
    """The commands of a target, without options and the folder they are run on."""
    [lines] = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    told = lines.replace("$(BIN)", ".venv/bin").splitlines()
    return [line.strip().removesuffix(" .").partition(" -")[0] for line in told]


def test_help_lists_every_command() -> None:
    told = subprocess.run(
        ["make", "--silent", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    [phony] = re.findall(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)
    listed = re.findall(r"^  make (\S+) +\S", told.stdout, re.MULTILINE)
    assert sorted(listed) == sorted(phony.split())


def test_make_alone_serves_a_memory() -> None:
    first = re.search(r"^([a-z-]+):", MAKEFILE, re.MULTILINE)
    assert first is not None
    assert first[1] == "run"


def test_a_commit_is_checked_by_what_is_installed() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    hooks = [hook for repo in config["repos"] for hook in repo["hooks"]]
    assert [repo["repo"] for repo in config["repos"]] == ["local"]
    assert {hook["language"] for hook in hooks} == {"system"}
    commands = [hook["entry"].partition(" -")[0] for hook in hooks]
    assert commands == recipe("check")
