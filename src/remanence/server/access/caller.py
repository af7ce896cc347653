"""Who calls: the tenant behind whose wall, what they may do, and how far they are trusted."""

from __future__ import annotations

from collections.abc import Collection
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from remanence.api.memory import Memory
from remanence.api.parameters import MOST_ITEMS
from remanence.api.verb import AnyVerb, Grant, Scoping, briefly
from remanence.errors import Forbidden, InvalidInput
from remanence.model.query import MAX_LIMIT
from remanence.model.scope import RESERVED

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

_PLAIN = (str, int, float, datetime, NoneType)
_WRITTEN = frozenset({"memories", "messages"})  # each is embedded and read for facts


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


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRule:
    """What a verb asks of callers and says of its requests, worked out once."""

    name: str
    needs: frozenset[Grant]
    operators: bool  # it concerns the whole store
    humble: bool
    waits: bool
    writes: bool
    grave: bool  # it cannot be undone, or concerns everybody
    lasts: bool  # some of its requests take long
    erases: bool  # some of its requests do, for good
    inspects: bool  # what a request needs depends on the request
    lists: tuple[tuple[str, int], ...]  # what may be a list, and how long one may be in one call
    trusts: bool  # it has a least trust


@cache
def rule_of(verb: AnyVerb) -> AccessRule:
    """The rule of a verb."""
    hints, store = get_type_hints(verb.request), verb.scope is Scoping.STORE
    lists = [name for name, hint in hints.items() if not _is_plain(hint)]
    return AccessRule(
        name=verb.name,
        needs=verb.needs,
        operators=store,
        humble=not verb.writes or verb.name in HUMBLE,
        waits=not verb.writes or verb.name in WAITING,
        writes=verb.writes,
        grave=verb.writes and (verb.destructive or store or verb.governs),
        lasts=verb.reports or verb.lasts is not briefly,
        erases=verb.may_erase or "erase" in hints,
        inspects=verb.may_erase or "dry_run" in hints,
        lists=tuple((name, MOST_ITEMS if name in _WRITTEN else MAX_LIMIT) for name in lists),
        trusts="min_trust" in hints,
    )


def _is_plain(hint: Any) -> bool:
    """Whether what is of this type is no list for sure."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return all(isinstance(one, type) and issubclass(one, _PLAIN) for one in kinds)


def authorise(caller: Caller, operation: AnyVerb) -> None:
    """Refuse what the caller may not do. REST, MCP and all else ask this, and nothing but this."""
    rule = rule_of(operation)
    if not rule.needs <= caller.grants and Grant.ADMIN not in caller.grants:
        raise _lacking(caller, rule.needs, rule.name)
    if rule.operators and not caller.operator:
        raise Forbidden(
            f"{rule.name} concerns the whole store; it needs a key made with "
            "`rem keys create --operator`."
        )
    if caller.quarantine and not rule.waits:
        raise Forbidden(f"{rule.name} cannot wait, and what this key writes has to.")
    if caller.trust < 1 and not rule.humble:
        raise Forbidden(f"{rule.name} needs a key of full trust; this one is limited.")


def check_request(operation: AnyVerb, request: Any) -> None:
    """Refuse what nobody outside may give, and a list that is too long for one call."""
    for name in operation.withheld:
        if getattr(request, name) is not None:
            raise Forbidden(f"{name} cannot be given from outside.")
    for name, most in rule_of(operation).lists:
        value = getattr(request, name)
        if isinstance(value, tuple | list) and len(value) > most:
            raise InvalidInput(
                f"{name} has {len(value):,} items and a call takes {most:,} at most; send them in "
                "several calls, or all at once to /v1/import."
            )


def check_extent(caller: Caller, operation: AnyVerb, request: Any, memory: Memory) -> None:
    """Refuse what this very request needs beyond its operation: to erase, or to show memories."""
    if operation.erases(memory, request) and not caller.may(Grant.ERASE):
        what = f"{operation.name}, where it erases more than one memory,"
        raise _lacking(caller, {Grant.ERASE}, what)
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


def told_to(caller: Caller, operation: AnyVerb, answer: Any) -> Any:
    """An answer as the caller may have it: whoever may not read gets nothing stored before, and
    only an admin hears where on the machine something is missing."""
    if operation.bare is not None and not caller.may(Grant.READ):
        answer = operation.bare(answer)
    degraded = getattr(answer, "degraded", ())
    if not degraded or caller.may(Grant.ADMIN):
        return answer
    return replace(answer, degraded=tuple(dict.fromkeys(map(_unplaced, degraded))))


def _unplaced(trouble: str) -> str:
    """What is missing without why: that may name files, hosts and models of the server."""
    return f"{trouble.partition(':')[0]}: not there now; whoever runs the server can see why"


def _lacking(caller: Caller, wanted: Collection[Grant], what: str) -> Forbidden:
    missing = [grant for grant in Grant if grant in wanted and not caller.may(grant)]
    scopes = " and ".join(f"the scope `{one}`" for one in missing)
    has = ", ".join(grant for grant in Grant if grant in caller.grants) or "none"
    wider = caller.grants | set(missing)
    flags = " ".join(f"--scope {grant}" for grant in Grant if grant in wider)
    return Forbidden(
        f"{what} needs a key with {scopes}; this one has {has}. Scopes are given when a key is "
        f"made: `rem keys create NAME {flags}`."
    )


KEYS = f"{RESERVED}keys"


def is_reserved(tenant: str) -> bool:
    """Whether no key may open this tenant."""
    return tenant.startswith(RESERVED)


request_id: ContextVar[str] = ContextVar("request_id", default="")
