"""The body of a chat request: whatever is in it, only the system message grows."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from remanence.server.proxy.chat import read_chat

BLOCK = '<memories>\n"quoted" \\ é 🎻\n</memories>'
TEXTS = st.text(max_size=20)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
PARTS = st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS}), max_size=2)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "developer", "user", "assistant", "tool"])},
    optional={"content": TEXTS | PARTS | st.none(), "name": TEXTS, "x": VALUES},
)
BODIES = st.builds(
    lambda more, messages: {**more, "messages": messages},
    st.dictionaries(TEXTS, VALUES, max_size=4),
    st.lists(MESSAGES, min_size=1, max_size=4),
)


def expected(body: dict[str, Any]) -> dict[str, Any]:
    """What the change amounts to, told in another way."""
    copied: dict[str, Any] = json.loads(json.dumps(body))
    messages = copied["messages"]
    for message in messages:
        if message["role"] in ("system", "developer"):
            message["content"] = grown(message.get("content"))
            return copied
    messages.insert(0, {"role": "system", "content": BLOCK})
    return copied


def grown(content: Any) -> Any:
    if isinstance(content, list):
        return [*content, {"type": "text", "text": BLOCK}]
    return f"{content}\n\n{BLOCK}" if content else BLOCK


@given(BODIES, st.sampled_from([None, 2]), st.booleans())
def test_only_the_system_message_grows(
    body: dict[str, Any], indent: int | None, ascii_only: bool
) -> None:
    sent = json.dumps(body, indent=indent, ensure_ascii=ascii_only).encode()
    chat = read_chat(sent)
    assert chat.told("") == sent
    assert json.loads(chat.told(BLOCK)) == expected(body)


@given(BODIES)
def test_every_byte_of_the_request_is_still_there(body: dict[str, Any]) -> None:
    sent = json.dumps(body)
    chat = read_chat(sent.encode())
    told = chat.told(BLOCK).decode()
    start, end = chat.slot.start, chat.slot.end
    assert told.startswith(sent[:start])
    assert told.endswith(sent[end:])
    assert sent[start:end] in ("", "null")


def test_the_question_is_the_last_thing_the_user_said() -> None:
    messages = [
        {"role": "user", "content": "First"},
        {"role": "assistant", "content": "Well"},
        {"role": "user", "content": [{"type": "text", "text": "Se"}, {"type": "image_url"}]},
        {"role": "assistant", "tool_calls": []},
        {"role": "tool", "content": "42"},
    ]
    chat = read_chat(json.dumps({"messages": messages}).encode())
    assert chat.question == "Se"
    assert chat.continues
    assert not chat.alone
    first = read_chat(json.dumps({"messages": messages[:1]}).encode())
    assert first.alone
    assert not first.continues
    assert read_chat(b'{"messages": []}').question == ""
    assert read_chat(b'{"messages": [{"role": "user", "content": 5}]}').question == ""
