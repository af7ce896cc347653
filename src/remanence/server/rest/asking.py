"""A request over HTTP as the request of an operation: path, query, body and headers."""

from __future__ import annotations

import math
import re
import types
from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from typing import Any, Union, get_args, get_origin

import orjson
from starlette.requests import Request
from starlette.responses import Response

from remanence.api.values import Misfit, encoded, read
from remanence.api.verb import AnyVerb
from remanence.errors import InvalidInput
from remanence.server.rest.openapi import JSON, Endpoint, types_of

LARGE = 256 * 1024  # bytes of a body that are read in passing
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}
KEY, IF_MATCH = "idempotency-key", "if-match"
_VERSION = "version"
_KEY = re.compile(r"[!-~]{1,128}")
_TAG = re.compile(r'(?:W/)?"?([0-9]{1,15})"?')


async def asked(route: AnyVerb, request: Request) -> Any:
    """The operation's own request; `Misfit` where the shape is wrong.

    What is made of a large body is made in a thread, so that others are heard meanwhile.
    """
    raw = await request.body()
    if len(raw) > LARGE:
        return await request.app.state.calls.run(_request_in, route, request, raw)
    return _request_in(route, request, raw)


def _request_in(route: AnyVerb, request: Request, raw: bytes) -> Any:
    kind, in_query = route.request, route.in_query
    if in_query and raw:
        raise Misfit(f"{request.method} takes no body; put the fields into the query.")
    if not in_query and request.scope["query_string"]:
        raise _no_query(request)
    given = from_query(kind, request) if in_query else object_in(raw)
    for name in route.in_path:
        if name in given:
            raise Misfit(f"{name} stands in the path already.")
        given[name] = request.path_params[name]
    if KEY in request.headers:
        key = key_of(request)
        if "idempotency_key" in types_of(kind) and given.get("idempotency_key") is None:
            given["idempotency_key"] = key
    if route.versioned and IF_MATCH in request.headers:
        _add_version(given, request.headers[IF_MATCH])
    return read(kind, given)


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object of a body; an empty body is an empty object. What has one has no query."""
    raw = await request.body()
    if request.scope["query_string"]:
        raise _no_query(request)
    if len(raw) > LARGE:
        found: dict[str, Any] = await request.app.state.calls.run(object_in, raw)
        return found
    return object_in(raw)


def _no_query(request: Request) -> Misfit:
    return Misfit(f"{request.method} takes no query; put the fields into the body.")


def object_in(raw: bytes) -> dict[str, Any]:
    """The JSON object of a body, or `Misfit`; an empty body is an empty object."""
    try:
        data = orjson.loads(raw) if raw and not raw.isspace() else {}
    except orjson.JSONDecodeError as error:
        raise Misfit(f"The body is not JSON: {error}.") from error
    if not isinstance(data, dict):
        raise Misfit("The body must be a JSON object.")
    return data


def from_query(
    kind: type, request: Request, *, without: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """The fields of a request that stand in a query, as JSON would have them."""
    hints = {name: hint for name, hint in types_of(kind).items() if name not in without}
    found: dict[str, Any] = {}
    for name in request.query_params:
        values = request.query_params.getlist(name)
        if name not in hints:
            raise Misfit(f"{name} is unknown; there are {', '.join(hints) or 'none'}.")
        found[name] = _from_text(name, hints[name], values)
    return found


def _from_text(name: str, kind: Any, values: list[str]) -> Any:
    options = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    if any(get_origin(one) in (tuple, list) for one in options):
        return values
    if len(values) > 1:
        raise Misfit(f"{name} is given {len(values)} times; once is enough.")
    text = values[0]
    if bool in options:
        if text.lower() not in _TRUTHS:
            raise Misfit(f"{name} must be true or false.")
        return _TRUTHS[text.lower()]
    if int in options or float in options:
        return _number(name, text, whole=int in options)
    return text


def _number(name: str, text: str, *, whole: bool) -> int | float:
    try:
        found: int | float = int(text) if whole else float(text)
    except ValueError as error:
        raise Misfit(f"{name} must be {'a whole' if whole else 'a'} number.") from error
    if isinstance(found, float) and not math.isfinite(found):
        raise Misfit(f"{name} must be a number that is finite.")
    return found


def _add_version(given: dict[str, Any], tag: str) -> None:
    if tag == "*":
        return
    version = version_of(tag)
    if given.get(_VERSION, version) not in (None, version):
        raise InvalidInput("version and If-Match name different versions; send one of them.")
    given[_VERSION] = version


def key_of(request: Request) -> str | None:
    """The `Idempotency-Key` of a request, if it carries one."""
    key = request.headers.get(KEY)
    if key is not None and not _KEY.fullmatch(key):
        raise Misfit("Idempotency-Key must be 1 to 128 printable characters without spaces.")
    return key


def version_of(tag: str) -> int:
    """The version that an entity tag names."""
    found = _TAG.fullmatch(tag.strip())
    if found is None:
        raise Misfit('If-Match must be the ETag of a block, such as "3".')
    return int(found[1])


def answering(
    work: Callable[..., Any],
    *,
    check: Callable[[Request], object] = lambda request: None,
    reads: type | None = None,
    in_query: bool = False,
    long: bool = False,
) -> Endpoint:
    """An endpoint whose answer `work` gives, in a thread.

    It gets what its parameters name: the caller, what the app's state has, a part of the path, and
    `wanted`: a type that it `reads` from the body, or from the query. `check` refuses who may not,
    before anything of the body is read.
    """
    names = signature(work).parameters.keys()

    async def endpoint(request: Request) -> Response:
        check(request)
        state: Any = request.app.state
        given = {"caller": request.state.caller, **request.path_params}
        if request.query_params and not in_query:
            raise Misfit("This takes no query.")
        if reads is not None:
            data = from_query(reads, request) if in_query else await body_of(request)
            given["wanted"] = read(reads, data)
        do = partial(work, **{n: given[n] if n in given else getattr(state, n) for n in names})
        return answer_of(await state.calls.run(do, long=long))

    return endpoint


def answer_of(told: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer as JSON."""
    return Response(encoded(told), status, headers, JSON)
