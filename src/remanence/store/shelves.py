"""Documents and their editions as rows and back, with the keyed digests that guard them."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, TypeAlias

import orjson

from remanence.errors import StoreCorrupt
from remanence.model.document import Address, Document, Edition, Shelf
from remanence.model.scope import Reach
from remanence.store.conditions import ALWAYS, NEVER, Condition, joined
from remanence.store.damage import is_time
from remanence.store.rows import Row, moment

Place: TypeAlias = tuple[str, str, str, str, str]  # shelf, user, session, agent, name
Standing: TypeAlias = tuple[Document, tuple[Edition, ...]]

_PLACED = slice(1, 6)
_GUARDED = slice(1, 11)


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
    if reach.agent_id is not None:
        parts.append(Condition("d.agent_id = ?", (reach.agent_id,)))
    if reach.session_id is not None:
        parts.append(Condition("d.session_id = ?", (reach.session_id,)))
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
        raise _damaged(row[_PLACED])
    return Document(
        address=address_of(row[_PLACED]),
        value=orjson.loads(row[10]),
        version=row[6],
        created_at=moment(row[7]),
        updated_at=moment(row[8]),
        expires_at=None if row[9] is None else moment(row[9]),
    )


def edition_of(row: Row, place: Sequence[str], tenant: str, key: bytes) -> Edition:
    """The edition of a row of the block `edition`, if it is what was signed."""
    if not is_whole_edition(row, place, tenant, key):
        raise _damaged(place)
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


def _damaged(place: Sequence[Any]) -> StoreCorrupt:
    return StoreCorrupt(f"The {named(place)} is damaged on disk; run `rem doctor`.")
