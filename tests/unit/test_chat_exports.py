"""The exports of chats, read: the current branch of a tree, lists, our own form, and rubbish."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.errors import InvalidInput
from remanence.tools.transfer.chat import files
from remanence.tools.transfer.chat.files import Values
from remanence.tools.transfer.chat.formats import chatgpt_talk, claude_talk
from remanence.tools.transfer.chat.imports import TalkReader
from remanence.tools.transfer.chat.talks import Format, Reason, Talk

MAX = 1_000_000


def node(id: str, parent: str | None, text: Any, role: str = "user", **more: Any) -> dict[str, Any]:
    said = {
        "id": f"m-{id}",
        "author": {"role": role},
        "create_time": 1_700_000_000.5,
        "content": {"content_type": "text", "parts": [text]},
    }
    return {"id": id, "parent": parent, "message": said | more}


def tree(*nodes: dict[str, Any], leaf: str | None = None, **more: Any) -> dict[str, Any]:
    mapping = {one["id"]: one for one in nodes}
    told = {"conversation_id": "c1", "title": "Tea", "create_time": 1_700_000_000}
    return told | {"mapping": mapping, "current_node": leaf or nodes[-1]["id"]} | more


def texts(talk: Talk) -> list[str]:
    return [one.content for one in talk.messages]


def reasons(talk: Talk) -> list[Reason]:
    return [one.reason for one in talk.skipped]


def test_only_the_current_branch_is_read() -> None:
    root = {"id": "r", "parent": None, "message": None}
    told = tree(
        root,
        node("a", "r", "Which tea?"),
        node("b1", "a", "Green.", "assistant"),
        node("b2", "a", "Black.", "assistant"),
        node("c", "b1", "Why?"),
        leaf="c",
    )
    talk = chatgpt_talk(told, MAX)
    assert (talk.id, talk.title, talk.source) == ("c1", "Tea", "chatgpt")
    assert texts(talk) == ["Which tea?", "Green.", "Why?"]
    assert [one.id for one in talk.messages] == ["m-a", "m-b1", "m-c"]
    assert [one.role for one in talk.messages] == ["user", "assistant", "user"]
    assert talk.messages[0].at == datetime(2023, 11, 14, 22, 13, 20, 500_000, UTC)
    assert talk.skipped == ()


def test_without_a_current_node_the_newest_leaf_is_followed() -> None:
    old, new = node("b", "a", "old"), node("c", "a", "new", create_time=1_800_000_000)
    told = tree(node("a", None, "first"), new, old) | {"current_node": "gone"}
    assert texts(chatgpt_talk(told, MAX)) == ["first", "new"]


def test_parts_may_be_pictures_and_transcripts() -> None:
    parts = ["look", {"content_type": "image_asset_pointer"}, {"text": "spoken"}, 7, None]
    told = tree(node("a", None, "", content={"content_type": "multimodal_text", "parts": parts}))
    assert texts(chatgpt_talk(told, MAX)) == ["look\nspoken"]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"metadata": {"is_visually_hidden_from_conversation": True}}, Reason.HIDDEN),
        ({"weight": 0.0}, Reason.HIDDEN),
        ({"content": {"content_type": "user_editable_context", "parts": ["x"]}}, Reason.HIDDEN),
        ({"content": {"content_type": "thoughts", "thoughts": []}}, Reason.THOUGHT),
        ({"recipient": "python"}, Reason.CALL),
        ({"content": {"content_type": "text", "parts": [""]}}, Reason.WORDLESS),
        ({"content": {"content_type": "text", "parts": None}}, Reason.WORDLESS),
        ({"content": None}, Reason.WORDLESS),
        ({"content": {"parts": ["a\0b"]}}, Reason.UNSTORABLE),
        ({"content": {"parts": ["\ud83d half"]}}, Reason.UNSTORABLE),
        ({"content": {"parts": ["x" * 51]}}, Reason.UNSTORABLE),
        ({"author": {"role": "alien"}}, Reason.BROKEN),
        ({"author": ["user"]}, Reason.BROKEN),
        ({"author": {"role": ["user"]}}, Reason.BROKEN),
    ],
)
def test_what_is_not_taken_is_counted(more: dict[str, Any], reason: Reason) -> None:
    talk = chatgpt_talk(tree(node("a", None, "kept"), node("b", "a", "lost", **more)), 50)
    assert texts(talk) == ["kept"]
    assert reasons(talk) == [reason]
    assert (talk.skipped[0].conversation, talk.skipped[0].message) == ("c1", "m-b")


@pytest.mark.parametrize("parent", ["b", "a", "gone", 7, ["a"], {"a": 1}, True])
def test_loops_and_missing_parents_end_the_way(parent: Any) -> None:
    talk = chatgpt_talk(tree(node("a", parent, "one"), node("b", "a", "two")), MAX)
    assert texts(talk) == ["one", "two"]
    assert reasons(talk) == [Reason.CUT]


@pytest.mark.slow
def test_a_long_thread_is_no_recursion() -> None:
    nodes = [node(str(n), str(n - 1) if n else None, f"turn {n}") for n in range(20_000)]
    assert len(chatgpt_talk(tree(*nodes), MAX).messages) == 20_000


@pytest.mark.parametrize("time", [None, True, "yesterday", 1e300, -1e300, 10**400, [], {}])
def test_a_time_that_is_none_is_the_neighbours(time: Any) -> None:
    talk = chatgpt_talk(
        tree(
            node("a", None, "one", create_time=time),
            node("b", "a", "two", create_time=1_700_000_100),
            node("c", "b", "three", create_time=time),
        ),
        MAX,
    )
    assert [one.at.timestamp() for one in talk.messages if one.at] == [1_700_000_100] * 3
    [alone] = chatgpt_talk(tree(node("a", None, "one", create_time=time)), MAX).messages
    assert alone.at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


def human(text: str | None, **more: Any) -> dict[str, Any]:
    told = {"uuid": f"u-{text}", "sender": "human", "created_at": "2026-05-01T10:00:00.5Z"}
    return told | {"text": text} | more


def test_claude_is_a_list() -> None:
    blocks = [{"type": "thinking", "text": "hm"}, {"type": "text", "text": "Green."}, {"text": "!"}]
    told = {
        "uuid": "c2",
        "name": "Tea",
        "chat_messages": [
            human("Which tea?"),
            human("shorter", uuid="u-2", sender="assistant", content=blocks, created_at=None),
            human("", uuid="u-3"),
            human("x", sender="nobody"),
            "rubbish",
            human("Which tea?"),
        ],
    }
    talk = claude_talk(told, MAX)
    assert texts(talk) == ["Which tea?", "Green.\n!"]
    assert [one.role for one in talk.messages] == ["user", "assistant"]
    assert (
        talk.messages[1].at == talk.messages[0].at == datetime(2026, 5, 1, 10, 0, 0, 500_000, UTC)
    )
    expected = [Reason.WORDLESS, Reason.BROKEN, Reason.BROKEN, Reason.TWICE]
    assert reasons(talk) == expected


@pytest.mark.parametrize("id", [None, 7, "", "a\nb", "x" * 300, ["a"], "\ud800"])
def test_a_conversation_needs_an_id(id: Any) -> None:
    for talk in (
        claude_talk({"uuid": id, "chat_messages": [human("x")]}, MAX),
        chatgpt_talk(tree(node("a", None, "x"), conversation_id=id), MAX),
    ):
        assert (talk.id, talk.messages, reasons(talk)) == (None, (), [Reason.NAMELESS])


def read(told: Any, format: Format = Format.AUTO) -> list[Talk]:
    raw = told if isinstance(told, bytes) else json.dumps(told).encode()
    return list(TalkReader(format, "mine.json", MAX).talks(Values(io.BytesIO(raw))))


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text} | more


def test_our_own_form_in_all_its_shapes() -> None:
    one = {"session_id": "s1", "title": "T", "metadata": {"a": 1}, "messages": [said("hi", id="1")]}
    two = {"session_id": "s2", "messages": [said("ho")]}
    lines = "\n".join(map(json.dumps, [one, two])).encode()
    for told in ([one, two], lines):
        first, second = read(told)
        assert (first.id, first.title, first.metadata, texts(first)) == (
            "s1",
            "T",
            {"a": 1},
            ["hi"],
        )
        assert (second.id, second.source, texts(second)) == ("s2", "mine.json", ["ho"])
    bare = [said("hi"), said("hi"), said("ho", at="2026-05-01T10:00:00Z")]
    for told in (bare, "\n".join(map(json.dumps, bare)).encode()):
        [talk] = read(told)
        assert (talk.id, texts(talk)) == ("mine", ["hi", "hi", "ho"])
        assert len({one.id for one in talk.messages}) == 3
        assert {one.at for one in talk.messages} == {datetime(2026, 5, 1, 10, tzinfo=UTC)}
    assert [texts(talk) for talk in read(one)] == [["hi"]]


def test_ids_made_up_are_the_same_every_time_and_in_a_longer_file() -> None:
    bare = [said(text) for text in ("a", "b", "a", "c")]
    [short], [long] = read(bare[:3]), read([*bare, said("a")])
    assert [one.id for one in short.messages] == [one.id for one in long.messages][:3]
    assert len({one.id for one in long.messages}) == 5


def test_formats_are_told_apart_or_forced() -> None:
    mixed = [tree(node("a", None, "x")), {"uuid": "u", "chat_messages": [human("y")]}, 7, {"z": 1}]
    assert [talk.id for talk in read(mixed)] == ["c1", "u", None, None]
    assert [talk.id for talk in read(mixed, Format.CLAUDE)] == [None, "u", None, None]
    assert [talk.id for talk in read([said("x")], Format.CLAUDE)] == [None]


def test_a_refused_message_says_why() -> None:
    [talk] = read([said("kept"), said("x", at="2026-05-01T10:00:00"), said("x", surprise=1)])
    assert texts(talk) == ["kept"]
    details = [one.detail or "" for one in talk.skipped]
    assert "time zone" in details[0]
    assert "surprise" in details[1]


@pytest.mark.slow
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    st.integers(1, 40),
)
def test_values_are_those_of_the_whole_file(value: Any, chunk: int) -> None:
    """Whatever the chunks cut through."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "CHUNK", chunk)
        raw = json.dumps([value, {"a": value}, 1234567], indent=chunk % 3 or None).encode()
        assert list(Values(io.BytesIO(raw))) == json.loads(raw)
        lines = f"{json.dumps(value)} {json.dumps({'a': value})}\n\n".encode()
        if not isinstance(value, list):
            assert list(Values(io.BytesIO(lines))) == [value, {"a": value}]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("mapping", "current_node", "chat_messages", "messages", "session_id", "uuid"),
                    *("message", "parent", "author", "role", "content", "parts", "text", "sender"),
                    *(
                        "conversation_id",
                        "create_time",
                        "created_at",
                        "weight",
                        "metadata",
                        "title",
                    ),
                    *("recipient", "id", "at", "name", "a", "b"),
                ]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=30,
)


@pytest.mark.slow
@given(JSON)
def test_no_shape_at_all_is_more_than_passed_over(value: Any) -> None:
    for format in Format:
        for talk in TalkReader(format, "mine.json", MAX).talks([value, value]):
            assert talk.messages or talk.skipped
            assert all(one.content.strip() and one.id for one in talk.messages)


BROKEN = [
    (b"", "empty"),
    (b" \n\t ", "empty"),
    (b"\xef\xbb\xbf", "empty"),
    (b"\x00\xff", "UTF-8|not JSON"),
    (b"\x89PNG\r\n", "UTF-8"),
    (b"[" * 1_000_000, "not JSON"),
    (b'[{"a":' * 100_000, "not JSON"),
    (b"[NaN, 1, 2, 3, 4, 5, 6, 7]", "not JSON"),
    (b"[-Infinity, 1, 2, 3, 4, 5, 6, 7]", "not JSON"),
    (b"9" * 5_000, "not JSON"),
    (b'[{"a": 1} {"b": 2}, {"c": 3333333333}]', "not JSON"),
    (b'[{"a": 1}]   trailing rubbish here', "not JSON"),
    (b'[{"a": 1}, {"b": "cut', "ends early"),
    (b'[{"a": 1},', "ends early"),
    (b'[{"a": 1}', "ends early"),
    (b'{"a": [1, 2', "ends early"),
    (b"[", "ends early"),
    (b'[{"a": "\xff"}]', "UTF-8"),
    (b"<html>no export here at all</html>", "not JSON"),
    (b"Dear diary", "The file is not JSON: it begins with 'Dear diary'"),
    (b"Dear diary\n" * 1_000, "The file is not JSON: it begins with 'Dear diary"),
    (b"a: 1", "not JSON"),
    (b"[1] x", "not JSON"),
    (b'[{"a": 1} x', "not JSON"),
    (b'["a\\q b c d e f"]', "not JSON"),
    (b'["a\\u12', "ends early"),
    (b"[tru", "ends early"),
    (b'["\xc3', "ends early"),
]


@pytest.mark.parametrize(("raw", "told"), BROKEN)
def test_what_is_no_json_is_refused(raw: bytes, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        list(Values(io.BytesIO(raw)))


def test_a_value_without_end_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(io.RawIOBase):
        def read(self, size: int = -1, /) -> bytes:
            return b"a" * size

    monkeypatch.setattr(files, "MAX_VALUE", 1 << 21)
    chained = io.BytesIO(b'[{"a": "')
    endless = Endless()

    class Both:
        def read(self, size: int = -1, /) -> bytes:
            return chained.read(size) or endless.read(size)

    with pytest.raises(InvalidInput, match="takes more than 2,097,152 characters"):
        list(Values(Both()))


def test_broken_json_is_found_without_reading_on() -> None:
    raw = io.BytesIO(b'[{"a": 1}, {"b" 2}, ' + b'{"c": 3}, ' * 1_000_000)
    found = []
    with pytest.raises(InvalidInput, match="character 11"):
        found.extend(Values(raw))
    assert raw.tell() <= files.CHUNK
