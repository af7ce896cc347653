"""What mem0's platform has and this server has not, refused with a reason."""

from __future__ import annotations

from collections.abc import Mapping

from remanence.errors import RemanenceError

NOT_HERE = 501
# mem0's tools show the reason of a 400; of our finer statuses they know nothing.
STATUSES: Mapping[int, int] = {422: 400}
PATHS: Mapping[str, str] = {
    "/api/v1/{rest:path}": "There are no organisations, projects, webhooks and sign-ups here: "
    "a key belongs to one tenant, and `rem keys create` makes one.",
    "/v1/exports/": "Exports by a schema are not made here; `rem export` gives everything.",
    "/v1/exports/get/": "Exports by a schema are not made here; `rem export` gives everything.",
    "/v1/summary/": "Summaries of an export are not made here; POST /v1/context gives a prompt.",
    "/v2/profiles/{rest:path}": "Profiles are not made here; GET /v1/facts/about knows a user.",
    "/v2/entities/user/{rest:path}/profile/": "Profiles are not made here; GET /v1/facts/about "
    "knows a user.",
    "/v1/agent-rush/{rest:path}": "This server has no public memories.",
    "/configure": "A server is configured where it runs, not by its callers; see the settings.",
}


class NotHere(RemanenceError):
    """A part of mem0's platform that this server does not have."""


def refusal(path: str) -> NotHere:
    """Why there is nothing at this path."""
    for pattern, reason in PATHS.items():
        start, _, end = pattern.partition("{rest:path}")
        if path.startswith(start) and path.endswith(end):
            return NotHere(reason)
    return NotHere("This server does not have that part of mem0's platform.")
