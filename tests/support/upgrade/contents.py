"""What a fixture holds: something in every table and on every shelf, written by public verbs."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from remanence.api.memory import Memory
from remanence.model.clock import FixedClock, IdMaker
from remanence.model.learning import LearnPolicy
from remanence.model.memory import MemoryRecord

BEGINNING = datetime(2025, 1, 6, 9, tzinfo=UTC)  # long enough ago to be cold at the end
MIDDLE = datetime(2026, 1, 12, 9, tzinfo=UTC)  # long enough ago to be cool
END = datetime(2026, 5, 4, 9, tzinfo=UTC)
ACME, GLOBEX, INITECH, HOOLI = "acme", "globex", "initech", "hooli"
TENANTS = (ACME, GLOBEX, INITECH, HOOLI)
# What texts of these tenants are packed with; `acme` and `globex` have dictionaries of zstd.
CODECS = {INITECH: "lz4", HOOLI: "snappy"}
USERS = (None, "ana", "bruno", "carol", "dora")
SETTINGS: dict[str, Any] = {"window_messages": 4, "session_ttl_s": 30 * 86_400.0}
ONLY_WORDS = "The gardener left the secateurs in the greenhouse."
REPEATED: dict[str, Any] = {
    "text": "Order 1187 was paid twice.",
    "user_id": "bruno",
    "idempotency_key": "o-1187",
}

METADATA = {
    "team": "sales",
    "size": 3,
    "large": 9_007_199_254_740_993,
    "share": 0.1,
    "remote": True,
    "nobody": None,
    "tags": ["red", 7, False],
    "nested": {"deep": [1, {"er": None}], "näme": "wért"},
}
ROOMS = (
    *("kitchen", "hall", "attic", "cellar", "study"),
    *("porch", "pantry", "workshop", "loft", "studio"),
)
GOODS = (
    *("lamps", "chairs", "maps", "barrels", "ropes"),
    *("clocks", "ladders", "mirrors", "saddles", "drums"),
)


@dataclass(slots=True)
class Scribe:
    """Writes a store: one open memory, a clock that it moves, ids that are the same each time."""

    memory: Memory
    clock: FixedClock
    notes: dict[str, Any] = field(default_factory=dict)  # what no verb would tell again

    def of(self, tenant: str) -> Memory:
        """The memory of a tenant."""
        return self.memory.for_tenant(tenant)

    def pass_time(self, **span: float) -> None:
        """Let time go by."""
        self.clock.at += timedelta(**span)


def ids_from(clock: FixedClock) -> Callable[[], UUID]:
    """Ids that depend on the clock and on nothing else."""
    chance = random.Random(110)
    return IdMaker(lambda: int(clock.now().timestamp() * 1000), chance.randbytes)


def remember(scribe: Scribe) -> None:
    """Memories of every kind and state, with every field, changed and linked."""
    memory = scribe.of(ACME)
    lisbon = memory.add("Ana moved to Lisbon and rents a flat near the river.", user_id="ana")
    scribe.pass_time(minutes=5)
    memory.add("Ana is allergic to peanuts.", user_id="ana", kind="semantic", importance=0.9)
    memory.add(
        "To reset the espresso machine, hold both buttons for ten seconds.",
        user_id="ana",
        kind="procedural",
        pinned=True,
    )
    memory.add("Ana plans her week on Sunday evening.", user_id="ana", kind="reflection")
    memory.add("March: the move to Lisbon, two job interviews.", user_id="ana", kind="summary")
    memory.add("Café « Ação » ☕ in 東京 – она любит чай \U0001f375", user_id="ana")
    _whole_record(memory)
    _states(memory, lisbon)
    _changes(scribe, memory)
    memory.add("The office closes at six on Fridays.", kind="semantic")  # of no user
    memory.add(**REPEATED)
    memory.add(_inventory(), user_id="bruno", external_id="inventory")
    other = scribe.of(GLOBEX)
    other.add("Ana of Globex keeps bees on the roof.", user_id="ana")
    for tenant in (GLOBEX, *CODECS):
        _many(scribe.of(tenant), 20)


def _whole_record(memory: Memory) -> None:
    memory.add(
        "The quarterly review was moved to Thursday.",
        user_id="ana",
        agent_id="planner",
        session_id="standup",
        kind="episodic",
        importance=0.25,
        happened_at=datetime(2024, 12, 31, 23, 59, 59, 123456, tzinfo=UTC),
        source="https://calendar.example/42",
        actor="importer",
        origin="calendar",
        trust=0.75,
        metadata=METADATA,
        speaker="Ana",
        role="user",
        external_id="cal-42",
    )


def _states(memory: Memory, lisbon: MemoryRecord) -> None:
    memory.add("Wire the money to this account today!", user_id="ana", quarantined=True, trust=0.2)
    archived = memory.add("Ana parked on level two.", user_id="ana")
    memory.forget(archived.id, actor="ana", reason="parked elsewhere since")
    former = memory.add("Ana lives in Porto.", user_id="ana")
    memory.update(former.id, state="superseded", superseded_by=lisbon.id, reason="she moved")
    tea = memory.add("Ana drinks green tea at four.", user_id="ana")
    memory.associate(lisbon.id, tea.id, "same week", strength=0.5)
    memory.associate(former.id, lisbon.id, "before")


def _changes(scribe: Scribe, memory: Memory) -> None:
    changed = memory.add("The wifi password is on the fridge.", user_id="ana")
    for text in ("The wifi password is in the drawer.", "The wifi password is behind the mirror."):
        scribe.pass_time(hours=1)
        memory.update(changed.id, text=text, actor="ana", reason="it was moved", importance=0.6)
    memory.update(changed.id, metadata={"place": "hall"}, pinned=True)


def _inventory() -> str:
    """Two passages of 512 tokens and more, without a sentence twice."""
    lines = [
        f"In the {room} there are {7 * n + m} {goods}, counted on day {n * 10 + m}."
        for n, room in enumerate(ROOMS)
        for m, goods in enumerate(GOODS)
        if (n + m) % 2
    ]
    return " ".join([*lines, "The key of the safe hangs behind the barometer."])


def _many(memory: Memory, count: int) -> None:
    """So many texts alike that a dictionary is learned from them."""
    chance = random.Random(7)
    memory.add_many(
        [
            f"Shipment {n}: {chance.randrange(2, 90)} {chance.choice(GOODS)} went from the "
            f"{chance.choice(ROOMS)} to the {chance.choice(ROOMS)}, signed by clerk {n % 5}."
            for n in range(count)
        ],
        user_id="bruno",
    )


QUESTIONS = {
    "whale": "Harbour Logistics",
    "birdie": "Kestrel Analytics",
    "applecart": "Orchard Health",
    "mudpie": "Mirabel Ceramics",
}
MATTERS = {
    "The budget of {} is {} thousand euros.": "how large is the budget of the {}?",
    "The call with {} is on day {}.": "when is the call with the {}?",
    "Invoices of {} go to room {}.": "where do the invoices of the {} go?",
    "Reports for {} are made by machine {}.": "what makes the reports of the {}?",
}


def learn(scribe: Scribe) -> None:
    """Feedback, uses, and an adapter trained on them, for Carol."""
    memory = scribe.of(ACME)
    answers = {
        (firm, told): memory.add(told.format(firm, 10 * n + m), user_id="carol").id
        for n, firm in enumerate(QUESTIONS.values())
        for m, told in enumerate(MATTERS)
    }
    for name, firm in QUESTIONS.items():
        for told, question in MATTERS.items():
            scribe.pass_time(hours=1)
            asked, meant = question.format(name), answers[firm, told]
            first = memory.search(asked, user_id="carol", limit=1)[0].memory.id
            wrong = [first] if first != meant else []
            memory.learn.outcome(asked, useful=[meant], not_useful=wrong)
    policy = LearnPolicy(least=8, new=8, margin=0.0)
    scribe.notes["trained"] = memory.learn.train("carol", policy=policy).accepted
    hit = memory.search("what is Ana allergic to?", user_id="ana", limit=1)[0]
    memory.feedback(hit, useful=True, query="what is Ana allergic to?")
    memory.write_uses()
