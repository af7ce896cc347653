"""Entities and claims as rows and back, with the keyed digests that guard them.

A row of an entity is number, partition and `ENTITY_COLUMNS`; a row of a claim is key, partition,
the ids of claim, subject, object and memory, then `CLAIM_COLUMNS`. Ids are 16 bytes, times are
microseconds. When a claim rests or is retired its row changes, so digests leave these two out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from datetime import datetime, tzinfo
from hashlib import blake2b
from typing import Any

import orjson

from remanence.errors import InvalidInput, NotFound, StoreCorrupt
from remanence.model.knowledge import (
    TIMEZONE,
    Claim,
    Entity,
    EntityType,
    Timespan,
    entity_id,
    folded_name,
)
from remanence.model.memory import EMPTY, MemoryRecord, State, aware
from remanence.model.scope import Reach
from remanence.model.zones import known_zone, placed
from remanence.store.conditions import ALWAYS, Condition, joined, narrowing
from remanence.store.rows import Owner, Row, is_time, json_text, micros, moment, packed_id
from remanence.store.rows import spelled_id as spelled

ENTITY_COLUMNS = ("id", "name", "folded", "type", "given", "created_at", "digest")
CLAIM_COLUMNS = (
    "predicate", "value", "text", "kind", "origin", "reason", "confidence", "trust",
    "observed_at", "recorded_at", "began", "ended", "denies", "agent_id", "session_id",
    "metadata", "rested_at", "retired_at", "digest",
)  # fmt: skip
NO_MEMORY = 0  # the key that a change feed has where knowledge changed and no memory did

_FIELDS = tuple(getattr(Claim, field.name).__set__ for field in fields(Claim))
_NAMES = slice(2, 6)  # of a claim's row: claim, subject, object, memory
_SAID = slice(6, 22)  # from predicate to metadata
_RESTED, _RETIRED, _CLAIM_DIGEST = 22, 23, 24
_LAST_LETTER = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)
# An entity that somebody added; nothing needs to be said of it.
GIVEN = Condition("e.given = 1", ())
_NO_CHARACTER = "{} holds a lone surrogate, which is not a character; replace it first."


def knowledge_id(what: str, id: object) -> bytes:
    """The 16 bytes of an entity's, claim's or memory's id, or `InvalidInput`."""
    packed = packed_id(id) if isinstance(id, str) else None
    if packed is None:
        raise InvalidInput(f"The {what}'s id is a UUID; got {str(id)[:60]!r}.")
    return packed


def known_ids(ids: Iterable[str]) -> tuple[bytes, ...]:
    """Ids to look for, each once; what is no UUID names nothing and is left out."""
    found = (packed_id(id) for id in ids)
    return tuple(dict.fromkeys(id for id in found if id is not None))


def entity_values(entity: Entity, tenant: str, key: bytes) -> Row:
    """An entity's `ENTITY_COLUMNS`, checked and signed."""
    id = knowledge_id("entity", entity.id)
    name, type = _text("name", entity.name), _text("type", entity.type)
    created = micros(aware("created_at", entity.created_at))
    values = (id, name, folded_name(name), type, int(entity.given), created)
    digest = _signed(key, (tenant, entity.user_id or None), values[:1], values[1:])
    if digest is None:
        raise InvalidInput(_NO_CHARACTER.format("The entity"))
    return (*values, digest)


def entity_of(row: Row, owner: Owner, key: bytes) -> Entity:
    """The entity of a row, if it is what was signed."""
    if not is_whole_entity(row, owner, key):
        raise _damaged("entity", row[2])
    return entity_as_read(row, owner)


def entity_as_read(row: Row, owner: Owner) -> Entity:
    """The entity of a row, unchecked."""
    _, _, id, name, _, type, given, created, _ = row
    return Entity(
        id=spelled(id),
        name=name,
        type=type,
        created_at=moment(created),
        user_id=owner[1],
        given=bool(given),
    )


def is_whole_entity(row: Row, owner: Owner, key: bytes) -> bool:
    """Whether a row of an entity is what was signed."""
    return bool(_signed(key, owner, row[2:3], row[3:8]) == row[8])


def mended_entity(row: Row, owner: Owner, key: bytes) -> Row | None:
    """`ENTITY_COLUMNS` of a damaged entity, if its name still tells its id or its id its name."""
    names = [name for name in row[3:5] if isinstance(name, str)]
    ids = [packed_id(entity_id(owner[1], name)) for name in names]
    for name, id in zip(names, ids, strict=True):
        if _signed(key, owner, (id,), row[3:8]) == row[8]:
            return (id, *row[3:])
        if id == row[2]:
            return entity_values(_readable(row, name, owner), owner[0], key)
    return None


def _readable(row: Row, name: str, owner: Owner) -> Entity:
    return Entity(
        id=spelled(row[2]),
        name=name,
        type=row[5] if isinstance(row[5], str) and row[5] else EntityType.THING,
        created_at=moment(row[7] if is_time(row[7]) else 0),
        user_id=owner[1],
        given=row[6] != 0,
    )


def told_again(known: Entity, told: Entity) -> Entity:
    """An entity that is there as it stands when it is told of once more.

    It takes a type that is not `thing`, but what a caller gave is not changed by what was found,
    and an animal that is called like a person stays one.
    """
    pet = known.type == EntityType.ANIMAL and told.type == EntityType.PERSON
    heard = told.given or known.type == EntityType.THING or not (known.given or pet)
    takes = heard and told.type != EntityType.THING
    type, given = told.type if takes else known.type, known.given or told.given
    if (type, given) == (known.type, known.given):
        return known
    return replace(known, type=type, given=given)


def claim_values(claim: Claim, tenant: str, key: bytes, rested_at: int | None) -> Row:
    """A claim's id and `CLAIM_COLUMNS`, checked and signed."""
    names = (
        knowledge_id("claim", claim.id),
        knowledge_id("subject", claim.subject),
        None if claim.object is None else knowledge_id("object", claim.object),
        None if claim.memory is None else knowledge_id("memory", claim.memory),
    )
    said = _said(claim)
    digest = _signed(key, (tenant, claim.user_id or None), names, said)
    if digest is None:
        raise InvalidInput(_NO_CHARACTER.format("The claim"))
    retired = None if claim.retired_at is None else micros(aware("retired_at", claim.retired_at))
    return (names[0], *said, rested_at, retired, digest)


def no_entity(id: str) -> NotFound:
    """The error that names an entity which is not there."""
    return NotFound(f"There is no entity {id} of this user here; add it first.")


def no_memory(id: str) -> NotFound:
    """The error that names a memory which is not there."""
    return NotFound(f"There is no memory {id} of this user here.")


def is_evidence(record: MemoryRecord) -> bool:
    """Whether what a memory says counts: it is active, or rests only because it was merged."""
    merged = record.state == State.ARCHIVED and record.superseded_by is not None
    return merged or record.state == State.ACTIVE


def rests_from(claim: Claim, counts: int | None, updated_at: int) -> int | None:
    """Since when a claim rests: with its memory, which `is_evidence` or not, or as it says."""
    given = None if claim.rested_at is None else micros(aware("rested_at", claim.rested_at))
    if counts is None:
        return given
    if counts:
        return None
    return updated_at if given is None else given


def claim_of(row: Row, owner: Owner, key: bytes) -> Claim:
    """The claim of a row, if it is what was signed."""
    if not is_whole_claim(row, owner, key):
        raise _damaged("claim", row[2])
    (_, _, id, subject, object, memory, predicate, value, text, kind, origin, reason, confidence,
     trust, observed, recorded, began, ended, denies, agent, session, metadata, rested, retired,
     _) = row  # fmt: skip
    said = moment(observed)
    told = EMPTY if metadata is None else orjson.loads(metadata)
    zone = known_zone(told.get(TIMEZONE))
    return _claim(
        spelled(id),
        spelled(subject),
        predicate,
        value,
        text,
        said,
        said if recorded == observed else moment(recorded),
        None if object is None else spelled(object),
        kind,
        confidence,
        trust,
        None if began is None else _when(began, zone),
        None if ended is None else _when(ended, zone),
        bool(denies),
        origin,
        None if memory is None else spelled(memory),
        reason,
        None if rested is None else moment(rested),
        None if retired is None else moment(retired),
        owner[1],
        agent,
        session,
        told,
    )


def _claim(*values: Any) -> Claim:
    """A claim of these values in order, unchecked: what was signed was checked before.

    Twice as fast as `Claim(...)`, and a graph reads every claim there is.
    """
    claim = object.__new__(Claim)
    for put, value in zip(_FIELDS, values, strict=True):
        put(claim, value)
    return claim


def is_whole_claim(row: Row, owner: Owner, key: bytes) -> bool:
    """Whether a row of a claim is what was signed."""
    rested, retired = row[_RESTED], row[_RETIRED]
    whole = (rested is None or is_time(rested)) and (retired is None or is_time(retired))
    return whole and _signed(key, owner, row[_NAMES], row[_SAID]) == row[_CLAIM_DIGEST]


def narrowed(reach: Reach, table: str) -> Condition:
    """The agent, session and trust that a read asks for, as a condition on claims or memories."""
    parts = narrowing(reach, table)
    return joined("AND", parts) if parts else ALWAYS


def is_narrow(reach: Reach) -> bool:
    """Whether a reach asks for one agent or session."""
    return reach.agent_id is not None or reach.session_id is not None


def begins(column: str, prefix: str) -> Condition:
    """The column, ordered by code points, begins with these letters."""
    end = _after(prefix)
    if end is None:
        return Condition(f"{column} >= ?", (prefix,))
    return Condition(f"{column} >= ? AND {column} < ?", (prefix, end))


def _after(prefix: str) -> str | None:
    """The first text that sorts behind all that begin so; None if there is none."""
    for at in range(len(prefix) - 1, -1, -1):
        letter = ord(prefix[at]) + 1
        if letter <= _LAST_LETTER:
            outside = not _SURROGATES[0] <= letter <= _SURROGATES[1]
            return prefix[:at] + chr(letter if outside else _SURROGATES[1] + 1)
    return None


def _said(claim: Claim) -> Row:
    words = (_text("predicate", claim.predicate), _words("value", claim.value))
    more = (_words("text", claim.text), _text("kind", claim.kind), _text("origin", claim.origin))
    reason = None if claim.reason is None else _words("reason", claim.reason)
    weights = (float(claim.confidence), float(claim.trust))
    times = (micros(claim.observed_at), micros(claim.recorded_at))
    spans = (_span(claim.began), _span(claim.ended), int(claim.denies))
    metadata = json_text("metadata", claim.metadata) if claim.metadata else None
    owner = (claim.agent_id, claim.session_id)
    return (*words, *more, reason, *weights, *times, *spans, *owner, metadata)


def _span(when: Timespan | None) -> str | None:
    """A time as JSON of its two ends: one that is open at both is not the same as none."""
    if when is None:
        return None
    ends = [None if at is None else micros(at) for at in (when.start, when.end)]
    return orjson.dumps(ends).decode()


def _when(span: str, zone: tzinfo) -> Timespan:
    start, end = orjson.loads(span)
    return Timespan(start=_moment(start, zone), end=_moment(end, zone))


def _moment(at: int | None, zone: tzinfo) -> datetime | None:
    return None if at is None else placed(moment(at), zone)


def _text(what: str, value: object) -> str:
    text = _words(what, value)
    if not text:
        raise InvalidInput(f"The {what} is empty; say what it is.")
    return text


def _words(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"The {what} must be text, not {type(value).__name__}.")
    if "\0" in value:
        raise InvalidInput(f"The {what} holds a NUL character; remove it.")
    return str(value)


def _signed(key: bytes, owner: Owner, ids: Row, values: Row) -> bytes | None:
    """The digest of a row, None if no row can hold such values."""
    named = [id.hex() if type(id) is bytes else id for id in ids]
    try:
        return blake2b(orjson.dumps([*owner, *named, *values]), digest_size=16, key=key).digest()
    except TypeError:
        return None


def _damaged(what: str, id: object) -> StoreCorrupt:
    named = spelled(id) if isinstance(id, bytes) and len(id) == 16 else "without an id"
    return StoreCorrupt(f"The {what} {named} is damaged on disk; run `rem doctor`.")
