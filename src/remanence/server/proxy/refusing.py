"""Errors as OpenAI's clients read them: the problem, with an `error` beside it."""

from __future__ import annotations

import logging
import math
from typing import Any

import orjson
from starlette.responses import Response

from remanence.server.problems import MEDIA_TYPE, Problem, problem_of

PATHS = frozenset({"/v1/chat/completions", "/v1/models"})
_log = logging.getLogger("remanence.server")


def told(problem: Problem) -> dict[str, Any]:
    """A problem as JSON data; the client shows the message of its `error`."""
    error = {"message": problem.detail, "type": problem.type, "code": problem.type}
    return problem.body() | {"error": error}


def refusal(error: Exception, path: str, request_id: str) -> Response:
    """The answer to a request that failed; what is ours or the upstream's to mend is logged."""
    problem = problem_of(error, request_id)
    if problem.status >= 500:
        _log.error("%s failed", path, exc_info=error, extra={"fields": {"id": request_id}})
    return answer(problem)


def answer(problem: Problem) -> Response:
    """A problem as an answer."""
    wait = problem.retry_s
    headers = {} if wait is None else {"retry-after": str(math.ceil(wait))}
    body = orjson.dumps(told(problem))
    return Response(body, problem.status, media_type=MEDIA_TYPE, headers=headers)
