"""`embedder.json`: what a built model folder says about itself, and whether its bytes agree."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from remanence.errors import ModelInvalid, ModelMissing
from remanence.model.embedding import Fingerprint

MANIFEST = "embedder.json"
GRAPH, WEIGHTS, WORDS, TOKENIZER = "model.onnx", "model.bin", "words.npy", "tokenizer.json"
FILES = (GRAPH, WEIGHTS, WORDS, TOKENIZER)
CODES = "signs128-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltFile:
    """One file of the folder: its length in bytes and its sha256."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A built model: whose weights, how pooled, how long a text it reads, which bytes it has."""

    name: str
    source_sha256: str
    dimension: int
    pooling: str
    codes: str
    max_tokens: int
    files: dict[str, BuiltFile]
    adapter_sha256: str = ""  # of what was merged into the weights, if anything was

    @property
    def fingerprint(self) -> Fingerprint:
        """Who makes this model's vectors."""
        digest = self.source_sha256
        if self.adapter_sha256:
            digest = hashlib.sha256(f"{digest} {self.adapter_sha256}".encode()).hexdigest()
        return Fingerprint(self.name, digest, self.dimension, self.pooling, self.codes)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Put `embedder.json` into the folder."""
    text = json.dumps(asdict(manifest), indent=2, sort_keys=True)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> Manifest:
    """The folder's manifest; `ModelMissing` without one, `ModelInvalid` if it makes no sense."""
    path = folder / MANIFEST
    if not path.is_file():
        raise ModelMissing(
            f"There is no embedding model in {folder}. Install the wheel, which brings one, "
            "or run `make model` in a source checkout."
        )
    value = read_json(path)
    try:
        files = {name: BuiltFile(**file) for name, file in value.pop("files").items()}
        return Manifest(**value, files=files)
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelInvalid(f"{path} is not a model's manifest ({error}). {_REBUILD}") from error


def describe_files(folder: Path) -> dict[str, BuiltFile]:
    """Sizes and digests of a folder that was just built."""
    paths = {name: folder / name for name in FILES}
    return {
        name: BuiltFile(size=path.stat().st_size, sha256=sha256(path))
        for name, path in paths.items()
    }


def check_sizes(folder: Path, manifest: Manifest) -> None:
    """Cheap: every file is there and as long as it was; else `ModelMissing` or `ModelInvalid`."""
    for name, file in _expected(manifest):
        path = folder / name
        if not path.is_file():
            raise ModelMissing(f"{path} is missing. {_REBUILD}")
        if path.stat().st_size != file.size:
            raise ModelInvalid(f"{path} has the wrong length; it is damaged. {_REBUILD}")


def check_digests(folder: Path, manifest: Manifest) -> None:
    """Read every byte and compare; `ModelInvalid` names the file that differs."""
    check_sizes(folder, manifest)
    for name, file in _expected(manifest):
        if sha256(folder / name) != file.sha256:
            raise ModelInvalid(f"{folder / name} is damaged: its digest differs. {_REBUILD}")


def sha256(path: Path) -> str:
    """The hex digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object in a file, or `ModelInvalid`."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelInvalid(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(value, dict):
        raise ModelInvalid(f"{path} does not hold a JSON object.")
    return value


def _expected(manifest: Manifest) -> Iterable[tuple[str, BuiltFile]]:
    if set(manifest.files) != set(FILES):
        raise ModelInvalid(f"The model {manifest.name} was built by another version. {_REBUILD}")
    return manifest.files.items()


_REBUILD = "Delete the folder and run `make model`, or install the wheel again."
