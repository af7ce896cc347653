"""Keys and the audit log, for whoever looks after a tenant."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request

from remanence.api.parameters import LIMIT, OFFSET, SHARE, TEXT, parameter
from remanence.api.schema import Schema
from remanence.api.verb import Grant
from remanence.config import Settings
from remanence.errors import Forbidden, NotFound
from remanence.model.validation import moment_of
from remanence.server.access.audit import Audit, AuditLog
from remanence.server.access.caller import Caller
from remanence.server.access.chain import AuditCheck
from remanence.server.access.gate import LOCAL, Gate
from remanence.server.access.keys import Key, KeyList, Keys
from remanence.server.rest import openapi
from remanence.server.rest.asking import answering
from remanence.server.rest.openapi import SCHEMAS, add_route, body_schema

TAG = "Admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key to make."""

    name: str = parameter("what it is for", ..., bounds=TEXT)
    grants: tuple[Grant, ...] = parameter("read, write, erase, admin", ...)
    tenant: str | None = parameter("whose it is; the caller's own when left out")
    trust: float = parameter("how far what it writes is trusted, 0 to 1", 1.0, bounds=SHARE)
    quarantine: bool = parameter("what it writes waits for an admin's eyes", False)
    expires_at: datetime | None = parameter("when it stops working; never after its maker's right")
    rate_limit: int | None = parameter("calls a minute; the server's own limit when left out")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """A key to replace."""

    grace_s: float = parameter("seconds for which the old one still works", 0.0)
    expires_at: datetime | None = parameter("when the new one stops working; else as the old one")


@dataclass(frozen=True, slots=True, kw_only=True)
class Paged:
    """Which part of a long list."""

    limit: int = parameter("how many at most", 100, bounds=LIMIT)
    offset: int = parameter("leave out so many first", 0, bounds=OFFSET)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedKey:
    """A new key; its text is shown here and never again."""

    key: str
    about: Key


def add_admin(app: Starlette) -> None:
    """Add /v1/admin/keys and /v1/admin/audit."""
    schema = {"type": "string", "pattern": "^[a-z2-7]{8}$"}
    prefix: Schema = {"name": "prefix", "in": "path", "required": True, "schema": schema}
    page = [openapi.parameter(Paged, each, "query") for each in fields(Paged)]
    keys, one = "/v1/admin/keys", "/v1/admin/keys/{prefix}"
    for method, path, work, about, answer, reads, parameters in (
        ("GET", keys, _list, "List keys", KeyList, None, []),
        ("POST", keys, _create, "Make a key", CreatedKey, NewKey, []),
        ("POST", f"{one}/rotate", _rotate, "Replace a key", CreatedKey, Rotation, [prefix]),
        ("DELETE", one, _revoke, "Revoke a key", Key, None, [prefix]),
        ("GET", "/v1/admin/audit", _audit, "Read the audit log", AuditLog, Paged, page),
        ("GET", "/v1/admin/audit/verify", _verify, "Check the audit log", AuditCheck, None, []),
    ):
        asks: Any = {"reads": reads, "in_query": reads is Paged, "long": work is _verify}
        in_body = None if reads in (None, Paged) else body_schema(SCHEMAS.request(reads))
        told = openapi.told(
            f"admin{work.__name__}", about, TAG, answer, parameters=parameters, body=in_body
        )
        add_route(app, path, answering(work, check=_admin, **asks), methods=[method], **told)


def _list(keys: Keys, caller: Caller) -> KeyList:
    return KeyList(keys=tuple(keys.list(None if caller.operator else caller.tenant)))


def _create(
    keys: Keys, caller: Caller, wanted: NewKey, gate: Gate, settings: Settings
) -> CreatedKey:
    """A key that lives no longer and may no more than the one it is made with."""
    tenant = wanted.tenant or caller.tenant
    if tenant != caller.tenant and not caller.operator:
        raise Forbidden("A key of another tenant can only be made by an operator.")
    made = keys.create(
        wanted.name,
        tenant=tenant,
        grants=wanted.grants,
        trust=min(wanted.trust, caller.trust) if wanted.trust <= 1 else wanted.trust,
        quarantine=wanted.quarantine,
        expires_at=_ending(wanted.expires_at, _expiry(keys, caller)),
        rate_limit=_rate(wanted.rate_limit, caller, settings.rate_limit),
        by=caller.name,
    )
    return _shown(gate, made)


def _rotate(
    keys: Keys, caller: Caller, prefix: str, wanted: Rotation, gate: Gate, settings: Settings
) -> CreatedKey:
    """A key in the place of another; whoever has its text may no more than before."""

    def within(old: Key) -> Key:
        ends = _ending(wanted.expires_at or old.expires_at, _expiry(keys, caller))
        rate = _rate(old.rate_limit, caller, settings.rate_limit)
        return replace(old, expires_at=ends, rate_limit=rate)

    _check_own(keys, caller, prefix)
    made = keys.rotate(prefix, grace_s=wanted.grace_s, by=caller.name, within=within)
    return _shown(gate, made)


def _revoke(keys: Keys, caller: Caller, prefix: str) -> Key:
    _check_own(keys, caller, prefix)
    return keys.revoke(prefix, by=caller.name)


def _audit(audit: Audit, caller: Caller, wanted: Paged) -> AuditLog:
    found = audit.list(caller.tenant, limit=wanted.limit, offset=wanted.offset)
    return AuditLog(entries=tuple(found))


def _verify(audit: Audit, caller: Caller) -> AuditCheck:
    return audit.verify(caller.tenant)


def _ending(asked: datetime | None, makers: datetime | None) -> datetime | None:
    """When a key ends: as is asked, but not after its maker's right."""
    known = None if asked is None else moment_of("expires_at", asked)
    return min((one for one in (known, makers) if one is not None), default=None)


def _expiry(keys: Keys, caller: Caller) -> datetime | None:
    """When the caller's right ends; a key's is asked anew, as it may have been replaced since."""
    kind, _, prefix = caller.name.partition(":")
    return keys.get(prefix).expires_at if kind == "key" else caller.expires_at


def _rate(wanted: int | None, caller: Caller, own: int) -> int | None:
    """The limit that is wanted, or the maker's where that is lower; 0 is none, None the server's.

    Whoever sits at the machine has none.
    """
    most = own if caller.rate_limit is None else caller.rate_limit
    asked = own if wanted is None else wanted
    higher = asked == 0 or asked > most
    return most if most and higher and caller.name != LOCAL else wanted


def _admin(request: Request) -> None:
    caller: Caller = request.state.caller
    if not caller.may(Grant.ADMIN):
        raise Forbidden("This needs a key with the scope `admin`.")
    if caller.trust < 1 or caller.quarantine:
        raise Forbidden("This needs a key of full trust.")


def _check_own(keys: Keys, caller: Caller, prefix: str) -> None:
    """Refuse a prefix that is not of a key which the caller may touch."""
    key = keys.get(prefix)
    if not caller.operator and (key.tenant != caller.tenant or key.operator):
        raise NotFound(f"There is no key {key.prefix!r}; `rem keys list` shows them.")


def _shown(gate: Gate, made: tuple[Key, str]) -> CreatedKey:
    gate.refresh()
    key, text = made
    return CreatedKey(key=text, about=key)
