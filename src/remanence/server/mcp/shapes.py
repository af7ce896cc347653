"""The JSON Schemas of tools: arguments spelled out for a model, answers with their definitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias, get_args, get_type_hints

from remanence.operations.schema import Schemas, required

Names: TypeAlias = Mapping[str, str]
Schema: TypeAlias = dict[str, Any]
DEFS = "#/$defs/"


def asked_schema(kind: type, names: Names, withheld: frozenset[str] = frozenset()) -> Schema:
    """The schema of a tool's arguments; what is unknown is refused at every depth.

    Null is not offered to a model: it leaves out what it does not need.
    """
    schemas = Schemas(DEFS)
    schema = _object(schemas, kind, withheld)
    if schemas.components:
        schema["$defs"] = schemas.components
    return _respelled_schema(schema, names)


def answer_schema(kind: type, names: Names) -> Schema:
    """The schema of a tool's answer: an object at its root, as older clients want it."""
    schemas = Schemas(DEFS)
    root = schemas.of(kind)["$ref"].removeprefix(DEFS)
    schema = dict(schemas.components[root])
    defs = {name: part for name, part in schemas.components.items() if name != root}
    if f'"{DEFS}{root}"' in str(schemas.components).replace("'", '"'):
        defs[root] = schemas.components[root]
    return _respelled_schema({**schema, "$defs": defs} if defs else schema, names)


def respelled(data: Any, names: Names, *, back: bool = False) -> Any:
    """JSON data with its keys as they are on the wire, or `back` as they are here."""
    if not names:
        return data
    known = {wire: here for here, wire in names.items()} if back else names
    return _renamed(data, known)


def _renamed(data: Any, known: Names) -> Any:
    if isinstance(data, Mapping):
        return {known.get(name, name): _renamed(item, known) for name, item in data.items()}
    if isinstance(data, list):
        return [_renamed(item, known) for item in data]
    return data


def _respelled_schema(schema: Schema, names: Names) -> Schema:
    def told(part: Any, where: str) -> Any:
        if isinstance(part, Mapping):
            inside = {n: told(p, "" if where == "properties" else n) for n, p in part.items()}
            return _renamed_keys(inside, names) if where == "properties" else inside
        if isinstance(part, list):
            return [names.get(p, p) if where == "required" else told(p, "") for p in part]
        return part

    return told(schema, "") if names else schema


def _renamed_keys(part: Mapping[str, Any], names: Names) -> dict[str, Any]:
    return {names.get(name, name): item for name, item in part.items()}


def _object(schemas: Schemas, kind: type, withheld: frozenset[str] = frozenset()) -> Schema:
    hints = get_type_hints(kind)
    asked = [each for each in fields(kind) if each.name not in withheld]
    told: Schema = {"type": "object", "properties": {}, "additionalProperties": False}
    for each in asked:
        item = _item(hints[each.name])
        schema = _without_null(schemas.field(each, str if item else hints[each.name]))
        if item:
            schema |= {"type": "array", "items": _object(schemas, item)}
        told["properties"][each.name] = schema | each.metadata.get("bounds", {})
    if needed := [each.name for each in asked if required(each)]:
        told["required"] = needed
    return told


def _item(kind: Any) -> type | None:
    """The dataclass that a list is made of, if it is."""
    first = next(iter(get_args(kind)), None)
    return first if isinstance(first, type) and is_dataclass(first) else None


def _without_null(schema: Schema) -> Schema:
    offered = [part for part in schema.get("anyOf", ()) if part.get("type") != "null"]
    if not offered:
        return schema
    rest = {name: part for name, part in schema.items() if name != "anyOf"}
    return {**offered[0], **rest} if len(offered) == 1 else {"anyOf": offered, **rest}
