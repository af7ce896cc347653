"""The caches of the settings: none, in this process, or a Redis or Valkey server."""

from __future__ import annotations

from remanence.config import Settings
from remanence.ports.cache import Cache
from remanence.ports.session_cache import SessionCache
from remanence.wiring.stores import missing_extra

LOCAL = "local"


def make_cache(settings: Settings, local_bytes: int) -> Cache | None:
    """The cache that `cache_url` names."""
    if not settings.cache_url:
        return None
    if settings.cache_url == LOCAL:
        from remanence.cache.local import LocalCache

        return LocalCache(local_bytes)
    try:
        from remanence.cache.redis import RedisCache
    except ImportError as error:
        raise missing_extra("Redis", "redis", error) from error
    return RedisCache(settings.cache_url)


def make_session_cache(settings: Settings) -> SessionCache | None:
    """Copies of sessions in the server that `cache_url` names; None where none is named."""
    if settings.cache_url in ("", LOCAL):
        return None
    try:
        from remanence.cache.redis_sessions import RedisSessionCache
    except ImportError as error:
        raise missing_extra("Redis", "redis", error) from error
    return RedisSessionCache(settings.cache_url)
