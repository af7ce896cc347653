"""Knowledge erased, scanned, counted, and as recall reads it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from remanence.model.knowledge import Claim, Entity, Mention, Timespan
from remanence.model.memory import State
from remanence.model.ports.store import Store, Tie
from remanence.model.scope import Reach
from remanence.testing.store_suites.making import (
    ANA,
    BOB,
    EVERY,
    NOW,
    OSLO,
    add,
    claim,
    entity,
    healthy,
    memory,
    mention,
    named,
    new_id,
    partition_of,
    revise,
    stated,
    values,
)

HOUR = timedelta(hours=1)


class KnownSuite:
    """What is known, whole: for recall, for copies, and when it must go."""

    def test_claims_are_erased_by_id(self, store: Store) -> None:
        one, two = claim(ANA, "knows", BOB), claim(ANA, "is", "tall")
        stated(store, one, two, names=(ANA, BOB, replace(OSLO, given=True)))
        before = store.recall.position(partition_of(store))
        assert store.knowledge.unknow("other", [one.id]) == 0
        assert store.knowledge.unknow("t", [str(new_id()), "no id"]) == 0
        assert store.recall.position(partition_of(store)) == before
        assert store.knowledge.unknow("t", [one.id, one.id]) == 2
        assert store.knowledge.claims(EVERY) == [two]
        assert named(store) == ["Ana", "Oslo"]
        assert store.recall.position(partition_of(store)) > before
        assert store.knowledge.unknow("t", [one.id]) == 0
        assert healthy(store)

    def test_entities_are_erased_with_all_that_is_said_of_them(self, store: Store) -> None:
        record, both = add(store, memory("x"), memory("y"))
        cy = entity("Cy", given=True)
        store.knowledge.know(
            "t",
            [ANA, BOB, OSLO, cy],
            [claim(ANA, "knows", BOB), claim(OSLO, "has", ANA), claim(cy, "likes", ANA),
             claim(OSLO, "is", "far"), claim(BOB, "is", "gone")],
            [mention(record, ANA), mention(both, ANA), mention(both, BOB)],
        )  # fmt: skip
        assert store.knowledge.unknow("other", [], [ANA.id]) == 0
        assert store.knowledge.unknow("t", [], [ANA.id]) == 1 + 3 + 2
        assert values(store) == ["far", "gone"]
        assert named(store) == ["Bob", "Cy", "Oslo"]
        said = store.knowledge.claims(EVERY, about=[BOB.id])
        assert store.knowledge.unknow("t", [said[0].id], [cy.id]) == 2
        assert named(store) == ["Bob", "Oslo"]
        assert store.knowledge.mention_counts(EVERY) == {BOB.id: 1}
        assert len(store.archive.get("t", [record.id, both.id])) == 2
        assert healthy(store)

    def test_all_of_a_users_knowledge_is_forgotten(self, store: Store) -> None:
        for user in (None, "u", "v"):
            ana = entity("Ana", user_id=user, given=True)
            record = add(store, memory("x", user_id=user))[0]
            store.knowledge.know("t", [ana], [claim(ana, "is", "x"), claim(ana, "is", "y")],
                       [mention(record, ana)])  # fmt: skip
        store.knowledge.know("other", [entity("Ana")], [claim(ANA, "is", "x")])
        mine, theirs = partition_of(store, user_id="u"), partition_of(store, user_id="v")
        before = store.recall.position(mine), store.recall.position(theirs)
        assert store.knowledge.forget(Reach(tenant="t", user_id="u")) == 2
        assert list(store.recall.names(mine)) == []
        assert list(store.recall.mentioned(mine)) == []
        assert store.recall.position(mine) > before[0]
        assert store.recall.position(theirs) == before[1]
        assert len(values(store)) == 4
        assert store.knowledge.forget(Reach(tenant="t", user_id="nobody")) == 0
        assert store.knowledge.forget(EVERY) == 4
        assert list(store.knowledge.scan("t")) == []
        assert len(list(store.knowledge.scan("other"))) == 2
        assert store.archive.count(EVERY) == 3
        assert healthy(store)

    def test_an_agents_knowledge_is_forgotten_without_the_rest(self, store: Store) -> None:
        hers, his = add(store, memory("x", agent_id="a"), memory("y", agent_id="b"))
        cy = entity("Cy")
        dee = entity("Dee", given=True)
        store.knowledge.know(
            "t",
            [ANA, BOB, OSLO, cy, dee],
            [claim(ANA, "knows", BOB, agent_id="a"), claim(ANA, "is", "x", agent_id="b"),
             claim(dee, "is", "y", agent_id="a")],
            [mention(hers, OSLO), mention(his, OSLO), mention(hers, cy)],
        )  # fmt: skip
        assert store.knowledge.forget(Reach(tenant="t", agent_id="a")) == 2
        assert values(store) == ["x"]
        assert named(store) == ["Ana", "Dee", "Oslo"]
        assert store.knowledge.mention_counts(EVERY) == {OSLO.id: 1}
        assert store.knowledge.forget(Reach(tenant="t", agent_id="a")) == 0
        assert healthy(store)

    def test_recall_reads_names_mentions_and_ties_by_partition(self, store: Store) -> None:
        records = add(store, *[memory(f"m{n}") for n in range(3)])
        store.knowledge.know(
            "t",
            [OSLO, ANA, BOB],
            [claim(ANA, "knows", BOB), claim(ANA, "is", "x"), claim(ANA, "hates", BOB, denies=True),
             claim(BOB, "was in", OSLO, retired_at=NOW),
             claim(BOB, "lives in", OSLO, memory=records[1].id)],
            [mention(records[2], BOB), mention(records[0], ANA), mention(records[0], OSLO)],
        )  # fmt: skip
        ann = entity("Ann", user_id="u", type="person")
        store.knowledge.know("t", [ann], [claim(ann, "knows", ann)])
        mine, theirs = partition_of(store), partition_of(store, user_id="u")
        names = list(store.recall.names(mine))
        assert [(one.id, one.name, one.type) for one in names] == [
            (one.id, one.name, one.type) for one in (OSLO, ANA, BOB)
        ]
        oslo, ana, bob = (one.number for one in names)
        assert oslo < ana < bob
        found = [store.recall.key_of("t", record.id) for record in records]
        keys = [place[1] for place in found if place is not None]
        every = sorted([(keys[0], ana), (keys[0], oslo), (keys[2], bob)])
        assert list(store.recall.mentioned(mine)) == every
        assert list(store.recall.mentioned(mine, [keys[2], keys[1], keys[2], 0])) == [
            (keys[2], bob)
        ]
        assert list(store.recall.mentioned(mine, [])) == []
        assert list(store.recall.mentioned(theirs, keys)) == []
        assert list(store.recall.ties(mine)) == [
            Tie(ana, "knows", bob, 0), Tie(bob, "lives in", oslo, keys[1]),
        ]  # fmt: skip
        (alone,) = store.recall.names(theirs)
        assert list(store.recall.ties(theirs)) == [Tie(alone.number, "knows", alone.number, 0)]
        revise(store, records[0].id, state=State.ARCHIVED)
        revise(store, records[1].id, state=State.ARCHIVED)
        assert list(store.recall.mentioned(mine)) == [(keys[2], bob)]
        assert list(store.recall.ties(mine)) == [Tie(ana, "knows", bob, 0)]

    def test_the_feed_moves_with_what_is_known(self, store: Store) -> None:
        add(store, memory("x"), memory("y", user_id="u"))
        mine, theirs = partition_of(store), partition_of(store, user_id="u")
        start, other = store.recall.position(mine), store.recall.position(theirs)
        store.knowledge.know("t", [ANA])
        assert [change.key for change in store.recall.changes(mine, start, 9)] == [0]
        assert store.recall.position(mine) > start
        assert store.recall.position(theirs) == other
        assert len(list(store.recall.traits(mine, [0]))) == 0
        assert store.recall.records(mine, [0]) == {}

    def test_what_is_scanned_can_be_known_elsewhere(self, store: Store) -> None:
        una = entity("Una", user_id="u", given=True)
        records = add(store, *[memory(f"m{n}", user_id="u", session_id="s") for n in range(3)])
        store.knowledge.know(
            "t",
            [una, entity("Rome", user_id="u"), ANA],
            [claim(una, "knows", una, memory=records[0].id), claim(ANA, "is", "x"),
             claim(una, "is", "y", memory=records[1].id, began=Timespan(start=NOW))],
            [mention(record, una) for record in records],
        )  # fmt: skip
        revise(store, records[1].id, state=State.ARCHIVED, at=NOW + HOUR)
        before = list(store.knowledge.scan("t"))
        sorts = {Entity: 0, Claim: 1, Mention: 2}
        assert [sorts[type(one)] for one in before] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
        assert [one.rested_at for one in before if isinstance(one, Claim)][1:] == [None, NOW + HOUR]
        store.knowledge.forget(EVERY)
        assert list(store.knowledge.scan("t")) == []
        store.knowledge.know(
            "t",
            [one for one in before if isinstance(one, Entity)],
            [one for one in before if isinstance(one, Claim)],
            [one for one in before if isinstance(one, Mention)],
        )
        assert list(store.knowledge.scan("t")) == before
        assert list(store.knowledge.scan("nobody")) == []
        assert healthy(store)

    def test_long_scans_leave_nothing_out(self, store: Store) -> None:
        people = [entity(f"p{n}") for n in range(1100)]
        said = [claim(one, "knows", people[0]) for one in people]
        record = add(store, memory("x"))[0]
        store.knowledge.know("t", people, said, [mention(record, one) for one in people])
        assert len(list(store.knowledge.scan("t"))) == 3300
        assert len(list(store.recall.names(partition_of(store)))) == 1100
        assert len(store.knowledge.claims(EVERY)) == 1000

    def test_stats_count_what_is_known(self, store: Store) -> None:
        stated(store, claim(ANA, "knows", BOB), claim(ANA, "is", "x"))
        una = entity("Una", user_id="u")
        store.knowledge.know("t", [una], [claim(una, "is", "x")])
        store.knowledge.know("other", [ANA])
        stats = store.upkeep.stats("t")
        assert (stats.entities, stats.claims) == (4, 3)
        stats = store.upkeep.stats("nobody")
        assert (stats.entities, stats.claims) == (0, 0)
        assert store.upkeep.tenants() == ["other", "t"]

    def test_knowledge_survives_compaction(self, store: Store) -> None:
        said = [claim(ANA, "is", f"{n} " * 500) for n in range(40)]
        stated(store, *said)
        store.knowledge.unknow("t", [one.id for one in said[::2]])
        before = list(store.knowledge.scan("t"))
        store.upkeep.compact()
        assert list(store.knowledge.scan("t")) == before
        assert len(before) == 3 + 20
        assert healthy(store)
