"""Nothing crosses a tenant; users are rooms behind the wall."""

from __future__ import annotations

import pytest

from remanence.errors import NotFound
from remanence.model.scope import Reach
from remanence.model.write import Remove
from remanence.ports.store import Store
from remanence.testing.store_suites.making import (
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
        assert store.get("t", [theirs.id]) == []
        assert store.key_of("t", theirs.id) is None
        assert texts(store.find(Reach(tenant="t", all_users=True))) == ["mine"]
        for act in (
            lambda: write(store, Remove(id=theirs.id)),
            lambda: revise(store, theirs.id, importance=0.1),
            lambda: store.history("t", theirs.id),
            lambda: store.note_feedback("t", theirs.id, useful=True, query=None, at=NOW),
            lambda: store.associate("t", link(mine, theirs)),
            lambda: store.associate("t", link(theirs, mine)),
            lambda: store.related("t", theirs.id, type=None, direction="both", limit=5),
        ):
            with pytest.raises(NotFound):
                act()
        assert store.dissociate("t", mine.id, theirs.id, None) == 0
        assert store.get("u", [theirs.id]) == [theirs]

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
            assert tuple(sorted(texts(store.find(reach)))) == wanted
            assert store.count(reach) == len(wanted)
            assert len(store.partitions(reach)) == len(wanted)

    def test_agent_and_session_narrow_a_read(self, store: Store) -> None:
        add(
            store, memory("x", agent_id="a", session_id="s"), memory("y", agent_id="a"), memory("z")
        )
        assert texts(store.find(Reach(tenant="t", agent_id="a"))) == ["y", "x"]
        assert texts(store.find(Reach(tenant="t", agent_id="a", session_id="s"))) == ["x"]
        assert store.count(Reach(tenant="t", session_id="other")) == 0
