"""Documents and their editions: as rows with keyed digests, and what a transaction makes of them.

What is done is checked and decided here, and done by the store.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, TypeAlias

import orjson

from remanence.errors import Conflict, InvalidInput, StoreCorrupt
from remanence.model.document import Address, Discard, Document, Edition, Shelf, Shelving
from remanence.model.memory import aware
from remanence.model.scope import Reach
from remanence.store.conditions import ALWAYS, NEVER, Condition, joined, narrowing
from remanence.store.rows import Row, is_time, json_text, micros, moment

Place: TypeAlias = tuple[str, str, str, str, str]  # shelf, user, session, agent, name
Standing: TypeAlias = tuple[Document, tuple[Edition, ...]]

_PLACED = slice(1, 6)
_GUARDED = slice(1, 11)
MAX_VALUE = 16 << 20


def place_of(address: Address) -> Place:
    """An address as its columns have it, in the order that documents stand in; '' is none."""
    owner = (address.user_id or "", address.session_id or "", address.agent_id or "")
    return (str(Shelf(address.shelf)), *owner, address.name)


def address_of(place: Sequence[str]) -> Address:
    """The address of such columns."""
    shelf, user, session, agent, name = place
    return Address(
        shelf=Shelf(shelf),
        name=name,
        user_id=user or None,
        agent_id=agent or None,
        session_id=session or None,
    )


def within(reach: Reach, agents: Sequence[str | None] | None = None) -> Condition:
    """What a read may see and whose it wants, as a condition on `documents AS d`."""
    parts = []
    if reach.include_shared and reach.user_id is not None:
        parts.append(Condition("d.user_id IN (?, ?)", (reach.user_id, "")))
    elif not reach.all_users:
        parts.append(Condition("d.user_id = ?", (reach.user_id or "",)))
    parts += narrowing(reach, "d", trust=False)
    if agents is not None:
        parts.append(_of_agents(agents))
    return joined("AND", parts) if parts else ALWAYS


def _of_agents(agents: Sequence[str | None]) -> Condition:
    if not agents:
        return NEVER
    marks = ", ".join("?" * len(agents))
    return Condition(f"d.agent_id IN ({marks})", tuple(agent or "" for agent in agents))


def document_of(row: Row, tenant: str, key: bytes) -> Document:
    """The document of a row of the block `document`, if it is what was signed."""
    if not is_whole(row, tenant, key):
        raise _damaged_document(row[_PLACED])
    return _standing(row[_PLACED], row[6:11])


def _standing(place: Sequence[str], values: Row) -> Document:
    version, created, updated, ends, text = values
    return Document(
        address=address_of(place),
        value=orjson.loads(text),
        version=version,
        created_at=moment(created),
        updated_at=moment(updated),
        expires_at=None if ends is None else moment(ends),
    )


def edition_of(row: Row, place: Sequence[str], tenant: str, key: bytes) -> Edition:
    """The edition of a row of the block `edition`, if it is what was signed."""
    if not is_whole_edition(row, place, tenant, key):
        raise _damaged_document(place)
    _, version, verb, at, author, reason, value, _ = row
    return Edition(
        version=version,
        verb=verb,
        at=moment(at),
        value=orjson.loads(value),
        author=author,
        reason=reason,
    )


def is_whole(row: Row, tenant: str, key: bytes) -> bool:
    """Whether a row of the block `document` is what was signed."""
    return bool(signed(key, tenant, row[_GUARDED]) == row[11])


def is_whole_edition(row: Row, place: Sequence[str], tenant: str, key: bytes) -> bool:
    """Whether a row of the block `edition`, of the document at that place, is what was signed."""
    return bool(signed(key, tenant, (*place, *row[1:7])) == row[7])


def mended(row: Row, editions: Sequence[Row], tenant: str, key: bytes) -> Row | None:
    """A damaged document's values as the edition of the same version has them, signed anew."""
    place, version, created, expires = row[_PLACED], row[6], row[7], row[9]
    for one in editions:
        if one[1] == version and is_whole_edition(one, place, tenant, key):
            times = (created if is_time(created) else one[3], one[3])
            values = (version, *times, expires if is_time(expires) else None, one[6])
            return (*values, signed(key, tenant, (*place, *values)))
    return None


def signed(key: bytes, tenant: str, told: Row) -> bytes | None:
    """The digest of a row: its place, then its values. None if those cannot be anyone's."""
    try:
        return blake2b(orjson.dumps((tenant, *told)), digest_size=16, key=key).digest()
    except TypeError:
        return None


def named(place: Sequence[Any]) -> str:
    """A document as messages call it."""
    return f"{place[0]} {str(place[4])[:60]!r}"


def _damaged_document(place: Sequence[Any]) -> StoreCorrupt:
    return StoreCorrupt(f"The {named(place)} is damaged on disk; run `rem doctor`.")


@dataclass(slots=True)
class HeldDocument:
    """A place that a transaction touches: as it was found, and as it is by now.

    `key` is None where there is no row yet. Version 0 means that nothing stands there.
    """

    place: Place
    key: int | None = None
    version: int = 0
    created_at: int = 0
    row: Row | None = None  # version, created_at, updated_at, expires_at, value, digest
    emptied: bool = False  # the editions that were found go
    editions: list[Row] = field(default_factory=list)  # version, …, value, digest


@dataclass(frozen=True, slots=True)
class Ready:
    """Something to shelve that was checked, with its value as it will be stored."""

    shelving: Shelving
    place: Place
    text: str = ""


def ready(shelvings: Sequence[Shelving]) -> list[Ready]:
    """What can be stored, or `InvalidInput`."""
    return [_ready(one) for one in shelvings]


@dataclass(frozen=True, slots=True)
class Adoption:
    """A document to take over as it is, and the version that stands at its place, if one must."""

    standing: Standing
    place: Place
    expected: int | None = None


def ready_to_adopt(
    documents: Sequence[Standing], expected: Mapping[Address, int] | None
) -> list[Adoption]:
    """Documents with the places they stand at, or `InvalidInput`."""
    for document, editions in documents:
        _check_versions(document, [edition.version for edition in editions])
    known = expected or {}
    return [
        Adoption(standing, place_of(standing[0].address), known.get(standing[0].address))
        for standing in documents
    ]


class Shelves:
    """Decides what a transaction does; the store then does it."""

    def __init__(self, tenant: str, digest_key: bytes, places: Iterable[Place]) -> None:
        self._tenant = tenant
        self._key = digest_key
        self.held = {place: HeldDocument(place) for place in places}

    def found(self, row: Row) -> None:
        """Take note of what stands at a place: key, place, version, when it was created."""
        held = self.held[row[1], row[2], row[3], row[4], row[5]]
        held.key, held.version, held.created_at = row[0], row[6], row[7]

    def act(self, asked: Ready) -> Document | None:
        """Do one thing to its place; the document put, if one was."""
        held, one = self.held[asked.place], asked.shelving
        _check_expected(asked.place, one.expected, held.version)
        if isinstance(one, Discard):
            self._clear(held)
            return None
        at, created = micros(one.at), held.created_at if held.version else micros(one.at)
        ends = None if one.expires_at is None else micros(one.expires_at)
        values = (held.version + 1, created, at, ends, asked.text)
        self._stand(held, values)
        if one.keep:
            told = (one.verb, at, one.author, one.reason)
            self._keep(held, (held.version, *told, asked.text))
        return _standing(held.place, values)

    def adopt(self, asked: Adoption) -> None:
        """Put a document with its editions in the place of what was there."""
        document, editions = asked.standing
        held = self.held[asked.place]
        _check_expected(asked.place, asked.expected, held.version)
        self._clear(held)
        times = (micros(document.created_at), micros(document.updated_at))
        ends = None if document.expires_at is None else micros(document.expires_at)
        self._stand(held, (document.version, *times, ends, value_text(document.value)))
        for one in editions:
            told = (one.version, _text("verb", one.verb), micros(one.at))
            why = (_text_or_none("author", one.author), _text_or_none("reason", one.reason))
            self._keep(held, (*told, *why, value_text(one.value)))

    def _clear(self, held: HeldDocument) -> None:
        held.version, held.row, held.editions, held.emptied = 0, None, [], True

    def _stand(self, held: HeldDocument, values: Row) -> None:
        held.version, held.created_at = values[0], values[1]
        held.row = (*values, signed(self._key, self._tenant, (*held.place, *values)))

    def _keep(self, held: HeldDocument, values: Row) -> None:
        digest = signed(self._key, self._tenant, (*held.place, *values))
        held.editions.append((*values, digest))


def value_text(value: Any) -> str:
    """A document's value as JSON, or `InvalidInput` if it cannot be stored as it is."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"A document's value is a mapping, not a {type(value).__name__}.")
    text = json_text("The value", value)
    _check_scalars(value)
    size = len(text.encode())
    if size > MAX_VALUE:
        raise InvalidInput(f"The value takes {size:,} bytes as JSON; at most {MAX_VALUE:,} fit.")
    return text


def _ready(one: Shelving) -> Ready:
    if isinstance(one, Discard):
        return Ready(one, place_of(one.address))
    aware("at", one.at)
    if one.expires_at is not None:
        aware("expires_at", one.expires_at)
    _text("verb", one.verb)
    _text_or_none("author", one.author)
    _text_or_none("reason", one.reason)
    return Ready(one, place_of(one.address), value_text(one.value))


def _check_expected(place: Place, expected: int | None, version: int) -> None:
    if expected is None or expected == version:
        return
    what = named(place)
    if version == 0:
        raise Conflict(f"There is no {what} any more; version {expected} was expected.")
    if expected == 0:
        raise Conflict(f"There is a {what} already, with version {version}; read it first.")
    raise Conflict(f"The {what} has version {version} now, not {expected}; read it again.")


def _check_versions(document: Document, kept: list[int]) -> None:
    if document.version < 1 or kept != sorted(set(kept)):
        raise InvalidInput("Versions of a document count from 1, each edition has one of its own.")
    if kept and not 1 <= kept[0] <= kept[-1] <= document.version:
        raise InvalidInput(f"A document of version {document.version} has no later editions.")


def _check_scalars(value: Any) -> None:
    """Refuse what JSON cannot hold and what not every database can."""
    if isinstance(value, str):
        _check_text("The value", value)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(f"The value holds {value!r}; only finite numbers can be kept.")
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            _check_scalars(key)
            _check_scalars(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check_scalars(inner)


def _text(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be text, not {type(value).__name__}.")
    return _check_text(what, value)


def _text_or_none(what: str, value: object) -> str | None:
    return None if value is None else _text(what, value)


def _check_text(what: str, value: str) -> str:
    if "\0" in value:
        raise InvalidInput(f"{what} holds a NUL character; remove it.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidInput(
            f"{what} holds a lone surrogate, which is not a character; replace it first."
        ) from None
    return value


def check_vacant(found: int) -> None:
    """Refuse to shelve what tells that a reach is empty while memories are there."""
    if found:
        raise Conflict(f"{found} memories are still there; remove them first.")
