"""Without its model a memory keeps everything, finds by words, says so, and catches up later."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from remanence import Memory
from remanence.errors import EmbedderError, ModelMissing
from remanence.model.stats import EMBEDDER
from remanence.recall.search import WAITING
from support.embeddings_server import Answer, EmbeddingsServer

TEXTS = ["Ana moved to Lisbon", "Ben plays chess on Sundays", "The parrot repeats every word"]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    folder = tmp_path / "cache"
    folder.mkdir()
    return folder


@pytest.fixture
def blind(tmp_path: Path, cache: Path) -> Iterator[Memory]:
    """A memory whose model is not there."""
    with Memory(tmp_path / "memory.db", embedder="a-model-that-is-not-here", cache=cache) as opened:
        yield opened


def test_adds_are_kept_and_found_by_words(blind: Memory) -> None:
    records = blind.add_many(TEXTS)
    hits = blind.search("parrot", limit=3)
    assert hits[0].memory.id == records[2].id
    assert len(hits) == 3
    [why] = hits.degraded
    assert "vectors" in why
    assert "a-model-that-is-not-here" in why
    assert hits[0].similarity is None
    assert sum(hits[0].signals.values()) == pytest.approx(hits[0].score, abs=1e-4)


def test_every_other_verb_works(blind: Memory, tmp_path: Path) -> None:
    first, second, third = blind.add_many(TEXTS)
    blind.update(first.id, text="Ana moved to Faro")
    assert blind.search("Faro")[0].memory.id == first.id
    blind.associate(first.id, second.id)
    assert len(blind.related(first.id)) == 1
    blind.feedback(first.id, useful=True)
    blind.forget(third.id)
    assert blind.count() == 2
    assert blind.why_not("Faro", third.id).stage == "filter"
    assert [finding.check for finding in blind.doctor() if finding.problems] == [EMBEDDER]
    assert blind.stats().embedder == "none"
    assert blind.backup(tmp_path / "copy.db").is_file()


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    ours = [one for one in caplog.records if one.name == "remanence"]
    assert {one.levelno for one in ours} <= {logging.WARNING}
    return [one.getMessage() for one in ours]


def test_the_first_call_without_it_is_logged(
    blind: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    blind.add("Ana moved to Lisbon")
    [why] = told(caplog)
    assert "a-model-that-is-not-here" in why
    assert "`make model`" in why
    assert "by their words alone" in why
    assert ".." not in why
    blind.add("Ben plays chess")
    blind.search("chess")
    assert len(told(caplog)) == 1


def test_the_doctor_says_what_is_missing_and_when_it_is_there(
    blind: Memory, tmp_path: Path
) -> None:
    found = blind.doctor()[-1]
    assert (found.check, found.problems, found.repaired) == (EMBEDDER, 1, 0)
    assert "a-model-that-is-not-here" in found.detail
    assert blind.doctor(repair=True)[-1].problems == 1
    with Memory(tmp_path / "other.db") as whole:
        assert whole.doctor()[-1].problems == 0
        assert "all-MiniLM-L6-v2" in whole.doctor()[-1].detail


def test_what_needs_the_model_says_what_is_missing(blind: Memory) -> None:
    for verb in (lambda: blind.similarity("a", "b"), blind.reembed):
        with pytest.raises(ModelMissing, match="a-model-that-is-not-here"):
            verb()


def test_the_model_comes_back_in_the_same_process(
    tmp_path: Path, cache: Path, model_folder: Path
) -> None:
    name = "late-model"
    with Memory(tmp_path / "memory.db", embedder=name, cache=cache) as memory:
        memory.add_many(TEXTS)
        assert memory.search("Where does Ana live now?").degraded
        assert memory.doctor()[-1].problems == 1
        shutil.copytree(model_folder, cache / "models" / name)
        hits = memory.search("Where does Ana live now?")
        assert hits.degraded == (WAITING,)
        assert memory.doctor()[-1].problems == 0
        assert memory.stats().pending == 3
        memory.add("one more write catches up with the rest")
        assert memory.stats().pending == 0
        hits = memory.search("relocation to Portugal")
        assert hits.degraded == ()
        assert all(hit.similarity is not None for hit in hits)


def test_the_model_comes_back_for_the_next_process(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory(path, embedder="a-model-that-is-not-here", cache=cache) as blind:
        blind.add_many(TEXTS)
    with Memory(path) as memory:
        assert memory.stats().pending == 3
        assert memory.search("parrot")[0].memory.text == TEXTS[2]
        assert memory.reembed() == 3
        assert memory.stats().pending == 0
        assert memory.search("relocation to Portugal")[0].memory.text == TEXTS[0]


def test_a_damaged_model_is_refused_and_nothing_is_lost(
    tmp_path: Path, cache: Path, model_folder: Path
) -> None:
    folder = cache / "models" / "damaged"
    shutil.copytree(model_folder, folder)
    largest = max(folder.iterdir(), key=lambda file: file.stat().st_size)
    damaged = bytearray(largest.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    largest.write_bytes(damaged)
    with Memory(tmp_path / "memory.db", embedder="damaged", cache=cache) as memory:
        memory.add_many(TEXTS)
        hits = memory.search("parrot")
        assert hits[0].memory.text == TEXTS[2]
        assert hits.degraded


def test_an_endpoint_that_fails_delays_vectors_not_writes(tmp_path: Path) -> None:
    with EmbeddingsServer(lambda request: Answer("no such model", 404)) as server:
        path = tmp_path / "memory.db"
        with Memory(path, embedder="served", embedder_url=server.url) as memory:
            memory.add_many(TEXTS)
            hits = memory.search("parrot")
            assert hits[0].memory.text == TEXTS[2]
            assert "404" in hits.degraded[0]
            with pytest.raises(EmbedderError, match="404"):
                memory.reembed()
            assert memory.count() == 3
