"""Associations between memories."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from remanence.errors import InvalidInput
from remanence.model.memory import State
from remanence.ports.store import Store
from remanence.testing.store_suites.making import NOW, add, link, memory, revise


class LinkSuite:
    """Associations."""

    def test_related_is_strongest_first_in_the_direction_asked(self, store: Store) -> None:
        a, b, c = add(store, memory("a"), memory("b"), memory("c"))
        store.associate("t", link(a, b, 0.3))
        store.associate("t", replace(link(a, c, 0.6), type="after"))
        store.associate("t", link(c, a, 0.9))

        def related(direction: str, type: str | None = None, limit: int = 9) -> list[str]:
            found = store.related("t", a.id, type=type, direction=direction, limit=limit)
            return [f"{one.memory.text}{'>' if one.outgoing else '<'}{one.type}" for one in found]

        assert related("out") == ["c>after", "b>about"]
        assert related("in") == ["c<about"]
        assert related("both") == ["c<about", "c>after", "b>about"]
        assert related("both", type="about") == ["c<about", "b>about"]
        assert related("both", limit=1) == ["c<about"]
        with pytest.raises(InvalidInput):
            related("sideways")

    def test_an_existing_link_gets_the_new_strength(self, store: Store) -> None:
        a, b = add(store, memory("a"), memory("b"))
        store.associate("t", link(a, b, 0.3))
        later = replace(link(a, b, 0.8), created_at=NOW + timedelta(days=1))
        assert store.associate("t", later) == replace(later, created_at=NOW)
        assert list(store.links("t")) == [replace(later, created_at=NOW)]

    def test_only_active_memories_are_related(self, store: Store) -> None:
        a, b = add(store, memory("a"), memory("b"))
        store.associate("t", link(a, b))
        revise(store, b.id, state=State.ARCHIVED)
        assert store.related("t", a.id, type=None, direction="out", limit=9) == []

    def test_dissociate_says_how_many_there_were(self, store: Store) -> None:
        a, b = add(store, memory("a"), memory("b"))
        for type in ("one", "two", "three"):
            store.associate("t", replace(link(a, b), type=type))
        store.associate("t", link(b, a))
        assert store.dissociate("t", a.id, b.id, "one") == 1
        assert store.dissociate("t", a.id, b.id, None) == 2
        assert store.dissociate("t", a.id, b.id, None) == 0
        assert len(list(store.links("t"))) == 1
        assert list(store.links("u")) == []
