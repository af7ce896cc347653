"""Metadata as labels."""

from __future__ import annotations

from typing import Any

import pytest

from remanence.errors import InvalidInput
from remanence.store.conditions import MAX_TEXT, SOMETHING, any_long_text, label_value, labels

LONG = "é" * MAX_TEXT


@pytest.mark.parametrize(
    ("metadata", "wanted"),
    [
        ({}, set()),
        ({"a": None}, set()),
        ({"a": 1, "b": "x"}, {("a", 1), ("b", "x")}),
        ({"a": True}, {("a", 1)}),
        ({"a": [1, 1.0, "1", None]}, {("a", 1), ("a", "1")}),
        ({"a": []}, {("a", SOMETHING)}),
        ({"a": [None]}, {("a", SOMETHING)}),
        ({"a": {}}, {("a", SOMETHING)}),
        ({"a": {"b": {"c": 1}}}, {("a", SOMETHING), ("a.b", SOMETHING), ("a.b.c", 1)}),
        ({"a": [{"b": 1}, {"b": 2}]}, {("a", SOMETHING), ("a.b", 1), ("a.b", 2)}),
        ({"": {"b": 1}}, {("", SOMETHING), (".b", 1)}),
        ({"x" * 129: 1}, set()),
    ],
)
def test_labels(metadata: dict[str, Any], wanted: set[Any]) -> None:
    assert labels(metadata) == wanted


def test_a_long_text_is_labelled_by_its_digest() -> None:
    (label,) = labels({"a": LONG})
    assert label == ("a", label_value(LONG))
    assert isinstance(label[1], bytes)
    assert label_value("x" * MAX_TEXT) == "x" * MAX_TEXT


def test_long_texts_are_compared_whole() -> None:
    metadata = f'{{"a": ["{LONG}", "short"]}}'
    assert any_long_text(metadata, "a", "gt", LONG[:-1])
    assert any_long_text(metadata, "a", "gte", LONG)
    assert not any_long_text(metadata, "a", "gt", LONG)
    assert not any_long_text(metadata, "a", "gt", "\U0001f600")
    assert not any_long_text(metadata, "b", "gt", "a")


@pytest.mark.parametrize("value", [float("inf"), b"x", {1}, object(), 2**63, {1: 2}])
def test_what_json_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput):
        labels({"a": [value]})
