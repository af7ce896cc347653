"""Every error as an answer: one table of statuses, in the form of RFC 9457."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.responses import Response

from remanence import errors
from remanence.api.values import Misfit

MEDIA_TYPE = "application/problem+json"
RETRY_S = 1
UNAUTHENTICATED = "unauthenticated"
# OpenAI's clients show the message of an `error` beside the problem.
OPENAI_PATHS = frozenset({"/v1/chat/completions", "/v1/models"})


class Refusal(Exception):
    """What a request is refused for, where no error of ours says it; `reason` is for figures."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = kind.removeprefix("wrong-")
        status, title = REFUSALS[kind]
        self.problem = Problem(type=kind, title=title, status=status, detail=detail)


class TooLarge(errors.RemanenceError):
    """The body is larger than the server takes."""


class Overloaded(errors.RemanenceError):
    """Too many calls wait already; try again in a moment."""


class VersionPassed(errors.Conflict):
    """What `If-Match` names is no longer the version that is there."""


# The first that fits counts, so a kind of error stands before the kind it belongs to.
_TABLE: tuple[tuple[type[Exception], int, str, str], ...] = (
    (Misfit, 400, "malformed", "The request is not of the shape the API takes"),
    (TooLarge, 413, "too-large", "The body is too large"),
    (Overloaded, 503, "overloaded", "The server has too much to do"),
    (VersionPassed, 412, "version-passed", "Somebody changed it meanwhile"),
    (errors.InvalidInput, 422, "invalid-input", "A value cannot be accepted"),
    (errors.NotFound, 404, "not-found", "There is no such thing here"),
    (errors.Conflict, 409, "conflict", "It conflicts with what is there"),
    (errors.Unauthenticated, 401, UNAUTHENTICATED, "A key is needed"),
    (errors.Forbidden, 403, "forbidden", "The key does not allow this"),
    (errors.RateLimited, 429, "rate-limited", "Too many calls"),
    (errors.DeadlineExceeded, 503, "deadline", "It took longer than a call may take"),
    (errors.Cancelled, 409, "cancelled", "It was cancelled"),
    (errors.StoreBusy, 503, "store-busy", "The store is busy"),
    (errors.QuotaExceeded, 507, "quota", "The tenant has as much as it may have"),
    (errors.StoreFull, 507, "store-full", "There is no space left"),
    (errors.StoreUnavailable, 503, "store-unavailable", "The database does not answer"),
    (errors.IndexUnavailable, 503, "index-unavailable", "The vector index does not answer"),
    (errors.EmbedderError, 503, "embedder-unavailable", "Text cannot be embedded now"),
    (errors.LanguageModelError, 502, "language-model", "The language model does not answer"),
    (errors.Closed, 503, "shutting-down", "The server is shutting down"),
    (errors.ConfigError, 422, "not-configured", "That is not set up here"),
    (errors.RemanenceError, 500, "failed", "It could not be done"),
)
STATUSES: Mapping[type[Exception], tuple[int, str]] = {
    error: (status, kind) for error, status, kind, _ in _TABLE
}
TITLES: Mapping[str, str] = {kind: title for _, _, kind, title in _TABLE} | {
    "unexpected": "Something unexpected happened"
}
REFUSALS: Mapping[str, tuple[int, str]] = {
    "wrong-host": (421, "Wrong host"),
    "wrong-origin": (403, "Pages of another origin may not call this server"),
    "not-configured": (422, TITLES["not-configured"]),
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
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        """As JSON data."""
        told = {"type": f"urn:remanence:{self.type}", "title": self.title, "status": self.status}
        return told | {"detail": self.detail, "request_id": self.request_id}


def problem_of(error: BaseException, request_id: str = "") -> Problem:
    """How an error is told to whoever called."""
    if isinstance(error, Refusal):
        return replace(error.problem, request_id=request_id)
    if isinstance(error, HTTPException):
        return Problem(
            type="no-such-route" if error.status_code == 404 else "http",
            title=error.detail,
            status=error.status_code,
            detail=f"{error.detail}; /openapi.json lists what there is.",
            request_id=request_id,
            headers=error.headers or {},
        )
    status, kind = _status(error)
    return Problem(
        type=kind,
        title=TITLES[kind],
        status=status,
        detail=_detail(error, kind),
        request_id=request_id,
        retry_s=getattr(error, "retry_s", RETRY_S if status == 503 else None),
    )


def answer(problem: Problem, path: str = "") -> Response:
    """A problem as the answer to a request for this path; nobody waits for the rest of it."""
    told, headers = problem.body(), dict(problem.headers)
    if path in OPENAI_PATHS:
        told["error"] = {"message": problem.detail, "type": problem.type, "code": problem.type}
    if problem.status == 401:
        headers["www-authenticate"] = 'Bearer realm="remanence"'
    if problem.retry_s is not None:
        headers["retry-after"] = str(math.ceil(problem.retry_s))
    if problem.status == 413:
        headers["connection"] = "close"
    return Response(orjson.dumps(told), problem.status, headers, MEDIA_TYPE)


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
