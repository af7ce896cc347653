"""Which memories a read gives: nothing crosses a tenant, users are rooms, filters are obeyed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from remanence.errors import NotFound
from remanence.model.filter import parse_filter, satisfies
from remanence.model.memory import Kind, MemoryRecord, State
from remanence.model.ports.store import Span, Store
from remanence.model.scope import Reach
from remanence.model.write import Remove
from remanence.testing.store_suites.making import (
    LONG,
    NOW,
    add,
    link,
    memory,
    new_id,
    revise,
    texts,
    write,
)


class ScopeSuite:
    """Nothing crosses a tenant; users are rooms behind the wall."""

    def test_one_tenant_never_sees_another(self, store: Store) -> None:
        (mine,) = add(store, memory("mine"))
        (theirs,) = add(store, memory("theirs", tenant="u"))
        assert store.archive.get("t", [theirs.id]) == []
        assert store.recall.key_of("t", theirs.id) is None
        assert texts(store.archive.find(Reach(tenant="t", all_users=True))) == ["mine"]
        for act in (
            lambda: write(store, Remove(id=theirs.id)),
            lambda: revise(store, theirs.id, importance=0.1),
            lambda: store.archive.history("t", theirs.id),
            lambda: store.archive.note_feedback("t", theirs.id, useful=True, query=None, at=NOW),
            lambda: store.links.associate("t", link(mine, theirs)),
            lambda: store.links.associate("t", link(theirs, mine)),
            lambda: store.links.related("t", theirs.id, type=None, direction="both", limit=5),
        ):
            with pytest.raises(NotFound):
                act()
        assert store.links.dissociate("t", mine.id, theirs.id, None) == 0
        assert store.archive.get("u", [theirs.id]) == [theirs]

    def test_anothers_id_answers_like_one_that_does_not_exist(self, store: Store) -> None:
        (theirs,) = add(store, memory("theirs", tenant="u"))
        nobody = str(new_id())
        answers = []
        for id in (theirs.id, nobody):
            with pytest.raises(NotFound) as error:
                write(store, Remove(id=id))
            answers.append(str(error.value).replace(id, ""))
        assert answers[0] == answers[1]

    def test_reach_names_the_partitions(self, store: Store) -> None:
        add(store, memory("shared"), memory("a", user_id="a"), memory("b", user_id="b"))
        reaches = {
            ("shared",): Reach(tenant="t"),
            ("a",): Reach(tenant="t", user_id="a"),
            ("a", "shared"): Reach(tenant="t", user_id="a", include_shared=True),
            ("a", "b", "shared"): Reach(tenant="t", all_users=True),
            (): Reach(tenant="t", user_id="nobody"),
        }
        for wanted, reach in reaches.items():
            assert tuple(sorted(texts(store.archive.find(reach)))) == wanted
            assert store.archive.count(reach) == len(wanted)
            assert len(store.recall.partitions(reach)) == len(wanted)

    def test_agent_and_session_narrow_a_read(self, store: Store) -> None:
        add(
            store, memory("x", agent_id="a", session_id="s"), memory("y", agent_id="a"), memory("z")
        )
        assert texts(store.archive.find(Reach(tenant="t", agent_id="a"))) == ["y", "x"]
        assert texts(store.archive.find(Reach(tenant="t", agent_id="a", session_id="s"))) == ["x"]
        assert store.archive.count(Reach(tenant="t", session_id="other")) == 0


def message(session: str | None, minutes: int, **fields: Any) -> MemoryRecord:
    """A message of a session, so long after `NOW`."""
    at = NOW + timedelta(minutes=minutes)
    told: dict[str, Any] = {"kind": Kind.MESSAGE, "session_id": session, "happened_at": at}
    return memory(f"{session} {minutes}", **(told | fields))


def seen(spans: list[Span]) -> list[tuple[str, str | None, int]]:
    """Session, user and number of messages of each."""
    return [(span.session_id, span.user_id, span.messages) for span in spans]


class SpanSuite:
    """Sessions and versions."""

    def test_a_session_is_what_its_active_messages_say(self, store: Store) -> None:
        early, late = NOW + timedelta(minutes=-5), NOW + timedelta(minutes=9)
        records = add(store, message("s", 3), message("s", -5), message("s", 9))
        add(
            store,
            message("s", 60, kind=Kind.SUMMARY),
            message("s", 60, state=State.ARCHIVED),
            message(None, 60),
            message("notes only", 60, kind=Kind.EPISODIC),
        )
        reach = Reach(tenant="t")
        assert store.archive.spans(reach) == [Span("s", None, 3, early, late)]
        revise(store, records[2].id, state=State.ARCHIVED)
        write(store, Remove(id=records[1].id))
        middle = NOW + timedelta(minutes=3)
        assert store.archive.spans(reach) == [Span("s", None, 1, middle, middle)]
        write(store, Remove(id=records[0].id))
        assert store.archive.spans(reach) == []

    def test_the_session_last_spoken_in_comes_first(self, store: Store) -> None:
        for session, minute in {"b": 1, "a": 1, "z": 5, "c": 0}.items():
            add(store, message(session, minute), message(session, minute - 90))
        reach = Reach(tenant="t")
        assert [span.session_id for span in store.archive.spans(reach)] == ["z", "a", "b", "c"]
        found = store.archive.spans(reach, limit=2, offset=1)
        assert [span.session_id for span in found] == ["a", "b"]
        assert store.archive.spans(reach, offset=4) == []

    def test_one_session_of_two_users_is_two(self, store: Store) -> None:
        add(store, message("s", 1), message("s", 2, user_id="a"), message("s", 3, user_id="b"))
        add(store, message("s", 4, user_id="b", agent_id="x"), message("r", 0, user_id="b"))
        add(store, message("s", 9, tenant="u", user_id="a"))
        reaches = {
            Reach(tenant="t"): [("s", None, 1)],
            Reach(tenant="t", user_id="a"): [("s", "a", 1)],
            Reach(tenant="t", user_id="b"): [("s", "b", 2), ("r", "b", 1)],
            Reach(tenant="t", user_id="a", include_shared=True): [("s", "a", 1), ("s", None, 1)],
            Reach(tenant="t", all_users=True): [
                ("s", "b", 2), ("s", "a", 1), ("s", None, 1), ("r", "b", 1),
            ],
            Reach(tenant="t", all_users=True, agent_id="x"): [("s", "b", 1)],
            Reach(tenant="t", user_id="b", session_id="r"): [("r", "b", 1)],
            Reach(tenant="t", user_id="nobody"): [],
            Reach(tenant="nobody", all_users=True): [],
        }  # fmt: skip
        for reach, wanted in reaches.items():
            assert seen(store.archive.spans(reach)) == wanted, reach

    def test_the_newest_messages_of_a_session_are_found(self, store: Store) -> None:
        add(store, *[message("s", n // 3) for n in range(60)], message("s", 99, kind=Kind.SUMMARY))
        add(store, *[message("r", n) for n in range(60)])
        found = store.archive.find(Reach(tenant="t", session_id="s"), limit=5)
        assert [one.text for one in found] == ["s 99", "s 19", "s 19", "s 19", "s 18"]
        again = store.archive.find(Reach(tenant="t", session_id="s"), limit=3, newest_first=False)
        assert [one.text for one in again] == ["s 0"] * 3

    def test_versions_are_those_of_active_memories_by_key(self, store: Store) -> None:
        records = add(store, *[memory(f"m{n}", user_id="u" if n % 2 else None) for n in range(6)])
        add(store, memory("foreign", tenant="u"))
        revise(store, records[2].id, text="changed")
        revise(store, records[4].id, state=State.ARCHIVED)
        versions = [(record.id, 1) for record in records]
        versions[2] = (records[2].id, 2)
        del versions[4]
        every = Reach(tenant="t", all_users=True)
        assert list(store.archive.versions(every)) == versions
        assert list(store.archive.versions(Reach(tenant="t"))) == [versions[0], versions[2]]
        assert list(store.archive.versions(Reach(tenant="t", agent_id="x"))) == []
        assert list(store.archive.versions(Reach(tenant="nobody"))) == []

    def test_versions_are_streamed_in_chunks(self, store: Store) -> None:
        for start in range(0, 5100, 1700):
            add(store, *[memory("x", session_id="s") for _ in range(start, start + 1700)])
        reach = Reach(tenant="t", session_id="s")
        scanned = [(record.id, 1) for _, record in store.archive.scan("t")]
        assert list(store.archive.versions(reach)) == scanned


FILTERED: list[dict[str, Any]] = [
    {},
    {"team": "sales", "age": 30, "tags": ["a", "b"], "ok": True},
    {"team": "Sales", "age": 30.0, "tags": [], "ok": False},
    {"team": None, "age": "30", "nested": {"team": "sales", "deep": [{"x": 1}, {"x": 2}]}},
    {"team": ["sales", "ops"], "age": [1, 99], "nested": {}, "a.b": 1},
    {"team": LONG, "age": -1.5, "a": {"b": 2}, "ok": "true"},
    {"team": 'it\'s "quoted"; DROP TABLE memories --', "age": 2**53 + 1, "": 1},
    {"team": "Ωmega", "tags": [None], "straße": "STRASSE"},
]
FILTERS: list[dict[str, Any]] = [
    {"team": "sales"},
    {"team": {"ne": "sales"}},
    {"team": None},
    {"team": {"ne": None}},
    {"team": {"in": ["sales", LONG, None]}},
    {"team": {"not_in": ["sales", LONG]}},
    {"team": {"in": []}},
    {"team": {"exists": True}},
    {"tags": {"exists": False}},
    {"tags": "a"},
    {"team": LONG},
    {"team": {"gt": "long"}},
    {"team": {"lte": "long "}},
    {"team": {"gt": "a", "lt": "z"}},
    {"team": {"gt": 5}},
    {"age": 30},
    {"age": {"gt": 29.5}},
    {"age": {"gte": 30, "lt": 2**53 + 1}},
    {"age": 2**53 + 1},
    {"age": {"lt": "4"}},
    {"ok": True},
    {"ok": 1},
    {"ok": {"ne": False}},
    {"nested.team": "sales"},
    {"nested.deep.x": 2},
    {"nested": {"exists": True}},
    {"nested": None},
    {"a.b": {"gte": 1}},
    {"straße": "STRASSE"},
    {"or": [{"team": "ops"}, {"not": {"age": {"exists": True}}}]},
    {"and": [{"team": "sales"}, {"age": {"gt": 50}}]},
    {"not": {"or": [{"team": "sales"}, {"ok": {"exists": True}}]}},
    {"or": []},
    {"and": []},
    {"text": {"contains": "STRASSE"}},
    {"text": {"contains": "straße"}},
    {"text": {"not_contains": "%"}},
    {"text": {"contains": "ΟΔΌΣ"}},
    {"field.kind": "semantic"},
    {"field.kind": {"ne": "semantic"}},
    {"field.kind": {"in": ["semantic", "message"]}},
    {"field.state": {"not_in": ["archived"]}},
    {"field.source": "crm"},
    {"field.source": {"ne": "crm"}},
    {"field.source": None},
    {"field.source": {"in": ["mail", None]}},
    {"field.source": {"not_in": ["mail", None]}},
    {"field.source": {"exists": True}},
    {"field.source": {"gt": "d"}},
    {"field.importance": {"gte": 0.5}},
    {"field.pinned": True},
    {"field.uses": {"gt": 0}},
    {"field.happened_at": {"lt": NOW}},
    {"field.happened_at": NOW},
]


class FilterSuite:
    """Every filter is obeyed as the oracle says."""

    @pytest.fixture
    def filtered(self, store: Store) -> list[MemoryRecord]:
        """Records with all sorts of metadata and fields."""
        sources, kinds = [None, "crm", "mail"], [Kind.SEMANTIC, Kind.MESSAGE, Kind.EPISODIC]
        said = ["50% of Straße 5", "STRASSE", "οδός", "_", "plain"]
        records = [
            memory(
                said[i % 5],
                metadata=metadata,
                source=sources[i % 3],
                kind=kinds[i % 3],
                state=State.ARCHIVED if i % 4 == 0 else State.ACTIVE,
                importance=i / 8,
                pinned=i % 2 == 0,
                uses=i % 2,
                happened_at=NOW - timedelta(microseconds=i % 3),
                user_id="u" if i % 2 else None,
            )
            for i, metadata in enumerate(FILTERED)
        ]
        return add(store, *records)

    @pytest.mark.parametrize("given", FILTERS, ids=str)
    def test_a_filter_is_obeyed(
        self, store: Store, filtered: list[MemoryRecord], given: dict[str, Any]
    ) -> None:
        where = parse_filter(given)
        assert where is not None
        wanted = {record.id for record in filtered if satisfies(record, where)}
        reach = Reach(tenant="t", all_users=True)
        assert {record.id for record in store.archive.find(reach, where)} == wanted
        assert store.archive.count(reach, where) == len(wanted)
        found = set()
        for partition in store.recall.partitions(reach):
            keys = store.recall.keys(partition, where)
            assert (np.diff(keys) > 0).all()
            found |= {
                record.id for record in store.recall.records(partition, keys.tolist()).values()
            }
        assert found == wanted

    def test_filters_follow_a_revision(self, store: Store) -> None:
        (record,) = add(store, memory("x", metadata={"team": "sales", "tags": ["a", "b"]}))
        revise(store, record.id, metadata={"team": "ops", "tags": ["b"]})
        reach = Reach(tenant="t")
        assert store.archive.count(reach, parse_filter({"team": "sales"})) == 0
        assert store.archive.count(reach, parse_filter({"tags": "a"})) == 0
        assert store.archive.count(reach, parse_filter({"team": "ops", "tags": "b"})) == 1

    def test_thousands_of_values_are_one_condition(self, store: Store) -> None:
        add(store, memory("x", metadata={"n": 4999}), memory("y", metadata={"n": 5000}))
        where = parse_filter({"n": {"in": list(range(5000))}})
        assert texts(store.archive.find(Reach(tenant="t"), where)) == ["x"]
