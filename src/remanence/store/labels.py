"""Metadata as labels: one (name, value) per scalar, so that filters find it through an index.

A nested mapping is named by its dotted path and every element of a list is a label of its own. A
boolean is the number 0 or 1, null is no label. An empty blob stands for a mapping or for a list
without scalars (it is there, and equals nothing); text longer than `MAX_TEXT` bytes is its digest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from operator import ge, gt, le, lt
from typing import Any, TypeAlias

import orjson

from remanence.errors import InvalidInput

Label: TypeAlias = tuple[str, "str | int | float | bytes"]

MAX_TEXT = 256
MAX_NAME = 128
SOMETHING = b""
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {"gt": gt, "gte": ge, "lt": lt, "lte": le}

_WHOLE = 2**63


def labels(metadata: Mapping[str, Any]) -> set[Label]:
    """The labels of a metadata mapping; `InvalidInput` if it holds what JSON cannot."""
    if not metadata:
        return set()
    found = _leaves(None, metadata)
    return {(name, label_value(value)) for name, value in found if len(name) <= MAX_NAME}


def readable_labels(metadata: str) -> set[Label]:
    """The labels of metadata as a row has it; none of metadata that is damaged."""
    try:
        return labels(orjson.loads(metadata))
    except (orjson.JSONDecodeError, InvalidInput, AttributeError):
        return set()


def label_value(value: Any) -> Any:
    """The value as it stands in a label."""
    if isinstance(value, str) and is_long(value):
        return blake2b(value.encode(), digest_size=16).digest()
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int) and not -_WHOLE <= value < _WHOLE:
        raise InvalidInput(f"{value!r} does not fit in 64 bits; store it as text.")
    return value


def is_long(text: str) -> bool:
    """Whether a text is labelled by its digest."""
    return len(text) * 4 > MAX_TEXT and len(text.encode()) > MAX_TEXT


def any_long_text(metadata: str, name: str, operator: str, value: str) -> bool:
    """Whether a text under `name`, too long for a label, compares so with `value`."""
    compare = COMPARISONS[operator]
    return any(
        compare(found, value)
        for label, found in _leaves(None, orjson.loads(metadata))
        if label == name and isinstance(found, str) and is_long(found)
    )


def _leaves(name: str | None, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        if name is not None:
            yield name, SOMETHING
        for key, inner in value.items():
            yield from _leaves(_joined(name, key), inner)
    elif isinstance(value, list | tuple):
        yield from _elements(name or "", value)
    elif value is not None:
        yield name or "", _scalar(name, value)


def _scalar(name: str | None, value: Any) -> Any:
    if not isinstance(value, str | int | float):
        raise InvalidInput(f"metadata {name!r} holds a {type(value).__name__}; use JSON values.")
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"metadata {name!r} holds {value!r}, which JSON cannot hold.")
    return value


def _elements(name: str, values: list[Any] | tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    if not any(isinstance(value, str | int | float) for value in values):
        yield name, SOMETHING
    for value in values:
        yield from _leaves(name, value)


def _joined(name: str | None, key: object) -> str:
    if not isinstance(key, str):
        raise InvalidInput(f"metadata keys are text, not {key!r}.")
    return key if name is None else f"{name}.{key}"
