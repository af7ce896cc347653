"""The graph on real stores: what callers state and memories say, merges, walks, times, walls."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from subprocess import run
from typing import Any
from uuid import uuid4
from xml.etree import ElementTree as Xml

import pytest

from remanence import Memory
from remanence.errors import InvalidInput, NotFound, RemanenceError
from remanence.knowledge.facts import Facts
from remanence.knowledge.graph import Graph
from remanence.model.clock import FixedClock, IdMaker
from remanence.model.graph import Subgraph, TimelineTurn
from remanence.model.knowledge import Claim, Entity, Learnt, Standing, entity_id
from remanence.model.memory import MemoryRecord, State
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.write import Batch, Insert, Remove, Revise
from remanence.store.postgres import PostgresStore
from remanence.store.sqlite import SqliteStore
from support.reaching import Afar, afar

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
SERVED = {"graph"}
new_id = IdMaker()


@pytest.fixture
def tenant() -> str:
    return f"tenant {uuid4()}"


@pytest.fixture
def store(kept_in: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if kept_in == "server":
        yield request.getfixturevalue("server").store
        return
    opened: Store
    if kept_in == "sqlite":
        opened = SqliteStore(tmp_path / "memory.db", durability="normal")
    else:
        opened = PostgresStore(request.getfixturevalue("postgres_database"))
    yield opened
    opened.close()


class Ticking(FixedClock):
    """A clock that moves a second each time it is looked at, so that no two claims are one."""

    def now(self) -> datetime:
        self.at += timedelta(seconds=1)
        return self.at


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Afar]:
    clock, path = Ticking(NOW), tmp_path_factory.mktemp("server") / "memory.db"
    with Memory(path, clock=clock) as memory, afar(memory, clock) as served:
        yield served


@pytest.fixture
def clock(kept_in: str, request: pytest.FixtureRequest) -> Ticking:
    if kept_in == "server":
        return request.getfixturevalue("server").clock_at(NOW)
    return Ticking(NOW)


@pytest.fixture
def graph(
    kept_in: str, store: Store, tenant: str, clock: Ticking, request: pytest.FixtureRequest
) -> Graph:
    if kept_in == "server":
        return request.getfixturevalue("server").of(tenant).graph
    return Graph(store, tenant, clock, new_id)


Remember = Callable[..., str]


@pytest.fixture
def remember(store: Store, tenant: str, clock: Ticking) -> Remember:
    def remembered(
        text: str,
        names: Sequence[str] = (),
        says: Sequence[tuple[str, str, str]] = (),
        at: datetime | None = None,
        **scope: Any,
    ) -> str:
        moment = at or clock.now()
        times: dict[str, Any] = dict.fromkeys(("happened_at", "created_at", "updated_at"), moment)
        record = MemoryRecord(id=str(new_id()), text=text, tenant=tenant, **times, **scope)
        learnt = (learnt_of(record, names, says),)
        actions = (Insert(record=record),)
        store.archive.write(Batch(tenant=tenant, at=moment, actions=actions, learnt=learnt))
        return record.id

    return remembered


def learnt_of(
    record: MemoryRecord, names: Sequence[str], says: Sequence[tuple[str, str, str]]
) -> Learnt:
    def id_of(name: str) -> str:
        return entity_id(record.user_id, name)

    spoken = dict.fromkeys([*names, *(name for a, _, b in says for name in (a, b))])
    entities = [
        Entity(
            id=id_of(name),
            name=name,
            type="thing",
            created_at=record.created_at,
            user_id=record.user_id,
        )
        for name in spoken
    ]
    claims = [
        Claim(
            id=str(new_id()),
            subject=id_of(a),
            predicate=predicate,
            value=b,
            object=id_of(b),
            text=f"{a} {predicate} {b}",
            confidence=0.8,
            observed_at=record.happened_at,
            recorded_at=record.created_at,
            origin="rules",
            memory=record.id,
            user_id=record.user_id,
            agent_id=record.agent_id,
            session_id=record.session_id,
        )
        for a, predicate, b in says
    ]
    return Learnt(
        memory=record.id,
        entities=tuple(entities),
        mentions=tuple(one.id for one in entities),
        claims=tuple(claims),
    )


def edges(part: Subgraph) -> set[tuple[str, str, str]]:
    return {(one.source, one.relation, one.target) for one in part.edges}


def names(part: Subgraph) -> set[str]:
    return {one.name for one in part.nodes}


class TestEntities:
    def test_add_and_get(self, graph: Graph) -> None:
        made = graph.add("Ana Silva", "person", observations=["likes tea", "likes tea", "a nurse"])
        assert (made.name, made.type, made.given, made.mentions) == ("Ana Silva", "person", True, 0)
        assert [one.text for one in made.observations] == ["likes tea", "a nurse"]
        assert graph.get("  ana  SILVA ") == made
        assert graph.add("ana silva").type == "person"

    def test_a_type_can_be_given_later(self, graph: Graph) -> None:
        graph.add("Lisbon")
        assert graph.add("Lisbon", "place").type == "place"

    def test_an_unknown_name(self, graph: Graph) -> None:
        verbs: list[Callable[[], object]] = [
            lambda: graph.get("Nobody"),
            lambda: graph.observe("Nobody", "x"),
            lambda: graph.unobserve("Nobody", "x"),
            lambda: graph.erase("Nobody"),
            lambda: graph.merge("Nobody", "Nowhere"),
            lambda: graph.unmerge("Nobody"),
            lambda: graph.mentions("Nobody"),
            lambda: graph.neighbours("Nobody"),
            lambda: graph.paths("Nobody", "Nowhere"),
            lambda: graph.timeline("Nobody"),
            lambda: graph.unrelate("Nobody", "likes", "tea"),
            lambda: graph.export(about="Nobody"),
        ]
        for verb in verbs:
            with pytest.raises(NotFound, match=r"graph\.add"):
                verb()

    def test_observations_come_and_go(self, graph: Graph, clock: Ticking) -> None:
        graph.add("Ana")
        graph.observe("Ana", "likes tea")
        before = clock.now()
        made = graph.observe("Ana", ["has a cat", "plays chess"])
        assert [one.text for one in made.observations] == ["likes tea", "has a cat", "plays chess"]
        assert graph.unobserve("Ana", ["has a cat", "never said"]) == 1
        assert [one.text for one in graph.get("Ana").observations] == ["likes tea", "plays chess"]
        assert [one.text for one in graph.get("Ana", known_at=before).observations] == ["likes tea"]
        assert graph.unobserve("Ana", "has a cat") == 0
        graph.observe("Ana", "has a cat")
        assert len(graph.get("Ana").observations) == 3

    def test_erased_observations_are_gone_from_the_past_too(
        self, graph: Graph, clock: Ticking
    ) -> None:
        graph.add("Ana", observations=["secret"])
        then = clock.now()
        assert graph.unobserve("Ana", "secret", erase=True) == 1
        assert graph.get("Ana", known_at=then).observations == ()

    def test_listing_and_searching(self, graph: Graph) -> None:
        graph.add("Ana Silva", "person", observations=["Loves Café culture"])
        graph.add("Bob", "person")
        graph.add("Acme", "organisation")
        graph.relate("Bob", "works at", "Acme")
        assert {one.name for one in graph.entities()} == {"Ana Silva", "Bob", "Acme"}
        assert [one.name for one in graph.entities("organisation")] == ["Acme"]
        assert [one.name for one in graph.entities(text="SILV")] == ["Ana Silva"]
        assert [one.name for one in graph.entities(text="cafe cult")] == ["Ana Silva"]
        assert {one.name for one in graph.entities(text="person")} == {"Ana Silva", "Bob"}
        assert [one.name for one in graph.entities(text="%")] == []
        (bob,) = graph.entities(text="bob")
        assert [(one.source, one.target) for one in bob.relations] == [("Bob", "Acme")]
        listed = [one.name for one in graph.entities()]
        paged = [graph.entities(limit=1, offset=at)[0].name for at in range(3)]
        assert paged == listed

    def test_deleting_takes_all_that_was_said(
        self, graph: Graph, remember: Remember, store: Store, tenant: str
    ) -> None:
        memory = remember("Ana likes tea", says=[("Ana", "likes", "tea")])
        graph.observe("Ana", "a nurse")
        graph.add("Annie")
        graph.merge("Annie", "Ana")
        assert graph.erase("Annie") > 0
        assert {one.name for one in graph.entities()} == {"tea"}
        assert graph.get("tea").relations == ()
        assert [one.id for one in store.archive.get(tenant, [memory])] == [memory]


class TestRelations:
    def test_relate_makes_both_ends(self, graph: Graph) -> None:
        made = graph.relate("Ana", "works at", "Acme", confidence=0.7, trust=0.9)
        assert (made.source, made.relation, made.target) == ("Ana", "works at", "Acme")
        assert (made.confidence, made.trust, made.standing) == (0.7, 0.9, Standing.HOLDS)
        assert graph.get("Acme").type == "organisation"
        assert graph.get("Ana").relations == graph.get("Acme").relations == (made,)

    def test_said_twice_it_is_one(self, graph: Graph) -> None:
        graph.relate("Ana", "friend_of", "Bob")
        graph.relate("ana", "friend_of", "BOB")
        part = graph.neighbours("Ana")
        assert edges(part) == {("Ana", "friend_of", "Bob")}
        assert len(part.edges) == 1

    def test_taking_it_back_keeps_the_past(self, graph: Graph, clock: Ticking) -> None:
        graph.relate("Ana", "likes", "tea")
        then = clock.now()
        assert graph.unrelate("Ana", "likes", "tea") == 1
        assert graph.get("Ana").relations == ()
        assert len(graph.get("Ana", known_at=then).relations) == 1
        with pytest.raises(NotFound, match="Nobody said"):
            graph.unrelate("Ana", "likes", "tea")
        graph.relate("Ana", "likes", "tea")
        assert len(graph.get("Ana").relations) == 1

    def test_erasing_it_does_not(self, graph: Graph, clock: Ticking) -> None:
        graph.relate("Ana", "likes", "tea")
        then = clock.now()
        assert graph.unrelate("Ana", "likes", "tea", erase=True) == 1
        assert graph.get("Ana", known_at=then).relations == ()

    def test_one_at_a_time(self, store: Store, tenant: str, clock: Ticking) -> None:
        graph = Graph(store, tenant, clock, new_id, None, frozenset({"drives"}))
        for name in ("a Fiat", "a Volvo"):
            graph.relate("Ana", "drives", name)
            graph.relate("Ana", "lives in", f"the town of {name}")
            graph.relate("Ana", "likes", name)
        held = {(one.relation, one.target) for one in graph.get("Ana").relations}
        assert held == {
            ("drives", "a Volvo"),
            ("lives in", "the town of a Volvo"),
            ("likes", "a Fiat"),
            ("likes", "a Volvo"),
        }

    def test_both_axes_of_time(self, graph: Graph, clock: Ticking) -> None:
        start, end = NOW - 400 * DAY, NOW - 100 * DAY
        graph.relate("Ana", "works at", "Acme", valid_from=start, valid_to=end)
        graph.relate("Ana", "works at", "Initech", valid_from=end)
        told = clock.now()
        clock.at += DAY
        graph.relate("Ana", "works at", "Hooli")

        def work(**when: Any) -> set[str]:
            return {one.target for one in graph.get("Ana", **when).relations}

        assert work() == {"Hooli"}
        assert work(as_of=NOW - 200 * DAY) == {"Acme"}
        assert work(as_of=NOW - 50 * DAY) == {"Initech"}
        assert work(as_of=NOW - 500 * DAY) == set()
        assert work(known_at=told) == {"Initech"}
        assert work(known_at=told, as_of=NOW - 200 * DAY) == {"Acme"}
        with pytest.raises(NotFound):
            graph.get("Ana", known_at=NOW - DAY)

    def test_what_is_to_come_comes_by_itself(self, graph: Graph, clock: Ticking) -> None:
        graph.relate("Ana", "lives in", "Porto")
        graph.relate("Ana", "lives in", "Lisbon", valid_from=NOW + DAY)
        assert {one.target for one in graph.get("Ana").relations} == {"Porto"}
        clock.at = NOW + 2 * DAY
        assert {one.target for one in graph.get("Ana").relations} == {"Lisbon"}

    def test_refused(self, graph: Graph) -> None:
        with pytest.raises(InvalidInput, match="observe"):
            graph.relate("Ana", "note", "x")
        with pytest.raises(InvalidInput, match="merge"):
            graph.relate("Ana", "same as", "x")
        with pytest.raises(InvalidInput, match="valid_to"):
            graph.relate("Ana", "likes", "x", valid_from=NOW, valid_to=NOW - DAY)
        for wrong in (-0.1, 1.1, float("nan"), "1"):
            with pytest.raises(InvalidInput):
                graph.relate("Ana", "likes", "x", confidence=wrong)  # type: ignore[arg-type]
        assert graph.entities() == []


class TestMemories:
    def test_mentions(self, graph: Graph, remember: Remember, clock: Ticking) -> None:
        first = remember("Ana and Bob", ["Ana", "Bob"], at=NOW - 9 * DAY, session_id="s1")
        last = remember("Ana again", ["Ana"], at=NOW - 2 * DAY, session_id="s2")
        ana = graph.get("Ana")
        assert ana.mentions == 2
        assert (ana.first_mention, ana.last_mention) == (NOW - 9 * DAY, NOW - 2 * DAY)
        assert [one.memory for one in graph.mentions("Ana")] == [last, first]
        assert [one.memory for one in graph.mentions("Ana", limit=1, offset=1)] == [first]
        assert [one.memory for one in graph.mentions("Ana", as_of=NOW - 5 * DAY)] == [first]
        assert [one.memory for one in graph.mentions("Ana", known_at=NOW - 5 * DAY)] == [first]
        assert [one.memory for one in graph.mentions("Ana", session_id="s2")] == [last]
        assert graph.get("Ana", session_id="s2").mentions == 1
        assert graph.get("Ana", known_at=NOW - 5 * DAY).mentions == 1
        assert not ana.given

    def test_merged_names_are_counted_once(self, graph: Graph, remember: Remember) -> None:
        remember("Bob, or Robert", ["Bob", "Robert"])
        remember("Robert", ["Robert"])
        graph.merge("Bob", "Robert")
        assert graph.get("Bob").mentions == 2
        assert len(graph.mentions("Bob")) == 2

    def test_erasing_a_memory_takes_its_part_of_the_graph(
        self, graph: Graph, remember: Remember, store: Store, tenant: str
    ) -> None:
        old = remember("Ana lives in Porto", says=[("Ana", "lives in", "Porto")])
        new = remember("Ana lives in Lisbon", says=[("Ana", "lives in", "Lisbon")])
        assert edges(graph.neighbours("Ana")) == {("Ana", "lives in", "Lisbon")}
        noted = graph.observe("Ana", "seen at the harbour", source=new)
        assert noted.observations[0].source == new
        assert graph.get("Ana").relations[0].sources == (new,)
        store.archive.write(Batch(tenant=tenant, at=NOW, actions=(Remove(id=new),)))
        assert edges(graph.neighbours("Ana")) == {("Ana", "lives in", "Porto")}
        assert graph.get("Ana").observations == ()
        with pytest.raises(NotFound):
            graph.get("Lisbon")
        store.archive.write(Batch(tenant=tenant, at=NOW, actions=(Remove(id=old),)))
        assert graph.entities() == []

    def test_an_archived_memory_rests(
        self, graph: Graph, remember: Remember, store: Store, tenant: str, clock: Ticking
    ) -> None:
        memory = remember("Ana likes tea", says=[("Ana", "likes", "tea")])
        for state, held in ((State.ARCHIVED, 0), (State.ACTIVE, 1)):
            changes = {"state": state}
            action = Revise(id=memory, changes=changes, verb="update", at=clock.now())
            store.archive.write(Batch(tenant=tenant, at=clock.now(), actions=(action,)))
            assert len(graph.get("Ana").relations) == held
            assert graph.get("Ana").mentions == held

    def test_spoken_of_together(self, graph: Graph, remember: Remember) -> None:
        for _ in range(3):
            remember("Ana and Bob", ["Ana", "Bob"])
        remember("Bob and Cleo", ["Bob", "Cleo"])
        assert names(graph.neighbours("Ana")) == {"Ana"}
        part = graph.neighbours("Ana", depth=2, together=True)
        assert names(part) == {"Ana", "Bob", "Cleo"}
        counts = {frozenset((one.a, one.b)): one.memories for one in part.together}
        assert counts == {frozenset(("Ana", "Bob")): 3, frozenset(("Bob", "Cleo")): 1}
        (path,) = graph.paths("Ana", "Cleo", together=True)
        assert path.names == ("Ana", "Bob", "Cleo")
        assert graph.paths("Ana", "Cleo") == []

    def test_a_long_list_of_names_says_nothing_of_who_belongs_together(
        self, graph: Graph, remember: Remember
    ) -> None:
        remember("everybody", [f"person {n}" for n in range(40)])
        assert graph.get("person 1").mentions == 1
        assert names(graph.neighbours("person 1", together=True)) == {"person 1"}

    def test_a_source_that_is_not_there(self, graph: Graph) -> None:
        graph.add("Ana")
        for wrong in (str(uuid4()), "no id"):
            with pytest.raises(NotFound):
                graph.observe("Ana", "x", source=wrong)
            with pytest.raises(NotFound):
                graph.relate("Ana", "likes", "tea", source_memory=wrong)
        assert graph.get("Ana").observations == ()
        assert {one.name for one in graph.entities()} == {"Ana"}


class TestMerges:
    def test_a_merge_and_its_undoing(self, graph: Graph, clock: Ticking) -> None:
        graph.add("Bob", "person", observations=["plays chess"])
        graph.add("Robert", "person", observations=["a baker"])
        graph.relate("Bob", "likes", "tea")
        graph.relate("Cleo", "friend", "Robert")
        before = clock.now()
        merged = graph.merge("Bob", "Robert", reason="same phone number")
        assert (merged.name, merged.aliases) == ("Robert", ("Bob",))
        assert {one.text for one in merged.observations} == {"plays chess", "a baker"}
        assert {one.relation for one in merged.relations} == {"likes", "friend"}
        assert graph.get("bob") == merged
        assert [one.names for one in graph.paths("Cleo", "tea")] == [("Cleo", "Robert", "tea")]
        assert {one.name for one in graph.entities()} == {"Robert", "Cleo", "tea"}
        assert graph.get("Bob", known_at=before).name == "Bob"
        together = clock.now()

        apart = graph.unmerge("Bob", reason="two people after all")
        assert (apart.name, apart.aliases) == ("Bob", ())
        assert [one.text for one in apart.observations] == ["plays chess"]
        assert [one.text for one in graph.get("Robert").observations] == ["a baker"]
        assert graph.get("Bob", known_at=together).name == "Robert"
        assert graph.alike() == []
        assert graph.merge("Bob", "Robert").aliases == ("Bob",)

    def test_what_is_said_while_merged_stays_with_the_name(self, graph: Graph) -> None:
        graph.add("Bob")
        graph.add("Robert")
        graph.merge("Bob", "Robert")
        graph.observe("Bob", "said of Bob")
        graph.observe("Robert", "said of Robert")
        assert len(graph.get("Robert").observations) == 2
        assert graph.unobserve("Robert", "said of Bob") == 1
        graph.unmerge("Bob")
        assert graph.get("Bob").observations == ()
        assert [one.text for one in graph.get("Robert").observations] == ["said of Robert"]

    def test_chains_and_rings(self, graph: Graph) -> None:
        for name in ("A1", "B2", "C3"):
            graph.add(name, observations=[f"said of {name}"])
        graph.merge("B2", "C3")
        assert graph.merge("A1", "B2").name == "C3"
        assert len(graph.get("A1").observations) == 3
        graph.unmerge("B2")
        assert graph.get("A1").id == graph.get("B2").id != graph.get("C3").id
        assert graph.get("A1").name == "B2"
        graph.merge("B2", "C3")
        assert graph.merge("C3", "A1").name == "A1"
        assert len(graph.entities()) == 1
        graph.unmerge("C3")
        assert [set(one.aliases) | {one.name} for one in graph.entities()] in (
            [{"A1", "B2"}, {"C3"}],
            [{"C3"}, {"A1", "B2"}],
        )

    def test_in_one_tick_of_the_clock_the_order_counts(self, store: Store, tenant: str) -> None:
        graph = Graph(store, tenant, FixedClock(NOW), new_id)
        slow = Graph(store, tenant, FixedClock(NOW - DAY), new_id)
        for name in ("Bob", "Robert"):
            graph.add(name)
        for one in (graph, graph, slow):
            assert one.merge("Bob", "Robert").aliases == ("Bob",)
            assert one.unmerge("Bob").aliases == ()
        assert graph.merge("Bob", "Robert").name == "Robert"
        assert slow.merge("Robert", "Bob").name == "Bob"
        assert graph.merge("Bob", "Robert").name == "Robert"
        assert graph.entities()[0].aliases == ("Bob",)

    def test_facts_tell_of_the_same_name(
        self, graph: Graph, store: Store, tenant: str, clock: Ticking
    ) -> None:
        facts = Facts(store, tenant, clock, new_id, writer=None, learner=None)
        facts.add("Robert", "lives in", "Rome")
        facts.add("Cleo", "friend", "Robert")
        facts.add("Cleo", "friend", "Bob")
        graph.merge("Robert", "Bob")
        (home,) = facts.about("Robert", predicate="lives in")
        assert home.subject == graph.get("Robert").name == "Bob"
        assert [one.object for one in facts.about("Cleo")] == ["Bob"]
        assert [one.target for one in graph.get("Cleo").relations] == ["Bob"]
        assert {one.subject for one in facts.find(predicate="lives in")} == {"Bob"}
        graph.merge("Bob", "Robert")
        assert [one.object for one in facts.timeline("Cleo")] == ["Robert"]
        assert {one.object for one in facts.find(predicate="friend")} == {"Robert"}
        graph.unmerge("Bob")
        assert {one.object for one in facts.about("Cleo")} == {"Bob", "Robert"}

    def test_people_that_are_one_by_their_names(self, graph: Graph) -> None:
        graph.add("Ana Silva", "person", observations=["a nurse"])
        assert graph.get("Ana").name == "Ana Silva"
        assert graph.get("Ana", known_at=NOW + DAY).name == "Ana Silva"
        assert names(graph.neighbours("ana")) == {"Ana Silva"}
        with pytest.raises(NotFound):
            graph.observe("Ana", "only names that were given are written to")
        graph.add("Ana", "person", observations=["likes tea"])
        graph.add("Dr. Ana Silva", "person")
        one = graph.get("Ana")
        assert len(one.observations) == 2
        assert len(graph.entities()) == 1
        apart = graph.unmerge("Ana", reason="another Ana")
        assert [note.text for note in apart.observations] == ["likes tea"]
        assert {node.name for node in graph.entities()} in (
            {"Ana", "Ana Silva"},
            {"Ana", "Dr. Ana Silva"},
        )
        assert graph.get("Ana Silva").id == graph.get("Dr. Ana Silva").id
        assert graph.alike() == []
        graph.add("Ana Costa", "person")
        assert graph.get("Ana").aliases == ()
        assert graph.merge("Ana Silva", "Ana").name == "Ana"

    def test_refused(self, graph: Graph) -> None:
        graph.add("Bob")
        with pytest.raises(InvalidInput, match="same name"):
            graph.merge("Bob", "BOB")
        with pytest.raises(NotFound, match="not merged"):
            graph.unmerge("Bob")

    def test_suggestions_and_resolving(self, graph: Graph) -> None:
        graph.add("Ana Silva", "person")
        graph.add("Silva, Ana", "person")
        graph.add("Silver", "thing")
        graph.add("New York University", "organisation")
        graph.add("NYU", "organisation")
        graph.relate("Ana Silva", "works at", "NYU")
        suggested = graph.alike()
        assert suggested[0].score >= 0.9
        assert {suggested[0].name, suggested[0].into} == {"Ana Silva", "Silva, Ana"}
        assert ("NYU", "New York University") in {(one.name, one.into) for one in suggested}
        assert len(graph.alike(limit=1)) == 1
        planned = graph.resolve()
        assert planned.dry_run
        assert len(graph.entities()) == 5
        done = graph.resolve(dry_run=False)
        assert done.merged == planned.merged
        assert len(graph.entities()) == 4
        assert graph.get("Silva, Ana").name == "Ana Silva"
        graph.unmerge("Silva, Ana")
        assert graph.resolve().merged == ()


class TestWalks:
    @pytest.fixture
    def ring(self, graph: Graph) -> Graph:
        for n in range(6):
            graph.relate(f"n{n}", "next", f"n{(n + 1) % 6}")
        graph.relate("n0", "across", "n3")
        return graph

    def test_neighbours(self, ring: Graph) -> None:
        assert names(ring.neighbours("n0")) == {"n0", "n1", "n5", "n3"}
        assert names(ring.neighbours("n0", relations="next")) == {"n0", "n1", "n5"}
        assert len(ring.neighbours("n0", depth=3).edges) == 7
        assert len(ring.neighbours("n0", depth=3, limit=2).nodes) == 3

    def test_paths(self, ring: Graph) -> None:
        found = ring.paths("n0", "n3")
        assert [len(one.edges) for one in found] == [1, 3, 3]
        assert [len(one.edges) for one in ring.paths("n0", "n3", relations=["next"])] == [3, 3]
        assert len(ring.paths("n0", "n3", max_length=2)) == 1
        assert len(ring.paths("n0", "n3", limit=2)) == 2

    def test_the_timeline(self, graph: Graph) -> None:
        graph.relate("Ana", "works at", "Acme", valid_from=NOW - 9 * DAY, valid_to=NOW - 5 * DAY)
        graph.observe("Ana", "likes tea")
        told = graph.timeline("Ana")
        assert [(one.turn, one.fact.object) for one in told] == [
            (TimelineTurn.BEGAN, "Acme"),
            (TimelineTurn.ENDED, "Acme"),
            (TimelineTurn.NOTED, "likes tea"),
        ]
        assert graph.timeline("Ana", as_of=NOW - 6 * DAY) == told[:1]
        assert graph.timeline("Ana", limit=1) == told[2:]
        assert len(graph.timeline("Acme")) == 2

    def test_communities(self, graph: Graph, remember: Remember) -> None:
        for name in ("Ana", "Bob", "Cleo"):
            graph.relate(name, "works at", "Acme")
        for name in ("Dan", "Eve"):
            graph.relate(name, "sings in", "Choir")
        found = graph.communities()
        assert [set(one.members) for one in found] == [
            {"Acme", "Ana", "Bob", "Cleo"},
            {"Choir", "Dan", "Eve"},
        ]
        assert "works at" in found[0].name
        assert "sings in" in found[1].name


class TestScopes:
    def test_tenants_and_users_are_walls(
        self, store: Store, graph: Graph, clock: Ticking, remember: Remember
    ) -> None:
        other = Graph(store, f"other {uuid4()}", clock, new_id)
        graph.add("Ana", observations=["mine"])
        graph.add("Ana", user_id="alice", observations=["alice's"])
        remember("Ana likes tea", says=[("Ana", "likes", "tea")], user_id="alice")
        assert other.entities() == []
        assert [one.text for one in graph.get("Ana").observations] == ["mine"]
        assert graph.get("Ana").relations == ()
        assert [one.text for one in graph.get("Ana", user_id="alice").observations] == ["alice's"]
        assert graph.entities(user_id="bob") == []
        for elsewhere in ({"user_id": "bob"}, {"user_id": "Alice"}):
            with pytest.raises(NotFound):
                graph.observe("Ana", "x", **elsewhere)
            with pytest.raises(NotFound):
                graph.erase("Ana", **elsewhere)
        with pytest.raises(NotFound):
            other.merge("Ana", "tea")
        graph.erase("Ana")
        assert len(graph.get("Ana", user_id="alice").observations) == 1

    def test_a_memory_of_another_user_is_no_source(self, graph: Graph, remember: Remember) -> None:
        memory = remember("Ana", ["Ana"], user_id="alice")
        graph.add("Ana", user_id="bob")
        with pytest.raises(NotFound):
            graph.observe("Ana", "x", source=memory, user_id="bob")

    def test_what_is_shared_is_added_when_asked(self, graph: Graph) -> None:
        graph.relate("Acme", "located in", "Porto")
        graph.relate("Ana", "works at", "Acme", user_id="alice")
        assert names(graph.neighbours("Ana", depth=2, user_id="alice")) == {"Ana", "Acme"}
        part = graph.neighbours("Ana", depth=2, user_id="alice", include_shared=True)
        assert names(part) == {"Ana", "Acme", "Porto"}
        assert len(part.nodes) == 3
        assert len(graph.entities(user_id="alice", include_shared=True)) == 3

    def test_agents_and_sessions_narrow_what_is_said(self, graph: Graph) -> None:
        graph.add("Ana", observations=["for all"])
        made = graph.observe("Ana", "for the bot", agent_id="bot", session_id="s")
        assert [one.text for one in made.observations] == ["for the bot"]
        assert len(graph.get("Ana").observations) == 2
        assert len(graph.get("Ana", agent_id="bot").observations) == 1
        with pytest.raises(NotFound):
            graph.get("Ana", agent_id="another")
        graph.unobserve("Ana", "for the bot")
        assert graph.get("Ana", agent_id="bot").observations == ()
        assert graph.add("New", agent_id="bot").name == "New"

    def test_a_merge_holds_for_every_agent(self, graph: Graph) -> None:
        graph.add("Bob", observations=["chess"], agent_id="bot")
        graph.add("Robert", observations=["a baker"])
        graph.merge("Bob", "Robert")
        node = graph.get("Robert", agent_id="bot")
        assert (node.name, node.aliases) == ("Robert", ("Bob",))
        assert [one.text for one in node.observations] == ["chess"]


class TestExports:
    @pytest.fixture
    def filled(self, graph: Graph) -> Graph:
        graph.add('A "quoted" [name]\n<b>&', "person", observations=["likes\n]]> tea"])
        graph.relate('A "quoted" [name]\n<b>&', "works | at", "Acme %%{init}%%")
        graph.relate("Acme %%{init}%%", "near", "$x^$ `Lisbon`")
        return graph

    def test_json(self, filled: Graph) -> None:
        read = json.loads(filled.export())
        assert {one["name"] for one in read["entities"]} == {one.name for one in filled.entities()}
        assert len(read["relations"]) == 2

    def test_graphml(self, filled: Graph) -> None:
        root = Xml.fromstring(filled.export("graphml"))
        ids = {one.get("id") for one in root.iter() if one.tag.endswith("}node")}
        joined = [one for one in root.iter() if one.tag.endswith("}edge")]
        assert len(ids) == 3
        assert len(joined) == 2
        assert {end for one in joined for end in (one.get("source"), one.get("target"))} <= ids

    def test_mermaid(self, filled: Graph) -> None:
        assert len(filled.export("mermaid").splitlines()) == 1 + 3 + 2

    def test_a_part(self, filled: Graph) -> None:
        part = filled.export(about="acme %%{init}%%", depth=1)
        assert len(json.loads(part)["entities"]) == 3
        assert len(json.loads(filled.export(limit=1))["entities"]) == 1
        with pytest.raises(InvalidInput, match="known: json"):
            filled.export("dot")

    @pytest.mark.usefixtures("here")
    def test_pictures(self, filled: Graph, tmp_path: Path) -> None:
        made = filled.plot(tmp_path / "graph.png")
        assert made.read_bytes().startswith(b"\x89PNG")
        filled.plot(str(tmp_path / "graph.svg"), about="Acme %%{init}%%")
        assert Xml.parse(tmp_path / "graph.svg").getroot().tag.endswith("svg")


class TestHostileValues:
    TEXTS: Sequence[Any] = [
        "",
        " \n",
        "a\0b",
        "half \ud800",
        b"x",
        7,
        None,
        ["a"],
        "x" * 10_000_000,
    ]

    def test_texts(self, graph: Graph) -> None:
        graph.add("Ana")
        for wrong in self.TEXTS:
            verbs: list[Callable[[], object]] = [
                lambda wrong=wrong: graph.add(wrong),  # type: ignore[misc]
                lambda wrong=wrong: graph.get(wrong),  # type: ignore[misc]
                lambda wrong=wrong: graph.relate("Ana", wrong, "tea"),  # type: ignore[misc]
                lambda wrong=wrong: graph.relate("Ana", "likes", wrong),  # type: ignore[misc]
                lambda wrong=wrong: graph.observe("Ana", [wrong]),  # type: ignore[misc]
                lambda wrong=wrong: graph.add("Ana", user_id=wrong or ""),  # type: ignore[misc]
                lambda wrong=wrong: graph.add("Ana", wrong),  # type: ignore[misc]
            ]
            for verb in verbs:
                with pytest.raises(InvalidInput):
                    verb()
        assert [one.name for one in graph.entities()] == ["Ana"]

    @pytest.mark.parametrize("wrong", [0, -1, True, 10**9, 1.5, "3", None])
    def test_numbers(self, graph: Graph, wrong: Any) -> None:
        graph.add("Ana")
        verbs: list[Callable[[], object]] = [
            lambda: graph.entities(limit=wrong),
            lambda: graph.mentions("Ana", limit=wrong),
            lambda: graph.neighbours("Ana", depth=wrong),
            lambda: graph.paths("Ana", "Ana", max_length=wrong),
            lambda: graph.communities(least=wrong),
            lambda: graph.export(limit=wrong),
        ]
        for verb in verbs:
            with pytest.raises(InvalidInput):
                verb()

    @pytest.mark.parametrize("wrong", [datetime(2024, 1, 1), "yesterday", 5, True])
    def test_times(self, graph: Graph, wrong: Any) -> None:
        graph.add("Ana")
        for name in ("as_of", "known_at"):
            with pytest.raises(InvalidInput):
                graph.get("Ana", **{name: wrong})
        with pytest.raises(InvalidInput):
            graph.relate("Ana", "likes", "tea", valid_from=wrong)

    @pytest.mark.parametrize(
        "name",
        ["'; DROP TABLE entities; --", "%", "_", "\u0301", "\u200d", "\U0001f418", "…", "the"],
    )
    def test_odd_names_work_or_are_refused(self, graph: Graph, name: str) -> None:
        try:
            made = graph.add(name, observations=[f"said of {name}"])
        except InvalidInput:
            assert graph.entities() == []
            return
        assert graph.get(name) == made
        assert [one.name for one in graph.entities(text=name)] in ([name], [])
        assert graph.relate(name, name, name).target == name
        assert graph.erase(name) > 0
        assert graph.entities() == []

    def test_no_failure_is_untyped(self, graph: Graph) -> None:
        for wrong in (object(), [], {}, 1.0):
            with pytest.raises(RemanenceError):
                graph.neighbours("Ana", relations=wrong)  # type: ignore[arg-type]
            with pytest.raises(RemanenceError):
                graph.export(wrong)  # type: ignore[arg-type]


class TestViews:
    @pytest.mark.usefixtures("here")
    def test_nothing_is_read_twice_while_nothing_changes(
        self, graph: Graph, store: Store, tenant: str
    ) -> None:
        graph.relate("Ana", "likes", "tea")
        reach = Reach(tenant=tenant)
        view = graph._views.view(reach)
        assert graph._views.view(reach) is view
        assert graph._views.view(reach, as_of=NOW) is graph._views.view(reach, as_of=NOW)
        graph.observe("Ana", "x")
        assert graph._views.view(reach) is not view

    def test_another_graph_on_the_store_sees_it_at_once(
        self, graph: Graph, store: Store, tenant: str, clock: Ticking
    ) -> None:
        other = Graph(store, tenant, clock, new_id)
        graph.relate("Ana", "likes", "tea")
        assert len(other.entities()) == 2
        graph.unrelate("Ana", "likes", "tea", erase=True)
        assert other.get("Ana").relations == ()
        graph.erase("tea")
        assert [one.name for one in other.entities()] == ["Ana"]

    @pytest.mark.usefixtures("here")
    @pytest.mark.parametrize("seed", range(6))
    def test_one_entity_is_the_same_with_and_without_the_rest(
        self, graph: Graph, remember: Remember, clock: Ticking, tenant: str, seed: int
    ) -> None:
        choose = Random(seed)
        people = ["Ana", "Ana Silva", "Bob", "Bob Ray", "Bob Stone", "Cleo", "Dr. Cleo Vale", "Dan"]
        relations = ("boss", "married to", "likes", "lives in")
        for name in people:
            graph.add(name, choose.choice(("person", "person", "thing")))
        for _ in range(40):
            a, b = choose.sample(people, 2)
            act = choose.random()
            if act < 0.15:
                graph.merge(a, b)
            elif act < 0.25:
                with suppress(NotFound):
                    graph.unmerge(a)
            elif act < 0.6:
                remember(f"{a} {b}", [a, b], [(a, choose.choice(relations), b)])
            else:
                graph.relate(a, choose.choice(relations), b, trust=choose.choice((0.5, 1.0)))
        reach = Reach(tenant=tenant)
        for name in people:
            part = graph._views.around(reach, entity_id(None, name), as_of=clock.at)
            whole = graph._views.view(reach, as_of=clock.at)
            graph.observe(name, "and so the views are old")
            ids = [view.known.standing_for[entity_id(None, name)] for view in (part, whole)]
            assert part.node(ids[0]) == whole.node(ids[1])
            assert len(part.known.facts) <= len(whole.known.facts)

    @pytest.mark.usefixtures("here")
    def test_few_views_are_kept(self, graph: Graph) -> None:
        graph.add("Ana")
        for n in range(40):
            graph.entities(user_id=f"user {n}")
            graph.entities(as_of=NOW + n * DAY)
            graph.entities(known_at=NOW + n * DAY)
        assert len(graph._views._held) <= 8
        assert all(len(one.views) <= 4 for one in graph._views._held.values())

    def test_many_threads(self, graph: Graph) -> None:
        begin = threading.Barrier(8)

        def work(n: int) -> int:
            begin.wait()
            for k in range(5):
                graph.relate(f"person {n}", "knows", f"person {(n + k) % 8}")
                graph.observe(f"person {n}", f"note {k}")
                assert graph.get(f"person {n}").observations
                graph.communities()
            return len(graph.get(f"person {n}").observations)

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(work, range(8))) == [5] * 8
        whole = json.loads(graph.export())
        assert len(whole["entities"]) == 8
        assert len(whole["relations"]) == 40


def test_importing_loads_nothing_heavy() -> None:
    code = (
        "import sys, remanence, remanence.knowledge.graph\n"
        "heavy = {'rustworkx', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )
    done = run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
