"""What the layers read of their documents without asking: a file may not say otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from remanence.errors import InvalidInput
from remanence.layers.blocks.blocks import description_of, value_of
from remanence.layers.blocks.edits import check_fits
from remanence.layers.snapshots import blocks, documents, memories
from remanence.layers.snapshots.section import HEADS, PARTS, Part
from remanence.layers.snapshots.snapshots import UNREADABLE, snapshot_of
from remanence.model import accept
from remanence.model.block import RESERVED, block_label, block_limit
from remanence.model.document import OF_A_STORE, Address, Shelf
from remanence.model.memory import unit_interval
from remanence.model.scope import check_name
from remanence.model.session import data_of as session_data
from remanence.model.session import ttl_of
from remanence.model.session import value_of as working_value
from remanence.zones import zone_of

Value = Mapping[str, Any]


def check_shape(address: Address, value: Value) -> None:
    """Refuse a value that the layer of its shelf could not read."""
    if address.shelf in OF_A_STORE:
        raise InvalidInput(
            f"Documents of the shelf {address.shelf} belong to the store they were made in; "
            "leave them out."
        )
    if address.shelf is Shelf.BLOCK and value.get("deleted") is True:
        return
    try:
        _CHECKS[address.shelf](address, value)
    except UNREADABLE as error:
        raise InvalidInput(
            f"The value of the {address.shelf} {address.name[:60]!r} is not as it should be: "
            f"{_why(error)}"
        ) from error


def _why(error: Exception) -> str:
    return f"{error} is missing." if isinstance(error, KeyError) else str(error)[:200]


def _block(address: Address, value: Value) -> None:
    _typed(value, value=str, limit=int, description=str, read_only=bool)
    if address.name.lower() in RESERVED:
        block_label(address.name)
    check_fits(address.name, value_of("value", value["value"]), block_limit(value["limit"]))
    description_of(value["description"])


def _session(address: Address, value: Value) -> None:
    _typed(value, data=dict, version=int, run=str)
    session_data(f"The data of {address.name!r:.60}", value["data"])
    _timed(value, "began")
    if value["ended"] is not None:
        _timed(value, "ended")
    _lived(value)


def _working(address: Address, value: Value) -> None:
    _typed(value, version=int)
    _timed(value, "set_at")
    _lived(value)
    working_value(address.name, value["value"])
    if value["importance"] is not None:
        unit_interval("importance", value["importance"])
    unit_interval("trust", value.get("trust", 1.0))


def _conversation(address: Address, value: Value) -> None:
    accept.label_of("title", value.get("title"))
    accept.metadata_of(value.get("metadata"))
    check_name("agent_id", value.get("agent_id"))


def _user(address: Address, value: Value) -> None:
    if value["name"] != "":
        zone_of(value["name"])


def _snapshot(address: Address, value: Value) -> None:
    session = address.session_id or ""
    if session == HEADS:
        snapshot_of("any", address, value, datetime.min)
    elif session.startswith(PARTS):
        _part(address, value)
    else:
        _copy(address, value)


def _part(address: Address, value: Value) -> None:
    section = address.name.partition(".")[0]
    if section not in _READERS:
        raise ValueError(f"{section[:40]!r} is no part of a snapshot.")
    _READERS[section]([Part(address.user_id, value)])


def _copy(address: Address, value: Value) -> None:
    """A copy is of a document whose name only its digest tells."""
    _typed(value, value=dict)
    if value["left_s"] is not None:
        accept.json_of("left_s", float(value["left_s"]))
    check_name("agent", value["agent"])
    shelf = Shelf(value["shelf"])
    if shelf not in documents.SHELVES:
        raise ValueError(f"a {shelf} is not copied.")
    _CHECKS[shelf](address, value["value"])


def _typed(told: Value, /, **kinds: type) -> None:
    for name, kind in kinds.items():
        if type(told.get(name)) is not kind:
            raise TypeError(f"{name} must be of type {kind.__name__}.")


def _timed(value: Value, name: str) -> None:
    accept.moment_of(name, value[name])


def _lived(value: Value) -> None:
    check_name("agent", value["agent"])
    if value["ttl_s"] is None:
        raise TypeError("ttl_s must be a number of seconds.")
    ttl_of(value["ttl_s"], 0.0)


_READERS: Mapping[str, Callable[[list[Part]], object]] = {
    memories.MemorySection.name: memories.references,
    blocks.BlockSection.name: blocks.references,
    documents.DocumentSection.name: documents.listed,
}
_CHECKS: Mapping[Shelf, Callable[[Address, Value], None]] = {
    Shelf.BLOCK: _block,
    Shelf.CONVERSATION: _conversation,
    Shelf.SESSION: _session,
    Shelf.SNAPSHOT: _snapshot,
    Shelf.USER: _user,
    Shelf.WORKING: _working,
}
