"""Records as rows and back: ids, times, kinds, JSON, the keyed digest that guards a row, damage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, TypeAlias

import orjson

from remanence.errors import InvalidInput
from remanence.model.memory import EMPTY, Kind, MemoryRecord, State, same_json
from remanence.model.ports.store import Span

Row: TypeAlias = Sequence[Any]
Owner: TypeAlias = tuple[str, str | None]

KIND_CODES = {
    Kind.MESSAGE: 1,
    Kind.EPISODIC: 2,
    Kind.SEMANTIC: 3,
    Kind.PROCEDURAL: 4,
    Kind.REFLECTION: 5,
    Kind.SUMMARY: 6,
}
STATE_CODES = {State.ACTIVE: 1, State.ARCHIVED: 2, State.SUPERSEDED: 3, State.QUARANTINED: 4}
KINDS = {code: kind for kind, code in KIND_CODES.items()}
STATES = {code: state for state, code in STATE_CODES.items()}
RECORD_WIDTH = 25
TEXT = 22  # where the text is in a row of the block `record`
HOLDINGS = ("versions", "vectors", "links", "claims", "mentions", "feedback")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_STRICT = (
    orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
_FIXED = {"id", "tenant", "user_id", "created_at", "updated_at", "version", "uses", "used_at"}
_REVISABLE = {field.name for field in fields(MemoryRecord)} - _FIXED


def packed_id(id: str) -> bytes | None:
    """The 16 bytes of a UUID in its usual spelling, or None if it is not one."""
    try:
        packed = bytes.fromhex(id.replace("-", ""))
    except (ValueError, AttributeError):
        return None
    return packed if len(packed) == 16 else None


def required_id(id: str) -> bytes:
    """The 16 bytes of a UUID, or `InvalidInput`."""
    packed = packed_id(id)
    if packed is None:
        raise InvalidInput(f"A memory's id is a UUID; got {str(id)[:60]!r}.")
    return packed


def both_ids(packed: Any, tenant: str) -> tuple[Any, Any]:
    """How SQLite may keep an id: as it is, or with its tenant where another tenant's came first.

    Ids are unique there across all tenants, and no tenant may notice another's.
    """
    if packed is None:
        return None, None
    return packed, packed + blake2b(tenant.encode(), digest_size=8).digest()


def spelled_id(packed: bytes) -> str:
    """The UUID as text."""
    h = packed.hex()
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:32]}"


def holdings_of(row: Row | None) -> dict[str, int]:
    """What the block `holdings` counts, by name."""
    return dict(zip(HOLDINGS, row or (0,) * len(HOLDINGS), strict=True))


def micros(at: datetime) -> int:
    """Microseconds since 1970, exact."""
    return (at - _EPOCH) // _MICROSECOND


def micros_or_none(at: datetime | None) -> int | None:
    """The same of a time that there may not be."""
    return None if at is None else micros(at)


def moment(micros: int) -> datetime:
    """The time of so many microseconds, in UTC."""
    return _EPOCH + timedelta(microseconds=micros)


def json_text(what: str, value: Mapping[str, Any]) -> str:
    """The mapping as JSON, or `InvalidInput` if it holds what JSON cannot."""
    try:
        return orjson.dumps(dict(value), default=_plain, option=_STRICT).decode()
    except TypeError as error:
        raise InvalidInput(f"{what} cannot be written as JSON: {error}.") from error


def row_of(record: MemoryRecord, partition: int, derived: Row, digest_key: bytes) -> Row:
    """The values of `insert_memory`; `derived` is what the row keeps of its text."""
    id = required_id(record.id)
    heir = None if record.superseded_by is None else required_id(record.superseded_by)
    metadata = json_text("metadata", record.metadata) if record.metadata else None
    head = (KIND_CODES[record.kind], STATE_CODES[record.state])
    times = (micros(record.happened_at), micros(record.created_at), micros(record.updated_at))
    weights = (float(record.importance), float(record.trust), int(record.pinned), record.version)
    names = (record.agent_id, record.session_id, record.role, record.speaker, record.external_id)
    roots = (record.source, record.actor, record.origin)
    guarded = (*head, *times, *weights, *names, *roots, metadata, record.text)
    digest = _digest(digest_key, id, heir, (record.tenant, record.user_id), guarded)
    body = (*weights, *names, *roots, heir, digest, metadata, record.text)
    return (id, partition, *head, *times, *derived, *body)


def record_of(row: Row, owner: Owner) -> MemoryRecord:
    """The record of a row that begins with the columns of the block `record`."""
    (_, _, id, kind, state, happened, created, updated, importance, trust, pinned, version,
     agent, session, role, speaker, external, source, actor, origin, heir, metadata, text,
     uses, used) = row[:RECORD_WIDTH]  # fmt: skip
    return MemoryRecord(
        id=spelled_id(id),
        text=text,
        tenant=owner[0],
        happened_at=moment(happened),
        created_at=moment(created),
        updated_at=moment(updated),
        kind=KINDS[kind],
        state=STATES[state],
        user_id=owner[1],
        agent_id=agent,
        session_id=session,
        external_id=external,
        role=role,
        speaker=speaker,
        importance=importance,
        pinned=bool(pinned),
        source=source,
        actor=actor,
        origin=origin,
        trust=trust,
        metadata=EMPTY if metadata is None else orjson.loads(metadata),
        superseded_by=None if heir is None else spelled_id(heir),
        version=version,
        uses=uses or 0,
        used_at=None if used is None else moment(used),
    )


def row_digest(row: Row, owner: Owner, key: bytes) -> bytes:
    """What the digest of a row should be, from the columns of the block `record`.

    Empty if they are of sorts that no row has: a flipped bit can make bytes of a text.
    """
    try:
        return _digest(key, row[2][:16], row[20], owner, (*row[3:20], row[21], row[22]))
    except (AttributeError, TypeError):
        return b""


def span_of(row: Row, user: str | None) -> Span:
    """The span of a row of session, messages, first and last time."""
    session, messages, first, last = row
    return Span(session, user, messages, moment(first), moment(last))


def revised(record: MemoryRecord, changes: Mapping[str, Any], at: datetime) -> MemoryRecord:
    """The next version of a record; a clock that was set back does not make it older."""
    if unknown := changes.keys() - _REVISABLE:
        raise InvalidInput(f"These cannot be changed: {', '.join(sorted(unknown))}.")
    values = dict(changes)
    if "kind" in values:
        values["kind"] = Kind(values["kind"])
    if "state" in values:
        values["state"] = State(values["state"])
    return replace(
        record, **values, updated_at=max(at, record.updated_at), version=record.version + 1
    )


def before_text(old: MemoryRecord, changes: Mapping[str, Any]) -> str:
    """The values that a change replaces, as JSON."""
    before = {name: getattr(old, name) for name in changes}
    return values_text({n: value for n, value in before.items() if not _same(value, changes[n])})


def _same(one: Any, other: Any) -> bool:
    """Equal, and as JSON too: 1 is not true."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return same_json(one, other)
    return bool(one == other)


def values_text(values: Mapping[str, Any]) -> str:
    """Values of a record's fields, as JSON."""
    plain = dict(values)
    if "happened_at" in plain:
        plain["happened_at"] = micros(plain["happened_at"])
    return json_text("changes", plain)


def before_values(text: str) -> dict[str, Any]:
    """What `before_text` wrote, with times, kinds and states as a record holds them."""
    values: dict[str, Any] = orjson.loads(text)
    if "happened_at" in values:
        values["happened_at"] = moment(values["happened_at"])
    if "kind" in values:
        values["kind"] = Kind(values["kind"])
    if "state" in values:
        values["state"] = State(values["state"])
    return values


def _digest(key: bytes, id: bytes, heir: bytes | None, owner: Owner, values: Row) -> bytes:
    told = [id.hex(), heir and heir.hex(), *owner, *values]
    return blake2b(orjson.dumps(told), digest_size=16, key=key).digest()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Kind | State):
        return str(value)
    raise TypeError(f"a {type(value).__name__} is not a JSON value")


def readable(row: Sequence[Any]) -> list[Any]:
    """Values that a record can hold, as near to those of a damaged `record` row as can be."""
    mended = list(row)
    mended[3] = row[3] if row[3] in KINDS else KIND_CODES[Kind.EPISODIC]
    mended[4] = row[4] if row[4] in STATES else STATE_CODES[State.ACTIVE]
    mended[5:8] = [value if is_time(value) else 0 for value in row[5:8]]
    mended[8:10] = [v if isinstance(v, float) and 0 <= v <= 1 else 0.0 for v in row[8:10]]
    mended[10] = int(bool(row[10]))
    mended[11] = row[11] if isinstance(row[11], int) and 0 < row[11] < 1 << 31 else 1
    mended[20] = row[20] if isinstance(row[20], bytes) and len(row[20]) == 16 else None
    mended[21] = row[21] if _is_object(row[21]) else None
    mended[22] = row[22] or ""
    return mended


def is_time(value: Any) -> bool:
    """Whether a column holds a time."""
    try:
        moment(value)
    except (TypeError, OverflowError):
        return False
    return True


def _is_object(value: Any) -> bool:
    try:
        return isinstance(orjson.loads(value), dict)
    except (orjson.JSONDecodeError, TypeError):
        return False
