"""What each kind of problem that a server tells of is here: the error a client raises for it."""

from __future__ import annotations

from collections.abc import Mapping

from remanence import errors

PREFIX = "urn:remanence:"
KINDS: Mapping[str, type[errors.RemanenceError]] = {
    "malformed": errors.InvalidInput,
    "too-large": errors.InvalidInput,
    "overloaded": errors.ServerUnavailable,
    "version-passed": errors.Conflict,
    "invalid-input": errors.InvalidInput,
    "not-found": errors.NotFound,
    "conflict": errors.Conflict,
    "unauthenticated": errors.Unauthenticated,
    "forbidden": errors.Forbidden,
    "rate-limited": errors.RateLimited,
    "deadline": errors.DeadlineExceeded,
    "cancelled": errors.Cancelled,
    "store-busy": errors.StoreBusy,
    "quota": errors.QuotaExceeded,
    "store-full": errors.StoreFull,
    "store-unavailable": errors.StoreUnavailable,
    "index-unavailable": errors.IndexUnavailable,
    "embedder-unavailable": errors.EmbedderUnavailable,
    "language-model": errors.LanguageModelError,
    "shutting-down": errors.ServerUnavailable,
    "not-configured": errors.ConfigError,
    "failed": errors.RemanenceError,
    "unexpected": errors.ServerUnavailable,
    "no-such-route": errors.ServerUnavailable,
    "wrong-host": errors.ServerUnavailable,
    "wrong-origin": errors.Forbidden,
    "http": errors.ServerUnavailable,
}


def error_of(type: str, detail: str) -> errors.RemanenceError:
    """The error for a problem of this type, `urn:remanence:KIND`; one unknown here is the root."""
    return KINDS.get(type.removeprefix(PREFIX), errors.RemanenceError)(detail)
