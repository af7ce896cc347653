"""What is installed is pinned with digests, agrees with the other lists, and is held to them."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "requirements").glob("*.txt"))
MAKER: dict[str, Any] = run_path(str(ROOT / "tools" / "make_requirements.py"))
CHECKED: tuple[str, ...] = run_path(str(ROOT / "tools" / "install.py"))["CHECKED"]


def installed(file: Path) -> set[str]:
    """The packages that a file and those it continues install here."""
    found: set[str] = set()
    for line in file.read_text("utf-8").replace("\\\n", "").splitlines():
        if line.startswith("-r "):
            found |= installed(file.parent / line.removeprefix("-r "))
        elif not line.startswith("#"):
            one = Requirement(line.split("--hash=sha256:")[0].strip())
            if one.marker is None or one.marker.evaluate():
                found.add(canonicalize_name(one.name))
    return found


def read(file: Path) -> dict[str, tuple[Requirement, list[str]]]:
    """The packages of a file and of those that it continues, with their digests."""
    found: dict[str, tuple[Requirement, list[str]]] = {}
    for line in file.read_text("utf-8").replace("\\\n", "").splitlines():
        if line.startswith("-r "):
            found |= read(file.parent / line.removeprefix("-r "))
        elif not line.startswith("#"):
            told, *digests = line.split("--hash=sha256:")
            one = Requirement(told.strip())
            found[canonicalize_name(one.name)] = one, [each.strip() for each in digests]
    return found


def test_there_is_one_for_each_set() -> None:
    assert {file.stem for file in FILES} == set(MAKER["SETS"])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_package_has_the_pinned_version_and_digests(file: Path) -> None:
    pins = MAKER["pinned"]()
    for name, (one, digests) in read(file).items():
        assert str(one.specifier) == f"=={pins[name]}"
        assert digests
        assert all(len(each) == 64 for each in digests)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_nothing_says_where_they_come_from(file: Path) -> None:
    assert not {"://", "--index", "-i ", "--find-links"} & set(file.read_text("utf-8").split())
    assert "://" not in file.read_text("utf-8")


@pytest.mark.parametrize("name", sorted(MAKER["SETS"]))
def test_all_that_is_asked_for_is_there(name: str) -> None:
    there = read(ROOT / "requirements" / f"{name}.txt")
    for one in map(Requirement, MAKER["SETS"][name][1].split()):
        for asked in asked_by(one):
            assert canonicalize_name(asked.name) in there, f"make requirements: {asked} is missing"
            version = str(there[canonicalize_name(asked.name)][0].specifier).removeprefix("==")
            assert asked.specifier.contains(version, prereleases=True)


@pytest.mark.parametrize("name", sorted(MAKER["SETS"]))
def test_so_is_all_that_this_asks_for_here(name: str) -> None:
    here = (sys.platform, "{}.{}".format(*sys.version_info))
    wanted = MAKER["SETS"][name][1].split()
    needed = MAKER["_needed"](wanted, here, MAKER["pinned"]())
    assert needed <= installed(ROOT / "requirements" / f"{name}.txt")


def asked_by(one: Requirement) -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    if one.name != "remanence":
        return [one]
    listed = [
        *project["dependencies"],
        *(each for extra in one.extras for each in project["optional-dependencies"][extra]),
    ]
    return [each for told in listed for each in asked_by_line(told)]


def asked_by_line(told: str) -> list[Requirement]:
    one = Requirement(told)
    return asked_by(one) if one.name == "remanence" else [one]


def test_what_builds_the_package_is_there_too() -> None:
    built = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]["requires"]
    there = read(ROOT / "requirements" / "run.txt")
    for one in map(Requirement, built):
        assert str(there[canonicalize_name(one.name)][0].specifier) == str(one.specifier)


def test_conditions_name_systems_and_versions() -> None:
    there = read(ROOT / "requirements" / "test.txt")
    windows = {"sys_platform": "win32", "python_version": "3.12"}
    marker = there["colorama"][0].marker
    assert marker is None or marker.evaluate(windows)
    marker = there["uvloop"][0].marker
    assert marker is not None
    assert not marker.evaluate(windows)
    assert marker.evaluate({"sys_platform": "darwin", "python_version": "3.13"})


@pytest.mark.slow
def test_a_file_of_another_content_is_not_installed(tmp_path: Path) -> None:
    wheel = tmp_path / "harmless-1.0-py3-none-any.whl"
    write_wheel(wheel, "print('as it was')")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    listed = tmp_path / "listed.txt"
    listed.write_text(f"harmless==1.0 --hash=sha256:{digest}\n", "utf-8")
    assert install(listed, tmp_path).returncode == 0
    write_wheel(wheel, "print('something else')")
    refused = install(listed, tmp_path)
    assert refused.returncode
    assert "DO NOT MATCH" in refused.stdout + refused.stderr
    listed.write_text("harmless==1.0\n", "utf-8")
    assert install(listed, tmp_path).returncode


def install(listed: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", "install", "--isolated", "--no-index", "--no-cache-dir"]
    command += ["--find-links", str(folder), "--target", str(folder / "there"), "--upgrade"]
    return subprocess.run(
        [*command, *CHECKED, "-r", str(listed)], capture_output=True, text=True, check=False
    )


def write_wheel(wheel: Path, code: str) -> None:
    files = {
        "harmless.py": code,
        "harmless-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: harmless\nVersion: 1.0\n",
        "harmless-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: a test\n"
        "Root-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        record = "".join(f"{name},{signed(text)}\n" for name, text in files.items())
        archive.writestr("harmless-1.0.dist-info/RECORD", record)


def signed(text: str) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
    return f"sha256={digest.decode()},{len(text.encode())}"
