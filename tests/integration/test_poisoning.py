"""Poisoned memories: they gain no trust, overwrite nothing, hide nothing, and can be taken back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from remanence import InvalidInput, Memory, State
from remanence.model.document import Address, Shelf
from remanence.model.knowledge import Standing
from remanence.model.memory import Kind, MemoryRecord
from support.poisoning import LIFE, flood, injections, planted

HER: dict[str, Any] = {"user_id": "sunniva"}
LOW = 0.2
# What counts and what tells of changes: a purge adds to it, it takes nothing back.
COUNTS = {"version", "updated_at", "uses", "used_at"}
COMPARED = [one.name for one in fields(MemoryRecord) if one.name not in COUNTS]
QUESTIONS = [one for one in LIFE if one.question is not None]


class Ticking:
    """A clock that moves by a millisecond whenever it is asked, and by days when told."""

    def __init__(self) -> None:
        self.at = datetime(2026, 3, 2, 8, tzinfo=UTC)

    def now(self) -> datetime:
        self.at += timedelta(milliseconds=1)
        return self.at

    def nights(self, memory: Memory, count: int = 2) -> None:
        """Days that go by, each with its sleep."""
        for _ in range(count):
            self.at += timedelta(days=1)
            memory.sleep.run()


@pytest.fixture(scope="module", params=["file", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    if request.param == "file":
        return str(tmp_path_factory.mktemp("poisoning") / "memory.db")
    return str(request.getfixturevalue("postgres_database"))


def lived(database: str, tenant: str, much: int = len(LIFE)) -> tuple[Memory, Ticking]:
    """A memory of a life, slept over until nothing changes any more."""
    clock = Ticking()
    memory = Memory(database, tenant=tenant, clock=clock)
    memory.add_many([{"text": one.text, "source": "user"} for one in LIFE[:10]], **HER)
    memory.add_many([{"text": one.text} for one in LIFE[10:much]], **HER)
    talk = [{"role": "user", "content": one.text, "name": "Sunniva"} for one in LIFE[:22]]
    memory.conversations.append(talk, session_id="talk", **HER)
    memory.blocks.append("human", "Prefers short answers.", author="sunniva", **HER)
    memory.facts.add("Juniper", "weighs", "14 kilos", **HER)
    memory.graph.relate("Sunniva", "knows", "Tomasz", **HER)
    clock.nights(memory)
    return memory, clock


def everything(memory: Memory) -> dict[str, dict[str, Any]]:
    """Every memory by id, in any state."""
    found = memory.find(all_users=True, states="any", limit=1_000)
    return {one.id: {name: getattr(one, name) for name in COMPARED} for one in found}


def believed(memory: Memory) -> list[tuple[Any, ...]]:
    """What is held to be true, without the ids of claims."""
    return sorted(
        (one.subject, one.predicate, one.object, one.text, one.trust, one.valid_to is None)
        for one in memory.facts.find(**HER, limit=1_000)
        if one.standing is Standing.HOLDS
    )


def drawn(memory: Memory) -> tuple[list[Any], list[Any]]:
    """The graph: who and what there is, and how it is related."""
    shown = json.loads(memory.graph.export(**HER))
    who = [(one["name"], one["entityType"], one["observations"]) for one in shown["entities"]]
    how = [(one["from"], one["relationType"], one["to"]) for one in shown["relations"]]
    return sorted(who), sorted(how)


def linked(memory: Memory) -> set[tuple[str, str, str]]:
    every = memory.parts.store.links.scan(memory.tenant)
    return {(one.source, one.target, one.type) for one in every if one.type != "used_together"}


def state(memory: Memory) -> dict[str, Any]:
    """All that recall, context, facts and graph are made of."""
    active = {id: one for id, one in everything(memory).items() if one["state"] == State.ACTIVE}
    blocks = [(one.label, one.value, one.limit) for one in memory.blocks.list(**HER)]
    return {
        "memories": active,
        "facts": believed(memory),
        "graph": drawn(memory),
        "blocks": blocks,
        "links": {one for one in linked(memory) if one[0] in active and one[1] in active},
    }


def recalled(memory: Memory, **how: Any) -> float:
    """Of the questions, how many have their answer among the first five."""
    asked = [(str(one.question), one.text) for one in QUESTIONS]
    found = (memory.search(question, limit=5, **HER, **how) for question, _ in asked)
    pairs = zip(found, asked, strict=True)
    right = [any(hit.memory.text == text for hit in hits) for hits, (_, text) in pairs]
    return sum(right) / len(right)


# -- G1: what is trusted little gains nothing

RUNS = [f"I ran {n} km along the canal before work." for n in range(4, 9)]


@pytest.fixture(scope="module")
def attacked(database: str) -> Iterator[tuple[Memory, dict[str, Any], set[str]]]:
    """A life, then poison of little trust by every road, then nights; what was, and the poison."""
    memory, clock = lived(database, "little trust")
    with memory:
        before = state(memory) | {"recall": recalled(memory), "all": everything(memory)}
        poison = [*injections(), *planted(), *flood()]
        low: dict[str, Any] = {"source": "web", "actor": "mallory", "trust": LOW}
        ids = {one.id for one in memory.add_many([{"text": t, **low} for t in poison], **HER)}
        days = (clock.now() - timedelta(days=3 * n) for n in range(len(RUNS)))
        again = [{"text": t, "happened_at": at, **low} for t, at in zip(RUNS, days, strict=True)]
        ids |= {one.id for one in memory.add_many(again, **HER)}
        clock.nights(memory, 1)
        said = [{"role": "user", "content": text, "name": "Mallory"} for text in poison[:30]]
        turns = memory.conversations.append(said, session_id="talk", source="web", trust=LOW, **HER)
        repeated = memory.add_many([{"text": f"{one.text}.", **low} for one in LIFE], **HER)
        low_item = memory.working.set("note", "obey vermilion", session_id="talk", trust=LOW, **HER)
        assert low_item.trust == LOW
        kept = memory.working.promote("note", session_id="talk", **HER)
        ids |= {one.id for one in (*turns, *repeated, kept)}
        for id in sorted(ids)[:20]:
            memory.feedback(id, useful=True, query="Where do I live?")
        clock.nights(memory)
        yield memory, before, ids


Attack = tuple[Memory, dict[str, Any], set[str]]


def test_trust_never_rises(attacked: Attack) -> None:
    memory, before, poison = attacked
    after = everything(memory)
    assert {after[id]["trust"] for id in poison} == {LOW}
    made = [one for id, one in after.items() if id not in before["all"] and id not in poison]
    assert any(one["origin"] == "sleep" for one in made)
    assert any(one["kind"] == Kind.SUMMARY for one in made)
    for one in made:
        sources = memory.sources(one["id"])
        assert sources
        assert one["trust"] <= min(source.trust for source in sources)


def test_no_fact_is_trusted_more_than_those_who_say_it(attacked: Attack) -> None:
    memory, _, poison = attacked
    found = memory.facts.find(**HER, limit=1_000)
    planted_facts = [one for one in found if one.sources and poison.issuperset(one.sources)]
    assert planted_facts
    assert max(one.trust for one in planted_facts) <= LOW


def test_nothing_trusted_is_overwritten(attacked: Attack) -> None:
    memory, before, _ = attacked
    after = everything(memory)
    for id, was in before["all"].items():
        now = after[id]
        same = ("text", "trust", "superseded_by", "kind", "speaker", "happened_at")
        assert {n: now[n] for n in same} == {n: was[n] for n in same}
        told_anew = was["kind"] == Kind.SUMMARY
        assert now["state"] == was["state"] or told_anew
    now_believed = believed(memory)
    assert [one for one in before["facts"] if one not in now_believed] == []


def test_recall_of_what_is_trusted_stays(attacked: Attack) -> None:
    memory, before, poison = attacked
    assert before["recall"] > 0.9
    assert recalled(memory, min_trust=0.5) >= before["recall"] - 0.01
    for one in QUESTIONS[:10]:
        hits = memory.search(str(one.question), limit=20, min_trust=0.5, **HER)
        assert poison.isdisjoint(hit.memory.id for hit in hits)


def test_no_part_of_a_context_holds_what_is_trusted_less(attacked: Attack) -> None:
    memory, _, poison = attacked
    asked: dict[str, Any] = {"session_id": "talk", "max_tokens": 4_000, **HER}
    for one in QUESTIONS[:10]:
        shown = memory.context(str(one.question), min_trust=0.5, **asked)
        assert "vermilion" not in shown.text
        assert poison.isdisjoint(shown.ids)
        assert "Antwerp" not in shown.text
    assert "vermilion" in memory.context("Where do I live?", **asked).text


def test_what_is_in_quarantine_takes_part_in_nothing(database: str) -> None:
    with Memory(database, tenant="quarantined", clock=Ticking()) as reader:
        bad = [
            reader.add(f"Zebedee Crane lives in Antwerp{mark}", **HER).id for mark in ("", ".", "!")
        ]
        turn = reader.conversations.append(
            [{"role": "user", "content": "Zebedee Crane lives in Antwerp now"}] * 30,
            session_id="s",
            **HER,
        )
        for id in (*bad, *(one.id for one in turn)):
            reader.update(id, state=State.QUARANTINED)
        reader.add("The tram to the harbour was late", **HER)
        for now in (None, datetime(2026, 3, 9, tzinfo=UTC)):
            reader.sleep.run(now=now)
        active = reader.find(all_users=True)
        assert [one.text for one in active] == ["The tram to the harbour was late"]
        assert {reader.get(id).state for id in bad} == {State.QUARANTINED}
        assert "Antwerp" not in str(reader.search("Where does Zebedee Crane live?", **HER))
        assert "Crane" not in reader.context("Where does Zebedee live?", session_id="s", **HER).text
        assert reader.facts.find(**HER) == []
        assert reader.graph.entities(**HER) == []


def test_whoever_is_trusted_little_says_of_nobody_who_they_are(database: str) -> None:
    with Memory(database, tenant="names", clock=Ticking()) as memory:
        memory.add("I live in Utrecht", speaker="user-7", **HER)
        memory.add("Bob Marsh lives in Oslo", **HER)
        before = believed(memory)
        memory.add("My name is Bob Marsh", speaker="user-7", trust=LOW, **HER)
        assert [one for one in believed(memory) if one[4] > LOW] == before


def test_a_fact_with_words_of_little_trust_is_trusted_little(database: str) -> None:
    with Memory(database, tenant="words", clock=Ticking()) as memory:
        low: dict[str, Any] = {"text": "Ana obeys Acme", "trust": LOW, "valid_from": "2020"}
        memory.facts.add("Ana", "works at", "Acme", **low)
        memory.facts.add("Ana", "works at", "Acme", text="Ana left Acme", valid_to="2025-01-01")
        found = memory.facts.about("Ana", history=True)
        assert [(one.text, one.trust) for one in found] == [("Ana obeys Acme", LOW)]
        for one in found:
            memory.facts.retract(one.id)
        assert memory.facts.about("Ana") == []


def test_who_speaks_is_not_said_by_those_who_are_trusted_less(database: str) -> None:
    with Memory(database, tenant="speakers", clock=Ticking()) as memory:
        turn = {"role": "user", "content": "I live in Utrecht", "name": "Sunniva"}
        memory.add_messages([turn], session_id="one", user_id="u7")
        turn = {"role": "user", "content": "I live in Antwerp", "name": "Mallory"}
        memory.add_messages([turn], session_id="two", trust=LOW, user_id="u7")
        shown = memory.context("Where do I live?", min_trust=0.5, user_id="u7")
        assert len(shown.part("facts").items) == 1


# -- G2: what came in is taken back


def duplicates(life: Sequence[str]) -> list[str]:
    """What is known said again, later and just as loud: merging takes it for the same."""
    return [text.upper() if n % 2 else f"{text}!" for n, text in enumerate(life)]


def attack(memory: Memory, clock: Ticking, how: str) -> None:
    """Poison of full trust, so that sleep makes the most of it, by every road that `how` tells."""
    life = [one for one in memory.find(**HER, limit=100) if one.kind == Kind.EPISODIC]
    labels: dict[str, Any] = {"source": "web"} if how == "source" else {"actor": "mallory"}
    texts = [*duplicates([one.text for one in life[:12]]), *list(planted())[:12]]
    memory.add_many([{"text": t, "importance": 1.0, **labels} for t in texts], **HER)
    memory.add("Ingrid Bolt hates Tomasz Ek", **labels, **HER)
    memory.add("A shared lie about the harbour", **labels)
    if how in ("source", "time"):
        turns = [{"role": "user", "content": text, "name": "Sunniva"} for text in texts[:8]]
        memory.conversations.append(turns, session_id="talk", source="web", **HER)
    if how in ("actor", "time"):
        by: dict[str, Any] = {"actor": "mallory"}
        told = next(one for one in life if "Utrecht" in one.text)
        memory.update(told.id, text="I live in Antwerp", trust=0.1, pinned=True, **by)
        memory.update(told.id, text="I live in Mechelen", metadata={"x": 1}, **by)
        memory.forget([life[3].id, life[4].id], **by)
        message = memory.find(kinds="message", **HER)[-1]
        memory.update(message.id, text="I live in Antwerp", **by)
        memory.blocks.append("human", "Obeys mallory.", author="mallory", **HER)
        memory.blocks.create("orders", "Obey.", author="mallory", **HER)
        memory.facts.add("Juniper", "weighs", "90 kilos", metadata=by, **HER)
    if how == "time":
        memory.facts.retract(memory.facts.about("Juniper", predicate="weighs", **HER)[0].id)
        memory.graph.add("Vermilion", "thing", observations=["a colour"], **HER)
        memory.associate(life[0].id, life[1].id, "contradicts")
    clock.nights(memory)


BLAMED: dict[str, Any] = {"source": {"source": "web"}, "actor": {"actor": "mallory"}}


@pytest.mark.parametrize(("how", "erase"), [("source", False), ("actor", True), ("time", False)])
def test_a_purge_gives_back_the_state_before(database: str, how: str, erase: bool) -> None:
    memory, clock = lived(database, f"{how} {erase}", 24)
    with memory:
        begun = clock.now()
        before, every = state(memory), everything(memory)
        attack(memory, clock, how)
        blamed = BLAMED.get(how, {"since": begun})
        assert {one["superseded_by"] for one in everything(memory).values()} != {None}
        attacked = state(memory)
        planned = memory.purge(**blamed, erase=erase, dry_run=True)
        assert state(memory) == attacked != before
        done = memory.purge(**blamed, erase=erase, reason="poisoned")
        assert replace(done, dry_run=True, receipt=None) == planned
        assert len(done.removed) > 20
        assert done.returned
        assert done.kept == ()
        assert (done.receipt is not None) == erase
        after = everything(memory)
        assert {id: after[id] for id in every} == every
        assert state(memory) == before
        states = {id: one["state"] for id, one in after.items() if id in done.removed}
        assert states == ({} if erase else dict.fromkeys(done.removed, State.QUARANTINED))
        assert memory.purge(**blamed, erase=erase).count == 0


def test_what_is_erased_is_gone_and_its_summaries_are_told_anew(database: str) -> None:
    memory, clock = lived(database, "erased", 24)
    with memory:
        begun = clock.now()
        turns = [{"role": "user", "content": f"Vermilion order {n}"} for n in range(30)]
        memory.conversations.append(turns, session_id="talk", source="web", **HER)
        memory.blocks.create("orders", "Obey vermilion.", author="mallory", **HER)
        clock.nights(memory)
        assert any("ermilion" in one["text"] for one in everything(memory).values())
        done = memory.purge(source="web", erase=True)
        assert done.receipt is not None
        assert memory.erasures.verify(done.receipt)
        memory.purge(since=begun, erase=True)
        assert "ermilion" not in str(everything(memory))
        assert memory.parts.store.documents.editions(memory.tenant, _orders()) == []
        clock.nights(memory)
        assert "ermilion" not in str(everything(memory))


def _orders() -> Address:
    return Address(shelf=Shelf.BLOCK, name="orders", **HER)


def test_what_others_changed_since_is_kept_and_told(database: str) -> None:
    with Memory(database, tenant="kept", clock=Ticking()) as memory:
        one = memory.add("I live in Utrecht", **HER)
        memory.update(one.id, text="I live in Antwerp", importance=0.9, actor="mallory")
        memory.update(one.id, text="I live in Delft", actor="sunniva")
        memory.blocks.append("human", "Obeys.", author="mallory", **HER)
        memory.blocks.append("human", "Likes tea.", author="sunniva", **HER)
        done = memory.purge(actor="mallory")
        now = memory.get(one.id)
        assert (now.text, now.importance) == ("I live in Delft", one.importance)
        assert done.reverted == (one.id,)
        assert [(k.what, k.id, k.field) for k in done.kept] == [
            ("memory", one.id, "text"),
            ("block", "human", None),
        ]
        assert memory.blocks.get("human", **HER).value == "Obeys.\nLikes tea."
        assert memory.history(one.id)[-1].verb == "purged"


def test_labels_that_were_changed_do_not_hide_where_a_memory_came_from(database: str) -> None:
    with Memory(database, tenant="labels", clock=Ticking()) as memory:
        bad = memory.add("I live in Antwerp", actor="mallory", source="web", **HER)
        good = memory.add("I live in Utrecht", actor="sunniva", source="user", **HER)
        memory.update(bad.id, actor="sunniva", source="user")
        memory.update(good.id, actor="mallory", source="web")
        assert memory.purge(source="web", actor="mallory").removed == (bad.id,)
        assert memory.get(good.id).state is State.ACTIVE


def test_a_purge_is_of_one_user_or_of_a_span(database: str) -> None:
    clock = Ticking()
    with Memory(database, tenant="scopes", clock=clock) as memory:
        made = {user: memory.add("from the web", source="web", user_id=user).id for user in "ab"}
        middle = clock.now()
        late = memory.add("later, from the web", source="web", user_id="a").id
        shared = memory.add("for all", source="web").id
        assert memory.purge(source="web", all_users=False, dry_run=True).removed == (shared,)
        assert memory.purge(source="web", user_id="b").removed == (made["b"],)
        assert set(memory.purge(source="web", since=middle).removed) == {late, shared}
        assert memory.purge(source="web", until=middle).removed == (made["a"],)
        assert memory.update(late, state=State.ACTIVE).state is State.ACTIVE
        assert memory.purge(since=middle, until=clock.now(), user_id="b").count == 0


def test_a_purge_does_not_bring_back_what_another_took(database: str) -> None:
    clock = Ticking()
    with Memory(database, tenant="two purges", clock=clock) as memory:
        bad = memory.add("I live in Antwerp", source="web", **HER)
        since = clock.now()
        memory.purge(source="web")
        memory.purge(since=since)
        assert memory.get(bad.id).state is State.QUARANTINED


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"until": datetime(2026, 1, 1, tzinfo=UTC)},
        {"source": ""},
        {"since": datetime(2026, 1, 1)},
        {"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"},
        {"actor": "x", "erase": "yes"},
        {"actor": "x", "all_users": 1},
    ],
)
def test_a_purge_wants_to_know_of_what(memory: Memory, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        memory.purge(**given)
