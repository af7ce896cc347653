"""The store of the settings, a file or a PostgreSQL server, and the caches in front of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from remanence.config import Settings
from remanence.errors import ConfigError, InvalidInput, NotFound
from remanence.model.ports.cache import Cache
from remanence.model.ports.session_cache import SessionCache
from remanence.model.ports.store import Inherit, Store
from remanence.store.quotas import Quotas
from remanence.store.words import Words

if TYPE_CHECKING:
    from remanence.store.postgres import PostgresStore


MEMORY = ":memory:"
SERVERS = ("postgresql://", "postgres://")

PAGES_SHARE = 0.05  # of the memory budget, for the page caches of the file's connections
CONNECTIONS = 4  # each has a page cache of its own

LOCAL = "local"


def open_store(settings: Settings, *, migrate: bool = False) -> Store:
    """The store of these settings, without an embedder: enough for export, doctor and backup.

    `migrate` brings its schema up to date whatever the settings say.
    """
    key = key_of(settings)
    if is_server(settings.database_url):
        return open_postgres(settings, migrate=migrate or settings.migrate == "auto")
    from remanence.store.sqlite import SqliteStore
    from remanence.store.sqlite.encrypting import sweep

    path = database_path(settings.database_url)
    store = SqliteStore(
        path,
        durability=settings.durability,
        busy_timeout_s=settings.busy_timeout_s,
        cache_mb=max(1, round(settings.max_memory_mb * PAGES_SHARE / CONNECTIONS)),
        quotas=quotas_of(settings),
        key=key,
        words=Words(zone=settings.zone),
    )
    if path != MEMORY:
        sweep(Path(path))
    return store


def open_postgres(settings: Settings, *, migrate: bool) -> PostgresStore:
    """The PostgreSQL store of these settings."""
    try:
        from remanence.store.postgres import PostgresStore
    except ImportError as error:
        raise missing_extra("PostgreSQL", "postgres", error) from error
    return PostgresStore(
        settings.database_url,
        pool_size=settings.pool_size,
        overflow=settings.pool_overflow,
        timeout_s=settings.server_timeout_s,
        statement_timeout_s=settings.statement_timeout_s,
        tls=settings.tls,
        migrate=migrate,
        words=Words(zone=settings.zone),
        quotas=quotas_of(settings),
    )


def quotas_of(settings: Settings) -> Quotas:
    """How much each tenant may have."""
    return Quotas(settings.max_memories, settings.max_bytes)


def preparation_of(url: str) -> str:
    """What an administrator runs before a store can be made at that URL."""
    from urllib.parse import urlsplit

    from remanence.store.postgres.schema import preparation

    parts = urlsplit(url)
    return preparation(parts.username or "remanence", parts.path.lstrip("/") or "remanence")


def check_target(path: Path, database: str, overwrite: bool) -> None:
    """Refuse to write a copy over the database itself, or over a file nobody gave up."""
    own = MEMORY if is_server(database) else database_path(database)
    if own != MEMORY and path.exists() and Path(own).exists() and path.samefile(own):
        raise InvalidInput(f"{path} is the database itself; copy it to another file.")
    if path.exists() and not overwrite:
        raise InvalidInput(f"{path} exists already; pass overwrite (--overwrite) to replace it.")


def check_there(url: str) -> None:
    """`NotFound` if the setting names a file that is not there; a server says so itself."""
    path = MEMORY if is_server(url) else database_path(url)
    if path != MEMORY and not Path(path).exists():
        raise NotFound(
            f"There is no database at {path}; `rem add` makes one, `rem config` shows which "
            "is used."
        )


def restore_into(source: Path, settings: Settings, inherit: Inherit) -> None:
    """Put a backup in the place of the database that the settings name."""
    key = key_of(settings)
    if is_server(settings.database_url):
        from remanence.store.postgres import restore as restore_postgres

        return restore_postgres(
            source,
            settings.database_url,
            timeout_s=settings.server_timeout_s,
            statement_timeout_s=settings.statement_timeout_s,
            tls=settings.tls,
            inherit=inherit,
        )
    from remanence.store.sqlite import restore

    path = database_path(settings.database_url)
    if path == MEMORY:
        raise ConfigError("A backup is restored into a file; give --db a path.")
    return restore(source, Path(path), inherit, key=key)


def key_of(settings: Settings) -> str:
    """The key of the database's file, empty if it has none; a server takes none."""
    if is_server(settings.database_url):
        if settings.encrypted:
            raise ConfigError(
                "encryption_key is for a SQLite file; for PostgreSQL, leave it out and encrypt the "
                "disk of the server."
            )
        return ""
    return settings.store_key


def is_server(url: str) -> bool:
    """Whether a database setting names a server rather than a file."""
    return url.startswith(SERVERS)


def database_path(url: str) -> str:
    """The file (or `:memory:`) that a database setting names."""
    if url in (MEMORY, "sqlite://", "sqlite:///:memory:"):
        return MEMORY
    if url.startswith("sqlite:///"):
        return os.path.expanduser(url.removeprefix("sqlite:///"))
    if "://" in url or url.startswith(("postgres:", "postgresql:")):
        scheme = url.partition(":")[0]
        raise ConfigError(
            f"A database of type {scheme!r} is not supported so; give a path, or a URL that begins "
            "with postgresql://."
        )
    return os.path.expanduser(url)


def missing_extra(what: str, extra: str, error: ImportError) -> ConfigError:
    """The error that names the command which installs what is missing."""
    return ConfigError(f"{what} needs an extra: run `pip install 'remanence[{extra}]'` ({error}).")


def make_cache(settings: Settings, local_bytes: int) -> Cache | None:
    """The cache that `cache_url` names."""
    if not settings.cache_url:
        return None
    if settings.cache_url == LOCAL:
        from remanence.backends.cache.local import LocalCache

        return LocalCache(local_bytes)
    try:
        from remanence.backends.cache.redis import RedisCache
    except ImportError as error:
        raise missing_extra("Redis", "redis", error) from error
    return RedisCache(settings.cache_url)


def make_session_cache(settings: Settings) -> SessionCache | None:
    """Copies of sessions in the server that `cache_url` names; None where none is named."""
    if settings.cache_url in ("", LOCAL):
        return None
    try:
        from remanence.backends.cache.redis_sessions import RedisSessionCache
    except ImportError as error:
        raise missing_extra("Redis", "redis", error) from error
    return RedisSessionCache(settings.cache_url)
