"""Who calls: the tenant behind whose wall, what they may do, and how far they are trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from remanence.errors import Forbidden
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
    the whole store, which no tenant's key may.
    """

    tenant: str
    name: str
    grants: frozenset[Grant]
    trust: float = 1.0
    quarantine: bool = False
    operator: bool = False
    rate_limit: int | None = None

    def may(self, grant: Grant) -> bool:
        """Whether this is allowed; `admin` includes the others."""
        return grant in self.grants or Grant.ADMIN in self.grants


def authorise(caller: Caller, operation: Operation) -> None:
    """Refuse what the caller may not do. REST, MCP and all else ask this, and nothing but this."""
    wanted = needs(operation)
    if not caller.may(wanted):
        raise Forbidden(
            f"{operation.name} needs a key with the scope `{wanted}`; this one has "
            f"{', '.join(sorted(caller.grants)) or 'none'}."
        )
    if operation.scope is Scoping.STORE and not caller.operator:
        raise Forbidden(
            f"{operation.name} concerns the whole store; it needs a key made with "
            "`rem keys create --operator`."
        )
    if operation.writes and caller.quarantine and operation.name not in WAITING:
        raise Forbidden(f"{operation.name} cannot wait, and what this key writes has to.")
    if operation.writes and caller.trust < 1 and operation.name not in HUMBLE:
        raise Forbidden(f"{operation.name} needs a key of full trust; this one is limited.")


def check_dry_run(caller: Caller, operation: Operation, request: Any) -> None:
    """Refuse to show what would be done to whoever may not read: that tells whole memories."""
    if getattr(request, "dry_run", False) and not caller.may(Grant.READ):
        raise Forbidden(
            f"A dry run of {operation.name} shows memories; it needs a key with the scope "
            f"`{Grant.READ}` too."
        )
