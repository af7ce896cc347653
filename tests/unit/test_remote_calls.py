"""A call of a verb as an HTTP request: bound by the verb's own signature, and nothing lost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID, uuid4

import pytest

from remanence import Kind
from remanence.api.remote import RemoteMemory
from remanence.api.remote.call import Otherwise, call_of
from remanence.api.remote.line import address_of
from remanence.api.remote.message import Message, message_of
from remanence.api.verbs.table import verb_of
from remanence.errors import InvalidInput, NotFound
from remanence.model.hit import Hit
from remanence.model.memory import MemoryRecord

ID = "01a1e2cb-b6ad-7735-99d1-76be77e72110"
WHEN = datetime(2026, 5, 1, 11, 30, tzinfo=timezone(timedelta(hours=2)))


def asked(name: str, /, *args: Any, **named: Any) -> Message:
    return message_of(call_of(verb_of(name), args, named))


def body(message: Message) -> Any:
    assert message.content is not None
    return json.loads(message.content)


def test_a_body_holds_what_was_given_and_no_more() -> None:
    message = asked("add", "Ana likes tea", user_id="ana", kind=Kind.SEMANTIC, happened_at=WHEN)
    assert (message.method, message.target) == ("POST", "/v1/memories")
    assert body(message) == {
        "text": "Ana likes tea",
        "user_id": "ana",
        "kind": "semantic",
        "happened_at": "2026-05-01T09:30:00+00:00",
    }


def test_ids_stand_in_the_path_and_the_rest_in_the_body() -> None:
    message = asked("update", ID, text="new", reason="moved")
    assert (message.method, message.target) == ("PATCH", f"/v1/memories/{ID}")
    assert body(message) == {"text": "new", "reason": "moved"}


@pytest.mark.parametrize(
    ("verb", "name"), [("forget", "id"), ("find", "states"), ("sleep.run", "steps")]
)
def test_an_empty_list_is_sent_as_one(verb: str, name: str) -> None:
    assert body(asked(verb, **{name: []}, user_id="ana")) == {name: [], "user_id": "ana"}


def test_an_empty_list_is_not_left_out_of_a_query() -> None:
    with pytest.raises(InvalidInput, match="steps is empty"):
        asked("sleep.plan", steps=[], user_id="ana")
    with pytest.raises(InvalidInput, match="relations is empty"):
        asked("graph.neighbours", "Ana", relations=[])


def test_a_query_says_every_kind_of_value() -> None:
    message = asked(
        "facts.about", "Ana & Bo?", include_shared=True, limit=3, as_of=WHEN, user_id=None
    )
    parts = urlsplit(message.target)
    assert (message.method, parts.path, message.content) == ("GET", "/v1/facts/about", None)
    assert dict(parse_qsl(parts.query, strict_parsing=True)) == {
        "entity": "Ana & Bo?",
        "include_shared": "true",
        "limit": "3",
        "as_of": "2026-05-01T09:30:00+00:00",
    }


def test_a_list_is_told_item_by_item_in_a_query() -> None:
    message = asked("graph.neighbours", "Ana", relations=["likes", "lives in"])
    told = parse_qsl(urlsplit(message.target).query)
    assert told == [("name", "Ana"), ("relations", "likes"), ("relations", "lives in")]


@pytest.mark.parametrize(
    ("name", "given", "field", "told"),
    [
        ("search", {"query": "q", "kinds": "message"}, "kinds", ["message"]),
        ("search", {"query": "q", "kinds": (Kind.MESSAGE, "semantic")}, "kinds", None),
        ("forget", {"id": ID}, "id", [ID]),
        ("forget", {"id": {ID}}, "id", [ID]),
        ("why_not", {"query": "q", "id": ID, "states": "any"}, "states", ["any"]),
        ("graph.add", {"name": "Ana", "observations": "likes tea"}, "observations", ["likes tea"]),
        ("add_many", {"memories": iter(["a", {"text": "b"}])}, "memories", None),
        ("erasures.verify", {"receipt": {"id": "r"}}, "receipt", [{"id": "r"}]),
        ("conversations.day", {"day": date(2026, 5, 1)}, "day", "2026-05-01"),
        ("conversations.day", {"day": WHEN}, "day", "2026-05-01"),
        ("facts.add", {"subject": "a", "predicate": "b", "object": "c", "valid_from": WHEN}, "", 0),
    ],
)
def test_values_as_verbs_take_them(name: str, given: dict[str, Any], field: str, told: Any) -> None:
    sent = body(asked(name, **given))
    if told:
        assert sent[field] == told


def test_texts_among_memories_are_memories() -> None:
    assert body(asked("add_many", ["a", {"text": "b"}])) == {
        "memories": [{"text": "a"}, {"text": "b"}]
    }


def test_feedback_takes_a_hit_or_an_id() -> None:
    moments: dict[str, Any] = dict.fromkeys(
        ("happened_at", "created_at", "updated_at"), datetime.now(UTC)
    )
    record = MemoryRecord(id=ID, text="a", tenant="t", **moments)
    hit = Hit(memory=record, score=1.0, signals={}, passage="a")
    for given in (hit, ID, UUID(ID)):
        message = asked("feedback", given, useful=True)
        assert message.target == f"/v1/memories/{ID}/feedback"
        assert body(message) == {"useful": True}


def test_writes_carry_a_key_and_reads_do_not() -> None:
    first, second = (asked("pin", ID).headers["Idempotency-Key"] for _ in range(2))
    assert UUID(first) != UUID(second)
    assert "Idempotency-Key" not in asked("get", ID).headers


@pytest.mark.parametrize("key", ["mine-1", "schlüssel", "two words", "k" * 900, "a\nb"])
def test_the_callers_own_key_is_the_key(key: str) -> None:
    first, second = (asked("add", "a", idempotency_key=key) for _ in range(2))
    assert first.headers == second.headers
    assert first.headers["Idempotency-Key"].isascii()
    assert len(first.headers["Idempotency-Key"]) <= 200
    assert body(first)["idempotency_key"] == key
    assert (first.headers["Idempotency-Key"] == key) is (key == "mine-1")


def test_progress_is_listened_to_only_where_it_is_wanted() -> None:
    assert asked("reembed").headers["Accept"] == "application/json"
    assert asked("reembed", lambda done, total: None).headers["Accept"] == "text/event-stream"


def test_a_default_stays_at_home() -> None:
    verb = verb_of("working.get")
    found = call_of(verb, ("k",), {"session_id": "s", "default": None})
    assert found.default is None
    assert found.data == {"key": "k", "session_id": "s"}
    without = call_of(verb, ("k",), {"session_id": "s"})
    assert without.default is Otherwise.RAISE


@pytest.mark.parametrize(
    ("name", "args", "named", "told"),
    [
        ("add", (), {}, "missing a required argument: 'text'"),
        ("add", ("a",), {"colour": "blue"}, "unexpected keyword argument 'colour'"),
        ("get", (ID, "more"), {}, "too many positional arguments"),
        ("update", (ID,), {"colour": "blue"}, "unexpected keyword argument 'colour'"),
        ("why_not", ("q", ID), {"colour": 1}, "unexpected keyword argument 'colour'"),
    ],
)
def test_arguments_are_bound_as_the_verbs_own(
    name: str, args: tuple[Any, ...], named: dict[str, Any], told: str
) -> None:
    with pytest.raises(TypeError, match=rf"{name}\(\) .*{told}"):
        asked(name, *args, **named)


LOOP: list[Any] = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("name", "named", "told"),
    [
        ("update", {"id": ID, "speaker": None}, "speaker cannot be emptied"),
        ("context", {"tokens": len}, "tokens cannot be sent to a server"),
        ("blocks.render", {"template": "{{ blocks }}"}, "template cannot be sent"),
        ("sleep.run", {"policy": object()}, "policy cannot be sent"),
        ("add", {"text": b"bytes"}, "text is a bytes"),
        ("add", {"text": object()}, "text is a object"),
        ("add", {"text": "a", "importance": float("nan")}, "only finite numbers"),
        ("add", {"text": "a", "happened_at": datetime(2026, 5, 1)}, "happened_at"),
        ("add", {"text": "a", "metadata": {"at": WHEN}}, "isoformat"),
        ("add", {"text": "a", "metadata": {1: "a"}}, "key"),
        ("add_many", {"memories": "a"}, "memories must be a list"),
        ("add_messages", {"messages": {"content": "a"}}, "messages must be a list"),
        ("add_messages", {"messages": [{"content": "a", "at": datetime(2026, 5, 1)}]}, "at"),
        ("search", {"query": "q", "filters": LOOP}, "nested deeper"),
        ("search", {"query": "q", "limit": "3"}, "limit must be a whole number"),
        ("search", {"query": "q", "limit": 3.0}, "limit must be a whole number"),
        ("facts.about", {"entity": 5}, "entity must be text"),
        ("facts.about", {"entity": "\ud800"}, "half a character"),
        ("facts.about", {"entity": "x" * 70_000}, "too long"),
        ("blocks.get", {"label": "../x"}, "label"),
    ],
)
def test_what_cannot_travel_is_refused_with_a_reason(
    name: str, named: Mapping[str, Any], told: str
) -> None:
    with pytest.raises(InvalidInput, match=told):
        asked(name, **named)


@pytest.mark.parametrize("id", ["", "..", "a/b", "%2e%2e", "?x", "a b", None, 5, "x" * 300])
def test_what_is_no_id_leads_nowhere_else(id: Any) -> None:
    try:
        target = asked("get", id).target
    except NotFound:
        return
    assert target == f"/v1/memories/{id}"
    assert id in (None, 5)


def test_no_label_leads_upwards() -> None:
    assert asked("blocks.get", "..").target == "/v1/blocks/%2E%2E"


@pytest.mark.parametrize(
    "url",
    [
        *("", "127.0.0.1:8005", "ftp://host", "http://", "http://host:port"),
        *("http://key@host", "http://user:secret@host", "http://host?key=secret", None, 5),
    ],
)
def test_an_address_is_an_address_alone(url: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        address_of(url, None, 30)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"timeout_s": 0}, {"timeout_s": "5"}, {"timeout_s": True}, {"retries": -1}),
        *({"retries": 1.5}, {"key": ""}, {"key": 5}, {"key": "a\nb"}, {"key": "schlüssel"}),
    ],
)
def test_settings_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        RemoteMemory(**wrong)


def test_the_key_is_in_no_text() -> None:
    key = str(uuid4())
    address = address_of("http://host/", key, 30)
    with RemoteMemory("http://host/", key=key) as memory:
        assert repr(memory) == "RemoteMemory('http://host')"
        assert key not in repr(address) + repr(memory) + repr(vars(memory))
