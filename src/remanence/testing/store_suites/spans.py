"""Sessions as their messages show them, and the versions of memories."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from remanence.model.memory import Kind, MemoryRecord, State
from remanence.model.scope import Reach
from remanence.model.write import Remove
from remanence.ports.store import Span, Store
from remanence.testing.store_suites.making import NOW, add, memory, revise, write


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
        assert store.spans(reach) == [Span("s", None, 3, early, late)]
        revise(store, records[2].id, state=State.ARCHIVED)
        write(store, Remove(id=records[1].id))
        middle = NOW + timedelta(minutes=3)
        assert store.spans(reach) == [Span("s", None, 1, middle, middle)]
        write(store, Remove(id=records[0].id))
        assert store.spans(reach) == []

    def test_the_session_last_spoken_in_comes_first(self, store: Store) -> None:
        for session, minute in {"b": 1, "a": 1, "z": 5, "c": 0}.items():
            add(store, message(session, minute), message(session, minute - 90))
        reach = Reach(tenant="t")
        assert [span.session_id for span in store.spans(reach)] == ["z", "a", "b", "c"]
        found = store.spans(reach, limit=2, offset=1)
        assert [span.session_id for span in found] == ["a", "b"]
        assert store.spans(reach, offset=4) == []

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
            assert seen(store.spans(reach)) == wanted, reach

    def test_the_newest_messages_of_a_session_are_found(self, store: Store) -> None:
        add(store, *[message("s", n // 3) for n in range(60)], message("s", 99, kind=Kind.SUMMARY))
        add(store, *[message("r", n) for n in range(60)])
        found = store.find(Reach(tenant="t", session_id="s"), limit=5)
        assert [one.text for one in found] == ["s 99", "s 19", "s 19", "s 19", "s 18"]
        again = store.find(Reach(tenant="t", session_id="s"), limit=3, newest_first=False)
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
        assert list(store.versions(every)) == versions
        assert list(store.versions(Reach(tenant="t"))) == [versions[0], versions[2]]
        assert list(store.versions(Reach(tenant="t", agent_id="x"))) == []
        assert list(store.versions(Reach(tenant="nobody"))) == []

    def test_versions_are_streamed_in_chunks(self, store: Store) -> None:
        for start in range(0, 5100, 1700):
            add(store, *[memory("x", session_id="s") for _ in range(start, start + 1700)])
        reach = Reach(tenant="t", session_id="s")
        scanned = [(record.id, 1) for _, record in store.scan("t")]
        assert list(store.versions(reach)) == scanned
