"""Values of any type that operations take or give, for hypothesis."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, ForwardRef, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from remanence.consolidation.schedules.plans import DEFAULTS, Schedule
from remanence.errors import InvalidInput
from remanence.model.memory import Json
from remanence.model.sleep import ForgetPolicy

Values = st.SearchStrategy[Any]
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
LABEL = st.text("abcXYZ éß中-_", min_size=1, max_size=8).filter(str.strip)
SHARE = st.floats(0, 1)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
MOMENT = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)).map(
    lambda moment: moment.replace(tzinfo=UTC)
)
KNOWN: Mapping[Any, Values] = {
    str: TEXT,
    int: st.integers(0, 2**53 - 1),
    float: st.floats(-1e9, 1e9),
    bool: st.booleans(),
    datetime: MOMENT,
    date: st.dates(),
    Path: LABEL.map(Path),
    dict: st.dictionaries(TEXT, JSON, max_size=2),
    type(None): st.none(),
    object: JSON,
    Any: JSON,
    Json: JSON,
    ForgetPolicy: st.builds(ForgetPolicy, older_than_days=st.floats(0, 1000)),
    Schedule: st.sampled_from(list(DEFAULTS.values())),
}
# Fields whose values check themselves, by name.
OWN: Mapping[str, Values] = {
    **dict.fromkeys(("user_id", "agent_id", "session_id", "tenant", "id", "text"), LABEL),
    **dict.fromkeys(("importance", "trust", "min_trust", "confidence", "strength"), SHARE),
    **dict.fromkeys(("diversity", "min_importance", "threshold"), SHARE),
}
# Lists whose items are objects of a known shape.
LISTS: Mapping[str, Values] = {
    "memories": st.fixed_dictionaries({"text": LABEL}),
    "messages": st.fixed_dictionaries({"role": st.just("user"), "content": LABEL}),
}


def values(kind: Any) -> Values:
    """Values of a type."""
    if kind in KNOWN:
        return KNOWN[kind]
    if isinstance(kind, ForwardRef):
        return JSON
    if is_dataclass(kind) and isinstance(kind, type):
        return st.deferred(lambda: instances(kind))
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return st.one_of([values(each) for each in args])
    if origin is tuple and Ellipsis not in args:
        return st.tuples(*map(values, args))
    if origin in (tuple, list, Sequence):
        return st.lists(values(args[0]), max_size=2).map(list if origin is list else tuple)
    if origin is not None:
        return st.dictionaries(values(args[0]), values(args[1]), max_size=2)
    assert issubclass(kind, Enum), kind
    return st.sampled_from(list(kind))


@cache
def instances(kind: type) -> Values:
    """Instances of a dataclass that its own checks accept, within the bounds of its schema."""
    hints = get_type_hints(kind)
    given = {
        each.name: _field(each.name, hints[each.name], each.metadata.get("bounds", {}))
        for each in fields(kind)
        if each.init
    }

    def made(arguments: dict[str, Any]) -> Any:
        try:
            return kind(**arguments)
        except InvalidInput:
            return None

    return st.fixed_dictionaries(given).map(made).filter(lambda one: one is not None)


def _field(name: str, kind: Any, bounds: Mapping[str, Any]) -> Values:
    options = set(get_args(kind)) if get_origin(kind) in (Union, types.UnionType) else {kind}
    if name in OWN and options & {str, float}:
        found = OWN[name]
    elif name in LISTS and "Mapping" in str(kind):
        return st.lists(LISTS[name], max_size=2).map(tuple)
    elif "enum" in bounds and tuple[str, ...] in options:
        found = st.lists(st.sampled_from(bounds["enum"]), max_size=2).map(tuple)
    else:
        bound = _bound(options, bounds)
        if bound is None:
            return values(kind)
        found = bound
    return found | st.none() if type(None) in options else found


def _bound(options: set[Any], bounds: Mapping[str, Any]) -> Values | None:
    """Values within the bounds; None if they bind no type of these."""
    if "enum" in bounds and str in options:
        return st.sampled_from(bounds["enum"])
    if "format" in bounds and str in options:
        return st.dates().map(date.isoformat)
    if "propertyNames" in bounds:
        return st.dictionaries(LABEL, JSON, max_size=2)
    if "maximum" in bounds and int in options:
        return st.integers(bounds["minimum"], bounds["maximum"])
    if "maximum" in bounds and float in options:
        return SHARE
    if ("minimum" in bounds or "exclusiveMinimum" in bounds) and float in options:
        return st.floats(1, 1e6)
    return LABEL if bounds.get("minLength") and str in options else None
