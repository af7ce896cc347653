"""Settings seen through a memory: from the environment, from a file, from arguments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory
from remanence.errors import ConfigError


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("REMANENCE_CACHE", str(tmp_path / "no models here"))


@pytest.mark.parametrize("name", ["REMANENCE_DATABASE", "MEMORY_DB_URL", "LT_MEMORY_DATABASE_URL"])
def test_the_database_comes_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "sqlite:///storage/memories.db")
    with Memory() as memory:
        memory.add("kept there")
    assert (tmp_path / "storage" / "memories.db").is_file()
    with Memory("elsewhere.db") as memory:
        assert memory.count() == 0


def test_without_any_setting_it_is_a_file_in_the_data_folder(tmp_path: Path) -> None:
    with Memory() as memory:
        memory.add("kept at home")
    [found] = tmp_path.rglob("memory.db")
    assert "remanence" in found.parts
    with Memory() as memory:
        assert memory.count() == 1


def test_a_yaml_file_of_another_system_opens_its_database(tmp_path: Path) -> None:
    (tmp_path / "agent_config.yaml").write_text(
        "memory:\n"
        "  sqlite: {database: storage/memory.db, pragmas: {journal_mode: WAL}}\n"
        "  chroma: {collection: julep_memories, embedding_model: all-MiniLM-L6-v2}\n"
        "  redis: {host: localhost, port: 6379, ttl: 86400}\n"
    )
    with Memory() as memory:
        memory.add("kept there")
        assert memory.settings.embedder == "all-MiniLM-L6-v2"
    assert (tmp_path / "storage" / "memory.db").is_file()


@pytest.mark.parametrize("spelling", ["a.db", "sqlite:///a.db", Path("a.db")])
def test_spellings_of_one_file(spelling: str | Path) -> None:
    with Memory("a.db") as memory:
        memory.add("one")
    with Memory(spelling) as memory:
        assert memory.count() == 1


@pytest.mark.parametrize("spelling", [":memory:", "sqlite://", "sqlite:///:memory:"])
def test_spellings_of_no_file(tmp_path: Path, spelling: str) -> None:
    with Memory(spelling) as memory:
        memory.add("nowhere")
        assert memory.count() == 1
    assert not list(tmp_path.rglob("*memory*"))


def test_the_index_lies_where_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_folder: Path
) -> None:
    monkeypatch.setenv("FAISS_INDEX_PATH", str(tmp_path / "memories.faiss"))
    monkeypatch.setenv("EMBEDDING_MODEL", str(model_folder))
    with Memory("a.db") as memory:
        memory.add_many(["indexed"] * 4_200)  # fewer are scored without a file
        memory.search("indexed")
    assert (tmp_path / "memories.faiss").is_file()
    assert not (tmp_path / "a.db.index").exists()
    (tmp_path / "memories.faiss").unlink()
    with Memory("a.db") as memory:
        assert len(memory.search("indexed")) == 10


def test_the_longest_text_is_a_setting() -> None:
    with Memory(":memory:", max_text=5) as memory:
        memory.add("12345")
        with pytest.raises(ValueError, match="at most 5"):
            memory.add("123456")
        with pytest.raises(ValueError, match="at most 5"):
            memory.add_messages([{"content": "123456"}])


def test_weights_are_settings() -> None:
    with Memory(":memory:", importance_weight=0, recency_weight=0) as memory:
        memory.add("plain", importance=1)
        [hit] = memory.search("plain")
        assert hit.signals["importance"] == hit.signals["recency"] == 0


@pytest.mark.parametrize("settings", [{"colour": 1}, {"device": "tpu"}, {"ranker": "missing.json"}])
def test_settings_that_cannot_be_leave_nothing_behind(
    tmp_path: Path, settings: dict[str, object]
) -> None:
    with pytest.raises(ConfigError):
        Memory("a.db", **settings)  # type: ignore[arg-type]


def test_a_path_may_start_at_home(tmp_path: Path) -> None:
    home = tmp_path / "HOME"
    home.mkdir()
    (home / "ranker.json").write_text(json.dumps({"base": 0, "table": {"words": [0, 1, 2]}}))
    for database in ("~/a.db", "sqlite:///~/a.db"):
        settings = {"ranker": "~/ranker.json", "index_path": "~/a.faiss"}
        with Memory(database, **settings) as memory:
            memory.add("kept at home")
            assert memory.parts.index_file == home / "a.faiss"
            assert memory.search("home")[0].signals["words"] > 0
    assert (home / "a.db").is_file()


@pytest.mark.parametrize(
    ("base", "table", "told"),
    [
        (0, {"colour": [0, 1, 1]}, "'colour' is no signal"),
        (0, {"words": [0, float("nan"), 1]}, "out of bounds"),
        (0, {"words": [0, 1, float("inf")]}, "out of bounds"),
        (0, {"words": [0, 0, 1]}, "above 0"),
        (0, {"words": [0, -1, 1]}, "above 0"),
        (0, {"words": [0, 1]}, "cannot be used"),
        (0, {"words": ["0", "1", "1"]}, "no number"),
        (0, [], "cannot be used"),
        ("0", {}, "no number"),
        (True, {}, "no number"),
        (float("nan"), {}, "out of bounds"),
    ],
)
def test_a_ranker_that_cannot_rank_is_refused_at_once(
    tmp_path: Path, base: Any, table: Any, told: str
) -> None:
    (tmp_path / "ranker.json").write_text(json.dumps({"base": base, "table": table}))
    with pytest.raises(ConfigError, match=told):
        Memory(":memory:", ranker="ranker.json")
