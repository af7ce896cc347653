"""Settings: arguments › environment › YAML or TOML file › defaults. Nothing else reads either.

Plain dataclass on purpose: a settings library cost 0.14 s and 27 MB at start, more than the index.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_type_hints

import platformdirs

from remanence.errors import ConfigError
from remanence.model.block import block_label, block_limit

PREFIX = "REMANENCE_"
FOREIGN_FILE = "agent_config.yaml"  # another system's, so most of it is none of our business
CONFIG_FILES = ("remanence.toml", "remanence.yaml", "remanence.yml", FOREIGN_FILE)

# Names of other systems that mean the same here; our own name wins when both are set.
ENVIRONMENT_ALIASES = {
    "MEMORY_DB_URL": "database",
    "LT_MEMORY_DATABASE_URL": "database",
    "FAISS_INDEX_PATH": "index_path",
    "EMBEDDING_MODEL": "embedder",
    "USE_GPU": "device",
}
FILE_ALIASES = {
    "memory.sqlite.database": "database",
    "memory.chroma.embedding_model": "embedder",
    "memory.redis.ttl": "session_ttl_s",
}
# Keys of other systems' files that are understood and have no effect here.
FILE_IGNORED = ("memory.sqlite.pragmas", "memory.chroma", "memory.redis")
_SECRET_PART = re.compile(r"([?&][^=&]*(?:pass|key|token|secret|auth)[^=&]*=)[^&]*", re.IGNORECASE)
TLS_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting with its default; `docs/settings.md` is made from this table."""

    database: str = field(default="", repr=False)
    tenant: str = "default"
    embedder: str = "all-MiniLM-L6-v2"
    embedder_url: str = field(default="", repr=False)
    embedder_key: str = field(default="", repr=False)
    pool_size: int = 4
    pool_overflow: int = 4
    server_timeout_s: float = 10.0
    statement_timeout_s: float = 30.0
    tls: str = "prefer"
    migrate: str = "auto"
    index: str = "auto"
    index_url: str = field(default="", repr=False)
    index_key: str = field(default="", repr=False)
    index_timeout_s: float = 2.0
    index_replicas: int = 2
    index_shards: int = 0
    cache_url: str = field(default="", repr=False)
    cache_ttl_s: float = 60.0
    session_ttl_s: float = 86_400.0
    window_messages: int = 40
    window_tokens: int = 3_000
    core_blocks: str = "persona=2048 human=2048 system=1024"
    extract_entities: bool = True
    infer_relations: bool = True
    name_finder: str = "rules"
    single_predicates: str = ""
    llm_url: str = field(default="", repr=False)
    llm_model: str = ""
    llm_key: str = field(default="", repr=False)
    llm_timeout_s: float = 120.0
    device: str = "cpu"
    threads: int = 0
    cache: str = ""
    index_path: str = ""
    max_memory_mb: float = 90.0
    durability: str = "full"
    busy_timeout_s: float = 10.0
    max_text: int = 1_000_000
    importance_weight: float = 0.2
    recency_weight: float = 0.3
    decay: float = 0.95
    time_weight: float = 0.1
    ranker: str = ""

    def __post_init__(self) -> None:
        _choice("device", self.device, ("cpu", "cuda", "auto"))
        _choice("tls", self.tls, TLS_MODES)
        _choice("migrate", self.migrate, ("auto", "manual"))
        _choice("index", self.index, ("auto", "bits", "pgvector", "qdrant", "chroma"))
        _between("pool_size", self.pool_size, 1, 1000)
        _between("pool_overflow", self.pool_overflow, 0, 1000)
        _between("server_timeout_s", self.server_timeout_s, 0.1, 3600)
        _between("statement_timeout_s", self.statement_timeout_s, 0.1, 86_400)
        _between("index_timeout_s", self.index_timeout_s, 0.05, 600)
        _between("index_replicas", self.index_replicas, 1, 16)
        _between("index_shards", self.index_shards, 0, 1024)
        _between("cache_ttl_s", self.cache_ttl_s, 0.1, 86_400)
        _between("session_ttl_s", self.session_ttl_s, 1, 366 * 86_400)
        _between("window_messages", self.window_messages, 2, 10_000)
        _between("window_tokens", self.window_tokens, 50, 10_000_000)
        _between("llm_timeout_s", self.llm_timeout_s, 0.1, 3600)
        self.block_limits  # noqa: B018 - a setting that cannot be read is refused here
        _choice("name_finder", self.name_finder, ("rules", "spacy"))
        _choice("durability", self.durability, ("full", "normal"))
        _between("max_memory_mb", self.max_memory_mb, 8, 1_000_000)
        _between("busy_timeout_s", self.busy_timeout_s, 0, 3600)
        _between("threads", self.threads, 0, 1024)
        _between("max_text", self.max_text, 1, 10_000_000)
        _between("decay", self.decay, 0, 1)
        for name in ("importance_weight", "recency_weight", "time_weight"):
            _between(name, getattr(self, name), 0, 100)

    @property
    def database_url(self) -> str:
        """Where the memories live: as set, or a file in the user's data directory."""
        return self.database or str(Path(platformdirs.user_data_dir("remanence")) / "memory.db")

    @property
    def block_limits(self) -> dict[str, int]:
        """The core blocks that everybody has, with their limits in characters."""
        entries = self.core_blocks.replace(",", " ").split()
        try:
            pairs = [entry.split("=") for entry in entries]
            return {block_label(label): block_limit(int(limit)) for label, limit in pairs}
        except ValueError as error:
            raise ConfigError(
                "core_blocks must be labels with limits, like `persona=2048 human=2048`; "
                f"got {self.core_blocks!r}."
            ) from error

    @property
    def one_at_a_time(self) -> frozenset[str]:
        """The predicates of its own that this memory holds one object of at a time."""
        named = (" ".join(name.split()).lower() for name in self.single_predicates.split(","))
        return frozenset(name for name in named if name)

    @property
    def cache_folder(self) -> Path:
        """Where models built or fetched on this machine lie."""
        return Path(os.path.expanduser(self.cache) or platformdirs.user_cache_dir("remanence"))


HELP: Mapping[str, str] = {
    "database": "a path, `:memory:`, `sqlite:///path` or `postgresql://…`; empty: a file in the "
    "data directory",
    "tenant": "who is logged in; no verb reads across tenants, except those that care for the "
    "whole store",
    "embedder": "a model's name, a folder, a hub name, or the endpoint's model with embedder_url",
    "embedder_url": "an OpenAI-compatible endpoint, e.g. `http://127.0.0.1:11434/v1`",
    "embedder_key": "the endpoint's API key, if it wants one",
    "pool_size": "connections to PostgreSQL that stay open",
    "pool_overflow": "further connections while there is much to do",
    "server_timeout_s": "how long a call waits for PostgreSQL: for a connection, or to be back",
    "statement_timeout_s": "longest run of one statement on PostgreSQL",
    "tls": f"TLS to PostgreSQL: {', '.join(TLS_MODES)}",
    "migrate": "auto: opening a PostgreSQL store brings its schema up to date; manual: only "
    "`rem migrate` does",
    "index": "the vector index: bits, pgvector, qdrant or chroma; auto: pgvector on PostgreSQL, "
    "else bits",
    "index_url": "where Qdrant is (several nodes with commas), or Chroma: an address or a folder; "
    "empty: this machine, or a folder beside the database",
    "index_key": "Qdrant's API key, if it wants one",
    "index_timeout_s": "how long a search waits for Qdrant or Chroma before it does without",
    "index_replicas": "copies of every vector in a Qdrant cluster",
    "index_shards": "shards of the Qdrant collection; 0 lets Qdrant choose",
    "cache_url": "keep search results, and on a server copies of sessions: `local`, `redis://…`, "
    "`rediss://…` or `redis+cluster://…`; empty: no cache",
    "cache_ttl_s": "how long a search result is kept; any write to what it covers ends it at once",
    "session_ttl_s": "how long a session and its working memory live after their last use",
    "window_messages": "the short-term window: so many of the newest messages at most",
    "window_tokens": "the short-term window: so many tokens at most",
    "core_blocks": "the core blocks that everybody has, with their limits in characters",
    "extract_entities": "find the people, places and things that memories speak of",
    "infer_relations": "find the facts that memories state, and how people and things are related",
    "name_finder": "how names are found: rules, or spacy for its small English model",
    "single_predicates": "predicates of your own that hold one object at a time, with commas; a "
    "new object then ends the old one: `reports to, lead of`",
    "llm_url": "an OpenAI-compatible chat endpoint, e.g. `http://127.0.0.1:11434/v1`; empty: no "
    "language model",
    "llm_model": "the model to ask there",
    "llm_key": "the endpoint's API key, if it wants one",
    "llm_timeout_s": "how long to wait for the language model",
    "device": "cpu, cuda or auto, for embedding; search always runs on the CPU",
    "threads": "threads for embedding; 0 lets the library choose",
    "cache": "folder for models built or fetched here; empty: the user's cache directory",
    "index_path": "file of the vector index; empty: beside the database",
    "max_memory_mb": "index, caches and buffers together; `stats` reports what is used",
    "durability": "full: nothing acknowledged is lost in a power cut; normal: the last may be",
    "busy_timeout_s": "how long a write waits for another process",
    "max_text": "longest text of one memory, in characters",
    "importance_weight": "how much importance adds to a score",
    "recency_weight": "how much recency adds to a score",
    "decay": "what is left of importance after a day",
    "time_weight": "how fast recency fades, per day",
    "ranker": "a JSON file of weights made by `rem bench train`; empty: the built-in ones",
}


def shown(url: str) -> str:
    """An address as it may be shown: without a password, a key or a token."""
    bare = re.sub(r"(://[^/@:?#]*):.*@", r"\1:…@", url)
    return _SECRET_PART.sub(r"\1…", bare)


def load_settings(
    overrides: Mapping[str, Any] | None = None,
    *,
    file: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """The settings in force. `overrides` that are None count as not given."""
    env = os.environ if environment is None else environment
    merged: dict[str, Any] = {}
    merged |= _from_file(file or env.get(f"{PREFIX}CONFIG"))
    merged |= _from_environment(env)
    merged |= _known(
        {name: value for name, value in (overrides or {}).items() if value is not None}
    )
    return Settings(**{name: _typed(name, value) for name, value in merged.items()})


def origins(
    *, file: str | Path | None = None, environment: Mapping[str, str] | None = None
) -> tuple[Path | None, dict[str, str]]:
    """The settings file that is read, and where each setting that is not a default comes from."""
    env = os.environ if environment is None else environment
    named = file or env.get(f"{PREFIX}CONFIG")
    path = Path(named) if named else _usual_file()
    found = dict.fromkeys(_from_file(path), str(path))
    return path, found | dict.fromkeys(_from_environment(env), "environment")


def _from_environment(env: Mapping[str, str]) -> dict[str, Any]:
    found = {name: env[alias] for alias, name in ENVIRONMENT_ALIASES.items() if env.get(alias)}
    if "USE_GPU" in env and "device" in found:
        found["device"] = "auto" if _truth(env["USE_GPU"]) else "cpu"
    return found | {n: env[PREFIX + n.upper()] for n in _names() if env.get(PREFIX + n.upper())}


def _from_file(named: str | Path | None) -> dict[str, Any]:
    path = Path(named) if named else _usual_file()
    if path is None:
        return {}
    flat = dict(_flattened(_parsed(path)))
    flat |= _redis(flat)
    renamed = {FILE_ALIASES.get(n, n): value for n, value in flat.items() if value is not None}
    if path.name == FOREIGN_FILE:
        return {n: v for n, v in renamed.items() if n in _names()}
    ours = {n: v for n, v in renamed.items() if not n.startswith(FILE_IGNORED)}
    return _known(ours, f" in {path}")


def _redis(flat: Mapping[str, Any]) -> dict[str, Any]:
    """The address of a Redis that another system's file names by host and port."""
    host = flat.get("memory.redis.host")
    if not host or "cache_url" in flat:
        return {}
    port, number = flat.get("memory.redis.port", 6379), flat.get("memory.redis.db", 0)
    return {"cache_url": f"redis://{host}:{port}/{number}"}


def _known(given: dict[str, Any], where: str = "") -> dict[str, Any]:
    names = _names()
    if unknown := sorted(set(given) - set(names)):
        known = ", ".join(sorted(names))
        raise ConfigError(f"Unknown setting {unknown[0]!r}{where}; known: {known}.")
    return given


def _names() -> tuple[str, ...]:
    return tuple(field.name for field in fields(Settings))


def _usual_file() -> Path | None:
    here = (Path(name) for name in CONFIG_FILES)
    user = Path(platformdirs.user_config_dir("remanence")) / "remanence.toml"
    return next((path for path in (*here, user) if os.path.isfile(path)), None)


def _parsed(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text) if path.suffix == ".toml" else _yaml(text)
    except (OSError, ValueError) as error:
        raise ConfigError(f"The settings file {path} cannot be read: {error}") from error
    if not isinstance(data, Mapping):
        raise ConfigError(f"The settings file {path} must hold names and values.")
    return data


def _yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _flattened(data: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in data.items():
        path = f"{prefix}{name}"
        found += _flattened(value, f"{path}.") if isinstance(value, Mapping) else [(path, value)]
    return found


def _typed(name: str, value: Any) -> Any:
    wanted = get_type_hints(Settings)[name]
    try:
        if _lossy(wanted, value):
            raise TypeError
        return _switch(value) if wanted is bool else wanted(value)
    except (TypeError, ValueError, OverflowError):
        what = "on or off" if wanted is bool else f"a {wanted.__name__}"
        raise ConfigError(f"{name} must be {what}; got {value!r}.") from None


def _switch(value: object) -> bool:
    known = {"1": True, "true": True, "yes": True, "on": True}
    known |= {"0": False, "false": False, "no": False, "off": False}
    if (said := str(value).strip().lower()) not in known:
        raise ValueError
    return known[said]


def _lossy(wanted: type, value: Any) -> bool:
    """Whether the type would take the value, and make something else of it."""
    if isinstance(value, list | tuple | set | Mapping | bytes):
        return True
    if isinstance(value, bool):
        return wanted is not bool
    return wanted is int and isinstance(value, float) and not value.is_integer()


def _truth(value: str) -> bool:
    return value.strip().lower() in ("1", "true", "yes", "on")


def _choice(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ConfigError(f"{name} must be one of {', '.join(known)}; got {value!r}.")


def _between(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ConfigError(f"{name} must lie between {low} and {high}; got {value!r}.")
