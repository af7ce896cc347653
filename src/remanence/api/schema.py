"""The JSON Schema of requests and answers: of what `read` takes and `plain` gives."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from pathlib import Path
from typing import Any, ForwardRef, Union, get_args, get_origin, get_type_hints

from remanence.api.values import EXACT, plain
from remanence.api.verbs.table import verb_of

Schema = dict[str, Any]
REF = "#/components/schemas/"

_PLAIN: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    Path: {"type": "string"},
    type(None): {"type": "null"},
    dict: {"type": "object"},
}
WHOLE: Schema = {"minimum": -EXACT, "maximum": EXACT}
# What of the bounds of a field holds for which type of it.
_FOR: Mapping[str, frozenset[str]] = {
    "string": frozenset({"minLength", "maxLength", "pattern", "enum", "format"}),
    "integer": frozenset({"minimum", "maximum", "exclusiveMinimum"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum"}),
    "array": frozenset({"minItems", "maxItems"}),
    "object": frozenset({"propertyNames", "properties", "required"}),
}


class Schemas:
    """Collects the schemas of types by name, so that each stands once in a document."""

    def __init__(self, prefix: str = REF) -> None:
        self.components: dict[str, Schema] = {}
        self._prefix = prefix
        self._named: dict[type, str] = {}

    def of(self, kind: Any) -> Schema:
        """The schema of a type; that of a dataclass is a reference."""
        if kind is Any or isinstance(kind, ForwardRef):
            return {}
        if is_dataclass(kind) and isinstance(kind, type):
            return {"$ref": self._prefix + self._component(kind)}
        origin, args = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.of(each) for each in args]}
        if origin in (tuple, list, frozenset):
            return self._list(origin, args)
        if origin is not None:
            return {"type": "object", "additionalProperties": self.of(args[1])}
        if isinstance(kind, type) and issubclass(kind, Enum):
            return {"type": "string", "enum": [str(one.value) for one in kind]}
        return dict(_PLAIN[kind])

    def request(
        self, kind: type, *, without: frozenset[str] = frozenset(), offered: bool = False
    ) -> Schema:
        """The schema of a request, spelled out, with what each field is for; as it is `offered` to
        a model, spelled out at every depth and without null."""
        hints, field = get_type_hints(kind), self._offered if offered else self.field
        asked = [each for each in fields(kind) if each.name not in without]
        schema: Schema = {
            "type": "object",
            "additionalProperties": False,
            "properties": {each.name: field(each, hints[each.name]) for each in asked},
        }
        if needed := [each.name for each in asked if required(each)]:
            schema["required"] = needed
        return schema

    def field(self, each: Field[Any], kind: Any) -> Schema:
        """The schema of one field of a request."""
        schema = self.of(kind)
        for part in schema.get("anyOf", [schema]):
            if part.get("type") == "integer":
                part.update(WHOLE)
        _bind(schema, each.metadata["bounds"])
        if like := each.metadata["like"]:
            one_of_many = frozenset({"idempotency_key"})
            schema["items"] = self.request(verb_of(like).request, without=one_of_many)
        schema["description"] = each.metadata.get("help", "")
        if not required(each) and each.default is not MISSING and each.default is not None:
            schema["default"] = plain(each.default)
        return schema

    def _offered(self, each: Field[Any], kind: Any) -> Schema:
        """A field for a model, which leaves out what it does not need."""
        item = next(iter(get_args(kind)), None)
        if not (isinstance(item, type) and is_dataclass(item)):
            return without_null(self.field(each, kind))
        items = self.request(item, offered=True)
        return without_null(self.field(each, str)) | {"type": "array", "items": items}

    def _component(self, kind: type) -> str:
        if kind in self._named:
            return self._named[kind]
        name = self._free_name(kind.__name__)
        self._named[kind] = name
        self.components[name] = {}  # a type may hold itself
        hints = get_type_hints(kind)
        own = {each.name: self.of(hints[each.name]) for each in fields(kind)}
        self.components[name] = {
            "type": "object",
            "description": (kind.__doc__ or "").split("\n")[0],
            "properties": own,
            "required": list(own),
        }
        return name

    def _free_name(self, name: str) -> str:
        taken, number = name, 2
        while taken in self.components:
            taken, number = f"{name}{number}", number + 1
        return taken

    def _list(self, origin: Any, args: tuple[Any, ...]) -> Schema:
        if origin is tuple and Ellipsis not in args:
            items = [self.of(each) for each in args]
            fixed = {"minItems": len(items), "maxItems": len(items)}
            return {"type": "array", "prefixItems": items, "items": False, **fixed}
        return {"type": "array", "items": self.of(args[0])}


def without_null(schema: Schema) -> Schema:
    """A schema for a query or a model: there is no null, a field is left out instead."""
    options = [one for one in schema.get("anyOf", []) if one.get("type") != "null"]
    if not options:
        return schema
    rest = {name: value for name, value in schema.items() if name != "anyOf"}
    return {**options[0], **rest} if len(options) == 1 else {"anyOf": options, **rest}


def required(each: Field[Any]) -> bool:
    """Whether a field has no default."""
    return each.default is MISSING and each.default_factory is MISSING


def _bind(schema: Schema, bounds: Mapping[str, Any]) -> None:
    """Bind the part of a schema that the bounds speak of; those of a text hold for each of many."""
    for part in schema.get("anyOf", [schema]):
        known = _FOR.get(part.get("type"), frozenset())
        part.update({name: bound for name, bound in bounds.items() if name in known})
        if part.get("type") == "array":
            part["items"] = bounds.get("items", part["items"])
            if isinstance(part["items"], dict) and "items" not in bounds:
                _bind(part["items"], bounds)
