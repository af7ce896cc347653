"""A BERT encoder as an ONNX graph: 8-bit weights, pooling and token projection inside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

from remanence.backends.embedding.weights import BASIS, Recipe
from remanence.model.embedding import CODE_BITS, FloatArray

BLOCK = 32
INTEGER_ACTIVATIONS = 4  # accuracy_level; 0 is 2 to 7 times slower, mean cosine .9998, not .9995
MASKED = -1e4
BASIS_SEED = 7
WORDS, MASK, VECTOR, TOKENS = "words", "attention_mask", "vector", "tokens"
WORD_TABLE = "embeddings.word_embeddings.weight"  # not in the graph; see `WordTable`
_CONTRIB = "com.microsoft"


def bert_graph(recipe: Recipe, weights: Mapping[str, FloatArray], *, quantised: bool) -> ModelProto:
    """Inputs `words` (their vectors), `attention_mask`; outputs unit `vector`, unit `tokens`."""
    graph = _Graph(weights, recipe, quantised)
    graph.bert()
    return graph.model()


def token_basis(dimension: int) -> FloatArray:
    """The fixed projection of token vectors to CODE_BITS; orthonormal, seeded."""
    noise = np.random.default_rng(BASIS_SEED).standard_normal((dimension, CODE_BITS))
    wide = dimension < CODE_BITS
    basis, triangle = np.linalg.qr(noise.T if wide else noise)
    basis = basis * np.sign(np.diag(triangle))  # LAPACKs differ in the signs
    return np.ascontiguousarray(basis.T if wide else basis, dtype=np.float32)


def quantise_blocks(weight: FloatArray) -> tuple[NDArray[np.uint8], FloatArray]:
    """(out, in) to bytes around 128 and one scale per 32 inputs, as MatMulNBits reads them."""
    blocks = weight.reshape(len(weight), -1, BLOCK)
    peak = np.take_along_axis(blocks, np.abs(blocks).argmax(-1, keepdims=True), -1)
    scale = peak / np.float32(-128)
    codes = np.rint(blocks / np.where(scale == 0, 1, scale)) + 128
    return np.clip(codes, 0, 255).astype(np.uint8), scale[..., 0]


class _Graph:
    def __init__(self, weights: Mapping[str, FloatArray], recipe: Recipe, quantised: bool) -> None:
        self.weights = weights
        self.recipe = recipe
        self.quantised = quantised and recipe.hidden % BLOCK == 0
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def bert(self) -> None:
        self.real_mask = self.node("Cast", MASK, to=TensorProto.FLOAT)
        self.attention_mask = self.node("Cast", MASK, to=TensorProto.INT32)
        x = self.embeddings()
        for number in range(self.recipe.layers):
            x = self.layer(x, f"encoder.layer.{number}")
        self.node("LpNormalization", self.pooled(x), output=VECTOR, axis=-1, p=2)
        basis = self.weights.get(BASIS)
        if basis is None:
            basis = token_basis(self.recipe.hidden)
        projected = self.node("MatMul", x, self.constant(basis))
        self.node("LpNormalization", projected, output=TOKENS, axis=-1, p=2)

    def embeddings(self) -> str:
        names = ("position_embeddings", "token_type_embeddings")
        positions, types = (self.weights[f"embeddings.{name}.weight"] for name in names)
        length = self.node("Shape", WORDS, start=1, end=2)
        start = self.constant(np.array([0], dtype=np.int64))
        places = self.node("Slice", self.constant(positions + types[0]), start, length)
        return self.norm(self.node("Add", WORDS, places), "embeddings.LayerNorm")

    def layer(self, x: str, at: str) -> str:
        attended = self.linear(self.attention(x, at), *self.dense(f"{at}.attention.output.dense"))
        x = self.norm(self.node("Add", attended, x), f"{at}.attention.output.LayerNorm")
        inner = self.activation(self.linear(x, *self.dense(f"{at}.intermediate.dense")))
        outer = self.linear(inner, *self.dense(f"{at}.output.dense"))
        return self.norm(self.node("Add", outer, x), f"{at}.output.LayerNorm")

    def attention(self, x: str, at: str) -> str:
        parts = [self.dense(f"{at}.attention.self.{part}") for part in ("query", "key", "value")]
        weight, bias = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        fused = self.linear(x, weight, bias)
        names = [f"{fused}.{part}" for part in "qkv"]
        self.nodes.append(helper.make_node("Split", [fused], names, axis=-1, num_outputs=3))
        return self.node(
            "MultiHeadAttention", *names, "", self.attention_mask,
            domain=_CONTRIB, num_heads=self.recipe.heads, mask_filter_value=MASKED,
        )  # fmt: skip

    def activation(self, x: str) -> str:
        if self.recipe.activation == "gelu":
            return self.node("Gelu", x, domain=_CONTRIB)
        return self.node("Relu", x)

    def pooled(self, x: str) -> str:
        if self.recipe.pooling == "cls":
            return self.node("Gather", x, self.constant(np.int64(0)), axis=1)
        # No division by the number of tokens: the vector is brought to unit length anyway.
        one, two = (self.constant(np.array([axis], dtype=np.int64)) for axis in (1, 2))
        weighed = self.node("Mul", x, self.node("Unsqueeze", self.real_mask, two))
        return self.node("ReduceSum", weighed, one, keepdims=0)

    def dense(self, at: str) -> tuple[FloatArray, FloatArray]:
        return self.weights[f"{at}.weight"], self.weights[f"{at}.bias"]

    def linear(self, x: str, weight: FloatArray, bias: FloatArray) -> str:
        if not self.quantised:
            return self.node(
                "Add", self.node("MatMul", x, self.constant(weight.T)), self.constant(bias)
            )
        codes, scale = (self.constant(array) for array in quantise_blocks(weight))
        rows, columns = weight.shape
        return self.node(
            "MatMulNBits", x, codes, scale, "", "", self.constant(bias), domain=_CONTRIB,
            K=columns, N=rows, bits=8, block_size=BLOCK, accuracy_level=INTEGER_ACTIVATIONS,
        )  # fmt: skip

    def norm(self, x: str, at: str) -> str:
        scale, bias = (self.constant(array) for array in self.dense(at))
        return self.node("LayerNormalization", x, scale, bias, epsilon=self.recipe.epsilon)

    def constant(self, value: ArrayLike) -> str:
        name = f"c{len(self.constants)}"
        array = np.asarray(value)
        # ascontiguousarray would make 0-d constants 1-d, and an index of 1-d keeps its axis.
        array = np.ascontiguousarray(array) if array.ndim else array
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def node(
        self, kind: str, *inputs: str, output: str = "", domain: str = "", **options: Any
    ) -> str:
        output = output or f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **options))
        return output

    def model(self) -> ModelProto:
        inputs = [
            _value(WORDS, TensorProto.FLOAT, "batch", "length", self.recipe.hidden),
            _value(MASK, TensorProto.INT64, "batch", "length"),
        ]
        outputs = [
            _value(VECTOR, TensorProto.FLOAT, "batch", self.recipe.hidden),
            _value(TOKENS, TensorProto.FLOAT, "batch", "length", CODE_BITS),
        ]
        graph = helper.make_graph(self.nodes, "bert", inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid(_CONTRIB, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def _value(name: str, kind: int, *shape: str | int) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)
