"""Every error as an answer: one table of statuses, in the form of RFC 9457."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from remanence import errors
from remanence.operations.reading import Misfit

MEDIA_TYPE = "application/problem+json"
RETRY_S = 1


class TooLarge(errors.RemanenceError):
    """The body is larger than the server takes."""


class Overloaded(errors.RemanenceError):
    """Too many calls wait already; try again in a moment."""


class VersionPassed(errors.Conflict):
    """What `If-Match` names is no longer the version that is there."""


# The first that fits counts, so a kind of error stands before the kind it belongs to.
STATUSES: Mapping[type[Exception], tuple[int, str]] = {
    Misfit: (400, "malformed"),
    TooLarge: (413, "too-large"),
    Overloaded: (503, "overloaded"),
    VersionPassed: (412, "version-passed"),
    errors.InvalidInput: (422, "invalid-input"),
    errors.NotFound: (404, "not-found"),
    errors.Conflict: (409, "conflict"),
    errors.Unauthenticated: (401, "unauthenticated"),
    errors.Forbidden: (403, "forbidden"),
    errors.RateLimited: (429, "rate-limited"),
    errors.DeadlineExceeded: (503, "deadline"),
    errors.Cancelled: (409, "cancelled"),
    errors.StoreBusy: (503, "store-busy"),
    errors.QuotaExceeded: (507, "quota"),
    errors.StoreFull: (507, "store-full"),
    errors.StoreUnavailable: (503, "store-unavailable"),
    errors.IndexUnavailable: (503, "index-unavailable"),
    errors.EmbedderError: (503, "embedder-unavailable"),
    errors.LanguageModelError: (502, "language-model"),
    errors.Closed: (503, "shutting-down"),
    errors.ConfigError: (422, "not-configured"),
    errors.RemanenceError: (500, "failed"),
}
TITLES: Mapping[str, str] = {
    "malformed": "The request is not of the shape the API takes",
    "too-large": "The body is too large",
    "overloaded": "The server has too much to do",
    "version-passed": "Somebody changed it meanwhile",
    "invalid-input": "A value cannot be accepted",
    "not-found": "There is no such thing here",
    "conflict": "It conflicts with what is there",
    "unauthenticated": "A key is needed",
    "forbidden": "The key does not allow this",
    "rate-limited": "Too many calls",
    "deadline": "It took longer than a call may take",
    "cancelled": "It was cancelled",
    "store-busy": "The store is busy",
    "quota": "The tenant has as much as it may have",
    "store-full": "There is no space left",
    "store-unavailable": "The database does not answer",
    "index-unavailable": "The vector index does not answer",
    "embedder-unavailable": "Text cannot be embedded now",
    "language-model": "The language model does not answer",
    "shutting-down": "The server is shutting down",
    "not-configured": "That is not set up here",
    "failed": "It could not be done",
    "unexpected": "Something unexpected happened",
}
# Errors whose words may tell of other tenants, files or machines; the log has them.
SILENT = (errors.StoreError, errors.ConfigError, errors.EmbedderError, errors.IndexUnavailable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What went wrong, for a program (`type`, `status`) and for a person (`title`, `detail`)."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str = ""
    retry_s: float | None = None

    def body(self) -> dict[str, Any]:
        """As JSON data."""
        told = {"type": f"urn:remanence:{self.type}", "title": self.title, "status": self.status}
        return told | {"detail": self.detail, "request_id": self.request_id}


def problem_of(error: BaseException, request_id: str = "") -> Problem:
    """How an error is told to whoever called."""
    status, kind = _status(error)
    return Problem(
        type=kind,
        title=TITLES[kind],
        status=status,
        detail=_detail(error, kind),
        request_id=request_id,
        retry_s=getattr(error, "retry_s", RETRY_S if status == 503 else None),
    )


def _status(error: BaseException) -> tuple[int, str]:
    for kind, told in STATUSES.items():
        if isinstance(error, kind):
            return told
    return 500, "unexpected"


def _detail(error: BaseException, kind: str) -> str:
    silent = isinstance(error, SILENT) and not isinstance(error, errors.QuotaExceeded)
    if kind == "unexpected" or silent:
        return f"{TITLES[kind]}; the server's log has the details under this request's id."
    return str(error)
