"""Finding a model by name or folder; what is not in our own format is converted once."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from remanence.backends.embedding.manifest import MANIFEST, read_manifest, sha256
from remanence.errors import ModelInvalid, ModelMissing
from remanence.model.telemetry import hush

PLAIN_MODEL = "all-MiniLM-L6-v2"
DEFAULT_MODEL = f"{PLAIN_MODEL}-memory"  # the same, with the adapter merged into it
ADAPTER = Path(__file__).parent / "adapter.safetensors"
_PACKAGED = Path(__file__).parent / "models"
_HUB_FILES = ["*.json", "1_Pooling/*", "model.safetensors"]
_NEEDS_BUILDER = "Converting a model needs the builder: pip install 'remanence[models]'."


def find_model(name: str, cache: Path) -> Path:
    """The folder of a built model, ready for `OnnxEmbedder`.

    `name` is a model's name ("all-MiniLM-L6-v2-memory"), a folder (built, or a sentence-embedding
    folder, which is converted into the cache), or a name on the Hugging Face hub ("owner/name").
    "all-MiniLM-L6-v2" is the plain model where that was built, else the one tuned for memory.
    """
    given = Path(name).expanduser()
    if given.is_dir():
        return given if _is_built(given) else convert(given, cache)
    for folder in _places(name, cache):
        if _is_built(folder):
            return folder
    if name.count("/") == 1:
        return convert(_download(name, cache), cache, folder=_cached(name, cache))
    raise ModelMissing(
        f"There is no model {name!r}: neither packaged nor in {cache / 'models'}. Install the "
        "wheel, or run `make model` in a source checkout, or name a folder."
    )


def convert(source: Path, cache: Path, *, folder: Path | None = None) -> Path:
    """Build `source` into the cache, in a process of its own, unless that was done before."""
    weights = source / "model.safetensors"
    if not weights.is_file():
        raise ModelMissing(f"{source} is no model: it has neither {MANIFEST} nor {weights.name}.")
    digest = sha256(weights)
    target = folder or cache / "models" / f"{source.resolve().name}-{digest[:12]}"
    if not _is_built(target) or read_manifest(target).source_sha256 != digest:
        _build(source, target)
    return target


def _places(name: str, cache: Path) -> list[Path]:
    short = name.removeprefix("sentence-transformers/")
    places = [_PACKAGED / short, cache / "models" / short] if "/" not in short else []
    tuned = _places(DEFAULT_MODEL, cache) if short == PLAIN_MODEL else []
    return [*places, _cached(name, cache), *tuned]


def _cached(name: str, cache: Path) -> Path:
    return cache / "models" / name.replace("/", "--")


def _is_built(folder: Path) -> bool:
    return (folder / MANIFEST).is_file()


def _build(source: Path, target: Path) -> None:
    if find_spec("onnx") is None:
        raise ModelMissing(f"{source} is not in Remanence's own format. {_NEEDS_BUILDER}")
    command = [sys.executable, "-m", "remanence.backends.embedding.build", str(source), str(target)]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise ModelInvalid(f"{source} could not be converted: {said[-500:]}")


def _download(name: str, cache: Path) -> Path:
    hush()
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise ModelMissing(
            f"{name} is not on this machine. {_NEEDS_BUILDER} It also downloads; without a "
            "network, copy the model's folder here and name the folder instead."
        ) from error
    try:
        return Path(snapshot_download(name, allow_patterns=_HUB_FILES, cache_dir=cache / "hub"))
    except Exception as error:  # the hub's, the network's and the disk's errors alike
        raise ModelMissing(
            f"{name} could not be downloaded: {error}. Check the name and the network, or copy "
            "the model's folder here and name the folder instead."
        ) from error
