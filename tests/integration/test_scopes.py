"""Scopes hold through every door: who may not read reads nothing, who may not erase erases one."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from io import BytesIO
from itertools import repeat
from typing import Any

import httpx
import pytest

from remanence import Memory
from remanence.api.verb import AnyVerb, Grant
from remanence.model.document import PORTABLE, Shelf
from remanence.model.scope import Reach
from remanence.server.access import caller
from remanence.server.mcp.tools import PROFILES
from remanence.testing.chat_server import ChatServer
from remanence.testing.serving import Served, serving
from remanence.tools.transfer import export_memory
from support import http
from support.canary_calls import echo
from support.canary_doors import Door, doors
from support.canary_tenants import CONTENTS, Owners, Tenant, plant, tenants
from support.canary_values import Fill

DOORS = doors()
OWN_KEYS = "/v1/admin/"


@dataclass(frozen=True, slots=True)
class Ruthless(Fill):
    """Asks for the worst of what a request can do, for today."""

    def request(self, operation: str, kind: type, skip: Sequence[str] = ()) -> dict[str, Any]:
        found = Fill.request(self, operation, kind, skip)
        known = {each.name for each in fields(kind)}
        worst = {"erase": True, "now": "2099-01-01T00:00:00Z"}
        found |= {name: worst[name] for name in worst.keys() & known}
        return found | ({"dry_run": False} if "dry_run" in known else {})


@dataclass(frozen=True, slots=True)
class Curious(Fill):
    """Asks for what is there, by the names it has."""

    def name(self, kind: str) -> str:
        return self.victim.words[kind][0]

    def value(self, operation: str, name: str) -> Any:
        if name == "day":
            return f"{datetime.now(UTC):%Y-%m-%d}"
        return Fill.value(self, operation, name)


@dataclass
class House:
    """Servers of one tenant full of words, and somebody else with words of their own."""

    servers: dict[str, Served]
    theirs: Tenant
    own: Tenant
    owners: Owners
    client: httpx.Client

    @property
    def memory(self) -> Memory:
        """The tenant's memory."""
        view: Memory = self.servers["full"].app.state.tenants.of(self.theirs.name)
        return view

    def key(self, *grants: str, **more: Any) -> str:
        """A key of the tenant."""
        return self.servers["full"].key(*grants, tenant=self.theirs.name, **more)

    def call(self, door: Door, fill: Fill, key: str) -> httpx.Response:
        """Go through a door."""
        asked = door.ask(fill)
        self.owners.sent(self.own, asked.raw)
        headers = {**asked.headers, "authorization": f"Bearer {key}"}
        url = self.servers[door.server].url + asked.path
        return self.client.request(asked.method, url, content=asked.body, headers=headers)

    def told(self, answer: httpx.Response) -> set[str]:
        """Kinds of content in an answer that the caller never sent."""
        raw = repr(answer.headers.raw).encode() + answer.content
        return {one.split(" ")[0] for one in self.owners.strangers(self.own, raw)} & {*CONTENTS}

    def there(self) -> set[str]:
        """All that somebody could destroy."""
        store, tenant = self.memory.parts.store, self.memory.tenant
        everybody = Reach(tenant=tenant, all_users=True)
        found = {f"memory {record.id}" for _, record in store.archive.scan(tenant)}
        for shelf in PORTABLE:
            for reach in (everybody, Reach(tenant=tenant)):
                documents = store.documents.shelved(reach, shelf, limit=1_000)
                found |= {f"{shelf} {one.address}" for one in documents}
        claims = store.knowledge.claims(everybody, limit=10_000)
        return found | {f"claim {one.id}" for one in claims if one.memory is None}


@pytest.fixture
def house(tmp_path: Any) -> Iterator[House]:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    theirs, own = tenants(2, 0, random.Random(seed))
    with ExitStack() as stack:
        upstream = stack.enter_context(ChatServer(*repeat(echo, 100_000)))
        common: dict[str, Any] = {"durability": "normal", "upstream_url": upstream.url}
        servers = {}
        for profile in PROFILES:
            memory = Memory(tmp_path / "memory.db", **common)
            servers[profile] = stack.enter_context(serving(memory, tools=profile, **common))
        client = stack.enter_context(http.Client(timeout=120))
        made = House(servers, theirs, own, Owners([theirs, own]), client)
        plant(made.memory, servers["full"].app.state.keys, theirs)
        for server in servers.values():
            server.app.state.gate.refresh()
        own.exported, own.prefixes, own.receipt = _exported(own), theirs.prefixes, theirs.receipt
        yield made


def _exported(tenant: Tenant) -> bytes:
    written = BytesIO()
    with Memory(":memory:") as memory:
        memory.add(f"a word: {tenant.words['text'][0]}")
        export_memory(memory, written)
    return written.getvalue()


def _is_told(house: House, door: Door, key: str, times: int) -> set[str]:
    found = set()
    for number in range(times):
        chance = random.Random(f"{door.name} {number}")
        found |= house.told(house.call(door, Curious(chance, house.own, house.theirs, 1.0), key))
    return found


def test_who_may_not_read_is_told_nothing_that_was_there(house: House) -> None:
    for grants in ((Grant.WRITE,), (Grant.ERASE,), (Grant.WRITE, Grant.ERASE)):
        blind = house.key(*grants, name="blind")
        leaks = {door.name: _is_told(house, door, blind, 3) for door in DOORS}
        assert {name: kinds for name, kinds in leaks.items() if kinds} == {}, grants


def test_who_may_read_is_told_it_by_many_doors(house: House) -> None:
    """So what was looked for above could have been found."""
    seeing = house.key(Grant.READ, Grant.WRITE, name="seeing")
    told = [door.name for door in DOORS if not door.rare and _is_told(house, door, seeing, 2)]
    assert len(told) > len(DOORS) / 8, told


def test_a_declaration_that_is_left_out_is_noticed(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule_of = caller.rule_of

    def careless(operation: AnyVerb) -> caller.AccessRule:
        needs = frozenset({Grant.WRITE if operation.writes else Grant.READ})
        return replace(rule_of(operation), needs=needs)

    monkeypatch.setattr(caller, "rule_of", careless)
    blind = house.key(Grant.WRITE, name="blind")
    asked = ("sessions/get", "sessions/end", "conversations/day", "append", "undo", "entities")
    found = [door for door in DOORS if door.name.startswith("POST /v1/")]
    leaks = {door.name for door in found if _is_told(house, door, blind, 8)}
    assert [one for one in asked if not [name for name in leaks if name.endswith(one)]] == []


def test_who_may_not_erase_erases_one_memory_at_most(house: House) -> None:
    key = house.key(Grant.READ, Grant.WRITE, name="careful")
    for door in DOORS:
        if OWN_KEYS in door.name:
            continue
        for number in range(3):
            chance = random.Random(f"{door.name} {number}")
            before = house.there()
            house.call(door, Ruthless(chance, house.own, house.theirs, 1.0), key)
            gone = before - house.there()
            assert len(gone) <= 1, (door.name, gone)
            assert all(one.startswith(("memory", Shelf.WORKING)) for one in gone), (door.name, gone)


def _mcp(tool: str, **arguments: Any) -> tuple[str, str, Any]:
    params = {"name": tool, "arguments": arguments}
    return "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


# What takes away more than one memory, through every kind of door. Each is of its own user.
ERASING: dict[str, Any] = {
    "user": ("POST", "/v1/memories/forget", {"user_id": "ana", "erase": True}),
    "session": (
        "POST",
        "/v1/memories/forget",
        {"session_id": "s", "all_users": True, "erase": True},
    ),
    "filters": (
        *("POST", "/v1/memories/forget"),
        {"filters": {"field.trust": {"gte": 0}}, "user_id": "ana", "erase": True},
    ),
    "all": ("POST", "/v1/memories/forget", {"all_users": True, "erase": True}),
    "two": ("POST", "/v1/memories/forget", {"id": ["{one}", "{two}"], "erase": True}),
    "conversation": (
        *("POST", "/v1/conversations/forget"),
        {"session_id": "s", "user_id": "ana", "erase": True},
    ),
    "state": ("POST", "/v1/sessions/erase", {"session_id": "s", "user_id": "ana"}),
    "states": ("POST", "/v1/sessions/cleanup", {"now": "2099-01-01T00:00:00Z"}),
    "working": ("POST", "/v1/working/clear", {"session_id": "s", "user_id": "ana"}),
    "block": ("DELETE", "/v1/blocks/human?user_id=ana&erase=true", None),
    "snapshot": ("DELETE", "/v1/snapshots?name=before&user_id=ana", None),
    "entity": ("DELETE", "/v1/graph/entities?name=Vault&user_id=ana", None),
    "mem0 all": ("DELETE", "/v1/memories/?user_id=ana", None),
    "mem0 here": ("DELETE", "/memories?user_id=ana", None),
    "mem0 user": ("DELETE", "/v2/entities/user/ana/", None),
    "mem0 two": (
        *("DELETE", "/v1/batch/"),
        {"memories": [{"memory_id": "{one}"}, {"memory_id": "{two}"}]},
    ),
    "mem0 reset": ("POST", "/reset", {}),
    "mcp forget": _mcp("forget", user_id="ana", erase=True),
    "mcp snapshot": _mcp("snapshots_delete", name="before", user_id="ana"),
}


@pytest.fixture(scope="module")
def full() -> Iterator[Served]:
    with serving(tools="full") as served:
        yield served


def _filled(memory: Memory) -> dict[str, str]:
    memory.forget(all_users=True, erase=True)
    place: dict[str, Any] = {"user_id": "ana"}
    ids = [memory.add(text, session_id="s", **place).id for text in ("one", "two", "three")]
    memory.blocks.append("human", "Ana", **place)
    memory.sessions.create("s", data={"a": 1}, **place)
    memory.working.set("k", 1, session_id="s", **place)
    memory.graph.add("Vault", "place", **place)
    memory.snapshots.take("before", **place)
    return {"{one}": ids[0], "{two}": ids[1]}


def _asked(served: Served, key: str, what: tuple[str, str, Any], ids: dict[str, str]) -> Any:
    method, path, body = what
    told = json.dumps(body)
    for name, id in ids.items():
        told = told.replace(name, id)
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    headers["accept"] = "application/json, text/event-stream"
    sent = b"" if body is None else told.encode()
    return http.request(method, served.url + path, content=sent, headers=headers, timeout=60)


@pytest.mark.parametrize("name", ERASING)
def test_to_erase_more_than_one_memory_needs_a_scope(name: str, full: Served) -> None:
    ids = _filled(full.memory)
    before = repr(full.memory.find(all_users=True, states="any"))
    refused = _asked(full, full.key("read", "write"), ERASING[name], ids)
    assert "scope `erase`" in refused.text
    assert "--scope read --scope write --scope erase" in refused.text
    assert refused.status_code == (200 if name.startswith("mcp") else 403)
    assert repr(full.memory.find(all_users=True, states="any")) == before
    done = _asked(full, full.key("read", "write", "erase"), ERASING[name], ids)
    assert done.status_code == 200, done.text
    assert '"isError":true' not in done.text
    _filled(full.memory)


def test_one_memory_is_erased_and_any_number_archived_without_it(full: Served) -> None:
    ids, key = _filled(full.memory), full.key("write")
    gone = _asked(full, key, ("DELETE", f"/v1/memories/{ids['{one}']}", None), {})
    assert gone.status_code == 200, gone.text
    told = gone.json()
    assert (told["ids"], told["memories"], told["erased"]) == ([ids["{one}"]], [], True)
    everything = ("POST", "/v1/memories/forget", {"user_id": "ana"})
    told = _asked(full, key, everything, {}).json()
    assert (len(told["ids"]), told["memories"]) == (2, [])
    assert full.memory.count(user_id="ana", states="archived") == 2


def test_a_repeated_write_shows_nothing_that_others_made_of_it(full: Served) -> None:
    key, body = full.key("write"), {"text": "mine", "idempotency_key": "again"}
    added = ("POST", "/v1/memories", body)
    first, second = (_asked(full, key, added, {}) for _ in range(2))
    assert first.json() == second.json()
    full.memory.update(first.json()["id"], text="a word of somebody else")
    third = _asked(full, key, added, {})
    assert third.status_code == 409
    assert "somebody else" not in third.text
