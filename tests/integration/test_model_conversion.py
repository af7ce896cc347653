"""A sentence-embedding folder becomes a model; its vectors are those of BERT written in NumPy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from remanence.backends.embedding.build import build_model
from remanence.backends.embedding.models import find_model
from remanence.backends.embedding.onnx import OnnxEmbedder
from remanence.errors import ModelInvalid

HIDDEN, LAYERS, HEADS, INNER, LONGEST = 64, 2, 4, 128, 16
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "ana", "lives", "in", "lisbon", "porto", "##s"]
TEXTS = ["Ana lives in Lisbon", "Ana", "Porto", "", "lisbon " * 40]


@pytest.fixture(params=["mean", "cls"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / "tiny-bert"
    (folder / "1_Pooling").mkdir(parents=True)
    cls = request.param == "cls"
    pooling = {"pooling_mode_cls_token": cls, "pooling_mode_mean_tokens": not cls}
    _write_json(folder / "1_Pooling" / "config.json", pooling)
    _write_json(folder / "config.json", CONFIG)
    _tokenizer().save(str(folder / "tokenizer.json"))
    (folder / "model.safetensors").write_bytes(_safetensors(_weights()))
    return folder


@pytest.mark.parametrize(("quantised", "least"), [(False, 0.999999), (True, 0.998)])
def test_vectors_are_those_of_the_reference(
    source: Path, tmp_path: Path, quantised: bool, least: float
) -> None:
    build_model(source, tmp_path / "built", quantised=quantised)
    embedder = OnnxEmbedder(tmp_path / "built")
    cls = embedder.fingerprint.pooling == "cls"
    for text, found in zip(TEXTS, embedder.embed(TEXTS), strict=True):
        assert found.vector @ _reference(text, cls=cls) > least


def test_a_folder_is_converted_once_and_then_found(source: Path, tmp_path: Path) -> None:
    first = find_model(str(source), tmp_path / "cache")
    made = (first / "model.onnx").stat().st_mtime_ns
    assert find_model(str(source), tmp_path / "cache") == first
    assert (first / "model.onnx").stat().st_mtime_ns == made
    assert OnnxEmbedder(first).fingerprint.name.startswith("tiny-bert")
    assert [path.name for path in first.parent.iterdir()] == [first.name]


def test_other_weights_make_another_model(source: Path, tmp_path: Path) -> None:
    first = find_model(str(source), tmp_path / "cache")
    (source / "model.safetensors").write_bytes(_safetensors(_weights(seed=2)))
    assert find_model(str(source), tmp_path / "cache") != first


def test_another_family_is_refused(source: Path, tmp_path: Path) -> None:
    _write_json(source / "config.json", CONFIG | {"model_type": "mpnet"})
    with pytest.raises(ModelInvalid, match="mpnet"):
        find_model(str(source), tmp_path / "cache")


def test_cut_off_weights_are_refused(source: Path, tmp_path: Path) -> None:
    weights = source / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4000])
    with pytest.raises(ModelInvalid, match="safetensors"):
        find_model(str(source), tmp_path / "cache")


CONFIG = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": HIDDEN,
    "intermediate_size": INNER,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": LONGEST,
}


def _weights(seed: int = 1) -> dict[str, np.ndarray]:
    shapes = {
        "embeddings.word_embeddings.weight": (len(VOCABULARY), HIDDEN),
        "embeddings.position_embeddings.weight": (LONGEST, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
        "embeddings.LayerNorm.weight": (HIDDEN,),
        "embeddings.LayerNorm.bias": (HIDDEN,),
    }
    parts = {f"attention.self.{part}": (HIDDEN, HIDDEN) for part in ("query", "key", "value")}
    parts["attention.output.dense"] = (HIDDEN, HIDDEN)
    parts["intermediate.dense"] = (INNER, HIDDEN)
    parts["output.dense"] = (HIDDEN, INNER)
    for layer in range(LAYERS):
        for part, shape in parts.items():
            shapes[f"encoder.layer.{layer}.{part}.weight"] = shape
            shapes[f"encoder.layer.{layer}.{part}.bias"] = shape[:1]
        for part in ("attention.output", "output"):
            shapes[f"encoder.layer.{layer}.{part}.LayerNorm.weight"] = (HIDDEN,)
            shapes[f"encoder.layer.{layer}.{part}.LayerNorm.bias"] = (HIDDEN,)
    rng = np.random.default_rng(seed)
    return {name: 0.3 * rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}


def _reference(text: str, *, cls: bool) -> np.ndarray:
    w = _weights()
    ids = _tokenizer().encode(text).ids
    ids = ids if len(ids) <= LONGEST else [*ids[: LONGEST - 1], ids[-1]]
    x = w["embeddings.word_embeddings.weight"][ids]
    x = x + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = _norm(x + w["embeddings.token_type_embeddings.weight"][0], w, "embeddings.LayerNorm")
    for layer in range(LAYERS):
        x = _layer(x, w, f"encoder.layer.{layer}")
    vector = x[0] if cls else x.mean(axis=0)
    return vector / np.linalg.norm(vector)


def _layer(x: np.ndarray, w: dict[str, np.ndarray], at: str) -> np.ndarray:
    q, k, v = (
        _dense(x, w, f"{at}.attention.self.{part}").reshape(len(x), HEADS, -1).swapaxes(0, 1)
        for part in ("query", "key", "value")
    )
    scores = np.exp(q @ k.swapaxes(1, 2) / np.sqrt(HIDDEN / HEADS))
    mixed = (scores / scores.sum(-1, keepdims=True)) @ v
    mixed = mixed.swapaxes(0, 1).reshape(len(x), HIDDEN)
    x = x + _dense(mixed, w, f"{at}.attention.output.dense")
    x = _norm(x, w, f"{at}.attention.output.LayerNorm")
    inner = _dense(x, w, f"{at}.intermediate.dense")
    inner = inner * 0.5 * (1 + _erf(inner / np.sqrt(2)))
    return _norm(x + _dense(inner, w, f"{at}.output.dense"), w, f"{at}.output.LayerNorm")


def _dense(x: np.ndarray, w: dict[str, np.ndarray], at: str) -> np.ndarray:
    return x @ w[f"{at}.weight"].T + w[f"{at}.bias"]


def _norm(x: np.ndarray, w: dict[str, np.ndarray], at: str) -> np.ndarray:
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
    return x * w[f"{at}.weight"] + w[f"{at}.bias"]


def _erf(x: np.ndarray) -> np.ndarray:
    from math import erf

    return np.vectorize(erf)(x)


def _tokenizer() -> Tokenizer:
    vocabulary = {word: number for number, word in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def _safetensors(weights: dict[str, np.ndarray]) -> bytes:
    header, body = {}, b""
    for name, array in weights.items():
        start, body = len(body), body + array.tobytes()
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": [start, len(body)]}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")
