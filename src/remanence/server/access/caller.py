"""Who calls: the tenant behind whose wall, what they may do, and how far they are trusted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from remanence.errors import Forbidden
from remanence.memory import Memory
from remanence.operations.operation import Operation, Scoping
from remanence.operations.routes import Grant, needs

# What callers of less than full trust may do besides reading: bring in what carries its trust
# with it, and take back their own. All else they write would stand in prompts like anybody's.
HUMBLE = frozenset(
    {
        *("add", "add_many", "add_messages", "conversations.append"),
        *("update", "forget", "facts.add", "graph.relate"),
    }
)
# Whose writing waits for an admin's eyes may write only what can wait.
WAITING = frozenset({"add", "add_many", "add_messages", "conversations.append"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Somebody who was let in.

    `name` is what history and audit call them. `trust` is the most that what they write is
    trusted; with `quarantine` it waits for an admin's eyes first. An `operator` may also care for
    the whole store, which no tenant's key may. `expires_at` is when their right to be here ends.
    """

    tenant: str
    name: str
    grants: frozenset[Grant]
    trust: float = 1.0
    quarantine: bool = False
    operator: bool = False
    rate_limit: int | None = None
    expires_at: datetime | None = None

    def may(self, grant: Grant) -> bool:
        """Whether this is allowed; `admin` includes the others."""
        return grant in self.grants or Grant.ADMIN in self.grants


def authorise(caller: Caller, operation: Operation) -> None:
    """Refuse what the caller may not do. REST, MCP and all else ask this, and nothing but this."""
    _check_grants(caller, needs(operation), operation.name)
    if operation.scope is Scoping.STORE and not caller.operator:
        raise Forbidden(
            f"{operation.name} concerns the whole store; it needs a key made with "
            "`rem keys create --operator`."
        )
    if operation.writes and caller.quarantine and operation.name not in WAITING:
        raise Forbidden(f"{operation.name} cannot wait, and what this key writes has to.")
    if operation.writes and caller.trust < 1 and operation.name not in HUMBLE:
        raise Forbidden(f"{operation.name} needs a key of full trust; this one is limited.")


def check_request(caller: Caller, operation: Operation, request: Any, memory: Memory) -> None:
    """Refuse what this very request needs beyond its operation: to erase, or to show memories."""
    if operation.erases(memory, request):
        what = f"{operation.name}, where it erases more than one memory,"
        _check_grants(caller, {Grant.ERASE}, what)
    if getattr(request, "dry_run", False) and not caller.may(Grant.READ):
        raise Forbidden(
            f"A dry run of {operation.name} shows memories; it needs a key with the scope "
            f"`{Grant.READ}` too."
        )


def trusting(caller: Caller, request: Any, least: float) -> Any:
    """The request with no less than the server's `min_trust`, unless a trusted admin asks so."""
    given = getattr(request, "min_trust", None)
    if isinstance(given, bool) or not isinstance(given, int | float) or given >= least:
        return request
    free = caller.may(Grant.ADMIN) and caller.trust >= 1
    return request if free else replace(request, min_trust=least)


def told_to(caller: Caller, operation: Operation, answer: Any) -> Any:
    """An answer as the caller may have it: whoever may not read gets nothing stored before."""
    if operation.bare is None or caller.may(Grant.READ):
        return answer
    return operation.bare(answer)


def _check_grants(caller: Caller, wanted: Collection[Grant], what: str) -> None:
    missing = [grant for grant in Grant if grant in wanted and not caller.may(grant)]
    if missing:
        scopes = " and ".join(f"the scope `{one}`" for one in missing)
        has = ", ".join(grant for grant in Grant if grant in caller.grants) or "none"
        raise Forbidden(
            f"{what} needs a key with {scopes}; this one has {has}. Scopes are given when a key is "
            f"made: `rem keys create NAME {_flags(caller.grants | set(missing))}`."
        )


def _flags(grants: Collection[Grant]) -> str:
    return " ".join(f"--scope {grant}" for grant in Grant if grant in grants)
