"""What is asked of a fixture: every reading verb, and searches with one right answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from remanence.api.memory import Memory
from support.upgrade.calls import Call
from support.upgrade.contents import ACME, GLOBEX, ONLY_WORDS, TENANTS, USERS

# Of a fact everything but how sure it is, which is computed anew.
FACT = (
    *("id", "subject", "predicate", "object", "text", "kind", "standing", "recorded_at"),
    *("valid_from", "valid_to", "retired_at", "sources", "claims", "user_id"),
)
NODE = ("id", "name", "type", "created_at", "aliases", "mentions", "given", "user_id")
SCHEDULE = ("schedule", "served", "ended_at", "error")  # when it is due differs by the store
# Reading working memory prolongs its life.
ITEM = ("key", "value", "importance", "updated_at", "trust")
RUN = ("id", "step", "status", "started_at", "ended_at", "by", "user_id", "counts", "batches")
STATS = ("memories", "by_kind", "by_state", "by_day", "associations", "documents", "pending")

CLEAR = 1.5  # whoever is so far ahead of all others stays first, however it is ranked

# question, tenant, user, how the text begins that answers it
SEARCHES: tuple[tuple[str, str, str | None, str], ...] = (
    ("where is the flat near the river?", ACME, "ana", "Ana moved to Lisbon"),
    ("what is Ana allergic to?", ACME, "ana", "Ana is allergic to peanuts"),
    ("how do I reset the espresso machine?", ACME, "ana", "To reset the espresso machine"),
    ("when does Ana plan her week?", ACME, "ana", "Ana plans her week"),
    ("東京 café чай", ACME, "ana", "Café « Ação »"),
    ("when is the quarterly review?", ACME, "ana", "The quarterly review"),
    ("where is the wifi password?", ACME, "ana", "The wifi password is behind the mirror"),
    ("when is the crane inspection?", ACME, "ana", "The crane inspection"),
    ("which ferry did Ana take?", ACME, "ana", "Ana took the ferry"),
    ("secateurs in the greenhouse", ACME, "ana", ONLY_WORDS),
    ("where does the key of the safe hang?", ACME, "bruno", "In the "),
    ("which order was paid twice?", ACME, "bruno", "Order 1187"),
    ("when does the office close on Fridays?", ACME, None, "The office closes"),
    ("what is the budget of Orchard Health?", ACME, "carol", "The budget of Orchard Health"),
    ("when does Dora feed the cat?", ACME, "dora", "Dora feeds the cat"),
    ("who keeps bees on the roof?", GLOBEX, "ana", "Ana of Globex keeps bees"),
    ("shipment 17", "globex", "bruno", "Shipment 17"),
    ("shipment 3", "initech", "bruno", "Shipment 3:"),
    ("shipment 11", "hooli", "bruno", "Shipment 11"),
)


def searches(memory: Memory) -> list[dict[str, Any]]:
    """Each search with the id that must come first, or among three; `ValueError` if not here."""
    return [_search(memory, *one) for one in SEARCHES]


def _search(memory: Memory, query: str, tenant: str, user: str | None, text: str) -> dict[str, Any]:
    first, *others = memory.for_tenant(tenant).search(query, user_id=user, limit=3)
    if not first.memory.text.startswith(text):
        raise ValueError(f"{query!r} finds {first.memory.text!r}")
    ahead = first.score - max((one.score for one in others), default=-CLEAR)
    within = 1 if ahead >= CLEAR else 3
    arguments = {"query": query, "user_id": user}
    return {"tenant": tenant, "arguments": arguments, "id": first.memory.id, "within": within}


def calls(memory: Memory) -> list[Call]:
    """Every call whose answer is recorded."""
    found = [call for tenant in TENANTS for call in _of_tenant(memory.for_tenant(tenant))]
    return [*found, *_of_ana(memory.for_tenant(ACME))]


def _of_tenant(memory: Memory) -> Iterator[Call]:
    tenant = memory.tenant
    every: dict[str, Any] = {"all_users": True, "states": "any", "limit": 1_000}
    yield Call(tenant=tenant, verb="find", arguments=every, exported=True)
    yield Call(tenant=tenant, verb="stats", keep=STATS)
    yield Call(tenant=tenant, verb="sleep.log", keep=RUN)
    yield Call(tenant=tenant, verb="schedules.list", keep=SCHEDULE)
    yield Call(tenant=tenant, verb="erasures.list")
    yield Call(tenant=tenant, verb="snapshots.list", arguments={"all_users": True}, exported=True)
    yield Call(
        tenant=tenant, verb="conversations.list", arguments={"all_users": True}, exported=True
    )
    yield Call(tenant=tenant, verb="sessions.active", arguments={"all_users": True}, exported=True)
    for record in memory.find(**every):
        of = {"id": record.id}
        if record.version > 1:
            yield Call(tenant=tenant, verb="history", arguments=of, exported=True)
        if memory.related(record.id):
            yield Call(tenant=tenant, verb="related", arguments=of)
        if memory.sources(record.id):
            yield Call(tenant=tenant, verb="sources", arguments=of, exported=True)
    for run in memory.sleep.log():
        yield Call(tenant=tenant, verb="sleep.show", arguments={"id": run.id}, keep=("changes",))
    for user in USERS:
        yield from _of_user(tenant, user)


def _of_user(tenant: str, user: str | None) -> Iterator[Call]:
    of = {"user_id": user}
    yield Call(tenant=tenant, verb="count", arguments=of, exported=True)
    yield Call(tenant=tenant, verb="blocks.list", arguments=of, exported=True)
    yield Call(tenant=tenant, verb="facts.find", arguments=of, keep=FACT, exported=True)
    yield Call(tenant=tenant, verb="graph.entities", arguments=of, keep=NODE, exported=True)
    yield Call(tenant=tenant, verb="learn.versions", arguments=of)
    yield Call(
        tenant=tenant, verb="learn.status", arguments=of, keep=("experiences", "fresh", "versions")
    )


def _of_ana(memory: Memory) -> Iterator[Call]:
    ana: dict[str, Any] = {"user_id": "ana"}
    monday = ana | {"session_id": "monday"}
    told: tuple[tuple[str, dict[str, Any], tuple[str, ...]], ...] = (
        ("find", ana | {"filters": {"team": "sales"}}, ()),
        ("find", ana | {"filters": {"size": {"gte": 3}}}, ()),
        ("find", ana | {"filters": {"tags": "red"}}, ()),
        ("blocks.history", ana | {"label": "human"}, ()),
        ("blocks.history", {"label": "persona"}, ()),
        ("blocks.list", {"agent_id": "planner"}, ()),
        ("conversations.get", monday, ()),
        ("conversations.messages", monday, ()),
        ("conversations.summary", monday, ()),
        ("working.items", monday, ITEM),
        ("facts.about", ana | {"entity": "Ana"}, FACT),
        ("facts.about", ana | {"entity": "Ana", "history": True}, FACT),
        ("facts.timeline", ana | {"entity": "Marco", "predicate": "lives in"}, FACT),
        ("graph.get", ana | {"name": "Blue Heron"}, (*NODE, "observations")),
        ("graph.get", ana | {"name": "Marco"}, NODE),
        ("graph.mentions", ana | {"name": "Marco"}, ()),
    )
    for verb, arguments, keep in told:
        yield Call(tenant=ACME, verb=verb, arguments=arguments, keep=keep, exported=True)
    yield Call(tenant=ACME, verb="snapshots.diff", arguments=ana | {"name": "before the trip"})
    yield Call(tenant=ACME, verb="facts.conflicts", arguments=ana, keep=FACT)
