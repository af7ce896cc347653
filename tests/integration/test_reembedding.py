"""Changing the embedder: online, resumable, vectors of two models never mixed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from remanence import Memory
from remanence.backends.embedding.models import DEFAULT_MODEL
from remanence.backends.embedding.onnx import OnnxEmbedder
from remanence.memories.writer import INSTALMENT
from remanence.model.embedding import Fingerprint
from remanence.model.scope import Reach
from support.embeddings_server import Answer, EmbeddingsServer, Request, embeddings_json

SMALL = 96
COUNT = 600  # more than two steps of re-embedding, so that there is a middle to stop in
FACTS = {
    "Ana moved to Lisbon": "which city does Ana live in?",
    "Ben is allergic to peanuts": "what food must Ben avoid?",
    "The cat sleeps on the radiator": "where does the kitten nap?",
}

BUILT_IN: list[Fingerprint] = []


class Stop(Exception):
    """Raised from a progress callback, as a stop in the middle."""


@pytest.fixture(scope="module")
def endpoint(model_folder: Path) -> Iterator[str]:
    """An embeddings endpoint whose model is another one: the first 96 dimensions, turned round."""
    model = OnnxEmbedder(model_folder)
    known: dict[str, list[float]] = {}

    def answer(request: Request) -> Answer:
        texts = request.body["input"]
        new = [text for text in dict.fromkeys(texts) if text not in known]
        for text, made in zip(new, model.embed(new), strict=True):
            known[text] = made.vector[:SMALL][::-1].astype(float).tolist()
        return Answer(embeddings_json([known[text] for text in texts]))

    with EmbeddingsServer(answer) as server:
        yield server.url
    model.close()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of memories embedded by the built-in model."""
    path = tmp_path_factory.mktemp("filled") / "memory.db"
    with Memory(path) as memory:
        memory.add_many([*FACTS, *(f"Note number {n}" for n in range(COUNT - len(FACTS)))])
        BUILT_IN.append(memory.parts.embedder.fingerprint)
    return path


@pytest.fixture
def path(tmp_path: Path, filled: Path) -> Path:
    copy = tmp_path / "memory.db"
    with Memory(filled) as memory:
        memory.backup(copy)
    return copy


def _fingerprints(memory: Memory) -> dict[str, int]:
    """How many memories have vectors of which embedder; every vector has its embedder's size."""
    store = memory.parts.store
    keys = [key for key, _ in store.archive.scan(memory.tenant)]
    partitions = store.recall.partitions(Reach(tenant=memory.tenant, all_users=True))
    found: dict[str, int] = {}
    for fingerprint in {memory.parts.embedder.fingerprint, BUILT_IN[0]}:
        pieces = [p for n in partitions for p in store.vectors.pieces(fingerprint, n, keys)]
        assert {len(piece.vector) for piece in pieces} <= {fingerprint.dimension + 4}
        found[fingerprint.name] = len({piece.key for piece in pieces})
    return {name: count for name, count in found.items() if count}


def _answers(memory: Memory) -> list[str]:
    return [memory.search(question)[0].memory.text for question in FACTS.values()]


def test_a_model_of_another_dimension_takes_over(path: Path, endpoint: str) -> None:
    with Memory(path, embedder="small", embedder_url=endpoint) as memory:
        assert memory.stats().pending == COUNT
        hits = memory.search("radiator")
        assert hits[0].memory.text == "The cat sleeps on the radiator"
        assert hits[0].similarity is None  # the old vectors are not compared with the new question
        steps: list[tuple[int, int]] = []
        assert memory.reembed(lambda done, total: steps.append((done, total))) == COUNT
        assert steps[-1] == (COUNT, COUNT)
        assert [done for done, _ in steps] == sorted({done for done, _ in steps})
        assert memory.stats().pending == 0
        assert "small" in memory.stats().embedder
        assert _answers(memory) == list(FACTS)
        assert _fingerprints(memory) == {"small": COUNT}
        assert memory.reembed() == 0
        assert not any(finding.problems for finding in memory.doctor())


def test_a_stop_in_the_middle_loses_nothing_and_goes_on(path: Path, endpoint: str) -> None:
    with Memory(path, embedder="small", embedder_url=endpoint) as memory:
        with pytest.raises(Stop):
            memory.reembed(_stop_after(1))
        left = memory.stats().pending
        assert 0 < left < COUNT
        assert len(memory.search("number", limit=COUNT)) == COUNT  # search goes on in between
    with Memory(path, embedder="small", embedder_url=endpoint) as memory:
        assert memory.stats().pending == left
        assert memory.reembed() == left
        assert _answers(memory) == list(FACTS)
        assert _fingerprints(memory) == {"small": COUNT}


def test_going_back_before_the_end_keeps_the_old_vectors(path: Path, endpoint: str) -> None:
    with (
        Memory(path, embedder="small", embedder_url=endpoint) as memory,
        pytest.raises(Stop),
    ):
        memory.reembed(_stop_after(1))
    with Memory(path) as memory:
        assert memory.stats().pending == 0
        assert _answers(memory) == list(FACTS)
        assert memory.reembed() == 0  # removes the half of the other model
        assert _fingerprints(memory) == {DEFAULT_MODEL: COUNT}


def test_searches_and_writes_go_on_meanwhile(path: Path, endpoint: str) -> None:
    seen: list[int] = []
    with Memory(path, embedder="small", embedder_url=endpoint) as memory:

        def meanwhile(done: int, total: int) -> None:
            memory.add(f"Written after {done}")
            seen.append(len(memory.search("number", limit=10)))
            with Memory(path) as other:  # still on the old model
                seen.append(len(other.search("which city does Ana live in?", limit=10)))

        memory.reembed(meanwhile)
        assert set(seen) == {10}
        assert memory.stats().pending == 0
        assert _fingerprints(memory) == {"small": memory.count()}


def test_two_models_side_by_side_never_mix(path: Path, endpoint: str) -> None:
    with (
        Memory(path, embedder="small", embedder_url=endpoint) as new,
        Memory(path) as old,
    ):
        old.add("Carla plays the violin")
        new.add("Dmitri restores old clocks")
        assert old.stats().pending == 1
        assert new.stats().pending == COUNT + 1 - INSTALMENT
        for memory in (old, new):
            found = memory.search("violin")
            assert found[0].memory.text == "Carla plays the violin"
            assert all(hit.similarity is None or abs(hit.similarity) <= 1.001 for hit in found)


@pytest.mark.usefixtures("filled")
def test_the_same_name_with_another_dimension_is_another_embedder(tmp_path: Path) -> None:
    """An endpoint that starts to answer with other vectors under the same name is found out."""
    path = tmp_path / "memory.db"
    for dimension in (8, 12):
        with (
            EmbeddingsServer(_noise(dimension)) as server,
            Memory(path, embedder="served", embedder_url=server.url) as memory,
        ):
            memory.add(f"in {dimension} dimensions")
            assert memory.stats().pending == 0  # a write takes what waits along
            assert len(memory.search("dimensions")) == memory.count()
            memory.reembed()
            assert memory.stats().pending == 0
            assert _fingerprints(memory) == {"served": memory.count()}


def _noise(dimension: int) -> Callable[[Request], Answer]:
    def answer(request: Request) -> Answer:
        rows = [_random(text, dimension) for text in request.body["input"]]
        return Answer(embeddings_json(rows))

    return answer


def _random(text: str, dimension: int) -> list[float]:
    seed = [*json.dumps(text).encode()]
    return np.random.default_rng(seed).standard_normal(dimension).tolist()  # type: ignore[no-any-return]


def _stop_after(steps: int) -> Callable[[int, int], None]:
    left = [steps]

    def progress(done: int, total: int) -> None:
        left[0] -= 1
        if left[0] <= 0:
            raise Stop

    return progress
