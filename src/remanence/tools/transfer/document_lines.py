"""The lines of an export that documents make, and what layers take for granted in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from remanence.errors import InvalidInput
from remanence.layers.blocks.blocks import description_of, value_of
from remanence.layers.blocks.documents import check_fits
from remanence.layers.snapshots import documents, references
from remanence.layers.snapshots.section import HEADS, PARTS, SectionPart
from remanence.layers.snapshots.snapshots import UNREADABLE, snapshot_of
from remanence.model import validation
from remanence.model.block import RESERVED, block_label, block_limit
from remanence.model.document import OF_A_STORE, Address, Document, Edition, Shelf
from remanence.model.memory import unit_interval
from remanence.model.scope import check_name
from remanence.model.session import data_of as session_data
from remanence.model.session import ttl_of
from remanence.model.session import value_of as working_value
from remanence.model.validation import MAX_INTEGER
from remanence.model.zones import zone_of
from remanence.tools.transfer.lines import Line, LineType, word

Value = Mapping[str, Any]

_READERS: Mapping[str, Callable[[list[SectionPart]], object]] = {
    references.MemorySection.name: references.memory_references,
    references.BlockSection.name: references.block_references,
    documents.DocumentSection.name: documents.listed,
}

MAX_DEPTH = 32


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
            + (f"{error} is missing." if isinstance(error, KeyError) else str(error)[:200])
        ) from error


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
    validation.label_of("title", value.get("title"))
    validation.metadata_of(value.get("metadata"))
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
    _READERS[section]([SectionPart(address.user_id, value)])


def _copy(address: Address, value: Value) -> None:
    """A copy is of a document whose name only its digest tells."""
    _typed(value, value=dict)
    if value["left_s"] is not None:
        validation.json_of("left_s", float(value["left_s"]))
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
    validation.moment_of(name, value[name])


def _lived(value: Value) -> None:
    check_name("agent", value["agent"])
    if value["ttl_s"] is None:
        raise TypeError("ttl_s must be a number of seconds.")
    ttl_of(value["ttl_s"], 0.0)


_CHECKS: Mapping[Shelf, Callable[[Address, Value], None]] = {
    Shelf.BLOCK: _block,
    Shelf.CONVERSATION: _conversation,
    Shelf.SESSION: _session,
    Shelf.SNAPSHOT: _snapshot,
    Shelf.USER: _user,
    Shelf.WORKING: _working,
}


def _json(what: str, value: Any, most: int) -> Value:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{what} must be an object.")
    _check_json(what, value, 0)
    return value


PLACE = ("shelf", "name", "user_id", "agent_id", "session_id")
DOCUMENT = LineType(
    name="document", model=Document, own=("address",), beside=PLACE, readers={"value": _json}
)
EDITION = LineType(
    name="edition", model=Edition, beside=("shelf", "name"), readers={"verb": word, "value": _json}
)


def document_of(line: Line) -> Document:
    """The document of a line."""
    document = DOCUMENT.read(line, address=_address(line))
    if not document.version:
        raise InvalidInput("version must be 1 or more.")
    check_shape(document.address, document.value)
    return document


def edition_of(line: Line, document: Document) -> Edition:
    """The edition of a line, which must be of this document."""
    of = (document.address.shelf.value, document.address.name)
    if (line.get("shelf"), line.get("name")) != of:
        raise InvalidInput(f"The edition of {str(line.get('name'))[:60]!r} does not follow it.")
    edition = EDITION.read(line)
    check_shape(document.address, edition.value)
    return edition


def _address(line: Line) -> Address:
    try:
        shelf = Shelf(line.get("shelf"))  # type: ignore[arg-type]
    except ValueError:
        known = ", ".join(Shelf)
        raise InvalidInput(
            f"Unknown shelf {str(line.get('shelf'))[:40]!r}; known: {known}. Update Remanence."
        ) from None
    place = {name: line.get(name) for name in PLACE if name != "shelf"}
    return Address(shelf=shelf, **place)  # type: ignore[arg-type]


def _check_json(what: str, value: Any, depth: int) -> None:
    """Refuse what no store could keep: NUL, half characters, numbers without end, deep nests."""
    if depth > MAX_DEPTH:
        raise InvalidInput(f"{what} is nested deeper than {MAX_DEPTH} levels.")
    match value:
        case str():
            _check_text(what, value)
        case int() if abs(value) > MAX_INTEGER:
            raise InvalidInput(f"{what} does not fit into 64 bits.")
        case float() if value - value != 0:
            raise InvalidInput(f"{what} is not a finite number.")
        case Mapping():
            for name, item in value.items():
                _check_text(f"a name in {what}", name)
                _check_json(what, item, depth + 1)
        case list():
            for item in value:
                _check_json(what, item, depth + 1)


def _check_text(what: str, text: str) -> None:
    if "\0" in text:
        raise InvalidInput(f"{what} holds a NUL character.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{what} holds half a character (a lone surrogate).") from None
