"""Every vector index against the one suite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from remanence.index.bits import BitsIndex
from remanence.testing.vector_index import FINGERPRINT, OpenIndex, PieceSource, VectorIndexSuite


class TestBitsIndex(VectorIndexSuite):
    @pytest.fixture
    def open_index(self, tmp_path: Path) -> Iterator[OpenIndex]:
        opened: list[BitsIndex] = []

        def open_index(source: PieceSource) -> BitsIndex:
            file = tmp_path / "agent.db.index"
            opened.append(BitsIndex(source, FINGERPRINT, identity="it", file=file, small=600))
            return opened[-1]

        yield open_index
        for index in opened:
            index.close()


class TestBitsIndexWithoutAFile(VectorIndexSuite):
    @pytest.fixture
    def open_index(self) -> OpenIndex:
        return lambda source: BitsIndex(
            source, FINGERPRINT, identity="it", small=600, budget_bytes=1
        )
