"""What is found in memories: written with them, edited, resting and erased with them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from remanence.errors import Conflict, InvalidInput, NotFound
from remanence.model.knowledge import Claim, Learnt
from remanence.model.memory import MemoryRecord, State
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.write import Insert, Receipt, Remove, Revise
from remanence.testing.store_suites.making import (
    ANA,
    BOB,
    EVERY,
    NOW,
    OSLO,
    Reopen,
    add,
    claim,
    entity,
    found,
    healthy,
    memory,
    mention,
    named,
    new_id,
    partition_of,
    revise,
    values,
    write,
)

HOUR = timedelta(hours=1)


def learnt(
    store: Store, text: str = "x", *said: Claim, names: Any = (ANA,), **fields: Any
) -> MemoryRecord:
    """Insert a memory that says so and mentions these names."""
    record = memory(text, **fields)
    own = tuple(replace(one, memory=record.id, origin="rules") for one in said)
    write(store, Insert(record=record), learnt=(found(record, *own, names=names),))
    return record


def edit(text: str, record: MemoryRecord, hours: int = 1) -> Revise:
    """Give a memory another text, so many hours from `NOW`."""
    return Revise(id=record.id, changes={"text": text}, verb="update", at=NOW + hours * HOUR)


class LearntSuite:
    """What memories say, as long as they say it."""

    def test_what_a_memory_says_is_written_with_it(self, store: Store, reopen: Reopen) -> None:
        record = memory("Ana lives in Oslo", agent_id="a", session_id="s")
        said = claim(ANA, "lives in", OSLO, memory=record.id, agent_id="a", session_id="s")
        one = found(record, said, names=(ANA, OSLO, BOB))
        write(store, Insert(record=record), learnt=(one,))
        store = reopen(store)
        assert store.knowledge.claims(EVERY, memories=[record.id]) == [said]
        assert store.knowledge.entities(EVERY) == [ANA, BOB, OSLO]
        assert store.knowledge.mention_counts(EVERY) == dict.fromkeys((ANA.id, BOB.id, OSLO.id), 1)
        assert store.knowledge.mentions(Reach(tenant="t", agent_id="a"), [BOB.id]) == [
            mention(record, BOB)
        ]
        assert healthy(store)

    def test_a_batch_of_many_memories_learns_of_all(self, store: Store) -> None:
        records = [memory(f"m{n}", user_id=f"u{n % 2}") for n in range(200)]
        told = []
        for n, record in enumerate(records):
            ana, who = (entity(name, user_id=record.user_id) for name in ("Ana", f"p{n % 20}"))
            said = [claim(ana, f"knows {at}", who, memory=record.id) for at in range(3)]
            told.append(found(record, *said, names=(ana, who)))
        write(store, *[Insert(record=record) for record in records], learnt=tuple(told))
        assert len(store.knowledge.entities(EVERY)) == 2 + 20
        assert len(store.knowledge.claims(EVERY)) == 600
        assert sum(store.knowledge.mention_counts(EVERY).values()) == 400
        write(store, *[Remove(id=record.id) for record in records])
        assert list(store.knowledge.scan("t")) == []
        assert healthy(store)

    def test_memories_that_are_not_there_are_passed_over(self, store: Store) -> None:
        theirs = add(store, memory("x", tenant="other"))[0]
        record = add(store, memory("y"))[0]
        write(
            store,
            learnt=(
                found(memory("never stored"), names=(ANA,)),
                found(theirs, claim(ANA, "is", "x", memory=theirs.id), names=(ANA,)),
                Learnt(memory="no id"),
                found(record, names=(BOB,)),
            ),
        )
        assert named(store) == ["Bob"]
        assert list(store.knowledge.scan("other")) == []

    def test_a_new_text_retires_what_the_former_said(self, store: Store) -> None:
        record = learnt(store, "x", claim(ANA, "lives in", OSLO), names=(ANA, OSLO))
        rome = entity("Rome")
        new = claim(ANA, "lives in", rome, memory=record.id, recorded_at=NOW + HOUR)
        write(store, edit("y", record), learnt=(found(record, new, names=(ANA, rome)),))
        former, later = store.knowledge.claims(EVERY)
        assert (former.value, former.retired_at) == ("Oslo", NOW + HOUR)
        assert later == new
        assert store.knowledge.mention_counts(EVERY) == {ANA.id: 1, rome.id: 1}
        assert named(store) == ["Ana", "Oslo", "Rome"]
        write(store, edit("z", record, 2), learnt=(found(record),))
        assert [one.retired_at for one in store.knowledge.claims(EVERY)] == [
            NOW + HOUR,
            NOW + 2 * HOUR,
        ]
        assert store.knowledge.mention_counts(EVERY) == {}
        write(store, Remove(id=record.id))
        assert list(store.knowledge.scan("t")) == []
        assert healthy(store)

    def test_a_text_without_news_of_it_keeps_what_was_found(self, store: Store) -> None:
        record = learnt(store, "x", claim(ANA, "is", "x"))
        before = list(store.knowledge.scan("t"))
        revise(store, record.id, text="y")
        assert list(store.knowledge.scan("t")) == before

    def test_a_claim_found_again_takes_its_own_place(self, store: Store) -> None:
        record = learnt(store, "x", claim(ANA, "is", "x"))
        (one,) = store.knowledge.claims(EVERY)
        write(store, edit("y", record), learnt=(found(record, names=(ANA,)),))
        again = replace(one, recorded_at=NOW + 2 * HOUR)
        write(store, edit("x", record, 2), learnt=(found(record, again, names=(ANA,)),))
        assert store.knowledge.claims(EVERY) == [again]
        assert healthy(store)

    def test_a_text_read_afresh_leaves_nothing_of_the_former_reading(self, store: Store) -> None:
        record = learnt(store, "x", claim(ANA, "knows", BOB), names=(ANA, BOB, OSLO))
        learnt(store, "y", names=(OSLO,))
        partition = partition_of(store)
        before = store.recall.position(partition)
        better = claim(ANA, "is", "x", memory=record.id)
        write(store, learnt=(found(record, better, names=(ANA,), afresh=True),))
        assert store.knowledge.claims(EVERY) == [better]
        assert named(store) == ["Ana", "Oslo"]
        assert store.knowledge.mention_counts(EVERY) == {ANA.id: 1, OSLO.id: 1}
        assert store.recall.position(partition) > before
        write(store, learnt=(found(record, afresh=True),))
        assert named(store) == ["Oslo"]
        assert healthy(store)

    def test_a_text_read_afresh_keeps_what_its_former_texts_said(self, store: Store) -> None:
        record = learnt(store, "x", claim(ANA, "is", "x"), claim(ANA, "is", "y"))
        one, two = store.knowledge.claims(EVERY)
        write(store, edit("z", record), learnt=(found(record, names=(ANA,)),))
        write(store, learnt=(found(record, names=(ANA,), afresh=True),))
        assert [one.retired_at for one in store.knowledge.claims(EVERY)] == [NOW + HOUR] * 2
        again = replace(two, recorded_at=NOW + HOUR)
        write(store, learnt=(found(record, again, names=(ANA,), afresh=True),))
        assert store.knowledge.claims(EVERY) == [replace(one, retired_at=NOW + HOUR), again]
        assert healthy(store)

    def test_no_reading_touches_what_a_caller_stated_of_a_memory(self, store: Store) -> None:
        record = learnt(store, "x", claim(ANA, "is", "found"))
        stated = claim(ANA, "knows", BOB, memory=record.id, origin="caller")
        store.knowledge.know("t", [BOB], [stated])
        write(store, edit("y", record), learnt=(found(record, names=(OSLO,)),))
        former, kept = store.knowledge.claims(EVERY)
        assert former.retired_at == NOW + HOUR
        assert kept == stated
        named_so = replace(stated, value="other", origin="rules")
        write(store, edit("z", record, 2), learnt=(found(record, named_so, names=(OSLO,)),))
        write(store, learnt=(found(record, afresh=True),))
        write(store, learnt=(found(record, named_so, afresh=True),))
        assert store.knowledge.claims(EVERY) == [former, stated]
        assert named(store) == ["Ana", "Bob"]
        assert healthy(store)

    def test_what_a_caller_stated_of_a_memory_rests_and_goes_with_it(self, store: Store) -> None:
        record = learnt(store, "x", names=(ANA,))
        stated = claim(ANA, "knows", BOB, memory=record.id, origin="caller")
        store.knowledge.know("t", [BOB], [stated])
        revise(store, record.id, state=State.ARCHIVED, at=NOW + HOUR)
        assert [one.rested_at for one in store.knowledge.claims(EVERY)] == [NOW + HOUR]
        write(store, learnt=(found(record),))
        revise(store, record.id, state=State.ACTIVE, at=NOW + 2 * HOUR)
        assert store.knowledge.claims(EVERY) == [stated]
        write(store, Remove(id=record.id))
        assert list(store.knowledge.scan("t")) == []
        assert healthy(store)

    def test_the_last_reading_of_a_memory_counts(self, store: Store) -> None:
        record = memory("x")
        readings = [found(record, names=(one,)) for one in (ANA, BOB)]
        write(store, Insert(record=record), learnt=tuple(readings))
        assert named(store) == ["Bob"]

    @pytest.mark.parametrize("state", [State.ARCHIVED, State.SUPERSEDED, State.QUARANTINED])
    def test_what_a_memory_says_rests_with_it(self, store: Store, state: State) -> None:
        record = learnt(store, "x", claim(ANA, "knows", BOB), names=(ANA, BOB))
        stated = claim(ANA, "is", "x", recorded_at=NOW + HOUR)
        store.knowledge.know("t", [], [stated])
        before = list(store.knowledge.scan("t"))
        revise(store, record.id, state=state, at=NOW + HOUR)
        assert [one.rested_at for one in store.knowledge.claims(EVERY)] == [NOW + HOUR, None]
        assert store.knowledge.mentions(EVERY, [ANA.id, BOB.id]) == []
        assert store.knowledge.mention_counts(EVERY) == {}
        assert named(store) == ["Ana", "Bob"]
        assert healthy(store)
        revise(store, record.id, state=State.ARCHIVED, importance=0.9, at=NOW + 2 * HOUR)
        assert [one.rested_at for one in store.knowledge.claims(EVERY)] == [NOW + HOUR, None]
        revise(store, record.id, state=State.ACTIVE, at=NOW + 3 * HOUR)
        assert list(store.knowledge.scan("t")) == before
        assert store.knowledge.mention_counts(EVERY) == {ANA.id: 1, BOB.id: 1}
        assert healthy(store)

    def test_what_a_merged_memory_says_stays_evidence(self, store: Store, reopen: Reopen) -> None:
        kept = learnt(store, "x", claim(ANA, "in", OSLO), names=(ANA, OSLO))
        record = learnt(store, "y", claim(ANA, "in", OSLO), names=(ANA, BOB))
        before = list(store.knowledge.scan("t"))
        into = {"state": State.ARCHIVED, "superseded_by": kept.id}
        revise(store, record.id, **into, at=NOW + HOUR)
        assert [one.rested_at for one in store.knowledge.claims(EVERY)] == [None, None]
        assert len(list(store.recall.ties(partition_of(store)))) == 2
        assert store.knowledge.mention_counts(EVERY) == {ANA.id: 1, OSLO.id: 1}
        revise(store, record.id, importance=0.9, at=NOW + 2 * HOUR)
        assert [one.rested_at for one in store.knowledge.claims(EVERY)] == [None, None]
        store = reopen(store)
        assert healthy(store)
        revise(store, record.id, state=State.ACTIVE, superseded_by=None, at=NOW + 3 * HOUR)
        assert list(store.knowledge.scan("t")) == before
        assert store.knowledge.mention_counts(EVERY) == {ANA.id: 2, BOB.id: 1, OSLO.id: 1}
        revise(store, record.id, **into)
        write(store, Remove(id=record.id))
        assert len(store.knowledge.claims(EVERY)) == 1
        assert named(store) == ["Ana", "Oslo"]
        assert healthy(store)

    @pytest.mark.parametrize("parted", [{"superseded_by": None}, {"state": State.QUARANTINED}])
    def test_what_was_merged_and_goes_by_itself_rests(
        self, store: Store, parted: dict[str, Any]
    ) -> None:
        kept = learnt(store, "x")
        record = learnt(store, "y", claim(ANA, "is", "x"))
        revise(store, record.id, state=State.ARCHIVED, superseded_by=kept.id, at=NOW + HOUR)
        revise(store, record.id, **parted, at=NOW + 2 * HOUR)
        assert [one.rested_at for one in store.knowledge.claims(EVERY)] == [NOW + 2 * HOUR]
        assert healthy(store)

    def test_what_is_found_in_a_merged_memory_is_evidence(self, store: Store) -> None:
        at, heir = NOW + HOUR, str(new_id())
        merged = {"state": State.ARCHIVED, "superseded_by": heir, "updated_at": at}
        record = learnt(store, "x", claim(ANA, "is", "x", rested_at=at), **merged)
        stated = claim(ANA, "is", "y", memory=record.id, rested_at=at)
        store.knowledge.know("t", [], [stated])
        assert [one.rested_at for one in store.knowledge.claims(EVERY)] == [None, None]
        assert healthy(store)

    def test_what_is_found_in_a_resting_memory_rests(self, store: Store) -> None:
        at = NOW + HOUR
        record = learnt(store, "x", claim(ANA, "is", "x"), state=State.ARCHIVED, updated_at=at)
        (one,) = store.knowledge.claims(EVERY)
        assert one.rested_at == at
        assert store.knowledge.mention_counts(EVERY) == {}
        awake = replace(one, id=str(new_id()), rested_at=None)
        store.knowledge.know("t", [], [awake])
        assert [one.rested_at for one in store.knowledge.claims(EVERY)] == [at, at]
        revise(store, record.id, state=State.ACTIVE)
        assert [one.rested_at for one in store.knowledge.claims(EVERY)] == [None, None]
        store.knowledge.know("t", [], [replace(one, id=str(new_id()))])
        assert [one.rested_at for one in store.knowledge.claims(EVERY)] == [None] * 3
        assert healthy(store)

    def test_what_only_a_removed_memory_spoke_of_goes_with_it(self, store: Store) -> None:
        cy, dee, eve = entity("Cy"), entity("Dee"), entity("Eve", given=True)
        gone = learnt(store, "x", claim(ANA, "knows", BOB), claim(cy, "in", OSLO),
                      names=(ANA, BOB, OSLO, cy, dee, eve))  # fmt: skip
        kept = learnt(store, "y", claim(BOB, "is", "x"), names=(BOB, OSLO))
        store.knowledge.know("t", [], [claim(eve, "knows", ANA)])
        write(store, Remove(id=gone.id))
        assert named(store) == ["Ana", "Bob", "Eve", "Oslo"]
        assert values(store) == ["x", "Ana"]
        assert store.knowledge.mention_counts(EVERY) == {BOB.id: 1, OSLO.id: 1}
        write(store, Remove(id=kept.id))
        assert named(store) == ["Ana", "Eve"]
        assert store.knowledge.unknow("t", [one.id for one in store.knowledge.claims(EVERY)]) == 2
        assert named(store) == ["Eve"]
        assert healthy(store)

    def test_an_entity_goes_from_one_memory_to_another_in_one_batch(self, store: Store) -> None:
        gone = learnt(store, "x", names=(ANA, BOB))
        before = [
            one.number for one in store.recall.names(partition_of(store)) if one.name == "Ana"
        ]
        new = memory("y")
        write(store, Remove(id=gone.id), Insert(record=new), learnt=(found(new, names=(ANA,)),))
        after = [one.number for one in store.recall.names(partition_of(store))]
        assert after == before
        assert named(store) == ["Ana"]
        write(store, Remove(id=new.id), learnt=(found(new, names=(ANA,)),))
        assert named(store) == []

    def test_names_that_nothing_is_said_of_are_not_kept(self, store: Store) -> None:
        record, given = memory("x"), entity("Given", given=True)
        one = Learnt(memory=record.id, entities=(ANA, BOB, given), mentions=(ANA.id,))
        write(store, Insert(record=record), learnt=(one,))
        assert named(store) == ["Ana", "Given"]

    def test_a_known_receipt_learns_nothing(self, store: Store) -> None:
        receipt = Receipt(key="k", digest=b"d")
        record = memory("x")
        write(store, Insert(record=record), receipt=receipt, learnt=(found(record, names=(ANA,)),))
        position = store.recall.position(partition_of(store))
        again = found(record, claim(BOB, "is", "x", memory=record.id), names=(BOB,))
        done = write(store, Insert(record=record), receipt=receipt, learnt=(again,))
        assert done.repeated
        assert named(store) == ["Ana"]
        assert values(store) == []
        assert store.recall.position(partition_of(store)) == position

    def test_a_failed_batch_leaves_nothing(self, store: Store) -> None:
        record = learnt(store, "x", claim(ANA, "is", "x"))
        before = list(store.knowledge.scan("t"))
        new = memory("y")
        lost = claim(OSLO, "is", "x", memory=new.id)
        wrong = [
            found(new, lost, names=(BOB,)),
            Learnt(memory=new.id, entities=(BOB,), mentions=(OSLO.id,)),
        ]
        for one in wrong:
            with pytest.raises(NotFound):
                write(store, Insert(record=new), edit("z", record), learnt=(found(record), one))
        with pytest.raises(Conflict):
            write(
                store,
                Revise(id=record.id, changes={}, verb="x", at=NOW, expected=7),
                learnt=(found(record),),
            )
        with pytest.raises(NotFound):
            write(store, Remove(id=record.id), Remove(id=str(new_id())))
        assert list(store.knowledge.scan("t")) == before
        assert store.archive.get("t", [new.id]) == []
        assert healthy(store)

    def test_what_is_found_belongs_to_the_memory_and_its_user(self, store: Store) -> None:
        record, other = add(store, memory("x", user_id="u"), memory("y", user_id="u"))
        una, ana = entity("Una", user_id="u"), entity("Ana")
        store.knowledge.know("t", [ana])
        wrong = [
            found(record, names=(ana,)),
            found(record, claim(ana, "is", "x", memory=record.id)),
            found(record, claim(una, "is", "x", memory=other.id), names=(una,)),
            found(record, claim(una, "is", "x"), names=(una,)),
        ]
        for one in wrong:
            with pytest.raises(InvalidInput):
                write(store, learnt=(one,))
        with pytest.raises(NotFound):
            write(store, learnt=(Learnt(memory=record.id, mentions=(ana.id,)),))
        assert named(store) == ["Ana"]
