"""The past against a model that keeps every state there ever was: any moment, any conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remanence import Memory
from remanence.model.clock import FixedClock
from remanence.model.memory import MemoryRecord
from support.soak import times

pytestmark = pytest.mark.soak
START = datetime(2026, 3, 4, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
EVERYTHING = 10_000
USERS = count()

TEXTS = st.sampled_from(
    [
        *("the harbour is closed", "the Harbour opens in May", "a garden by the sea"),
        *("ana keeps bees", "ana keeps two bees", "room 4", "room 9", "café in Lisbon"),
    ]
)
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "team": st.sampled_from(["sales", "works", ["sales", "works"], "café", None]),
        "age": st.sampled_from([3, 4.5, True, "4", 0]),
        "deep": st.sampled_from([{"a": 1}, {"a": {"b": "x"}}, [], {}]),
    },
)
FIELDS = {
    "metadata": METADATA,
    "kind": st.sampled_from(["episodic", "semantic", "procedural"]),
    "importance": st.sampled_from([0.0, 0.4, 0.9]),
    "trust": st.sampled_from([0.1, 0.5, 1.0]),
    "pinned": st.booleans(),
    "speaker": st.sampled_from(["Ana", "Bo", None]),
    "role": st.sampled_from(["user", "assistant", None]),
    "source": st.sampled_from(["crm", "mail", None]),
    "happened_at": st.integers(-3, 3).map(lambda n: START + n * timedelta(days=1)),
}
NEW = st.fixed_dictionaries({"text": TEXTS}, optional=FIELDS)
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        **FIELDS,
        "text": TEXTS,
        "state": st.sampled_from(["active", "archived", "quarantined"]),
    },
).filter(bool)
CONDITIONS: tuple[dict[str, Any], ...] = (
    {},
    {"states": "any"},
    {"states": ["archived", "quarantined"]},
    {"kinds": "semantic"},
    {"since": START, "until": START + timedelta(days=2)},
    {"filters": {"team": "sales"}},
    {"filters": {"team": {"ne": "sales"}}, "states": "any"},
    {"filters": {"age": {"gte": 3}}},
    {"filters": {"or": [{"deep.a": 1}, {"deep": {"exists": True}}]}},
    {"filters": {"not": {"age": {"in": [0, "4", 4.5]}}}},
    {"filters": {"text": {"contains": "HARBOUR"}}},
    {"filters": {"text": {"not_contains": "ana"}}, "kinds": ["episodic", "procedural"]},
    {"filters": {"field.importance": {"lt": 0.5}}},
    {"filters": {"field.trust": {"in": [0.1, 1]}}},
    {"filters": {"field.pinned": True}},
    {"filters": {"field.speaker": {"exists": False}}},
    {"filters": {"field.source": {"not_in": ["crm"]}}},
    {"filters": {"field.role": {"gte": "b"}}},
    {"filters": {"field.updated_at": {"gt": START + 5 * SECOND}}},
    {"filters": {"field.created_at": {"lte": START + 3 * SECOND}}},
)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Memory, FixedClock]]:
    clock = FixedClock(START)
    where: str | Path = tmp_path_factory.mktemp("past") / "m.db"
    if request.param == "postgres":
        where = request.getfixturevalue("postgres_database")
    with Memory(where, clock=clock, embedder="none", durability="normal") as opened:
        yield opened, clock


@dataclass
class Model:
    """Every answer there ever was, by moment and condition."""

    memory: Memory
    clock: FixedClock
    user: str
    answers: list[dict[int, dict[str, MemoryRecord]]] = field(default_factory=list)
    erased: set[str] = field(default_factory=set)

    def keep(self) -> None:
        """What every condition finds now; then a second passes."""
        self.answers.append({n: self._now(n) for n in range(len(CONDITIONS))})
        self.clock.at += SECOND

    def _now(self, number: int) -> dict[str, MemoryRecord]:
        found = self.memory.find(user_id=self.user, limit=EVERYTHING, **CONDITIONS[number])
        return {one.id: plain(one) for one in found}

    def expected(self, step: int, number: int) -> dict[str, MemoryRecord]:
        then = self.answers[step][number]
        return {id: one for id, one in then.items() if id not in self.erased}


def plain(record: MemoryRecord) -> MemoryRecord:
    """Without what merely counts."""
    return replace(record, uses=0, used_at=None)


def act(model: Model, data: st.DataObject, ids: list[str]) -> None:
    memory = model.memory
    verb = data.draw(st.sampled_from(["add", "add", "update", "update", "forget", "erase"]))
    if verb == "add" or not ids:
        ids.append(memory.add(user_id=model.user, **data.draw(NEW)).id)
        return
    id = data.draw(st.sampled_from(ids))
    if verb == "update":
        memory.update(id, **data.draw(CHANGES))
    else:
        memory.forget(id, erase=verb == "erase")
        if verb == "erase":
            ids.remove(id)
            model.erased.add(id)


@settings(
    max_examples=times(400, 25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_the_past_is_what_it_was(shared: tuple[Memory, FixedClock], data: st.DataObject) -> None:
    memory, clock = shared
    clock.at = START
    model, ids = Model(memory, clock, f"user {next(USERS)}"), list[str]()
    for _ in range(data.draw(st.integers(3, 12))):
        act(model, data, ids)
        model.keep()
    for _ in range(12):
        step = data.draw(st.integers(0, len(model.answers) - 1))
        number = data.draw(st.integers(0, len(CONDITIONS) - 1))
        limit = data.draw(st.sampled_from([1, 2, 3, EVERYTHING]))
        wanted = model.expected(step, number)
        asked = {"user_id": model.user, "known_at": START + step * SECOND, **CONDITIONS[number]}
        found = memory.search("who keeps the harbour?", limit=limit, **asked)
        assert len(found) == min(limit, len(wanted))
        assert all(wanted[hit.memory.id] == plain(hit.memory) for hit in found)
        assert all(hit.passage in hit.memory.text for hit in found)
