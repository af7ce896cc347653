"""Facts for prompts on real stores: what a question touches, in few reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import uuid4

import pytest

from remanence.context.known import FactQuestion, Known, speakers_of
from remanence.knowledge.facts import Facts
from remanence.knowledge.graph import Graph
from remanence.model.clock import FixedClock, IdMaker
from remanence.model.knowledge import Entity, Fact, entity_id
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.store.postgres import PostgresStore
from remanence.store.sqlite import SqliteStore
from remanence.testing.store_suites.making import claim, entity

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
new_id = IdMaker()


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    opened: Store
    if request.param == "sqlite":
        opened = SqliteStore(":memory:")
    else:
        opened = PostgresStore(request.getfixturevalue("postgres_database"))
    yield opened
    opened.close()


@pytest.fixture
def tenant() -> str:
    return f"tenant {uuid4()}"


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture
def facts(store: Store, tenant: str, clock: FixedClock) -> Facts:
    return Facts(store, tenant, clock, new_id, writer=None, learner=None)


class Prompt:
    """Asks for a prompt's facts, and counts what is read for them."""

    def __init__(self, store: Store, tenant: str, facts: Facts) -> None:
        self._known = Known(store.knowledge, facts)
        self._tenant = tenant
        self.reads: Counter[str] = Counter()

    def __call__(self, question: str, *, min_trust: float = 0.0, **reach: Any) -> list[str]:
        self.reads.clear()
        asking = FactQuestion(
            question=question,
            reach=Reach(tenant=self._tenant, min_trust=min_trust, **reach),
            now=NOW + DAY,
            speakers=speakers_of((), reach.get("user_id")),
        )
        return [_told(one) for one in self._known.facts(asking)]


@pytest.fixture
def prompt(store: Store, tenant: str, facts: Facts, monkeypatch: pytest.MonkeyPatch) -> Prompt:
    asked = Prompt(store, tenant, facts)
    for name in ("claims", "entities"):
        counted = _counted(asked.reads, name, getattr(store.knowledge, name))
        monkeypatch.setattr(store.knowledge, name, counted)
    return asked


def _counted(reads: Counter[str], name: str, verb: Any) -> Any:
    def read(*args: Any, **kwargs: Any) -> Any:
        reads[name] += 1
        return verb(*args, **kwargs)

    return read


def _told(fact: Fact) -> str:
    return f"{fact.subject} {fact.predicate} {fact.object}"


def test_those_who_are_named_and_whom_they_lead_to(facts: Facts, prompt: Prompt) -> None:
    facts.add("Ana", "sister", "Maria")
    facts.add("Maria", "works as", "baker")
    facts.add("Bob", "lives in", "Rome")
    facts.add("Bob", "boss", "Ana")
    facts.add("Cleo", "lives in", "Oslo")
    found = prompt("What does the sister of Ana do, and where is Bob?")
    assert found[0] == "Ana sister Maria"
    assert set(found) == {
        "Ana sister Maria", "Maria works as baker", "Bob lives in Rome", "Bob boss Ana",
    }  # fmt: skip
    assert prompt("Who lives in Rome?") == ["Bob lives in Rome"]


def test_who_asks(facts: Facts, prompt: Prompt) -> None:
    facts.add("user", "allergic to", "nuts")
    facts.add("u", "likes", "tea", user_id="u")
    assert prompt("May I eat that?") == ["user allergic to nuts"]
    assert prompt("May one eat that?") == []
    assert prompt("What do I like?", user_id="u") == ["u likes tea"]


def test_agents_users_and_trust(facts: Facts, prompt: Prompt) -> None:
    facts.add("Ana", "likes", "tea", agent_id="a", trust=0.5)
    facts.add("Ana", "likes", "milk", agent_id="b")
    facts.add("Ana", "lives in", "Rome", user_id="u")
    assert prompt("What does Ana like?", agent_id="a") == ["Ana likes tea"]
    assert prompt("What does Ana like?", min_trust=0.9) == ["Ana likes milk"]
    assert prompt("Where is Ana?", user_id="u") == ["Ana lives in Rome"]
    shared = prompt("Where is Ana?", user_id="u", include_shared=True)
    assert set(shared) == {"Ana lives in Rome", "Ana likes tea", "Ana likes milk"}
    assert prompt("Where is Ana?", user_id="v") == []


def test_few_reads_however_many_are_named(facts: Facts, prompt: Prompt) -> None:
    people = [f"P{n}" for n in range(6)]
    for one in people:
        facts.add(one, "likes", "tea")
        facts.add(one, "is", "tall")
    assert prompt("Is nobody here who could cook tomorrow?") == []
    assert prompt.reads == {"entities": 1}
    assert prompt(f"Are {', '.join(people)} tall?") == [f"{one} is tall" for one in people]
    assert prompt.reads["claims"] <= 2
    assert prompt.reads["entities"] <= 2 + len(people)


def test_of_somebody_with_many_claims_what_is_old_and_single_is_known(
    facts: Facts, store: Store, tenant: str, prompt: Prompt
) -> None:
    facts.add("Ana", "lives in", "Rome")
    ana = entity("Ana")
    times = [NOW + n * timedelta(minutes=1) for n in range(600)]
    said = [
        claim(ana, "is", f"state {n}", observed_at=at, recorded_at=at) for n, at in enumerate(times)
    ]
    store.knowledge.know(tenant, [], said)
    assert prompt("Where does Ana live?") == ["Ana lives in Rome"]
    found = prompt("Where does Ana live, and what state is Ana in?")
    assert found[:2] == ["Ana lives in Rome", "Ana is state 599"]
    assert prompt.reads["claims"] <= 6
    many = [entity(f"p{n}") for n in range(300)]
    rome = entity("Rome")
    homes = [claim(one, "lives in", rome, observed_at=NOW, recorded_at=NOW) for one in many]
    store.knowledge.know(tenant, many, homes)
    assert prompt("What of Rome?") == []
    assert prompt.reads["entities"] <= 10


@pytest.mark.parametrize("seed", range(4))
def test_the_same_as_about(
    facts: Facts, store: Store, tenant: str, clock: FixedClock, seed: int
) -> None:
    choose, graph = Random(seed), Graph(store, tenant, clock, new_id)
    people = ["Ana", "Ana Silva", "Bob", "Dr. Cleo Vale", "Cleo Vale", "Dan"]
    for name in people:
        graph.add(name, "person")
    for _ in range(30):
        clock.at += timedelta(hours=1)
        a, b = choose.sample(people, 2)
        act = choose.random()
        if act < 0.1:
            graph.merge(a, b)
        elif act < 0.7:
            predicate = choose.choice(("boss", "married to", "likes", "friend", "lives in"))
            facts.add(a, predicate, b, trust=choose.choice((0.5, 1.0)))
        else:
            facts.add(a, "works as", choose.choice(("baker", "nurse")))
    asked = [_entity(store, tenant, name) for name in choose.sample(people, 3)]
    reach = Reach(tenant=tenant)
    found = facts.evidence.holding(reach, asked, clock.at)
    for one in asked:
        known = facts.about(one.name, as_of=clock.at)
        own = next(known_ for known_ in found if one.id in _group(facts, tenant, known_.id))
        told = {fact.id for fact in own.facts}
        missing = {fact.id for fact in known if fact.id not in told}
        assert not missing - _merged_objects(known)


def _group(facts: Facts, tenant: str, id: str) -> frozenset[str]:
    return facts.evidence.ids_of(Reach(tenant=tenant), id, None)


def _merged_objects(known: list[Fact]) -> set[str]:
    """Facts about which who the object is may decide."""
    return {one.id for one in known if len(one.claims) > 1}


def _entity(store: Store, tenant: str, name: str) -> Entity:
    (found,) = store.knowledge.entities(Reach(tenant=tenant), [entity_id(None, name)])
    return found
