"""Names resolved in real stores, by indexed reads: the same answer as from all entities at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remanence.knowledge.identity import Identity, groups
from remanence.model.knowledge import Claim, Entity, entity_id
from remanence.model.ports.store import Store
from remanence.model.predicates import SAME_AS
from remanence.model.scope import Reach
from remanence.store.postgres import PostgresStore
from remanence.store.sqlite import SqliteStore

NOW = datetime(2024, 1, 1, tzinfo=UTC)
NAMES = ("Ana", "Ana Souza", "Ana Souza Lima", "Ana Lima", "Dr. Ana Souza", "Prof. Ana Souza",
         "Bob", "Bob Lee", "Mr Lee", "Annie", "Ana Hotel")  # fmt: skip


@pytest.fixture(params=["sqlite", "postgres"], scope="module")
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


def entity(name: str, user_id: str | None = None, **others: Any) -> Entity:
    fields: dict[str, Any] = {"type": "thing" if "Hotel" in name else "person"}
    fields |= {"created_at": NOW, **others}
    return Entity(id=entity_id(user_id, name), name=name, user_id=user_id, **fields)


def claim(one: str, other: str, days: int = 0, **others: Any) -> Claim:
    at = NOW + timedelta(days=days)
    return Claim(
        id=str(uuid4()), subject=entity_id(None, one), predicate=SAME_AS, value=other,
        object=entity_id(None, other), text="same", observed_at=at, recorded_at=at, **others,
    )  # fmt: skip


merges = st.builds(
    claim,
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
    st.integers(0, 3),
    denies=st.booleans(),
)


@given(st.sets(st.sampled_from(NAMES), min_size=1), st.lists(merges, max_size=5))
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_same_as_from_everything(store: Store, there: set[str], said: Sequence[Claim]) -> None:
    tenant = f"tenant {uuid4()}"
    entities = [entity(name) for name in sorted(there)]
    ids = {one.id for one in entities}
    claims = [one for one in said if {one.subject, one.object} <= ids]
    store.knowledge.know(tenant, entities, claims)
    expected = groups(entities, claims)
    identity, reach = Identity(store.knowledge, tenant), Reach(tenant=tenant)
    for one in entities:
        found = identity.resolve(reach, one.name)
        group = {id for id, leader in expected.items() if leader == expected[one.id]}
        assert (found.id, set(found.ids)) == (expected[one.id], group), one.name
        assert identity.resolve(reach, one.id) == found
    leaders, names = identity.same(None, ids)
    assert leaders == {id: expected[id] for id in leaders}
    assert leaders.keys() >= ids
    assert names.keys() == leaders.keys()


def test_names_and_aliases(store: Store, tenant: str) -> None:
    store.knowledge.know(tenant, [entity("Ana"), entity("Ana Souza"), entity("Dr. Ana Souza")])
    found = Identity(store.knowledge, tenant).resolve(Reach(tenant=tenant), "ANA")
    assert (found.name, found.aliases) == ("Dr. Ana Souza", ("Ana Souza", "Ana"))
    assert found.ids[0] == found.id == entity_id(None, "Dr. Ana Souza")


def test_a_name_nobody_has_means_the_one_it_can_mean(store: Store, tenant: str) -> None:
    store.knowledge.know(tenant, [entity("Ana Souza")])
    identity, reach = Identity(store.knowledge, tenant), Reach(tenant=tenant)
    for name in ("ana", "Dr. Ana Souza", "ana  souza"):
        assert identity.resolve(reach, name).name == "Ana Souza"
    nobody = identity.resolve(reach, "Bob")
    assert (nobody.ids, nobody.name) == ((), "Bob")
    store.knowledge.know(tenant, [entity("Ana Lima")])
    assert identity.resolve(reach, "Ana").ids == ()


def test_users_and_what_is_shared(store: Store, tenant: str) -> None:
    own, shared, other = entity("Acme", "u"), entity("Acme"), entity("Acme", "v")
    store.knowledge.know(tenant, [own, shared, other])
    identity = Identity(store.knowledge, tenant)
    assert identity.resolve(Reach(tenant=tenant, user_id="u"), "Acme").ids == (own.id,)
    both = identity.resolve(Reach(tenant=tenant, user_id="u", include_shared=True), "Acme")
    assert both.ids == (own.id, shared.id)
    assert identity.resolve(Reach(tenant=tenant, user_id="w"), "Acme").ids == ()
    assert identity.resolve(Reach(tenant=tenant, user_id="u"), other.id).ids == ()


def test_many_of_one_first_name_are_not_one(store: Store, tenant: str) -> None:
    store.knowledge.know(
        tenant, [entity("Ana"), *(entity(f"Ana {number}") for number in range(150))]
    )
    found = Identity(store.knowledge, tenant).resolve(Reach(tenant=tenant), "Ana")
    assert found.ids == (entity_id(None, "Ana"),)


def test_no_pattern_in_a_name(store: Store, tenant: str) -> None:
    store.knowledge.know(tenant, [entity("Ana Souza"), entity("% Souza"), entity("_na")])
    identity, reach = Identity(store.knowledge, tenant), Reach(tenant=tenant)
    assert identity.resolve(reach, "%").name == "% Souza"
    assert identity.resolve(reach, "_na").name == "_na"
    assert identity.resolve(reach, "___").ids == ()
