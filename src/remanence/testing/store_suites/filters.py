"""Every filter is obeyed as the oracle says."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from remanence.model.filter import parse_filter
from remanence.model.memory import Kind, MemoryRecord, State
from remanence.model.satisfying import satisfies
from remanence.model.scope import Reach
from remanence.ports.store import Store
from remanence.testing.store_suites.making import LONG, NOW, add, memory, revise, texts

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
        assert {record.id for record in store.find(reach, where)} == wanted
        assert store.count(reach, where) == len(wanted)
        found = set()
        for partition in store.partitions(reach):
            keys = store.keys(partition, where)
            assert (np.diff(keys) > 0).all()
            found |= {record.id for record in store.records(partition, keys.tolist()).values()}
        assert found == wanted

    def test_filters_follow_a_revision(self, store: Store) -> None:
        (record,) = add(store, memory("x", metadata={"team": "sales", "tags": ["a", "b"]}))
        revise(store, record.id, metadata={"team": "ops", "tags": ["b"]})
        reach = Reach(tenant="t")
        assert store.count(reach, parse_filter({"team": "sales"})) == 0
        assert store.count(reach, parse_filter({"tags": "a"})) == 0
        assert store.count(reach, parse_filter({"team": "ops", "tags": "b"})) == 1

    def test_thousands_of_values_are_one_condition(self, store: Store) -> None:
        add(store, memory("x", metadata={"n": 4999}), memory("y", metadata={"n": 5000}))
        where = parse_filter({"n": {"in": list(range(5000))}})
        assert texts(store.find(Reach(tenant="t"), where)) == ["x"]
