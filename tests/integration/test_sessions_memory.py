"""Sessions and working memory through the memory itself, with a server that shares them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from remanence import Memory, NotFound
from support.reaching import Reached

SECRET = "marzipan"


@pytest.fixture
def memory(tmp_path: Path, valkey_url: str, reached: Reached) -> Iterator[Memory]:
    path = tmp_path / "memory.db"
    with Memory(path, cache_url=valkey_url) as opened, reached(opened) as memory:
        yield memory


def everything(url: str) -> str:
    """All that the server holds, as text."""
    found: list[Any] = []
    with redis.Redis.from_url(url) as server:
        for name in server.scan_iter("*"):
            kind = server.type(name)
            found.append(name)
            if kind == b"hash":
                found.append(server.hgetall(name))
            elif kind == b"list":
                found += server.lrange(name, 0, -1)
            elif kind in (b"set", b"zset"):
                found += server.sscan_iter(name) if kind == b"set" else server.zrange(name, 0, -1)
            else:
                found.append(server.get(name))
    return repr(found)


def filled(memory: Memory) -> str:
    """A session, and a message that is at hand."""
    session = memory.sessions.create("s", user_id="u", data={"likes": SECRET})
    messages = [{"role": "user", "content": f"I like {SECRET}"}]
    memory.sessions.recent("s", user_id="u")
    memory.conversations.append(messages, session_id="s", user_id="u")
    assert len(memory.sessions.recent("s", user_id="u")) == 1
    return session.id


def test_what_is_said_is_at_hand_at_once(memory: Memory) -> None:
    filled(memory)
    for n in range(5):
        turn = [{"role": "user", "content": f"turn {n}"}]
        memory.conversations.append(turn, session_id="s", user_id="u")
        assert memory.sessions.recent("s", user_id="u", limit=1)[0].text == f"turn {n}"


def test_two_memories_share_sessions(memory: Memory, tmp_path: Path, valkey_url: str) -> None:
    filled(memory)
    with Memory(tmp_path / "memory.db", cache_url=valkey_url) as other:
        assert other.sessions.get("s", user_id="u").data == {"likes": SECRET}
        other.sessions.update("s", {"more": 1}, user_id="u")
        assert memory.sessions.get("s", user_id="u").data == {"likes": SECRET, "more": 1}
    with (
        Memory(tmp_path / "memory.db", cache_url=valkey_url, tenant="other") as stranger,
        pytest.raises(NotFound),
    ):
        stranger.sessions.get("s", user_id="u")


def test_an_erased_message_leaves_the_server(memory: Memory, valkey_url: str) -> None:
    filled(memory)
    memory.sessions.update("s", {"likes": None}, user_id="u")
    assert SECRET in everything(valkey_url)
    [message] = memory.sessions.recent("s", user_id="u")
    memory.forget(message.id, erase=True)
    assert SECRET not in everything(valkey_url)
    assert memory.sessions.recent("s", user_id="u") == []


def test_a_forgotten_or_changed_message_is_not_at_hand(memory: Memory) -> None:
    filled(memory)
    [message] = memory.sessions.recent("s", user_id="u")
    memory.update(message.id, text="I like nougat")
    assert [one.text for one in memory.sessions.recent("s", user_id="u")] == ["I like nougat"]
    memory.forget(message.id)
    assert memory.sessions.recent("s", user_id="u") == []


def test_an_erased_user_leaves_the_server(memory: Memory, valkey_url: str) -> None:
    filled(memory)
    memory.working.set("likes", SECRET, session_id="s", user_id="u")
    memory.forget(user_id="u", erase=True)
    assert SECRET not in everything(valkey_url)
    with pytest.raises(NotFound):
        memory.sessions.get("s", user_id="u")
    assert memory.working.items(session_id="s", user_id="u") == []


def test_all_of_it_survives_a_restart(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        filled(memory)
        memory.working.set("plan", ["a", "b"], session_id="s", user_id="u")
    with Memory(tmp_path / "memory.db") as memory:
        assert memory.sessions.get("s", user_id="u").data == {"likes": SECRET}
        assert len(memory.sessions.recent("s", user_id="u")) == 1
        assert memory.working.get("plan", session_id="s", user_id="u") == ["a", "b"]


def test_a_restored_snapshot_is_what_the_next_read_sees(memory: Memory) -> None:
    filled(memory)
    memory.snapshot("before", user_id="u")
    memory.sessions.update("s", {"likes": "nougat"}, user_id="u")
    memory.conversations.append([{"role": "user", "content": "later"}], session_id="s", user_id="u")
    assert memory.sessions.get("s", user_id="u").data == {"likes": "nougat"}
    memory.snapshots.restore("before", user_id="u")
    assert memory.sessions.get("s", user_id="u").data == {"likes": SECRET}
    assert [turn.text for turn in memory.sessions.recent("s", user_id="u")] == [f"I like {SECRET}"]
