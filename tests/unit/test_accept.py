"""The door: what is taken, what is refused, and that what is taken stays as it is."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.errors import InvalidInput, NotFound
from remanence.model import validation
from remanence.model.memory import Kind, State

storable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | storable
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(storable.filter(lambda key: bool(key.strip())), inner, max_size=4),
    max_leaves=10,
)  # fmt: skip


@given(storable.filter(lambda text: bool(text.strip())))
def test_a_text_is_taken_as_it_is(text: str) -> None:
    assert validation.text_of("text", text) == text


@given(st.text())
def test_a_text_is_taken_or_refused_by_name(text: str) -> None:
    try:
        assert validation.text_of("the note", text) == text
    except InvalidInput as refused:
        assert str(refused).startswith("the note")  # noqa: PT017


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "empty"),
        (" \n\u3000", "empty"),
        ("a\0b", "NUL"),
        ("a\ud800", "surrogate"),
        ("x" * 11, "11 characters"),
        (b"x", "bytes"),
        (None, "NoneType"),
    ],
)
def test_texts_are_refused_with_a_reason(value: Any, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        validation.text_of("text", value, 10)


def test_the_longest_text_is_taken() -> None:
    assert validation.text_of("text", "x" * 10, 10) == "x" * 10


@pytest.mark.slow
@given(st.dictionaries(storable.filter(lambda key: bool(key.strip())), plain, max_size=5))
def test_metadata_is_copied_as_it_is(metadata: dict[str, Any]) -> None:
    try:
        copied = validation.metadata_of(metadata)
    except InvalidInput as refused:
        assert any(word in str(refused) for word in ("deeper", "bytes", "characters"))  # noqa: PT017
        return
    assert copied == metadata
    assert copied is not metadata
    assert json.loads(json.dumps(copied)) == metadata


def test_metadata_has_a_place_in_its_complaints() -> None:
    with pytest.raises(InvalidInput, match=r"metadata\['a'\]\[1\]\['b'\]"):
        validation.metadata_of({"a": [1, {"b": float("nan")}]})


def test_tuples_become_lists_and_nothing_becomes_empty() -> None:
    assert validation.metadata_of({"a": (1, 2)}) == {"a": [1, 2]}
    assert validation.metadata_of(None) == {}


def test_metadata_that_holds_one_list_many_times_is_refused_at_once() -> None:
    bomb: Any = [1] * 100
    for _ in range(6):
        bomb = [bomb] * 100
    with pytest.raises(InvalidInput, match="more than"):
        validation.metadata_of({"a": bomb})


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_time_is_kept_in_utc(moment: datetime) -> None:
    assert validation.moment_of("at", moment) == moment
    assert validation.moment_of("at", moment.isoformat()) == moment


def test_a_time_of_another_zone_is_brought_to_utc() -> None:
    there = datetime(2024, 5, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    assert validation.moment_of("at", there).isoformat() == "2024-05-01T10:00:00+00:00"


@pytest.mark.parametrize("value", [datetime(2024, 5, 1), "2024-05-01T10:00:00", "soon", 5, None])
def test_times_without_a_zone_are_refused(value: Any) -> None:
    with pytest.raises(InvalidInput, match="at"):
        validation.moment_of("at", value)


@pytest.mark.parametrize("kind", Kind)
def test_kinds_by_name(kind: Kind) -> None:
    assert validation.kind_of(str(kind)) is kind
    assert validation.kinds_of(kind) == (kind,)
    assert validation.kinds_of([str(kind)]) == (kind,)
    assert validation.kinds_of(None) == ()


@pytest.mark.parametrize("name", validation.KNOWN_AS)
def test_types_of_other_systems_get_a_hint(name: str) -> None:
    with pytest.raises(InvalidInput, match="here") as refused:
        validation.kind_of(name)
    assert validation.KNOWN_AS[name] in str(refused.value)


def test_states_by_name() -> None:
    assert [validation.state_of(str(state)) for state in State] == list(State)
    with pytest.raises(InvalidInput, match="active, archived"):
        validation.state_of("asleep")


@given(st.uuids())
def test_ids_in_any_spelling(id: UUID) -> None:
    for spelled in (str(id), id.hex, f"{{{id}}}", id.urn, str(id).upper()):
        assert validation.id_of(spelled) == str(id)
    assert validation.id_of(id) == str(id)


@given(st.text(max_size=100) | st.integers() | st.binary() | st.none())
def test_what_is_no_id_is_simply_not_here(value: Any) -> None:
    try:
        assert UUID(validation.id_of(value))
    except NotFound as missing:
        assert len(str(missing)) < 400  # noqa: PT017


def test_every_missing_id_gets_the_same_answer() -> None:
    a, b = str(uuid4()), str(uuid4())
    assert str(validation.missing(a)).replace(a, b) == str(validation.missing(b))


@pytest.mark.parametrize("value", ["ab", b"ab", {"a": 1}, 5, None, object()])
def test_one_thing_is_not_several(value: Any) -> None:
    with pytest.raises(InvalidInput, match="must be a list"):
        validation.several("things", value)


def test_several_of_any_sort() -> None:
    assert validation.several("things", (n for n in "ab")) == ["a", "b"]
    assert validation.several("things", ()) == []


@pytest.mark.parametrize("value", [0, 1, "true", None, []])
def test_only_truths_are_truths(value: Any) -> None:
    assert validation.truth_of("it", True) is True
    with pytest.raises(InvalidInput, match="it must be True or False"):
        validation.truth_of("it", value)


def test_a_hint_names_what_is_here() -> None:
    with pytest.raises(InvalidInput, match=r"memory\.working\.set\("):
        validation.kind_of("working")
