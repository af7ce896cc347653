"""Tenants of one store, each with words of its own in every kind of thing it has.

Every word ends alike, so that one pass over an answer finds whose words are in it.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from remanence.api.memory import Memory
from remanence.api.values import plain
from remanence.model.document import Shelf
from remanence.model.scope import Reach
from remanence.server.access.keys import Keys
from remanence.tools.transfer import export_memory
from support.canaries import TAIL

# What a stranger may guess: they send it, so an answer may say it back to them.
NAMES = ("user", "agent", "session", "label", "entity", "snapshot", "key", "schedule", "once")
# What nobody but its owner ever sends: wherever else it turns up, it has leaked.
CONTENTS = (
    *("text", "metadata", "speaker", "source", "query", "relation", "block", "description"),
    *("said", "title", "data", "working", "object", "observation", "note", "reason", "keyname"),
)
SHARED_USER = "ana"
EACH = 4
_LETTERS = "abcdefghimnoprtuvw"
_WORD_LETTERS = 12
_SHOWN = 8  # letters before the tail that tell a word from all others
_WORD = re.compile(rb"[a-z]{%d}%b" % (_SHOWN, TAIL.encode()))
_KEPT = 40  # ids of a kind that are remembered
_PAGE = 500


@dataclass(slots=True)
class Tenant:
    """One tenant: its words, its keys, and the ids of what it has."""

    name: str
    silent: bool
    words: Mapping[str, tuple[str, ...]]
    keys: dict[str, str] = field(default_factory=dict)
    prefixes: list[str] = field(default_factory=list)
    ids: dict[str, deque[str]] = field(
        default_factory=lambda: defaultdict(lambda: deque(maxlen=_KEPT))
    )
    receipt: Any = None
    exported: bytes = b""
    sent: set[bytes] = field(default_factory=set)


class Owners:
    """Knows whose each word is."""

    def __init__(self, tenants: Iterable[Tenant]) -> None:
        self._owners = {
            word.encode()[-len(TAIL) - _SHOWN :]: (tenant, kind)
            for tenant in tenants
            for kind, words in tenant.words.items()
            for word in words
        }

    def kinds_of(self, tenant: Tenant, raw: bytes) -> set[str]:
        """The kinds of the tenant's own words that are in it."""
        told = (self._owners[word] for word in self._found(raw))
        return {kind for owner, kind in told if owner is tenant}

    def sent(self, tenant: Tenant, raw: bytes) -> None:
        """The tenant is about to send this; it may be told again what it said."""
        tenant.sent |= {w for w in self._found(raw) if self._owners[w][0] is not tenant}

    def strangers(self, tenant: Tenant | None, raw: bytes) -> list[str]:
        """Words in it that are another tenant's and that this one has never sent."""
        found = [word for word in self._found(raw) if self._owners[word][0] is not tenant]
        known = tenant.sent if tenant else set()
        return sorted(
            f"{self._owners[word][1]} of {self._owners[word][0].name}"
            for word in found
            if word not in known
        )

    def _found(self, raw: bytes) -> set[bytes]:
        return self._owners.keys() & set(_WORD.findall(raw.lower()))


def tenants(count: int, silent: int, chance: random.Random) -> list[Tenant]:
    """Tenants with their words; the first ones never call anybody."""

    def word() -> str:
        return "".join(chance.choices(_LETTERS, k=_WORD_LETTERS)) + TAIL

    return [
        Tenant(
            name=f"tenant-{number:02}",
            silent=number < silent,
            words={kind: tuple(word() for _ in range(EACH)) for kind in (*NAMES, *CONTENTS)},
        )
        for number in range(count)
    ]


def plant(memory: Memory, keys: Keys, tenant: Tenant) -> None:
    """Fill a tenant's view of the store, and make its keys."""
    for user in (tenant.words["user"][0], SHARED_USER, None):
        _remember(memory, tenant, user)
        _fill_layers(memory, tenant, user)
    memory.add("said once", idempotency_key=tenant.words["once"][0])
    gone = memory.forget(memory.add(_said(tenant, "text", 2)).id, erase=True, reason="canary")
    tenant.receipt = plain(gone.receipt)
    tenant.ids["erasures"].extend(one.id for one in memory.erasures.list())
    memory.schedules.set(tenant.words["schedule"][0], cron="0 1 * * *", steps=["merge"])
    tenant.ids["sleep"].extend(run.id for run in memory.sleep.run(["merge", "forget"]))
    _give_keys(keys, tenant)
    written = BytesIO()
    export_memory(memory, written)
    tenant.exported = written.getvalue()


def state_of(memory: Memory) -> dict[str, Any]:
    """All that a tenant has, to be compared."""
    written, store, reach = BytesIO(), memory.parts.store, Reach(tenant=memory.tenant)
    export_memory(memory, written)
    found: dict[str, Any] = {"export": written.getvalue().splitlines()[1:-1]}
    for shelf in Shelf:
        everybody = Reach(tenant=memory.tenant, all_users=True)
        shelved = [
            one
            for where in (reach, everybody)
            for one in store.documents.shelved(where, shelf, limit=_PAGE)
        ]
        found[shelf.value] = sorted(str((one.address, one.version, one.value)) for one in shelved)
    return found


def _said(tenant: Tenant, kind: str, number: int = 0) -> str:
    one, other = tenant.words[kind][number], tenant.words[kind][(number + 1) % EACH]
    return f"My dog is called {one.capitalize()} and sleeps in {other}."


def _remember(memory: Memory, tenant: Tenant, user: str | None) -> None:
    words = tenant.words
    place: dict[str, Any] = {"user_id": user, "agent_id": words["agent"][0]}
    place |= {"session_id": words["session"][0]}
    made = [
        memory.add(
            _said(tenant, "text", number),
            metadata={"note": words["metadata"][number], words["metadata"][3]: 1},
            speaker=words["speaker"][number],
            source=words["source"][number],
            importance=0.2,
            **place,
        )
        for number in range(3)
    ]
    tenant.ids[""].extend(one.id for one in made)
    memory.update(made[0].id, text=_said(tenant, "text", 3), reason=words["reason"][0])
    memory.feedback(made[0].id, useful=True, query=f"what of {words['query'][0]}?")
    memory.associate(made[0].id, made[1].id, words["relation"][0])


def _fill_layers(memory: Memory, tenant: Tenant, user: str | None) -> None:
    words, session = tenant.words, tenant.words["session"][0]
    memory.blocks.create(
        words["label"][0],
        _said(tenant, "block"),
        user_id=user,
        description=words["description"][0],
    )
    memory.blocks.append("human", _said(tenant, "block", 1), user_id=user)
    said = [
        {"role": "user", "content": _said(tenant, "said", 0)},
        {"role": "assistant", "content": f"I note {words['said'][2]}."},
    ]
    memory.conversations.append(said, session_id=session, user_id=user)
    memory.conversations.describe(session, user_id=user, title=words["title"][0])
    memory.sessions.create(session, user_id=user, data={"secret": words["data"][0]})
    memory.working.set(words["key"][0], [words["working"][0]], session_id=session, user_id=user)
    fact = memory.facts.add(words["entity"][0], "lives in", words["object"][0], user_id=user)
    tenant.ids["facts"].append(fact.id)
    seen = [f"It saw {words['observation'][0]}"]
    memory.graph.add(words["entity"][1], "person", observations=seen, user_id=user)
    memory.graph.relate(words["entity"][0], "guards", words["entity"][1], user_id=user)
    memory.snapshots.take(words["snapshot"][0], user_id=user, note=words["note"][0])


def _give_keys(keys: Keys, tenant: Tenant) -> None:
    ways: dict[str, dict[str, Any]] = {
        "admin": {"grants": ["read", "write", "admin"]},
        "both": {"grants": ["read", "write"]},
        "read": {"grants": ["read"]},
        "humble": {"grants": ["read", "write"], "trust": 0.5},
        "waiting": {"grants": ["read", "write"], "quarantine": True},
    }
    for way, more in ways.items():
        made, text = keys.create(tenant.words["keyname"][0], tenant=tenant.name, **more)
        tenant.keys[way] = text
        tenant.prefixes.append(made.prefix)
    spare, _ = keys.create(tenant.words["keyname"][1], tenant=tenant.name, grants=["read"])
    tenant.prefixes.append(spare.prefix)
