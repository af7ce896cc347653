"""Settings: where they come from, which wins, and what is refused."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from remanence.cli.common import Opening
from remanence.cli.settings import in_force
from remanence.config import CONFIG_FILES, HELP, PREFIX, Settings, load_settings, shown
from remanence.errors import ConfigError

SEED_FILE = """
memory:
  sqlite:
    database: "storage/memory.db"
    pragmas: {journal_mode: "WAL", cache_size: -64000}
  chroma:
    collection: "julep_memories"
    persist_directory: "storage/chromadb"
    embedding_model: "all-MiniLM-L6-v2"
  redis: {host: "localhost", port: 6379, ttl: 86400}
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file of the machine's own takes part."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def loaded(overrides: dict[str, Any] | None = None, **environment: str) -> Settings:
    return load_settings(overrides, environment=environment)


def test_every_setting_is_explained() -> None:
    assert list(HELP) == [field.name for field in fields(Settings)]


def test_the_defaults_are_the_seeds() -> None:
    settings = loaded()
    assert settings == Settings()
    assert (settings.embedder, settings.max_memory_mb) == ("all-MiniLM-L6-v2-memory", 90)
    assert (settings.decay, settings.time_weight) == (0.95, 0.1)
    assert (settings.recency_weight, settings.importance_weight) == (0.3, 0.2)
    assert settings.durability == "full"
    assert Path(settings.database_url).name == "memory.db"
    assert settings.cache_folder.is_absolute()


def test_arguments_win_over_the_environment_and_that_over_a_file(tmp_path: Path) -> None:
    (tmp_path / "remanence.toml").write_text('tenant = "file"\nthreads = 1\ndecay = 0.5\n')
    environment = {"REMANENCE_TENANT": "environment", "REMANENCE_THREADS": "2"}
    settings = loaded({"tenant": "argument", "threads": None}, **environment)
    assert (settings.tenant, settings.threads, settings.decay) == ("argument", 2, 0.5)


UNLIKE_64 = {
    "device": "auto",
    "durability": "normal",
    "decay": "0.5",
    "tls": "require",
    "migrate": "manual",
    "index": "qdrant",
    "index_replicas": "3",
    "core_blocks": "mood=64",
    "extract_entities": "False",
    "infer_relations": "False",
    "name_finder": "spacy",
    "background": "True",
    "sleeps": "False",
    "sleep_cap": "0.5",
    "merge_alike": "0.5",
    "min_trust": "0.5",
    "proxy_min_confidence": "0.5",
    "forget_floor": "0.5",
    "forget_importance": "0.5",
    "forget_active_days": "True",
    "text_codec": "lz4",
    "encryption_key": "64" * 8,
    "timezone": "Asia/Kathmandu",
    "tools": "graph",
    "log_format": "json",
}


@pytest.mark.parametrize("field", fields(Settings), ids=lambda field: field.name)
def test_every_setting_has_a_variable(field: Any) -> None:
    given = UNLIKE_64.get(field.name, "64")
    settings = loaded(**{PREFIX + field.name.upper(): given})
    assert str(getattr(settings, field.name)) in (given, f"{given}.0")


@pytest.mark.parametrize(
    ("said", "meant"),
    [("on", True), ("TRUE", True), ("1", True), ("yes", True), ("off", False), ("0", False)],
)
def test_a_switch_is_on_or_off(said: str, meant: bool) -> None:
    assert loaded(REMANENCE_INFER_RELATIONS=said).infer_relations is meant


def test_a_switch_that_is_neither_is_refused() -> None:
    with pytest.raises(ConfigError, match="infer_relations must be on or off; got 'maybe'"):
        loaded(REMANENCE_INFER_RELATIONS="maybe")


def test_predicates_of_ones_own() -> None:
    named = loaded(REMANENCE_SINGLE_PREDICATES="reports to,  Lead  of ,").one_at_a_time
    assert named == {"reports to", "lead of"}


@pytest.mark.parametrize(
    ("name", "value", "setting", "expected"),
    [
        ("MEMORY_DB_URL", "sqlite:///memories.db", "database", "sqlite:///memories.db"),
        ("LT_MEMORY_DATABASE_URL", "x.db", "database", "x.db"),
        ("FAISS_INDEX_PATH", "memories.faiss", "index_path", "memories.faiss"),
        ("EMBEDDING_MODEL", "all-MiniLM-L6-v2", "embedder", "all-MiniLM-L6-v2"),
        ("USE_GPU", "True", "device", "auto"),
        ("USE_GPU", "1", "device", "auto"),
        ("USE_GPU", "False", "device", "cpu"),
        ("USE_GPU", "no", "device", "cpu"),
    ],
)
def test_names_of_other_systems(name: str, value: str, setting: str, expected: str) -> None:
    assert getattr(loaded(**{name: value}), setting) == expected


def test_our_own_name_wins_over_another_systems() -> None:
    both = {"MEMORY_DB_URL": "theirs.db", "REMANENCE_DATABASE": "ours.db"}
    assert loaded(**both).database == "ours.db"
    assert loaded(USE_GPU="1", REMANENCE_DEVICE="cpu").device == "cpu"


def test_empty_variables_count_as_not_set() -> None:
    assert loaded(REMANENCE_DATABASE="", USE_GPU="", EMBEDDING_MODEL="") == Settings()


@pytest.mark.parametrize("name", CONFIG_FILES)
def test_a_file_in_the_current_folder_is_read(tmp_path: Path, name: str) -> None:
    text = 'tenant = "acme"' if name.endswith("toml") else "tenant: acme"
    (tmp_path / name).write_text(text)
    assert loaded().tenant == "acme"


def test_a_named_file_wins_over_the_usual_ones(tmp_path: Path) -> None:
    (tmp_path / "remanence.toml").write_text('tenant = "usual"')
    (tmp_path / "mine.yaml").write_text("tenant: named")
    assert load_settings(file="mine.yaml", environment={}).tenant == "named"
    assert loaded(REMANENCE_CONFIG="mine.yaml").tenant == "named"


def test_the_file_of_another_system_is_understood(tmp_path: Path) -> None:
    (tmp_path / "agent_config.yaml").write_text(SEED_FILE)
    settings = loaded()
    assert settings.database == "storage/memory.db"
    assert settings.embedder == "all-MiniLM-L6-v2"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("missing.toml", None),
        ("broken.toml", "tenant = "),
        ("broken.yaml", "a: [1"),
        ("list.yaml", "- a\n- b"),
        ("text.yaml", "just words"),
        ("tags.yaml", "!!python/object/apply:os.system ['true']"),
        ("latin.toml", b'tenant = "\xff"'),
        ("unknown.toml", "colour = 1"),
        ("nested.toml", "[tenant]\nname = 1"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, name: str, text: str | bytes | None) -> None:
    if text is not None:
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError):
        load_settings(file=name, environment={})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("colour", "red"),
        ("device", "tpu"),
        ("durability", "none"),
        ("threads", "many"),
        ("threads", -1),
        ("threads", float("inf")),
        ("max_memory_mb", "nan"),
        ("max_memory_mb", 1),
        ("max_text", 0),
        ("max_text", "1e3"),
        ("decay", 1.5),
        ("decay", "fast"),
        ("busy_timeout_s", -1),
        ("time_weight", -1),
        ("recency_weight", 1000),
        ("tenant", ["a"]),
        ("tenant", {"a": 1}),
        ("tenant", True),
        ("threads", True),
        ("threads", 1.5),
        ("core_blocks", "persona"),
        ("core_blocks", "persona=many"),
        ("core_blocks", "=5"),
        ("core_blocks", "core_memory=5"),
        ("core_blocks", "a/b=5"),
        ("core_blocks", "persona=0"),
        ("window_messages", 1),
        ("session_ttl_s", 0),
    ],
)
def test_values_that_cannot_be_used(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=name):
        loaded({name: value})


def test_a_setting_without_a_value_counts_as_not_given(tmp_path: Path) -> None:
    (tmp_path / "remanence.yaml").write_text("tenant:\ndatabase: null\nthreads: 2.0\n")
    assert loaded() == Settings(threads=2)


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("UPSTREAM", "UPSTREAM_URL"),
        ("DATABASE_URL", "DATABASE"),
        ("MAX_MEMORY", "MAX_MEMORY_MB"),
        ("TENENT", "TENANT"),
    ],
)
def test_a_variable_that_is_a_slip_is_refused(slip: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"did you mean `REMANENCE_{meant}`"):
        loaded(**{PREFIX + slip: "x"})


def test_a_variable_like_none_of_ours_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        assert loaded(REMANENCE_COLOUR_OF_THE_SKY="blue") == Settings()
    [told] = [one for one in caplog.records if "COLOUR_OF_THE_SKY" in one.getMessage()]
    assert (told.name, told.levelname) == ("remanence", "WARNING")
    assert "blue" not in told.getMessage()


def test_other_names_of_ours_are_no_settings(caplog: pytest.LogCaptureFixture) -> None:
    others = ("KEY", "PASSWORD", "SEED", "URL", "TEST_POSTGRES")
    assert loaded(**{PREFIX + name: "x" for name in others}) == Settings()
    assert loaded(REMANENCE_TENENT="") == Settings()
    assert not caplog.records


@pytest.mark.parametrize(
    ("name", "advice"), [("upstream", "did you mean `upstream_url`?"), ("colour", "`rem config`")]
)
def test_an_unknown_argument_comes_with_advice(name: str, advice: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded({name: "x"})
    assert f"Unknown setting {name!r}" in str(caught.value)
    assert advice in str(caught.value)
    assert len(str(caught.value)) < 100


def test_an_unknown_setting_names_its_file(tmp_path: Path) -> None:
    (tmp_path / "remanence.yaml").write_text("colour: red")
    with pytest.raises(ConfigError, match=r"'colour' in remanence\.yaml"):
        loaded()


def test_what_else_another_system_sets_is_none_of_our_business(tmp_path: Path) -> None:
    (tmp_path / "agent_config.yaml").write_text(SEED_FILE + "llm: {model: x}\ncolour: red\n")
    assert loaded() == Settings(
        database="storage/memory.db",
        cache_url="redis://localhost:6379/0",
        session_ttl_s=86_400,
        embedder="all-MiniLM-L6-v2",
    )


def test_our_own_cache_wins_over_another_systems_redis(tmp_path: Path) -> None:
    (tmp_path / "remanence.yaml").write_text("cache_url: local\nmemory: {redis: {host: far}}\n")
    assert loaded() == Settings(cache_url="local")


def test_core_blocks_are_labels_with_limits() -> None:
    assert Settings().block_limits == {"persona": 2048, "human": 2048, "system": 1024}
    assert Settings(core_blocks="mood=10,goal=20").block_limits == {"mood": 10, "goal": 20}
    assert Settings(core_blocks="").block_limits == {}


@pytest.mark.parametrize(
    "name", [each.name for each in fields(Settings) if each.name.endswith(("_key", "_url"))]
)
def test_no_secret_is_shown(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PREFIX + name.upper(), "https://user:s3cret@host/v1")
    assert "s3cret" not in repr(load_settings())
    assert "s3cret" not in repr(in_force(Opening()))


def test_the_cache_may_lie_at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Settings(cache="~/models").cache_folder == tmp_path / "models"


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgresql://ana:s3cret@db/mem", "postgresql://ana:…@db/mem"),
        ("postgresql://ana:s3@cr:et@db:5432/mem", "postgresql://ana:…@db:5432/mem"),
        (
            "postgresql://db/mem?user=ana&password=s3cret&x=1",
            "postgresql://db/mem?user=ana&password=…&x=1",
        ),
        ("rediss://:s3cret@cache:6379/0", "rediss://:…@cache:6379/0"),
        ("https://h/v1?api-key=s3cret&v=2", "https://h/v1?api-key=…&v=2"),
        ("postgresql://ana@db/mem", "postgresql://ana@db/mem"),
        ("agent.db", "agent.db"),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, told: str) -> None:
    assert shown(url) == told


def test_settings_do_not_tell_their_secrets() -> None:
    secrets = ("database", "cache_url", "embedder_key", "index_key", "encryption_key")
    told = repr(Settings(**dict.fromkeys(secrets, "s3cret of 16 letters")))
    assert "s3cret" not in told


def test_the_settings_of_sleep_make_its_policy() -> None:
    given = {
        "sleep_cap": 0.5,
        "merge_days": 3,
        "decay": 0.9,
        "forget_uses": 7,
        "cold_after_days": 9,
    }
    policy = loaded(given).sleep_policy
    assert (policy.cap, policy.days_apart, policy.cold_after_days) == (0.5, 3, 9)
    assert (policy.forget.daily, policy.forget.uses_below) == (0.9, 7)
    assert policy.forget.erase_after_days is None
    assert loaded({"erase_after_days": 365}).sleep_policy.forget.erase_after_days == 365
