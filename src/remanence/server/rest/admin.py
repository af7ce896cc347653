"""Keys and the audit log, for whoever looks after a tenant."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from remanence.errors import Forbidden, NotFound
from remanence.model.accept import moment_of
from remanence.operations.operation import given
from remanence.operations.reading import Misfit, read
from remanence.operations.routes import Grant
from remanence.operations.schema import Schema
from remanence.server.access.audit import Audit, Entry, Verified
from remanence.server.access.caller import Caller
from remanence.server.access.gate import LOCAL
from remanence.server.access.key import Key
from remanence.server.access.keys import Keys
from remanence.server.rest import openapi
from remanence.server.rest.asking import body_of, from_query
from remanence.server.rest.router import JSON, rendered

TAG = "Admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key to make."""

    name: str = given("what it is for", ...)
    grants: tuple[Grant, ...] = given("read, write, erase, admin", ...)
    tenant: str | None = given("whose it is; the caller's own when left out")
    trust: float = given("how far what it writes is trusted, 0 to 1", 1.0)
    quarantine: bool = given("what it writes waits for an admin's eyes", False)
    expires_at: datetime | None = given("when it stops working; never after its maker's right")
    rate_limit: int | None = given("calls a minute; the server's own limit when left out")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """A key to replace."""

    grace_s: float = given("seconds for which the old one still works", 0.0)
    expires_at: datetime | None = given("when the new one stops working; else as the old one")


@dataclass(frozen=True, slots=True, kw_only=True)
class Paged:
    """Which part of a long list."""

    limit: int = given("how many at most", 100)
    offset: int = given("leave out so many first", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A new key; its text is shown here and never again."""

    key: str
    about: Key


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyList:
    """Several keys, the oldest first."""

    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLog:
    """Entries, the newest first."""

    entries: tuple[Entry, ...]


def add_admin(app: FastAPI) -> None:
    """Add /v1/admin/keys and /v1/admin/audit."""
    prefix = _in("prefix", "path", {"type": "string", "pattern": "^[a-z2-7]{8}$"})
    page = [openapi.parameter(Paged, each, "query") for each in fields(Paged)]
    for method, path, endpoint, about, answer, extra in (
        ("GET", "/v1/admin/keys", _list, "List keys", KeyList, {}),
        ("POST", "/v1/admin/keys", _create, "Make a key", Made, _body(NewKey)),
        (
            "POST",
            "/v1/admin/keys/{prefix}/rotate",
            _rotate,
            "Replace a key",
            Made,
            {**_body(Rotation), "parameters": [prefix]},
        ),
        (
            "DELETE",
            "/v1/admin/keys/{prefix}",
            _revoke,
            "Revoke a key",
            Key,
            {"parameters": [prefix]},
        ),
        ("GET", "/v1/admin/audit", _audit, "Read the audit log", AuditLog, {"parameters": page}),
        ("GET", "/v1/admin/audit/verify", _verify, "Check the audit log", Verified, {}),
    ):
        content = {JSON: {"schema": openapi.SCHEMAS.of(answer)}}
        app.add_api_route(
            path,
            endpoint,
            methods=[method],
            response_model=None,
            operation_id=f"admin{endpoint.__name__}",
            summary=about,
            tags=[TAG],
            responses={200: {"description": "Done.", "content": content}, **openapi.refusals()},
            openapi_extra=extra,
        )


async def _list(request: Request) -> Response:
    caller = _admin(request)
    keys: Keys = request.app.state.keys
    tenant = None if caller.operator else caller.tenant
    found = await request.app.state.calls.run(keys.list, tenant)
    return _told(KeyList(keys=tuple(found)))


async def _create(request: Request) -> Response:
    caller = _admin(request)
    wanted = read(NewKey, await body_of(request))
    tenant = wanted.tenant or caller.tenant
    if tenant != caller.tenant and not caller.operator:
        raise Forbidden("A key of another tenant can only be made by an operator.")
    own: int = request.app.state.settings.rate_limit
    return await _made(request, lambda keys: _new(keys, wanted, tenant, caller, own))


def _new(keys: Keys, wanted: NewKey, tenant: str, caller: Caller, own: int) -> tuple[Key, str]:
    """A key that lives no longer and may no more than the one it is made with."""
    return keys.create(
        wanted.name,
        tenant=tenant,
        grants=wanted.grants,
        trust=min(wanted.trust, caller.trust) if wanted.trust <= 1 else wanted.trust,
        quarantine=wanted.quarantine,
        expires_at=_ending(wanted.expires_at, _expiry(keys, caller)),
        rate_limit=_rate(wanted.rate_limit, caller, own),
        by=caller.name,
    )


def _renewed(
    keys: Keys, prefix: str, wanted: Rotation, caller: Caller, own: int
) -> tuple[Key, str]:
    """A key in the place of another; whoever has its text may no more than before."""

    def within(old: Key) -> Key:
        ends = _ending(wanted.expires_at or old.expires_at, _expiry(keys, caller))
        return replace(old, expires_at=ends, rate_limit=_rate(old.rate_limit, caller, own))

    return keys.rotate(prefix, grace_s=wanted.grace_s, by=caller.name, within=within)


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


async def _rotate(request: Request) -> Response:
    caller = _admin(request)
    wanted = read(Rotation, await body_of(request))
    prefix = await _own(request, caller)
    own: int = request.app.state.settings.rate_limit
    return await _made(request, lambda keys: _renewed(keys, prefix, wanted, caller, own))


async def _revoke(request: Request) -> Response:
    caller = _admin(request)
    prefix = await _own(request, caller)
    keys: Keys = request.app.state.keys
    revoked = await request.app.state.calls.run(lambda: keys.revoke(prefix, by=caller.name))
    return _told(revoked)


async def _audit(request: Request) -> Response:
    caller = _admin(request)
    page = read(Paged, from_query(Paged, request))
    audit: Audit = request.app.state.audit
    found = await request.app.state.calls.run(
        lambda: audit.list(caller.tenant, limit=page.limit, offset=page.offset)
    )
    return _told(AuditLog(entries=tuple(found)))


async def _verify(request: Request) -> Response:
    caller = _admin(request)
    audit: Audit = request.app.state.audit
    return _told(await request.app.state.calls.run(audit.verify, caller.tenant, long=True))


def _admin(request: Request) -> Caller:
    caller: Caller = request.state.caller
    if not caller.may(Grant.ADMIN):
        raise Forbidden("This needs a key with the scope `admin`.")
    if caller.trust < 1 or caller.quarantine:
        raise Forbidden("This needs a key of full trust.")
    if request.query_params and request.url.path != _AUDIT:
        raise Misfit("This takes no query.")
    return caller


async def _own(request: Request, caller: Caller) -> str:
    """The prefix in the path, if it is of a key that the caller may touch."""
    keys: Keys = request.app.state.keys
    key: Key = await request.app.state.calls.run(keys.get, request.path_params["prefix"])
    if not caller.operator and (key.tenant != caller.tenant or key.operator):
        raise NotFound(f"There is no key {key.prefix!r}; `rem keys list` shows them.")
    return key.prefix


async def _made(request: Request, make: Any) -> Response:
    key, text = await request.app.state.calls.run(make, request.app.state.keys)
    request.app.state.gate.refresh()
    return _told(Made(key=text, about=replace(key)))


def _told(answer: Any) -> Response:
    return Response(rendered(answer), media_type=JSON, headers={"cache-control": "no-store"})


def _in(name: str, where: str, schema: Schema) -> Schema:
    return {"name": name, "in": where, "required": where == "path", "schema": schema}


def _body(kind: type) -> Schema:
    schema = openapi.SCHEMAS.request(kind)
    needed = "required" in schema
    return {"requestBody": {"required": needed, "content": {JSON: {"schema": schema}}}}


_AUDIT = "/v1/admin/audit"
