"""Every embedder against the one suite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from remanence.backends.embedding.cache import CachedEmbedder
from remanence.backends.embedding.http import HttpEmbedder
from remanence.backends.embedding.onnx import OnnxEmbedder
from remanence.model.ports.embedder import Embedder
from remanence.testing.embedder import EmbedderSuite
from support.embeddings_server import EmbeddingsServer, embeddings_of


class TestOnnxEmbedder(EmbedderSuite):
    @pytest.fixture
    def embedder(self, model_folder: Path) -> Iterator[Embedder]:
        embedder = OnnxEmbedder(model_folder)
        yield embedder
        embedder.close()


class TestCachedEmbedder(EmbedderSuite):
    @pytest.fixture
    def embedder(self, model_folder: Path) -> Iterator[Embedder]:
        embedder = CachedEmbedder(OnnxEmbedder(model_folder), max_bytes=40_000)
        yield embedder
        embedder.close()


class TestHttpEmbedder(EmbedderSuite):
    @pytest.fixture
    def embedder(self, model_folder: Path) -> Iterator[Embedder]:
        inner = OnnxEmbedder(model_folder)
        with EmbeddingsServer(embeddings_of(inner)) as server:
            embedder = HttpEmbedder(server.url, "minilm", api_key="key", batch_size=4)
            yield embedder
            embedder.close()
        inner.close()
