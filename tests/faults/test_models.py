"""A model that is not there, or not as it was built."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from remanence.backends.embedding.manifest import sha256
from remanence.backends.embedding.models import DEFAULT_MODEL, find_model
from remanence.backends.embedding.onnx import OnnxEmbedder
from remanence.errors import EmbedderError, ModelInvalid, ModelMissing


@pytest.fixture
def model(model_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model_folder, tmp_path / "model"))


def test_no_model_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="make model"):
        OnnxEmbedder(tmp_path)


@pytest.mark.parametrize("name", ["no-such-model", "nobody/no-such-model", "a/b/c"])
def test_an_unknown_name_says_where_it_was_looked_for(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelMissing, match=name):
        find_model(name, tmp_path)


def test_a_folder_without_a_model_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="no model"):
        find_model(str(tmp_path), tmp_path / "cache")


def test_a_built_folder_is_used_as_it_is(model: Path, tmp_path: Path) -> None:
    assert find_model(str(model), tmp_path) == model


@pytest.mark.parametrize("name", [DEFAULT_MODEL, f"sentence-transformers/{DEFAULT_MODEL}"])
def test_the_default_model_is_found_in_the_cache(model: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "models").mkdir()
    model.rename(tmp_path / "models" / DEFAULT_MODEL)
    assert find_model(name, tmp_path).name == DEFAULT_MODEL


@pytest.mark.parametrize("file", ["model.onnx", "model.bin", "words.npy", "tokenizer.json"])
def test_a_missing_file_is_named(model: Path, file: str) -> None:
    (model / file).unlink()
    with pytest.raises(ModelMissing, match=file):
        OnnxEmbedder(model)


@pytest.mark.parametrize("file", ["model.onnx", "model.bin", "words.npy", "tokenizer.json"])
def test_a_cut_file_is_named(model: Path, file: str) -> None:
    path = model / file
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ModelInvalid, match=file):
        OnnxEmbedder(model)


@pytest.mark.parametrize("file", ["model.onnx", "model.bin", "words.npy", "tokenizer.json"])
def test_one_flipped_bit_is_found_before_the_first_vector(model: Path, file: str) -> None:
    damaged = bytearray((model / file).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (model / file).write_bytes(damaged)
    embedder = OnnxEmbedder(model)
    with pytest.raises(ModelInvalid, match=file):
        embedder.embed(["hello"])
    with pytest.raises(ModelInvalid, match=file):
        embedder.verify()


@pytest.mark.parametrize("file", ["model.onnx", "words.npy", "tokenizer.json"])
def test_nonsense_with_the_right_digest_is_no_model(model: Path, file: str) -> None:
    (model / file).write_bytes(b"nonsense")
    _sign(model, file)
    with pytest.raises(ModelInvalid, match=file):
        OnnxEmbedder(model).embed(["hello"])


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": {}}', "\x00"])
def test_a_manifest_that_makes_no_sense(model: Path, text: str) -> None:
    (model / "embedder.json").write_text(text)
    with pytest.raises(ModelInvalid, match=r"embedder\.json"):
        OnnxEmbedder(model)


def test_a_vector_that_is_not_a_number_is_an_error(model: Path) -> None:
    weights = np.fromfile(model / "model.bin", dtype=np.uint8)
    weights[:] = 0xFF
    weights.tofile(model / "model.bin")
    _sign(model, "model.bin")
    with pytest.raises(EmbedderError, match="not a number"):
        OnnxEmbedder(model).embed(["hello"])


def _sign(model: Path, file: str) -> None:
    path = model / "embedder.json"
    manifest = json.loads(path.read_text())
    manifest["files"][file] = {
        "size": (model / file).stat().st_size,
        "sha256": sha256(model / file),
    }
    path.write_text(json.dumps(manifest))
