"""Reading a sentence-embedding folder: its settings and its safetensors, without torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from remanence.backends.embedding.manifest import read_json
from remanence.errors import ModelInvalid
from remanence.model.embedding import ByteArray, FloatArray

_POOLINGS = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
_ACTIVATIONS = {"gelu", "relu"}
BASIS = "basis"  # what token vectors are projected by, where it was learned


@dataclass(frozen=True, slots=True)
class Recipe:
    """The shape of a BERT encoder and how its tokens become one vector."""

    name: str
    layers: int
    heads: int
    hidden: int
    epsilon: float
    activation: str
    pooling: str
    max_length: int  # special tokens included


def read_recipe(folder: Path) -> Recipe:
    """The recipe in `folder`, or `ModelInvalid` if it is not of the BERT family."""
    config = read_json(folder / "config.json")
    if config.get("model_type") != "bert":
        raise ModelInvalid(
            f"{folder} holds a {config.get('model_type', 'nameless')!r} model; only models of "
            "type 'bert' can be converted. Serve it over HTTP and use an embeddings endpoint."
        )
    if config["hidden_act"] not in _ACTIVATIONS:
        raise ModelInvalid(f"{folder}: activation {config['hidden_act']!r} is not supported.")
    return Recipe(
        name=folder.resolve().name,
        layers=config["num_hidden_layers"],
        heads=config["num_attention_heads"],
        hidden=config["hidden_size"],
        epsilon=config["layer_norm_eps"],
        activation=config["hidden_act"],
        pooling=_pooling(folder),
        max_length=_max_length(folder, config["max_position_embeddings"]),
    )


def read_weights(path: Path) -> Mapping[str, FloatArray]:
    """The tensors of a safetensors file as float32, by name; `ModelInvalid` if it is damaged."""
    try:
        data: ByteArray = np.memmap(path, dtype=np.uint8, mode="r")
        size = int(data[:8].view("<u8")[0])
        header = json.loads(bytes(data[8 : 8 + size]))
        header.pop("__metadata__", None)
        body = data[8 + size :]
        return {name.removeprefix("bert."): _tensor(body, entry) for name, entry in header.items()}
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise ModelInvalid(f"{path} cannot be read as safetensors: {error}") from error


def adapted(
    weights: Mapping[str, FloatArray], adapter: Mapping[str, FloatArray]
) -> dict[str, FloatArray]:
    """The weights with a low-rank adapter merged into them, and its `basis` beside them."""
    merged = dict(weights)
    for name in (name.removesuffix(".a") for name in adapter if name.endswith(".a")):
        if f"{name}.weight" not in merged:
            raise ModelInvalid(f"The adapter is of another model: there is no {name} here.")
        change = adapter[f"{name}.b"] @ adapter[f"{name}.a"]
        merged[f"{name}.weight"] = merged[f"{name}.weight"] + change
    return merged | {BASIS: adapter[BASIS]}


def _tensor(body: ByteArray, entry: Mapping[str, Any]) -> FloatArray:
    start, end = entry["data_offsets"]
    raw = body[start:end]
    if entry["dtype"] == "BF16":
        wide = raw.view("<u2").astype(np.uint32) << 16
        return wide.view(np.float32).reshape(entry["shape"])
    kinds = {"F32": "<f4", "F16": "<f2", "I64": "<i8"}
    return np.asarray(raw.view(kinds[entry["dtype"]]), dtype=np.float32).reshape(entry["shape"])


def _pooling(folder: Path) -> str:
    path = folder / "1_Pooling" / "config.json"
    modes = read_json(path).items()
    chosen = [key for key, on in modes if key.startswith("pooling_mode") and on is True]
    if len(chosen) != 1 or chosen[0] not in _POOLINGS:
        raise ModelInvalid(f"{path}: only mean or cls pooling is supported, not {chosen}.")
    return _POOLINGS[chosen[0]]


def _max_length(folder: Path, positions: int) -> int:
    path = folder / "sentence_bert_config.json"
    wanted = read_json(path).get("max_seq_length") if path.exists() else None
    return min(wanted or positions, positions)
