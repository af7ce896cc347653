"""Associations between memories."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from remanence.errors import Conflict, InvalidInput, NotFound
from remanence.model.memory import State
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.write import Insert, Receipt, Remove, Revise
from remanence.testing.store_suites.making import (
    NOW,
    Reopen,
    add,
    healthy,
    link,
    memory,
    new_id,
    revise,
    write,
)


class LinkSuite:
    """Associations."""

    def test_related_is_strongest_first_in_the_direction_asked(self, store: Store) -> None:
        a, b, c = add(store, memory("a"), memory("b"), memory("c"))
        store.links.associate("t", link(a, b, 0.3))
        store.links.associate("t", replace(link(a, c, 0.6), type="after"))
        store.links.associate("t", link(c, a, 0.9))

        def related(direction: str, type: str | None = None, limit: int = 9) -> list[str]:
            found = store.links.related("t", a.id, type=type, direction=direction, limit=limit)
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
        store.links.associate("t", link(a, b, 0.3))
        later = replace(link(a, b, 0.8), created_at=NOW + timedelta(days=1))
        assert store.links.associate("t", later) == replace(later, created_at=NOW)
        assert list(store.links.scan("t")) == [replace(later, created_at=NOW)]

    def test_what_is_used_together_draws_closer_and_fades(self, store: Store) -> None:
        a, b, c = add(store, memory("a"), memory("b"), memory("c"))
        pairs = [(a.id, b.id), (b.id, c.id), (a.id, str(new_id()))]

        def used(after: timedelta, *pairs: tuple[str, str]) -> int:
            return store.links.strengthen("t", pairs, "with", NOW + after, gain=0.5, daily=0.5)

        def strengths() -> dict[str, float]:
            return {f"{one.source}{one.target}": one.strength for one in store.links.scan("t")}

        assert used(timedelta(0), *pairs) == 2
        assert strengths() == {a.id + b.id: 0.5, b.id + c.id: 0.5}
        assert used(timedelta(0), pairs[0]) == 1
        assert strengths()[a.id + b.id] == 0.75
        assert used(timedelta(days=2), pairs[0]) == 1  # 0.75 has become 0.1875
        assert strengths()[a.id + b.id] == pytest.approx(0.1875 + (1 - 0.1875) / 2)
        assert strengths()[b.id + c.id] == 0.5
        [found] = store.links.related("t", a.id, type="with", direction="both", limit=9)
        assert found.since == NOW + timedelta(days=2)
        assert used(timedelta(days=1), pairs[0]) == 1  # told late: time does not go back
        [found] = store.links.related("t", a.id, type="with", direction="both", limit=9)
        assert found.since == NOW + timedelta(days=2)
        assert store.links.strengthen("u", pairs, "with", NOW, gain=0.5, daily=0.5) == 0

    def test_only_active_memories_are_related(self, store: Store) -> None:
        a, b = add(store, memory("a"), memory("b"))
        store.links.associate("t", link(a, b))
        revise(store, b.id, state=State.ARCHIVED)
        assert store.links.related("t", a.id, type=None, direction="out", limit=9) == []

    def test_dissociate_says_how_many_there_were(self, store: Store) -> None:
        a, b = add(store, memory("a"), memory("b"))
        for type in ("one", "two", "three"):
            store.links.associate("t", replace(link(a, b), type=type))
        store.links.associate("t", link(b, a))
        assert store.links.dissociate("t", a.id, b.id, "one") == 1
        assert store.links.dissociate("t", a.id, b.id, None) == 2
        assert store.links.dissociate("t", a.id, b.id, None) == 0
        assert len(list(store.links.scan("t"))) == 1
        assert list(store.links.scan("u")) == []

    def test_pointing_names_each_source_once_by_key(self, store: Store) -> None:
        a, b, c, d = add(store, *[memory(text, user_id=text) for text in "abcd"])
        for source, target in ((c, a), (b, a), (c, b), (d, c), (a, a)):
            store.links.associate("t", link(source, target))
        store.links.associate("t", replace(link(d, a), type="other"))
        revise(store, c.id, state=State.ARCHIVED)
        assert store.links.pointing("t", [a.id], "about") == [a.id, b.id, c.id]
        assert store.links.pointing("t", [b.id, a.id, b.id], "about") == [a.id, b.id, c.id]
        assert store.links.pointing("t", [a.id], "other") == [d.id]
        assert store.links.pointing("t", [d.id, str(new_id()), "no id"], "about") == []
        assert store.links.pointing("t", [], "about") == []
        assert store.links.pointing("u", [a.id], "about") == []
        assert store.links.pointing("t", [a.id], "'; --") == []

    def test_pointing_passes_over_anothers_targets(self, store: Store) -> None:
        (mine,) = add(store, memory("mine"))
        one, two = add(store, memory("one", tenant="u"), memory("two", tenant="u"))
        store.links.associate("u", link(one, two))
        assert store.links.pointing("t", [two.id, mine.id], "about") == []
        assert store.links.pointing("u", [two.id, mine.id], "about") == [one.id]

    def test_a_batch_links_what_it_inserts(self, store: Store, reopen: Reopen) -> None:
        (old,) = add(store, memory("old"))
        new, other = memory("new", user_id="u"), memory("other")
        links = (link(new, old, 0.9), link(other, new, 0.2), link(new, old, 0.4))
        write(store, Insert(record=new), Insert(record=other), links=links)
        store = reopen(store)
        kept = {(one.source, one.target): one.strength for one in store.links.scan("t")}
        assert kept == {(new.id, old.id): 0.4, (other.id, new.id): 0.2}
        write(store, Remove(id=new.id))
        assert list(store.links.scan("t")) == []
        write(store, links=(link(old, other),))
        assert len(list(store.links.scan("t"))) == 1
        assert healthy(store)

    def test_a_batch_whose_link_has_no_end_writes_nothing(self, store: Store) -> None:
        (old,) = add(store, memory("old"))
        (theirs,) = add(store, memory("theirs", tenant="u"))
        new = memory("new")
        for end in (theirs, memory("nowhere")):
            for wrong in (link(new, end), link(end, new)):
                with pytest.raises(NotFound):
                    write(store, Insert(record=new), links=(link(new, old), wrong))
        with pytest.raises(NotFound):
            write(store, Remove(id=old.id), links=(link(old, old),))
        with pytest.raises(InvalidInput):
            write(store, Insert(record=new), links=(link(new, old, 1.5),))
        assert store.archive.count(Reach(tenant="t", all_users=True)) == 1
        assert list(store.links.scan("t")) == list(store.links.scan("u")) == []
        assert healthy(store)

    def test_a_repeated_batch_links_nothing_again(self, store: Store) -> None:
        (old,) = add(store, memory("old"))
        new, receipt = memory("new"), Receipt(key="k", digest=b"d")
        batch: dict[str, Any] = {"links": (link(new, old),), "receipt": receipt}
        assert not write(store, Insert(record=new), **batch).repeated
        store.links.dissociate("t", new.id, old.id, None)
        assert write(store, Insert(record=new), **batch).repeated
        assert list(store.links.scan("t")) == []
        with pytest.raises(Conflict):
            write(store, links=(link(new, old),), receipt=Receipt(key="k", digest=b"e"))
        assert list(store.links.scan("t")) == []

    def test_a_batch_revises_and_links_at_once(self, store: Store) -> None:
        a, b = add(store, memory("a"), memory("b"))
        change = Revise(id=a.id, changes={"text": "c"}, verb="update", at=NOW, expected=1)
        write(store, change, links=(link(a, b),))
        assert store.links.pointing("t", [b.id], "about") == [a.id]
        assert store.archive.get("t", [a.id])[0].version == 2
        assert len(store.archive.history("t", b.id)) == 1
        assert healthy(store)
