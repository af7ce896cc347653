"""Bad values x every verb: a typed error or an unchanged round trip, and nothing lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from functools import partial
from typing import Any

import pytest

from remanence import Memory, RemanenceError
from remanence.errors import InvalidInput, NotFound

SURROGATE = "half \ud800 character"
NUL = "a\0b"
HUGE = "x" * 10_000_000
FTS = ['" OR 1', "NEAR(a b", "a*", "^a", "text:a", "-a", "(", "a AND", '"', "{a b} : c", "a^2"]
SQL = ["'; DROP TABLE memories; --", "x' OR '1'='1", "%", "_", "\\", "$1", "?1", ":a", "@a"]

TEXTS: dict[str, Any] = {
    "empty": "",
    "blank": " \t\n",
    "nul": NUL,
    "surrogate": SURROGATE,
    "ten megabytes": HUGE,
    "bytes": b"bytes",
    "number": 7,
    "nothing": None,
    "list": ["a"],
    "truth": True,
    "not a number": float("nan"),
    "object": object(),
}
NUMBERS = [float("nan"), float("inf"), float("-inf"), -0.001, 1.001, "0.5", True, [], 2**9999, b""]
LIMITS = [0, -1, True, 10**9, 10**30, 1.5, "3", float("nan"), b"1"]
TIMES = [datetime(2024, 1, 1), "2024-01-01", "yesterday", 1718452800, date(2024, 1, 1), b"", True]
FILTERS: dict[str, Any] = {
    "a text": "team = 'sales'",
    "a list": [{"team": "sales"}],
    "a key that is SQL": {"team') OR 1=1 --": "sales"},
    "a key with a quote": {'te"am': "sales"},
    "a key with a newline": {"team\n": "sales"},
    "an empty key": {"": "sales"},
    "a number as key": {1: "sales"},
    "an unknown operator": {"team": {"$where": "1"}},
    "an unknown field": {"field.tenant": "other"},
    "a column that is none": {"field.rowid": 1},
    "no operator": {"team": {}},
    "not a number": {"n": float("nan")},
    "infinity": {"n": {"gt": float("inf")}},
    "bytes": {"team": b"sales"},
    "a list as value": {"team": ["sales"]},
    "in with a text": {"team": {"in": "sales"}},
    "in with a mapping": {"team": {"in": [{}]}},
    "exists with a number": {"team": {"exists": 1}},
    "contains nothing": {"text": {"contains": ""}},
    "contains a number": {"text": {"contains": 5}},
    "a naive time": {"field.created_at": {"gt": datetime(2024, 1, 1)}},
    "a kind that is none": {"field.kind": "dream"},
    "a list for a kind": {"field.kind": ["semantic"]},
    "a state that is none": {"field.state": "asleep"},
    "too many": {"or": [{"n": n} for n in range(300)]},
    "too many values": {"n": {"in": list(range(100_000))}},
}


def _nested(levels: int) -> dict[str, Any]:
    made: dict[str, Any] = {"a": 1}
    for _ in range(levels):
        made = {"not": made}
    return made


def _cyclic() -> dict[str, Any]:
    made: dict[str, Any] = {}
    made["not"] = made
    return made


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory(tmp_path_factory.mktemp("hostile") / "memory.db") as opened:
        opened.add("Ana moved to Lisbon", metadata={"team": "sales", "n": 3})
        opened.add("Ben plays chess", user_id="ben", metadata={"team": "support"})
        yield opened


@pytest.fixture(autouse=True)
def nothing_changes(kept: Memory) -> Iterator[None]:
    """Whatever is refused leaves everything as it was."""
    everything: dict[str, Any] = {"all_users": True, "states": "any", "limit": 1000}
    before = [replace(record, uses=0, used_at=None) for record in kept.find(**everything)]
    yield
    after = [replace(record, uses=0, used_at=None) for record in kept.find(**everything)]
    assert after == before


@pytest.fixture
def id(kept: Memory) -> str:
    return kept.find()[0].id


def refused(call: Callable[[], object], *, match: str | None = None) -> str:
    """The message of the typed error; it names no inner part and is short enough to read."""
    with pytest.raises(RemanenceError, match=match) as caught:
        call()
    message = str(caught.value)
    assert 0 < len(message) < 2_000
    assert not any(word in message for word in ("apsw", "SQL logic", "Traceback", "orjson"))
    return message


@pytest.mark.parametrize("bad", TEXTS)
def test_texts_that_cannot_be_kept(kept: Memory, id: str, bad: str) -> None:
    value = TEXTS[bad]
    refused(lambda: kept.add(value), match="text")
    refused(lambda: kept.add_many(["fine", {"text": value}]))
    refused(lambda: kept.add_messages([{"content": "fine"}, {"content": value}]))
    refused(lambda: kept.update(id, text=value))
    refused(lambda: kept.search(value), match="query")
    refused(lambda: kept.why_not(value, id))
    refused(lambda: kept.similarity("a", value))


@pytest.mark.parametrize("bad", TEXTS)
def test_lists_that_are_none(kept: Memory, bad: str) -> None:
    value = TEXTS[bad]
    if bad != "list":
        refused(lambda: kept.add_many(value))
        refused(lambda: kept.add_messages(value))
    if not isinstance(value, str) or not value.strip() or bad in ("nul", "ten megabytes"):
        if bad != "list":
            refused(lambda: kept.add_many([value]))
        refused(lambda: kept.add_messages([value]))


@pytest.mark.parametrize("bad", [bad for bad in TEXTS if bad != "nothing"])
@pytest.mark.parametrize("name", ["source", "actor", "origin", "speaker", "role", "external_id"])
def test_labels_that_cannot_be_kept(kept: Memory, id: str, name: str, bad: str) -> None:
    value = TEXTS[bad]
    refused(lambda: kept.add("fine", **{name: value}), match=name)
    if name != "actor":
        refused(lambda: kept.update(id, **{name: value}), match=name)
    for who in ("actor", "reason"):
        refused(lambda who=who: kept.update(id, text="new", **{who: value}), match=who)
        refused(lambda who=who: kept.forget(id, **{who: value}), match=who)
        refused(lambda who=who: kept.forget(id, erase=True, **{who: value}), match=who)


def test_what_is_wrong_is_said_even_if_there_is_nothing_to_do(kept: Memory) -> None:
    refused(lambda: kept.add_messages([], trust=2), match="trust")
    refused(lambda: kept.add_messages([], session_id=""), match="session_id")
    search = partial(kept.conversations.search, session_id="nobody's", within="window")
    refused(lambda: search("fine", limit=10_001), match="limit")
    refused(lambda: search("fine\0"), match="query")


@pytest.mark.parametrize("bad", [bad for bad in TEXTS if bad not in ("nothing", "blank")])
@pytest.mark.parametrize("name", ["user_id", "agent_id", "session_id"])
def test_scopes_that_cannot_be(kept: Memory, name: str, bad: str) -> None:
    scope: dict[str, Any] = {name: TEXTS[bad]}
    refused(lambda: kept.add("fine", **scope), match=name)
    refused(lambda: kept.add_many(["fine"], **scope), match=name)
    refused(lambda: kept.add_messages([{"content": "fine"}], **scope), match=name)
    refused(lambda: kept.search("fine", **scope), match=name)
    refused(lambda: kept.find(**scope), match=name)
    refused(lambda: kept.count(**scope), match=name)
    refused(lambda: kept.forget(**scope), match=name)


@pytest.mark.parametrize(
    "value", [*FTS, *SQL, "a b", "ünï", "🦜", "../../etc", "None", "null", "0"]
)
def test_odd_names_of_users_are_only_names(kept: Memory, value: str) -> None:
    record = kept.add("parrot", user_id=value, agent_id=value, session_id=value, source=value)
    assert [hit.memory for hit in kept.search("parrot", user_id=value, session_id=value)] == [
        record
    ]
    assert kept.find(user_id=value, filters={"field.source": value}) == [record]
    assert [gone.id for gone in kept.forget(user_id=value, agent_id=value, erase=True)] == [
        record.id
    ]


@pytest.mark.parametrize(
    "value", [*FTS, *SQL, "AND OR NOT", "🦜", "\u200b", "a" * 100_000, "?" * 999]
)
def test_any_text_is_a_question(kept: Memory, value: str) -> None:
    assert len(kept.search(value, all_users=True)) == 2
    record = kept.add(value, user_id="questions", metadata={"team": value[:99]})
    assert kept.search(value, user_id="questions", filters={"team": value[:99]})[0].memory == record
    assert kept.count(user_id="questions", filters={"text": {"contains": value}}) == 1
    kept.forget(record.id, erase=True)


@pytest.mark.parametrize("value", NUMBERS, ids=lambda value: repr(value)[:9])
def test_numbers_outside_their_range(kept: Memory, id: str, value: Any) -> None:
    other = kept.find(user_id="ben")[0].id
    refused(lambda: kept.add("fine", importance=value), match="importance")
    refused(lambda: kept.add("fine", trust=value), match="trust")
    refused(lambda: kept.update(id, importance=value), match="importance")
    refused(lambda: kept.search("fine", min_trust=value), match="min_trust")
    refused(lambda: kept.search("fine", diversity=value), match="diversity")
    refused(lambda: kept.associate(id, other, strength=value), match="strength")
    refused(lambda: kept.cleanup(min_importance=value), match="min_importance")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "0.5", True, [], b""])
def test_thresholds_that_are_no_numbers(kept: Memory, value: Any) -> None:
    refused(lambda: kept.search("fine", min_score=value), match="min_score")
    refused(lambda: kept.search("fine", time_weight=value), match="time_weight")


@pytest.mark.parametrize("value", LIMITS)
def test_limits_that_are_none(kept: Memory, id: str, value: Any) -> None:
    refused(lambda: kept.search("fine", limit=value), match="limit")
    refused(lambda: kept.find(limit=value), match="limit")
    refused(lambda: kept.related(id, limit=value), match="limit")
    if value not in (0, 10**9) or isinstance(value, bool):
        refused(lambda: kept.find(offset=value), match="offset")


@pytest.mark.parametrize("value", TIMES)
def test_times_that_are_none(kept: Memory, id: str, value: Any) -> None:
    refused(lambda: kept.add("fine", happened_at=value), match="happened_at")
    refused(lambda: kept.add_messages([{"content": "fine", "at": value}]), match="at")
    refused(lambda: kept.update(id, happened_at=value), match="happened_at")
    for name in ("since", "until", "as_of", "known_at", "now"):
        refused(lambda name=name: kept.search("fine", **{name: value}), match=name)
    for name in ("since", "until"):
        refused(lambda name=name: kept.find(**{name: value}), match=name)
        refused(lambda name=name: kept.count(**{name: value}), match=name)
    refused(lambda: kept.cleanup(now=value), match="now")


@pytest.mark.parametrize("hours", [14, -12])
@pytest.mark.parametrize("year", [1, 9999])
def test_times_that_leave_the_calendar(kept: Memory, year: int, hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    edge = (
        datetime(year, 1, 1, tzinfo=zone) if year == 1 else datetime(year, 12, 31, 23, tzinfo=zone)
    )
    if (year == 1) == (hours > 0):
        refused(lambda: kept.add("fine", happened_at=edge), match="years 1 to 9999")
    else:
        assert kept.search("fine", since=edge) is not None


@pytest.mark.parametrize("value", ["", "dream", "SEMANTIC ", 5, [], b"semantic", "fact", "working"])
def test_kinds_and_states_that_are_none(kept: Memory, id: str, value: Any) -> None:
    refused(lambda: kept.add("fine", kind=value), match="kind")
    refused(lambda: kept.update(id, kind=value), match="kind")
    refused(lambda: kept.update(id, state=value), match="state")
    if value != []:
        refused(lambda: kept.search("fine", kinds=value), match="kind")
        refused(lambda: kept.find(kinds=value), match="kind")
        refused(lambda: kept.search("fine", states=value), match="state")
        refused(lambda: kept.count(states=value), match="state")


def test_a_kind_of_another_system_gets_a_hint(kept: Memory) -> None:
    assert "semantic" in refused(lambda: kept.add("fine", kind="long_term"))
    assert "message" in refused(lambda: kept.add("fine", kind="short_term"))


def _wide(levels: int, width: int) -> Any:
    made: Any = 1
    for _ in range(levels):
        made = [made] * width
    return made


def _self_holding() -> dict[str, Any]:
    made: dict[str, Any] = {}
    made["me"] = made
    return made


METADATA: dict[str, Any] = {
    "a text": "team=sales",
    "a list": [1],
    "bytes": {"a": b"x"},
    "a set": {"a": {1}},
    "an object": {"a": object()},
    "a time": {"a": datetime.now(UTC)},
    "not a number": {"a": [1.0, float("nan")]},
    "infinity": {"a": {"b": float("inf")}},
    "a huge number": {"a": 2**64},
    "nul in a value": {"a": NUL},
    "nul in a key": {NUL: 1},
    "half a character": {"a": [SURROGATE]},
    "half a character in a key": {"a": {SURROGATE: 1}},
    "a number as key": {1: "a"},
    "an empty key": {"": 1},
    "a long key": {"k" * 1_000: 1},
    "too large": {"a": "x" * 100_000},
    "too deep": {"a": _wide(9, 1)},
    "far too deep": {"a": _wide(5_000, 1)},
    "holding itself": _self_holding(),
    "holding one list a billion times": {"a": _wide(6, 40)},
}


@pytest.mark.parametrize("name", METADATA)
def test_metadata_that_cannot_be_kept(kept: Memory, id: str, name: str) -> None:
    metadata = METADATA[name]
    refused(lambda: kept.add("fine", metadata=metadata))
    refused(lambda: kept.add_messages([{"content": "fine", "metadata": metadata}]))
    refused(lambda: kept.update(id, metadata=metadata))


def test_odd_metadata_comes_back_unchanged(kept: Memory) -> None:
    metadata = {
        "'; DROP": '" OR 1',
        "$ne": {"$gt": [1, -0.5, 1e300, 2**63 - 1, -(2**63) + 1, True, None, ""]},
        "a.b": {"a": {"b": []}},
        "ключ": "значение 🦜",
        "empty": {},
    }
    record = kept.add("fine", user_id="odd", metadata=metadata)
    assert kept.get(record.id).metadata == metadata
    kept.forget(record.id, erase=True)


@pytest.mark.parametrize("name", FILTERS)
def test_filters_that_cannot_be(kept: Memory, name: str) -> None:
    given = FILTERS[name]
    refused(lambda: kept.search("fine", filters=given))
    refused(lambda: kept.find(filters=given))
    refused(lambda: kept.count(filters=given))
    refused(lambda: kept.forget(filters=given, erase=True))


@pytest.mark.parametrize("make", [lambda: _nested(17), lambda: _nested(5_000), _cyclic])
def test_filters_that_never_end(kept: Memory, make: Callable[[], dict[str, Any]]) -> None:
    refused(lambda: kept.find(filters=make()), match="nested")


@pytest.mark.parametrize(
    "value", [*SQL, *FTS, "", NUL, HUGE, 2**63 - 1, -(2**63), 1e300, True, False, None]
)
def test_any_value_of_a_filter_is_only_a_value(kept: Memory, value: Any) -> None:
    assert kept.find(filters={"team": value}) == []
    assert kept.find(filters={"team": {"in": [value]}}) == []
    assert len(kept.search("Ana", filters={"team": {"ne": value}})) == 1


@pytest.mark.parametrize("value", [SURROGATE, 2**200, -(2**64)])
def test_values_that_nothing_can_have(kept: Memory, value: Any) -> None:
    refused(lambda: kept.find(filters={"team": value}))
    refused(lambda: kept.search("Ana", filters={"team": {"in": [value]}}))
    refused(lambda: kept.forget(filters={"team": {"ne": value}}, erase=True))


IDS = ["", " ", "nonsense", NUL, SURROGATE, HUGE, "' OR 1=1 --", "{", None, 5, b"id", [], {}, True]


@pytest.mark.parametrize("value", IDS)
def test_ids_that_are_none(kept: Memory, id: str, value: Any) -> None:
    for verb in (kept.get, kept.history, kept.related, kept.pin):
        with pytest.raises(NotFound):
            verb(value)
    for call in (
        lambda: kept.update(value, text="x"),
        lambda: kept.feedback(value, useful=True),
        lambda: kept.associate(id, value),
        lambda: kept.associate(value, id),
        lambda: kept.dissociate(id, value),
        lambda: kept.why_not("x", value),
        lambda: kept.forget([id, value]),
    ):
        refused(call)
    if value not in (None, []):
        refused(lambda: kept.forget(value))


@pytest.mark.parametrize("bad", [bad for bad in TEXTS if bad != "nothing"])
def test_types_keys_and_questions_that_cannot_be(kept: Memory, id: str, bad: str) -> None:
    value = TEXTS[bad]
    other = kept.find(user_id="ben")[0].id
    refused(lambda: kept.associate(id, other, value), match="type")
    refused(lambda: kept.dissociate(id, other, value), match="type")
    refused(lambda: kept.related(id, type=value), match="type")
    refused(lambda: kept.related(id, direction=value), match="direction")
    refused(lambda: kept.feedback(id, useful=True, query=value), match="query")
    refused(lambda: kept.add("fine", idempotency_key=value), match="idempotency_key")


@pytest.mark.parametrize("value", [None, 0, 1, "false", [], "yes"])
def test_truths_that_are_none(kept: Memory, id: str, value: Any) -> None:
    refused(lambda: kept.add("fine", pinned=value), match="pinned")
    refused(lambda: kept.pin(id, value), match="pinned")
    refused(lambda: kept.feedback(id, useful=value), match="useful")


@pytest.mark.parametrize(
    "value", [{}, {"contents": "x"}, {"content": "x", "colour": 1}, {1: 2}, []]
)
def test_messages_that_are_none(kept: Memory, value: Any) -> None:
    refused(lambda: kept.add_messages([value]), match=r"messages\[0\]")


@pytest.mark.parametrize("value", [{}, {"txt": "x"}, {1: "x", "y": 2}, {"text": "x", "id": "1"}, 5])
def test_memories_that_are_none(kept: Memory, value: Any) -> None:
    refused(lambda: kept.add_many(["fine", value]))


def test_the_longest_text_is_kept_and_found(kept: Memory) -> None:
    with pytest.raises(InvalidInput, match="characters"):
        kept.add("word " * 200_001)
