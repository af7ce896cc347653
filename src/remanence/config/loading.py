"""Where settings come from: arguments, the environment, a YAML or TOML file, defaults."""

from __future__ import annotations

import logging
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import platformdirs

from remanence.config.settings import Settings
from remanence.errors import ConfigError

PREFIX = "REMANENCE_"
# What else goes by our prefix: here, in deploy/, examples/ and tests/.
NO_SETTINGS = frozenset({"CONFIG", "KEY", "PASSWORD", "SEED", "URL"})
LIKENESS = 0.8  # `database_url` is still taken for `database`, `log_level` not for `log_format`
FOREIGN_FILE = "agent_config.yaml"  # another system's, so most of it is none of our business
CONFIG_FILES = ("remanence.toml", "remanence.yaml", "remanence.yml", FOREIGN_FILE)

# Names of other systems that mean the same here; our own name wins when both are set.
ENVIRONMENT_ALIASES = {
    "MEMORY_DB_URL": "database",
    "LT_MEMORY_DATABASE_URL": "database",
    "FAISS_INDEX_PATH": "index_path",
    "EMBEDDING_MODEL": "embedder",
    "USE_GPU": "device",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "otel_endpoint",
}
FILE_ALIASES = {
    "memory.sqlite.database": "database",
    "memory.chroma.embedding_model": "embedder",
    "memory.redis.ttl": "session_ttl_s",
}
# Keys of other systems' files that are understood and have no effect here.
FILE_IGNORED = ("memory.sqlite.pragmas", "memory.chroma", "memory.redis")
_YES = ("1", "true", "yes", "on")
_log = logging.getLogger("remanence")
_SECRET_PART = re.compile(r"([?&][^=&]*(?:pass|key|token|secret|auth)[^=&]*=)[^&]*", re.IGNORECASE)


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


def as_environment(settings: Settings) -> dict[str, str]:
    """Environment variables under which another process has these settings."""
    told = {name: str(getattr(settings, name)) for name in _names()}
    return {f"{PREFIX}{name.upper()}": value for name, value in told.items() if value}


def hand_over(settings: Settings) -> None:
    """Let processes that this one starts have the same settings, whatever was set before."""
    for name in _names():
        os.environ.pop(f"{PREFIX}{name.upper()}", None)
    os.environ.update(as_environment(settings))


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
    for name in sorted(env):
        if name.startswith(PREFIX) and env[name]:
            _check_variable(name)
    found = {name: env[alias] for alias, name in ENVIRONMENT_ALIASES.items() if env.get(alias)}
    if "USE_GPU" in env and "device" in found:
        found["device"] = "auto" if env["USE_GPU"].strip().lower() in _YES else "cpu"
    return found | {n: env[PREFIX + n.upper()] for n in _names() if env.get(PREFIX + n.upper())}


@cache
def _check_variable(variable: str) -> None:
    """Refuse a slip of the pen; a name that is like none of ours may be another program's."""
    name = variable.removeprefix(PREFIX)
    if name in NO_SETTINGS or name.startswith("TEST_") or name.lower() in _names():
        return
    if meant := _meant(name.lower()):
        raise ConfigError(f"Unknown setting {variable}; did you mean `{PREFIX}{meant.upper()}`?")
    _log.warning("%s is no setting and has no effect; `rem config` lists them.", variable)


def _meant(name: str) -> str:
    return next(iter(get_close_matches(name, _names(), 1, LIKENESS)), "")


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
    if unknown := sorted(set(given) - set(_names())):
        meant = _meant(unknown[0])
        advice = f"did you mean `{meant}`?" if meant else "`rem config` lists them."
        raise ConfigError(f"Unknown setting {unknown[0]!r}{where}; {advice}")
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


@cache
def _types() -> dict[str, Any]:
    return get_type_hints(Settings)


def _typed(name: str, value: Any) -> Any:
    wanted = _types()[name]
    try:
        if _lossy(wanted, value):
            raise TypeError
        return _switch(value) if wanted is bool else wanted(value)
    except (TypeError, ValueError, OverflowError):
        what = "on or off" if wanted is bool else f"a {wanted.__name__}"
        got = "a value of another kind" if name.endswith("_key") else repr(value)
        raise ConfigError(f"{name} must be {what}; got {got}.") from None


def _switch(value: object) -> bool:
    said = str(value).strip().lower()
    if said not in (*_YES, "0", "false", "no", "off"):
        raise ValueError
    return said in _YES


def _lossy(wanted: type, value: Any) -> bool:
    """Whether the type would take the value, and make something else of it."""
    if isinstance(value, list | tuple | set | Mapping | bytes):
        return True
    if isinstance(value, bool):
        return wanted is not bool
    return wanted is int and isinstance(value, float) and not value.is_integer()
