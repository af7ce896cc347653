"""The graph made of claims: nodes, walks, communities, likeness, timelines. No store."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from remanence.knowledge.graph.communities import communities_of
from remanence.knowledge.graph.known import SpokenOf, Talked, known_of
from remanence.knowledge.graph.likeness import alike, certain
from remanence.knowledge.graph.paths import Ground, neighbourhood, paths
from remanence.knowledge.graph.queries import timeline_of
from remanence.knowledge.graph.view import GraphView
from remanence.model.graph import Likeness, Route, Subgraph, TimelineTurn
from remanence.model.knowledge import Claim, Entity, Timespan, entity_id
from remanence.model.predicates import NOTE, SAME_AS

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
_numbers = count()


def entity(name: str, type: str = "person", at: datetime = NOW) -> Entity:
    return Entity(id=entity_id(None, name), name=name, type=type, created_at=at)


def says(subject: str, predicate: str, value: str, *, entity: bool = True, **more: Any) -> Claim:
    at = more.pop("at", NOW - DAY)
    return Claim(
        id=f"claim {next(_numbers):06}",
        subject=entity_id(None, subject),
        predicate=predicate,
        value=value,
        text=f"{subject} {predicate} {value}",
        object=entity_id(None, value) if entity else None,
        observed_at=at,
        recorded_at=at,
        **more,
    )


def view(
    *claims: Claim, entities: Sequence[Entity] = (), spoken: SpokenOf | None = None, **more: Any
) -> GraphView:
    at = more.pop("at", NOW)
    named = {one.id: one for one in entities}
    for one in claims:
        for id, name in ((one.subject, one.text.split()[0]), (one.object, one.value)):
            if id is not None and id not in named:
                named[id] = Entity(id=id, name=name, type="thing", created_at=one.recorded_at)
    return GraphView(
        known_of(list(named.values()), claims, now=NOW, **more), spoken or SpokenOf(), at
    )


def id_of(name: str) -> str:
    return entity_id(None, name)


def near(made: GraphView, name: str, depth: int = 1, limit: int = 50, **more: Any) -> Subgraph:
    return neighbourhood(Ground(made, **more), id_of(name), depth, limit)


def ways(
    made: GraphView, a: str, b: str, most: int = 4, limit: int = 5, **more: Any
) -> list[Route]:
    return paths(Ground(made, **more), id_of(a), id_of(b), most, limit)


def names(part: Subgraph) -> list[str]:
    return [one.name for one in part.nodes]


def ring(size: int) -> GraphView:
    return view(*(says(f"n{n}", "next", f"n{(n + 1) % size}") for n in range(size)))


class TestNodes:
    def test_what_is_said_of_an_entity(self) -> None:
        made = view(
            says("Ana", "works at", "Acme", confidence=0.8),
            says("Bob", "friend", "Ana"),
            says("Ana", "works as", "nurse", entity=False),
            says("Ana", NOTE, "drinks tea", entity=False, memory=None),
        )
        node = made.node(id_of("Ana"))
        assert {(one.source, one.relation, one.target) for one in node.relations} == {
            ("Bob", "friend", "Ana"),
            ("Ana", "works at", "Acme"),
        }
        assert [one.text for one in node.observations] == ["drinks tea"]
        assert [(one.predicate, one.object) for one in node.facts] == [("works as", "nurse")]
        assert {one.confidence for one in node.relations} == {0.8, 1.0}

    def test_said_twice_it_is_one_relation(self) -> None:
        said = [says("Ana", "works at", "Acme", memory=f"m{n}", at=NOW - n * DAY) for n in (3, 2)]
        (edge,) = view(*said).relations
        assert edge.sources == ("m3", "m2")

    def test_what_was_superseded_is_no_edge_now_but_was(self) -> None:
        said = [
            says("Ana", "lives in", "Porto", at=NOW - 9 * DAY),
            says("Ana", "lives in", "Lisbon", at=NOW - 3 * DAY),
        ]
        assert [one.target for one in view(*said).relations] == ["Lisbon"]
        assert [one.target for one in view(*said, at=NOW - 5 * DAY).relations] == ["Porto"]
        assert [one.target for one in view(*said, known_at=NOW - 5 * DAY).relations] == ["Porto"]

    def test_a_denied_relation_is_gone(self) -> None:
        said = [
            says("Ana", "likes", "tea", at=NOW - 3 * DAY),
            says("Ana", "likes", "tea", at=NOW - 2 * DAY, denies=True),
        ]
        assert view(*said).relations == ()
        assert len(view(*said, known_at=NOW - 2.5 * DAY).relations) == 1

    def test_merged_entities_are_one_node(self) -> None:
        said = [
            says("Bob", "likes", "tea", at=NOW - 5 * DAY),
            says("Robert", "likes", "jazz", at=NOW - 5 * DAY),
            says("Bob", SAME_AS, "Robert", at=NOW - 3 * DAY),
        ]
        made = view(*said, entities=[entity("Bob"), entity("Robert", "thing")])
        node = made.node(made.known.ids["robert"])
        assert made.known.ids["bob"] == made.known.ids["robert"]
        assert (node.name, node.aliases, node.type) == ("Robert", ("Bob",), "person")
        assert {one.target for one in node.relations} == {"tea", "jazz"}
        before = view(*said, known_at=NOW - 4 * DAY)
        assert before.known.ids["bob"] != before.known.ids["robert"]

    def test_undoing_a_merge_parts_them_as_they_were(self) -> None:
        said = [
            says("Bob", "likes", "tea", at=NOW - 5 * DAY),
            says("Robert", "likes", "jazz", at=NOW - 5 * DAY),
            says("Bob", SAME_AS, "Robert", at=NOW - 3 * DAY),
            says("Bob", SAME_AS, "Robert", at=NOW - 2 * DAY, denies=True),
        ]
        made = view(*said)
        assert {one.target for one in made.node(id_of("Bob")).relations} == {"tea"}
        assert {one.target for one in made.node(id_of("Robert")).relations} == {"jazz"}
        assert made.known.apart == {tuple(sorted((id_of("Bob"), id_of("Robert"))))}

    def test_entities_not_known_yet_are_not_there(self) -> None:
        made = view(
            says("Ana", "likes", "tea", at=NOW - 5 * DAY),
            entities=[entity("Late", at=NOW), entity("Ana", at=NOW)],
            known_at=NOW - 4 * DAY,
        )
        assert set(made.known.ids) == {"ana", "tea"}

    def test_a_claim_about_what_is_gone_is_passed_over(self) -> None:
        claims = [says("Ana", "likes", "tea")]
        known = known_of([entity("Ana")], claims, now=NOW)
        assert known.facts == ()

    def test_it_stays_until_something_begins_or_ends(self) -> None:
        end = Timespan(start=NOW + DAY, end=NOW + DAY)
        assert view(says("Ana", "works at", "Acme", ended=end)).known.until() == NOW + DAY
        assert view(says("Ana", "works at", "Acme")).known.until().year == 9999


class TestWalks:
    def test_depth_and_cycles(self) -> None:
        made = ring(7)
        assert set(names(near(made, "n0"))) == {"n0", "n1", "n6"}
        assert set(names(near(made, "n0", depth=2))) == {"n0", "n1", "n2", "n5", "n6"}
        whole = near(made, "n0", depth=6)
        assert len(whole.nodes) == len(whole.edges) == 7
        assert names(whole)[0] == "n0"

    def test_only_some_relations(self) -> None:
        made = view(says("Ana", "likes", "tea"), says("Ana", "works at", "Acme"))
        part = near(made, "Ana", relations={"likes"})
        assert names(part) == ["Ana", "tea"]
        assert [one.relation for one in part.edges] == ["likes"]
        assert names(near(made, "Ana", relations=set())) == ["Ana"]

    def test_the_limit_keeps_what_most_is_known_of(self) -> None:
        said = [says("Ana", "likes", f"t{n}") for n in range(9)]
        said += [says("t5", "is from", "Ceylon"), says("t5", "has", "caffeine")]
        part = near(view(*said), "Ana", limit=2)
        assert names(part)[:2] == ["Ana", "t5"]
        assert len(part.nodes) == 3

    def test_a_loop_is_an_edge_and_no_neighbour(self) -> None:
        part = near(view(says("Ana", "likes", "Ana")), "Ana")
        assert names(part) == ["Ana"]
        assert len(part.edges) == 1
        assert ways(view(says("Ana", "likes", "Ana")), "Ana", "Ana") == [
            Route(names=("Ana",), edges=())
        ]

    def test_spoken_of_together(self) -> None:
        a, b = sorted((id_of("Ana"), id_of("Bob")))
        heard = SpokenOf({a: Talked(2, 1, 2), b: Talked(1, 1, 1)}, {(a, b): 1})
        made = view(entities=[entity("Ana"), entity("Bob")], spoken=heard)
        assert names(near(made, "Ana")) == ["Ana"]
        part = near(made, "Ana", together=True)
        assert set(names(part)) == {"Ana", "Bob"}
        assert [one.memories for one in part.together] == [1]
        assert len(ways(made, "Ana", "Bob", together=True)) == 1
        assert ways(made, "Ana", "Bob") == []

    def test_paths_shortest_first_and_either_way(self) -> None:
        made = ring(6)
        found = ways(made, "n0", "n2")
        assert [one.names for one in found] == [("n0", "n1", "n2"), ("n0", "n5", "n4", "n3", "n2")]
        for path in found:
            joined = zip(path.names, path.edges, path.names[1:], strict=False)
            for a, edge, b in joined:
                assert {edge.source, edge.target} == {a, b}  # type: ignore[union-attr]
        assert [len(one.edges) for one in ways(made, "n0", "n2", most=3)] == [2]
        assert ways(made, "n0", "n3", most=2) == []
        assert len(ways(made, "n0", "n2", limit=1)) == 1

    def test_no_path_between_islands(self) -> None:
        made = view(says("Ana", "likes", "tea"), says("Bob", "likes", "jazz"))
        assert ways(made, "Ana", "Bob", most=8) == []

    def test_where_everything_is_joined_it_still_ends(self) -> None:
        made = view(*(says(f"n{a}", "r", f"n{b}") for a in range(40) for b in range(a)))
        started = time.thread_time()
        found = ways(made, "n0", "n1", most=8, limit=50)
        assert len({one.names for one in found}) == 50
        assert [len(one.edges) for one in found] == sorted(len(one.edges) for one in found)
        assert time.thread_time() - started < 5

    @given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
    def test_all_simple_paths_are_found(self, pairs: list[tuple[int, int]]) -> None:
        made = view(
            *(says(f"n{a}", "r", f"n{b}") for a, b in pairs),
            entities=[entity(f"n{n}") for n in range(8)],
        )
        found = {one.names for one in ways(made, "n0", "n7", most=4, limit=10_000)}
        assert found == set(brute_force(pairs))


def brute_force(pairs: list[tuple[int, int]]) -> list[tuple[str, ...]]:
    near = {n: {b for a, b in pairs if a == n} | {a for a, b in pairs if b == n} for n in range(8)}
    ways: list[tuple[int, ...]] = [(0,)]
    found: list[tuple[str, ...]] = []
    for _ in range(4):
        ways = [(*way, n) for way in ways for n in near[way[-1]] if n not in way and way[-1] != 7]
        found += [tuple(f"n{n}" for n in way) for way in ways if way[-1] == 7]
    return found


class TestCommunities:
    def test_groups_are_named_by_their_centre_and_terms(self) -> None:
        said = [says(f"w{n}", "works at", "Acme") for n in range(4)]
        said += [says(f"s{n}", "sings in", "Choir") for n in range(3)]
        found = communities_of(view(*said), together=False, least=2, limit=10)
        assert [one.members[0] for one in found] == ["Acme", "Choir"]
        assert [len(one.members) for one in found] == [5, 4]
        assert [one.terms for one in found] == [("works at",), ("sings in",)]
        assert found[0].name.startswith("Acme, w")
        assert found[0].name.endswith(": works at")

    def test_loners_are_left_out_and_limits_kept(self) -> None:
        made = view(says("Ana", "likes", "tea"), entities=[entity("Alone")])
        assert len(communities_of(made, together=False, least=1, limit=10)) == 2
        assert len(communities_of(made, together=False, least=2, limit=10)) == 1
        assert len(communities_of(made, together=False, least=1, limit=1)) == 1
        assert communities_of(view(), together=True, least=1, limit=5) == []

    def test_talk_alone_makes_groups(self) -> None:
        people = [entity(name) for name in ("Ana", "Bob", "Cleo", "Dan")]
        pairs = {
            tuple(sorted((id_of(a), id_of(b)))): 3 for a, b in [("Ana", "Bob"), ("Cleo", "Dan")]
        }
        heard = SpokenOf({one.id: Talked(3, 1, 2) for one in people}, pairs)  # type: ignore[arg-type]
        made = view(entities=people, spoken=heard)
        found = communities_of(made, together=True, least=2, limit=9)
        assert sorted(sorted(one.members) for one in found) == [["Ana", "Bob"], ["Cleo", "Dan"]]
        assert communities_of(made, together=False, least=2, limit=9) == []


def firms(*names: str) -> list[Entity]:
    return [entity(name, "organisation") for name in names]


class TestLikeness:
    def suggest(self, made: GraphView, least: float = 0.5) -> list[Likeness]:
        return alike(made, None, least)

    def test_a_part_of_one_name_goes_into_the_whole(self) -> None:
        made = view(entities=firms("Acme", "Acme Works", "Hooli"))
        (one,) = self.suggest(made)
        assert (one.name, one.into) == ("Acme", "Acme Works")
        assert one.why == ("Acme is part of Acme Works and of no other name",)

    def test_a_part_of_two_names_is_less_sure(self) -> None:
        made = view(entities=firms("Acme", "Acme Works", "Acme Travel"))
        assert {one.into for one in self.suggest(made)} == {"Acme Works", "Acme Travel"}
        lone = view(entities=firms("Acme", "Acme Works"))
        assert self.suggest(made)[0].score < self.suggest(lone)[0].score

    def test_shared_neighbours_speak_for_it(self) -> None:
        people = firms("Acme", "Acme Works")
        said = [says(one.name, "located in", "Porto") for one in people]
        (one,) = self.suggest(view(*said, entities=people))
        (plain,) = self.suggest(view(entities=people))
        assert one.score > plain.score
        assert "both are joined to Porto" in one.why

    @pytest.mark.parametrize(
        "said",
        [
            [says("Maria", "sister", "Marias")],
            [says("Maria", SAME_AS, "Marias", denies=True)],
            [
                says("Maria", "born on", "1 May 1980", entity=False),
                says("Marias", "born on", "2 June 1991", entity=False),
            ],
        ],
    )
    def test_what_speaks_against_it(self, said: list[Claim]) -> None:
        people = [entity("Maria"), entity("Marias")]
        assert self.suggest(view(entities=people)) != []
        assert self.suggest(view(*said, entities=people)) == []

    def test_other_types_and_names_in_one_breath(self) -> None:
        assert self.suggest(view(entities=[entity("Paris"), entity("Pariss", "place")])) == []
        people = [entity("Maria"), entity("Marias")]
        a, b = sorted(one.id for one in people)
        heard = SpokenOf({}, {(a, b): 1})
        assert self.suggest(view(entities=people, spoken=heard)) == []

    def test_vectors_of_what_is_said(self) -> None:
        told: list[str] = []

        def embed(texts: Sequence[str]) -> NDArray[np.float32]:
            told.extend(texts)
            rows = [[1.0, 0.1] if "chess" in text else [0.0, 1.0] for text in texts]
            return np.array(rows, np.float32)

        said = [says(name, "likes", "chess") for name in ("Mum", "Grace")]
        said.append(says("Bob", "has", "car"))
        people = [entity(name) for name in ("Mum", "Grace", "Bob")]
        found = alike(view(*said, entities=people), embed, 0.3)
        assert "Mum: likes chess" in told
        assert {found[0].name, found[0].into} == {"Mum", "Grace"}
        assert found[0].score <= 0.7
        assert any("cosine" in why for why in found[0].why)
        assert not any({one.name, one.into} & {"Bob"} for one in found)

    def test_only_what_is_certain_is_merged(self) -> None:
        pairs = [("A", "X", 0.95), ("B", "X", 0.95), ("B", "Y", 0.93), ("C", "X", 0.6)]
        suggested = [Likeness(name=a, into=b, score=score, why=()) for a, b, score in pairs]
        sure, unsure = certain(suggested, 0.9)
        assert [(one.name, one.into) for one in sure] == [("A", "X")]
        assert {(one.name, one.into) for one in unsure} == {("B", "X"), ("B", "Y")}

    @pytest.mark.slow
    def test_thousands_are_compared_in_seconds(self) -> None:
        made = view(entities=[entity(f"Person{n} Family{n % 300}") for n in range(3_000)])
        started = time.thread_time()
        self.suggest(made)
        assert time.thread_time() - started < 10


class TestTimelines:
    def test_beginnings_and_ends_in_order(self) -> None:
        began = Timespan(start=NOW - 30 * DAY, end=NOW - 30 * DAY)
        ended = Timespan(start=NOW - 10 * DAY, end=NOW - 10 * DAY)
        made = view(
            says("Ana", "works at", "Acme", began=began, ended=ended),
            says("Ana", NOTE, "drinks tea", entity=False, at=NOW - 20 * DAY),
            says("Bob", "likes", "jazz"),
        )
        found = timeline_of(made.known.facts, id_of("Ana"))
        assert [(one.at, one.turn, one.fact.object) for one in found] == [
            (NOW - 30 * DAY, TimelineTurn.BEGAN, "Acme"),
            (NOW - 20 * DAY, TimelineTurn.NOTED, "drinks tea"),
            (NOW - 10 * DAY, TimelineTurn.ENDED, "Acme"),
        ]
        assert timeline_of(made.known.facts, id_of("Ana"), NOW - 15 * DAY) == found[:2]
        assert len(timeline_of(made.known.facts, id_of("Acme"))) == 2
