"""The lines of an export that documents make: each before its editions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from remanence.errors import InvalidInput
from remanence.model import accept
from remanence.model.accept import MAX_INTEGER
from remanence.model.document import Address, Document, Edition, Shelf
from remanence.operations.rendering import plain
from remanence.transfer.lines import Line, check_names, whole
from remanence.transfer.shapes import check_shape

MAX_DEPTH = 32
MAX_WORD = 128
PLACE = ("shelf", "name", "user_id", "agent_id", "session_id")


def document_line(document: Document) -> dict[str, Any]:
    """A document with all its fields; the tenant is the importer's own affair."""
    told = _plain(document)
    return {"type": "document", **told.pop("address"), **told}


def edition_line(address: Address, edition: Edition) -> dict[str, Any]:
    """One version of the document at this address; it follows the document's own line."""
    return {
        "type": "edition",
        "shelf": address.shelf.value,
        "name": address.name,
        **_plain(edition),
    }


def document_of(line: Line) -> Document:
    """The document of a line."""
    values = {name: value for name, value in line.items() if name not in ("type", *PLACE)}
    address = _address(line)
    check_names(values | {"address": address}, Document)
    version = whole("version", values["version"])
    if not version:
        raise InvalidInput("version must be 1 or more.")
    expires = values.get("expires_at")
    return Document(
        address=address,
        value=_value(address, values["value"]),
        version=version,
        created_at=accept.moment_of("created_at", values["created_at"]),
        updated_at=accept.moment_of("updated_at", values["updated_at"]),
        expires_at=None if expires is None else accept.moment_of("expires_at", expires),
    )


def edition_of(line: Line, document: Document) -> Edition:
    """The edition of a line, which must be of this document."""
    of = (document.address.shelf.value, document.address.name)
    if (line.get("shelf"), line.get("name")) != of:
        raise InvalidInput(f"The edition of {str(line.get('name'))[:60]!r} does not follow it.")
    values = {name: value for name, value in line.items() if name not in ("type", "shelf", "name")}
    check_names(values, Edition)
    return Edition(
        version=whole("version", values["version"]),
        verb=accept.text_of("verb", values["verb"], MAX_WORD),
        at=accept.moment_of("at", values["at"]),
        value=_value(document.address, values["value"]),
        author=accept.label_of("author", values.get("author")),
        reason=accept.label_of("reason", values.get("reason")),
    )


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


def _value(address: Address, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput("value must be an object.")
    _check_json("value", value, 0)
    check_shape(address, value)
    return value


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


def _plain(value: Any) -> dict[str, Any]:
    told = plain(value)
    assert isinstance(told, dict)
    return told
