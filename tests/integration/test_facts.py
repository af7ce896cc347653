"""Facts on real stores: stated, confirmed, corrected, taken back, asked at any time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from remanence import Memory
from remanence.errors import InvalidInput, NotFound
from remanence.knowledge.facts import Facts
from remanence.model.clock import FixedClock, IdMaker
from remanence.model.knowledge import Claim, Entity, Fact, Learnt, Standing, Timespan, entity_id
from remanence.model.memory import MemoryRecord, State
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.write import Batch, Insert, Remove, Revise
from remanence.store.postgres import PostgresStore
from remanence.store.sqlite import SqliteStore
from support.program import Program
from support.reaching import Afar, afar

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
SERVED = {"facts"}
new_id = IdMaker()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Afar]:
    clock, path = FixedClock(NOW), tmp_path_factory.mktemp("server") / "memory.db"
    with Memory(path, clock=clock) as memory, afar(memory, clock) as served:
        yield served


@pytest.fixture
def store(kept_in: str, request: pytest.FixtureRequest) -> Iterator[Store]:
    if kept_in == "server":
        yield request.getfixturevalue("server").store
        return
    opened: Store
    if kept_in == "sqlite":
        opened = SqliteStore(":memory:")
    else:
        opened = PostgresStore(request.getfixturevalue("postgres_database"))
    yield opened
    opened.close()


@pytest.fixture
def tenant() -> str:
    return f"tenant {uuid4()}"


@pytest.fixture
def clock(kept_in: str, request: pytest.FixtureRequest) -> FixedClock:
    if kept_in == "server":
        return request.getfixturevalue("server").clock_at(NOW)
    return FixedClock(NOW)


@pytest.fixture
def facts(
    kept_in: str, store: Store, tenant: str, clock: FixedClock, request: pytest.FixtureRequest
) -> Facts:
    if kept_in == "server":
        return request.getfixturevalue("server").of(tenant).facts
    return facts_of(store, tenant, clock)


def facts_of(store: Store, tenant: str, clock: FixedClock, *single: str) -> Facts:
    return Facts(store, tenant, clock, new_id, frozenset(single), writer=None, learner=None)


class Chat:
    """Memories that say things, as if rules had found them."""

    def __init__(self, store: Store, tenant: str) -> None:
        self._store = store
        self._tenant = tenant

    def says(
        self,
        subject: str,
        predicate: str,
        value: str,
        *,
        at: datetime = NOW,
        user_id: str | None = None,
        **others: Any,
    ) -> str:
        """The id of a new memory that says so."""
        memory = str(uuid4())
        record = MemoryRecord(
            id=memory, text=f"{subject} {predicate} {value}", tenant=self._tenant,
            happened_at=at, created_at=at, updated_at=at, user_id=user_id,
        )  # fmt: skip
        names = [one for one in (subject, value) if one]
        claim = Claim(
            id=str(new_id()), subject=entity_id(user_id, subject), predicate=predicate,
            value=value, object=entity_id(user_id, value) if value else None, text=record.text,
            observed_at=at, recorded_at=at, confidence=0.8, origin="rules", memory=memory,
            user_id=user_id, **others,
        )  # fmt: skip
        entities = tuple(
            Entity(
                id=entity_id(user_id, name), name=name, type="person", created_at=at,
                user_id=user_id,
            )
            for name in names
        )  # fmt: skip
        learnt = Learnt(memory=memory, entities=entities, claims=(claim,))
        insert = Insert(record=record)
        batch = Batch(tenant=self._tenant, at=at, actions=(insert,), learnt=(learnt,))
        self._store.archive.write(batch)
        return memory

    def rest(self, memory: str, at: datetime, state: State = State.ARCHIVED) -> None:
        revise = Revise(id=memory, changes={"state": state}, verb="archive", at=at)
        self._store.archive.write(Batch(tenant=self._tenant, at=at, actions=(revise,)))

    def erase(self, memory: str, at: datetime = NOW) -> None:
        self._store.archive.write(Batch(tenant=self._tenant, at=at, actions=(Remove(id=memory),)))


@pytest.fixture
def chat(store: Store, tenant: str) -> Chat:
    return Chat(store, tenant)


def objects(found: list[Fact]) -> list[str]:
    return [one.object for one in found]


class TestAdding:
    def test_what_is_stated_is_known(self, facts: Facts) -> None:
        made = facts.add("Ana", "lives_in", " Lisbon ", user_id="u", metadata={"by": "form"})
        assert (made.subject, made.predicate, made.object) == ("Ana", "lives in", "Lisbon")
        assert (made.standing, made.kind, made.text) == ("holds", "fact", "Ana lives in Lisbon")
        assert (made.valid_from, made.valid_to, made.recorded_at) == (NOW, None, NOW)
        assert made.object_id == entity_id("u", "Lisbon")
        assert facts.about("ana", user_id="u") == [made]
        assert facts.get(made.id) == made

    def test_said_again_is_the_same_fact(self, facts: Facts, clock: FixedClock) -> None:
        first = facts.add("Ana", "likes", "tea", confidence=0.5)
        clock.at += DAY
        again = facts.add("ana", "Likes", "Tea", confidence=0.5)
        assert again.id == first.id
        assert (again.confidence, again.valid_from) == (0.75, NOW)
        assert facts.get(again.claims[1]) == again

    def test_dates_as_exact_as_they_are_given(self, facts: Facts) -> None:
        made = facts.add("Ana", "lives in", "Rome", valid_from="2010", valid_to="2014-03")
        assert made.began == Timespan(start=_day(2010), end=_day(2011))
        assert made.ended == Timespan(start=_day(2014, 3), end=_day(2014, 4))
        assert (made.valid_from, made.valid_to) == (_day(2010), _day(2014, 3))
        assert made.began.precision == "year"
        there = facts.add("Bob", "lives in", "Rome", valid_from="2024-02-29")
        assert there.began == Timespan(start=_day(2024, 2, 29), end=_day(2024, 3, 1))
        local = datetime(2024, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))
        assert facts.add("Eva", "lives in", "Rome", valid_from=local).valid_from == _day(2024)

    def test_kinds_types_and_plain_values(self, facts: Facts, store: Store, tenant: str) -> None:
        assert facts.add("Ana", "likes", "tea").kind == "preference"
        assert facts.add("Ana", "age", "34").object_id is None
        assert facts.add("Ana", "founded", "Globex").object_id is None
        known = facts.add("Bob", "works at", "Acme", kind="gossip")
        assert known.kind == "gossip"
        assert facts.add("Ana", "founded", "acme").object == "Acme"
        given = facts.add("Rover", "is", "a dog", subject_type="animal", object_type="species")
        types = {one.name: one.type for one in store.knowledge.entities(Reach(tenant=tenant))}
        assert types["Ana"] == "person"
        assert types["Acme"] == "organisation"
        assert (types["Rover"], types["a dog"]) == ("animal", "species")
        assert given.object_id is not None

    def test_a_guess_does_not_change_a_type(self, facts: Facts, store: Store, tenant: str) -> None:
        facts.add("Ana", "lives in", "Lisbon")
        facts.add("Bob", "likes", "Lisbon")
        facts.add("Lisbon", "is", "sunny")
        types = {one.name: one.type for one in store.knowledge.entities(Reach(tenant=tenant))}
        assert types["Lisbon"] == "place"

    def test_a_source_is_a_memory_of_that_user(self, facts: Facts, chat: Chat) -> None:
        memory = chat.says("Ana", "likes", "tea", user_id="u")
        made = facts.add("Ana", "likes", "coffee", source=memory.upper(), user_id="u")
        assert made.sources == (memory,)
        for wrong in (str(uuid4()), "x"):
            with pytest.raises(NotFound):
                facts.add("Ana", "likes", "milk", source=wrong, user_id="u")
        with pytest.raises(NotFound):
            facts.add("Ana", "likes", "milk", source=memory, user_id="other")
        assert "milk" not in objects(facts.about("Ana", user_id="u"))
        chat.erase(memory)
        assert facts.about("Ana", user_id="u") == []

    def test_predicates_of_ones_own_with_one_object(
        self, store: Store, tenant: str, clock: FixedClock
    ) -> None:
        facts = facts_of(store, tenant, clock, "team")
        facts.add("Ana", "team", "red")
        clock.at += DAY
        facts.add("Ana", "team", "blue")
        assert objects(facts.about("Ana")) == ["blue"]
        assert objects(facts.timeline("Ana", "team")) == ["red", "blue"]


class TestOverTime:
    def test_both_axes(self, facts: Facts, clock: FixedClock) -> None:
        facts.add("Ana", "works at", "Acme", valid_from="2020")
        clock.at += 10 * DAY
        facts.add("Ana", "works at", "Globex", valid_from="2024-03")
        assert objects(facts.about("Ana")) == ["Globex"]
        assert objects(facts.about("Ana", as_of=_day(2023))) == ["Acme"]
        assert objects(facts.about("Ana", known_at=NOW + DAY)) == ["Acme"]
        assert objects(facts.about("Ana", as_of=_day(2024, 4), known_at=NOW)) == ["Acme"]
        assert facts.about("Ana", known_at=NOW - DAY) == []
        assert objects(facts.timeline("Ana", "works at")) == ["Acme", "Globex"]
        assert objects(facts.timeline("Ana", known_at=NOW)) == ["Acme"]
        old = facts.about("Ana", standing="ended")[0]
        assert (old.object, old.valid_to) == ("Acme", _day(2024, 3))
        assert facts.get(old.id, known_at=NOW).standing is Standing.HOLDS

    def test_a_past_stretch_does_not_change_now(self, facts: Facts, clock: FixedClock) -> None:
        facts.add("Ana", "lives in", "Lisbon")
        clock.at += DAY
        facts.add("Ana", "lives in", "Rome", valid_from="2010", valid_to="2014")
        assert objects(facts.about("Ana")) == ["Lisbon"]
        assert objects(facts.about("Ana", as_of=_day(2012))) == ["Rome"]
        assert facts.about("Ana", as_of=_day(2016)) == []
        assert objects(facts.about("Ana", history=True)) == ["Lisbon", "Rome"]

    def test_what_is_planned_does_not_hold_yet(self, facts: Facts) -> None:
        facts.add("Ana", "lives in", "Lisbon")
        facts.add("Ana", "lives in", "Oslo", valid_from="2024-09")
        (now,) = facts.about("Ana")
        assert (now.object, now.standing) == ("Lisbon", Standing.HOLDS)
        assert objects(facts.about("Ana", as_of=_day(2024, 10))) == ["Oslo"]

    def test_unrelated_facts_never_retire_each_other(self, facts: Facts, clock: FixedClock) -> None:
        said = [("lives in", "Lisbon"), ("works at", "Acme"), ("likes", "tea"), ("has", "a bike"),
                ("likes", "coffee"), ("married to", "Bob"), ("age", "34")]  # fmt: skip
        for predicate, value in said:
            clock.at += DAY
            facts.add("Ana", predicate, value)
        facts.add("Bob", "lives in", "Oslo")
        assert {(one.predicate, one.object) for one in facts.about("Ana")} >= set(said)

    def test_a_memory_that_is_erased_gives_back_what_it_superseded(
        self, facts: Facts, chat: Chat
    ) -> None:
        chat.says("Ana", "lives in", "Rome", at=NOW - 9 * DAY)
        moved = chat.says("Ana", "lives in", "Oslo", at=NOW - DAY)
        assert objects(facts.about("Ana")) == ["Oslo"]
        chat.erase(moved)
        (fact,) = facts.about("Ana", history=True)
        assert (fact.object, fact.standing, fact.valid_to) == ("Rome", Standing.HOLDS, None)

    def test_a_resting_memory_takes_its_facts_along(self, facts: Facts, chat: Chat) -> None:
        memory = chat.says("Ana", "lives in", "Rome", at=NOW - 9 * DAY)
        chat.rest(memory, NOW - DAY)
        assert facts.about("Ana", history=True) == []
        assert objects(facts.about("Ana", known_at=NOW - 2 * DAY)) == ["Rome"]
        chat.rest(memory, NOW, State.ACTIVE)
        assert objects(facts.about("Ana")) == ["Rome"]

    def test_less_trust_is_doubted(self, facts: Facts, clock: FixedClock) -> None:
        facts.add("Ana", "lives in", "Rome")
        clock.at += DAY
        low = facts.add("Ana", "lives in", "Oslo", trust=0.3)
        assert low.standing is Standing.DOUBTED
        assert objects(facts.about("Ana")) == ["Rome"]
        assert facts.about("Ana", standing="doubted") == [low]


class TestConfirming:
    def test_evidence_adds_up(self, facts: Facts, chat: Chat, clock: FixedClock) -> None:
        memory = chat.says("Ana", "lives in", "Rome", at=NOW - DAY)
        (found,) = facts.about("Ana")
        again = facts.confirm(found.id, confidence=0.5)
        assert again.id == found.id
        assert again.confidence == pytest.approx(1 - 0.2 * 0.5)
        assert again.valid_from == NOW - DAY
        assert facts.confirm(found.id, source=memory).sources == (memory,)

    def test_it_settles_a_dispute(self, facts: Facts, clock: FixedClock) -> None:
        rome, oslo = facts.add("Ana", "lives in", "Rome"), facts.add("Ana", "lives in", "Oslo")
        assert [len(group) for group in facts.conflicts()] == [2]
        clock.at += DAY
        assert facts.confirm(rome.id).standing is Standing.HOLDS
        assert facts.get(oslo.id).standing is Standing.ENDED
        assert facts.conflicts() == []

    def test_what_ended_is_confirmed_as_it_was(self, facts: Facts, clock: FixedClock) -> None:
        rome = facts.add("Ana", "lives in", "Rome", valid_from="2010", valid_to="2014")
        clock.at += DAY
        facts.add("Ana", "lives in", "Oslo")
        clock.at += DAY
        again = facts.confirm(rome.id)
        assert (again.id, again.valid_from, again.valid_to) == (rome.id, _day(2010), _day(2014))
        assert objects(facts.about("Ana")) == ["Oslo"]

    def test_what_was_taken_back_is_believed_again(self, facts: Facts, clock: FixedClock) -> None:
        rome = facts.add("Ana", "lives in", "Rome", valid_from="2010")
        facts.retract(rome.id)
        again = facts.confirm(rome.id)
        assert (again.standing, again.valid_from) == (Standing.HOLDS, _day(2010))

    def test_it_lends_no_trust(self, facts: Facts, clock: FixedClock) -> None:
        facts.add("Ana", "lives in", "Rome")
        low = facts.add("Ana", "lives in", "Oslo", trust=0.3)
        clock.at += DAY
        assert facts.confirm(low.id).standing is Standing.DOUBTED
        assert objects(facts.about("Ana")) == ["Rome"]


class TestCorrecting:
    def test_another_object(self, facts: Facts, chat: Chat) -> None:
        chat.says("Ana", "works at", "Acme", at=NOW - 9 * DAY)
        (wrong,) = facts.about("Ana")
        right = facts.correct(wrong.id, object="Globex", reason="misheard")
        assert (right.object, right.valid_from) == ("Globex", NOW - 9 * DAY)
        assert right.text == "Ana works at Globex"
        assert facts.about("Ana") == [right]
        old = facts.get(wrong.id)
        assert (old.standing, old.retired_at) == (Standing.RETRACTED, NOW)
        assert objects(facts.about("Ana", known_at=NOW - DAY)) == ["Acme"]

    def test_dates_and_words(self, facts: Facts) -> None:
        made = facts.add("Ana", "lives in", "Rome", valid_from="2010")
        ended = facts.correct(made.id, valid_to="2014")
        assert (ended.valid_from, ended.valid_to) == (_day(2010), _day(2014))
        begun = facts.correct(ended.id, valid_from="2009-05")
        assert (begun.valid_from, begun.valid_to) == (_day(2009, 5), _day(2014))
        told = facts.correct(begun.id, text="Ana lived in Rome as a student")
        assert (told.text, told.valid_to) == ("Ana lived in Rome as a student", _day(2014))
        assert objects(facts.timeline("Ana")) == ["Rome"]

    def test_one_stretch_leaves_the_others(self, facts: Facts) -> None:
        facts.add("Ana", "lives in", "Rome", valid_from="2010", valid_to="2012")
        second = facts.add("Ana", "lives in", "Rome", valid_from="2015", valid_to="2018")
        facts.correct(second.id, object="Oslo")
        told = [(one.object, one.valid_from) for one in facts.timeline("Ana")]
        assert told == [("Rome", _day(2010)), ("Oslo", _day(2015))]

    def test_the_object_keeps_its_type(self, facts: Facts, store: Store, tenant: str) -> None:
        made = facts.add("Ana", "sponsors", "FC Rome", object_type="club")
        right = facts.correct(made.id, object="FC Oslo")
        assert right.object_id == entity_id(None, "FC Oslo")
        types = {one.name: one.type for one in store.knowledge.entities(Reach(tenant=tenant))}
        assert types["FC Oslo"] == "club"
        assert facts.correct(facts.add("Ana", "age", "34").id, object="35").object_id is None

    def test_what_cannot_be(self, facts: Facts) -> None:
        made = facts.add("Ana", "lives in", "Rome", valid_from="2010", valid_to="2014")
        with pytest.raises(InvalidInput, match="Say what is right"):
            facts.correct(made.id)
        with pytest.raises(InvalidInput, match="not before valid_from"):
            facts.correct(made.id, valid_from="2020")
        assert facts.get(made.id) == made


class TestRetracting:
    def test_it_is_believed_no_more(self, facts: Facts, clock: FixedClock) -> None:
        rome = facts.add("Ana", "lives in", "Rome")
        clock.at += DAY
        oslo = facts.add("Ana", "lives in", "Oslo")
        clock.at += DAY
        gone = facts.retract(oslo.id, reason="a joke")
        assert (gone.standing, gone.retired_at) == (Standing.RETRACTED, clock.at)
        assert objects(facts.about("Ana")) == ["Rome"]
        assert facts.get(rome.id).valid_to is None
        assert objects(facts.about("Ana", known_at=NOW + DAY)) == ["Oslo"]
        assert objects(facts.about("Ana", standing="retracted")) == ["Oslo"]
        assert objects(facts.about("Ana", history=True)) == ["Oslo", "Rome"]
        assert objects(facts.timeline("Ana")) == ["Rome"]
        assert facts.retract(oslo.id) == gone

    def test_stated_again_it_is_believed_again(self, facts: Facts, clock: FixedClock) -> None:
        made = facts.add("Ana", "likes", "tea")
        facts.retract(made.id)
        assert facts.add("Ana", "likes", "tea").standing is Standing.HOLDS
        facts.retract(facts.about("Ana")[0].id)
        assert facts.about("Ana") == []

    def test_clocks_that_differ_do_not_matter(self, facts: Facts, clock: FixedClock) -> None:
        made = facts.add("Ana", "likes", "tea")
        clock.at -= 9 * DAY
        assert facts.retract(made.id).standing is Standing.RETRACTED
        assert facts.add("Ana", "likes", "tea").standing is Standing.HOLDS

    def test_what_a_memory_says_is_kept_out(self, facts: Facts, chat: Chat) -> None:
        memory = chat.says("Ana", "lives in", "Rome", at=NOW - DAY)
        (found,) = facts.about("Ana")
        with pytest.raises(InvalidInput, match=memory):
            facts.retract(found.id, erase=True)
        assert facts.get(found.id) == found
        assert facts.retract(found.id).standing is Standing.RETRACTED
        assert facts.about("Ana") == []

    def test_erased_for_good(self, facts: Facts, store: Store, tenant: str) -> None:
        made = facts.add("Ana", "password", "hunter2")
        facts.confirm(made.id)
        facts.retract(made.id)
        gone = facts.retract(made.id, erase=True)
        assert gone.standing is Standing.RETRACTED
        assert list(store.knowledge.scan(tenant)) == []
        with pytest.raises(NotFound, match="no fact"):
            facts.get(made.id)

    def test_erasing_takes_every_stretch_and_denial_along(
        self, facts: Facts, store: Store, tenant: str
    ) -> None:
        first = facts.add("Ana", "lives in", "Quuxville", valid_from="2010", valid_to="2012")
        second = facts.add("Ana", "lives in", "Quuxville", valid_from="2015", valid_to="2018")
        facts.retract(first.id, reason="wibble")
        assert facts.get(second.id).standing is Standing.ENDED
        facts.add("Ana", "likes", "coffee")
        facts.retract(second.id, erase=True)
        told = repr(list(store.knowledge.scan(tenant)))
        assert "Quuxville" not in told
        assert "wibble" not in told
        assert [one.object for one in facts.find()] == ["coffee"]

    def test_a_callers_claim_with_a_source_can_be_erased(self, facts: Facts, chat: Chat) -> None:
        memory = chat.says("Ana", "lives in", "Rome")
        made = facts.add("Ana", "likes", "tea", source=memory)
        facts.retract(made.id, erase=True)
        assert [one.predicate for one in facts.about("Ana")] == ["lives in"]


class TestAbout:
    def test_also_as_object(self, facts: Facts, clock: FixedClock) -> None:
        facts.add("Bob", "boss", "Ana")
        facts.add("Ana", "likes", "tea")
        own, other = facts.about("Ana")
        assert (own.subject, other.subject, other.predicate) == ("Ana", "Bob", "boss")
        clock.at += DAY
        facts.add("Bob", "boss", "Eva")
        assert objects(facts.about("Ana")) == ["tea"]
        assert [one.standing for one in facts.about("Ana", history=True)] == ["holds", "ended"]

    def test_what_two_are_to_each_other(self, facts: Facts) -> None:
        said = facts.add("Bob", "friend", "Ana")
        (fact,) = facts.about("Ana")
        assert (fact.subject, fact.predicate, fact.object) == ("Ana", "friend", "Bob")
        assert fact.id == said.id
        again = facts.add("Ana", "friend", "Bob")
        assert (again.id, len(again.claims)) == (said.id, 2)
        assert len(facts.about("Ana")) == len(facts.about("Bob")) == 1
        facts.retract(said.id)
        assert facts.about("Ana") == facts.about("Bob") == []

    def test_a_marriage_ends_for_both(self, facts: Facts, clock: FixedClock) -> None:
        facts.add("Ana", "married to", "Bob", valid_from="2010")
        facts.add("Bob", "married to", "Eva", valid_from="2020")
        assert facts.about("Ana", predicate="married to") == []
        (past,) = facts.timeline("Ana", "married to")
        assert (past.object, past.valid_to, past.standing) == ("Bob", _day(2020), "ended")
        assert objects(facts.about("Eva")) == ["Bob"]
        assert objects(facts.about("Bob")) == ["Eva"]

    def test_people_by_their_first_name(self, facts: Facts, clock: FixedClock) -> None:
        facts.add("Ana Souza", "lives in", "Rome")
        clock.at += DAY
        facts.add("Ana", "lives in", "Oslo")
        for name in ("Ana", "Ana Souza", "Dr. Ana Souza"):
            (fact,) = facts.about(name)
            assert (fact.subject, fact.object) == ("Ana Souza", "Oslo")
        facts.add("Ana Lima", "lives in", "Bonn")
        assert objects(facts.about("Ana")) == ["Oslo"]
        assert objects(facts.about("Ana Souza")) == ["Rome"]

    def test_merged_objects_are_one(self, facts: Facts, clock: FixedClock) -> None:
        first = facts.add("Eva", "married to", "Bob")
        clock.at += DAY
        again = facts.add("Eva", "married to", "Bob Smith")
        assert (again.id, again.object) == (first.id, "Bob Smith")
        assert facts.find(object="Bob") == [again]

    def test_an_entity_by_its_id(self, facts: Facts) -> None:
        made = facts.add("Ana", "likes", "tea")
        assert facts.about(made.subject_id) == [made]
        assert facts.about(made.object_id or "") == [made]

    def test_limit_order_and_predicate(self, facts: Facts, clock: FixedClock) -> None:
        for number in range(5):
            clock.at += DAY
            facts.add("Ana", "likes", f"tea {number}")
        facts.add("Ana", "lives in", "Rome")
        assert objects(facts.about("Ana", predicate="LIKES", limit=2)) == ["tea 4", "tea 3"]
        assert facts.about("nobody") == []

    def test_many_people_of_one_place(self, facts: Facts, chat: Chat) -> None:
        for number in range(30):
            chat.says(f"Person {number}", "lives in", "Rome", at=NOW - 9 * DAY)
        for number in range(10):
            chat.says(f"Person {number}", "lives in", "Oslo", at=NOW - DAY)
        assert len(facts.about("Rome")) == 20
        assert len(facts.about("Rome", history=True)) == 30


class TestFinding:
    def test_by_conditions(self, facts: Facts, clock: FixedClock) -> None:
        facts.add("Ana", "lives in", "Rome")
        facts.add("Bob", "lives in", "Rome", kind="rumour")
        clock.at += DAY
        facts.add("Ana", "lives in", "Oslo")
        facts.add("Ana", "diet", "vegan")
        assert objects(facts.find()) == ["vegan", "Oslo", "Rome"]
        assert [one.subject for one in facts.find(predicate="lives_in", object="ROME")] == ["Bob"]
        assert [one.subject for one in facts.find(object="rome", as_of=NOW)] == ["Bob", "Ana"]
        assert [one.subject for one in facts.find(object="rome", known_at=NOW)] == ["Bob", "Ana"]
        assert [one.subject for one in facts.find(object="Vegan")] == ["Ana"]
        assert [one.subject for one in facts.find(kind="rumour")] == ["Bob"]
        assert objects(facts.find(standing="ended")) == ["Rome"]
        assert facts.find(standing="ended", as_of=clock.at) == []
        assert objects(facts.find(limit=1, offset=1)) == ["Oslo"]

    def test_conflicts(self, facts: Facts, clock: FixedClock) -> None:
        facts.add("Ana", "born in", "Rome")
        facts.add("Ana", "lives in", "Rome")
        clock.at += DAY
        facts.add("Ana", "born in", "Oslo")
        facts.add("Ana", "born in", "Bonn")
        (group,) = facts.conflicts()
        assert sorted(objects(list(group))) == ["Bonn", "Oslo", "Rome"]
        assert facts.conflicts(known_at=NOW) == []
        facts.retract(group[0].id)
        facts.retract(group[1].id)
        assert facts.conflicts() == []

    def test_agents_and_sessions_narrow(self, facts: Facts) -> None:
        facts.add("Ana", "likes", "tea", user_id="u", agent_id="a", session_id="s")
        facts.add("Ana", "likes", "milk", user_id="u", agent_id="b")
        assert objects(facts.about("Ana", user_id="u", agent_id="a")) == ["tea"]
        assert objects(facts.find(user_id="u", session_id="s")) == ["tea"]
        assert len(facts.about("Ana", user_id="u")) == 2

    def test_shared_knowledge(self, facts: Facts) -> None:
        facts.add("Acme", "is", "closed on Sunday")
        facts.add("Acme", "is", "my employer", user_id="u")
        assert objects(facts.about("Acme", user_id="u")) == ["my employer"]
        both = facts.about("Acme", user_id="u", include_shared=True)
        assert {one.object for one in both} == {"my employer", "closed on Sunday"}
        assert objects(facts.about("Acme")) == ["closed on Sunday"]
        assert len(facts.find(user_id="u", include_shared=True)) == 2


class TestIsolation:
    def test_another_tenant_has_nothing(
        self, facts: Facts, store: Store, clock: FixedClock
    ) -> None:
        made = facts.add("Ana", "lives in", "Rome")
        other = facts_of(store, f"tenant {uuid4()}", clock)
        assert other.about("Ana") == other.find() == []
        assert other.conflicts() == []
        verbs: list[Callable[[str], object]] = [
            other.get, other.confirm, other.retract,
            lambda made: other.retract(made, erase=True),
            lambda made: other.correct(made, object="Oslo"),
        ]  # fmt: skip
        for verb in verbs:
            with pytest.raises(NotFound, match=rf"There is no fact '{made.id}' here"):
                verb(made.id)
        assert facts.get(made.id) == made

    def test_users_do_not_see_each_other(self, facts: Facts) -> None:
        made = facts.add("Ana", "lives in", "Rome", user_id="u")
        facts.add("Ana", "lives in", "Oslo", user_id="v")
        assert facts.about("Ana") == []
        assert facts.about("Ana", user_id="u") == facts.find(user_id="u") == [made]
        assert facts.about(made.subject_id, user_id="v") == []
        assert facts.get(made.id).user_id == "u"
        facts.retract(made.id)
        assert objects(facts.about("Ana", user_id="v")) == ["Oslo"]


BAD: dict[str, list[Any]] = {
    "subject": ["", "  ", "x" * 257, "a\0b", "\ud800", None, 3],
    "predicate": ["", "_ _", "x" * 129, "same_as", None],
    "object": ["", "x" * 2001, "\udfff", None, ["x"]],
    "text": ["", "x" * 2001],
    "kind": ["", 3],
    "confidence": [-0.1, 1.1, float("nan"), True, "1"],
    "trust": [2, None],
    "valid_from": [
        "",
        "2024-13",
        "2024-00",
        "2024-01-00",
        "2024-02-30",
        "0000",
        "9999",
        "yesterday",
        datetime(2024, 1, 1),
    ],
    "valid_to": ["2023-5", 2024],
    "observed_at": [datetime(2024, 1, 1), "soon"],
    "subject_type": ["", 3],
    "object_type": [" "],
    "metadata": [{"x": object()}, ["x"]],
    "user_id": ["", "x" * 257, "a\nb"],
}


class TestHostile:
    @pytest.mark.parametrize(
        ("name", "value"), [(name, value) for name, values in BAD.items() for value in values]
    )
    def test_what_cannot_be_stated_is_refused(self, facts: Facts, name: str, value: Any) -> None:
        given: dict[str, Any] = {"subject": "Ana", "predicate": "likes", "object": "tea"}
        with pytest.raises(InvalidInput):
            facts.add(**(given | {name: value}))
        assert facts.find() == []

    def test_backwards_in_time(self, facts: Facts) -> None:
        with pytest.raises(InvalidInput, match="not before valid_from"):
            facts.add("Ana", "lives in", "Rome", valid_from="2014", valid_to="2010")
        facts.add("Ana", "lives in", "Rome", valid_from="2014", valid_to="2014")

    def test_questions_that_cannot_be_asked(self, facts: Facts) -> None:
        wrong: list[Callable[[], object]] = [
            lambda: facts.about(""),
            lambda: facts.about("Ana", limit=0),
            lambda: facts.about("Ana", standing="true"),
            lambda: facts.about("Ana", history=1),  # type: ignore[arg-type]
            lambda: facts.about("Ana", as_of=datetime(2024, 1, 1)),
            lambda: facts.timeline("Ana", "x" * 200),
            lambda: facts.find(offset=-1),
            lambda: facts.find(limit=True),
            lambda: facts.conflicts(user_id=""),
        ]
        for ask in wrong:
            with pytest.raises(InvalidInput):
                ask()
        for id in ("", "x", "%", "'; drop table claims", str(uuid4()), None):
            with pytest.raises(NotFound, match="There is no fact"):
                facts.get(id)  # type: ignore[arg-type]

    def test_strange_names_stay_apart(self, facts: Facts) -> None:
        names = ["%", "_", "'", '"', "\\", "a%", "Ana %", "名前", "👩‍👩‍👧", "ß" * 80, "Ana\u200dx"]
        for name in names:
            facts.add(name, "likes", name)
        for name in names:
            assert name in objects(facts.about(name)), name


class TestTogether:
    def test_threads_that_state_at_once(self, facts: Facts) -> None:
        def state(number: int) -> Fact:
            return facts.add("Ana", "likes", f"tea {number % 4}", confidence=0.5)

        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(state, range(24)))
        found = facts.about("Ana")
        assert sorted(objects(found)) == [f"tea {number}" for number in range(4)]
        assert [len(one.claims) for one in found] == [6, 6, 6, 6]
        assert {one.id for one in found} <= {one.id for one in made}

    def test_processes_that_state_at_once(self, tmp_path: Path, postgres_database: str) -> None:
        for where in (str(tmp_path / "facts.db"), postgres_database):
            tenant = f"tenant {uuid4()}"
            started = [Program(STATING, where, tenant, number) for number in range(2)]
            assert [one.ended() for one in started] == [0, 0]
            store: Store = PostgresStore(where) if "://" in where else SqliteStore(Path(where))
            try:
                found = facts_of(store, tenant, FixedClock(NOW)).about("Ana")
            finally:
                store.close()
            assert sorted(objects(found)) == [f"tea {number}" for number in range(10)]
            assert {len(one.claims) for one in found} == {2}


STATING = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from remanence.model.clock import FixedClock, IdMaker
from remanence.knowledge.facts import Facts
from remanence.store.postgres import PostgresStore
from remanence.store.sqlite import SqliteStore

where, tenant, number = sys.argv[1:]
store = PostgresStore(where) if "://" in where else SqliteStore(Path(where))
clock = FixedClock(datetime(2024, 5, 1, 12, int(number), tzinfo=UTC))
facts = Facts(store, tenant, clock, IdMaker(), writer=None, learner=None)
for count in range(10):
    facts.add("Ana", "likes", f"tea {count}", confidence=0.5)
store.close()
"""


def _day(year: int, month: int = 1, day: int = 1) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)
