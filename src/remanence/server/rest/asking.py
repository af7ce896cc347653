"""A request over HTTP as the request of an operation: path, query, body and headers."""

from __future__ import annotations

import math
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache, partial
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import orjson
from starlette.requests import Request

from remanence.errors import InvalidInput
from remanence.operations.blocks import Change
from remanence.operations.reading import Misfit, read
from remanence.operations.routes import Route

T = TypeVar("T")
LARGE = 256 * 1024  # bytes of a body that are read in passing
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}
_VERSION = "version"
_KEY = re.compile(r"[!-~]{1,128}")
_TAG = re.compile(r'(?:W/)?"?([0-9]{1,15})"?')


async def asked(route: Route, request: Request) -> Any:
    """The operation's own request; `Misfit` where the shape is wrong."""
    given: dict[str, Any] = {}
    if route.in_query:
        given |= from_query(route.operation.request, request)
        if await request.body():
            raise Misfit(f"{route.method} takes no body; put the fields into the query.")
    else:
        given |= await body_of(request)
    for name in route.in_path:
        if name in given:
            raise Misfit(f"{name} stands in the path already.")
        given[name] = request.path_params[name]
    given |= _from_headers(route, request, given)
    return await _beside(request, partial(read, route.operation.request, given))


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object of a body; an empty body is an empty object. What has one has no query."""
    if request.query_params:
        raise Misfit(f"{request.method} takes no query; put the fields into the body.")
    raw = await request.body()
    if not raw.strip():
        return {}
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip()
    if kind.lower() not in ("application/json", ""):
        raise Misfit("The body must be JSON, with the content type application/json.")
    try:
        data = await _beside(request, partial(orjson.loads, raw))
    except orjson.JSONDecodeError as error:
        raise Misfit(f"The body is not JSON: {error}.") from error
    if not isinstance(data, dict):
        raise Misfit("The body must be a JSON object.")
    return data


async def _beside(request: Request, work: Callable[[], T]) -> T:
    """What is made of a body: of a large one in a thread, so that others are heard meanwhile."""
    if len(await request.body()) <= LARGE:
        return work()
    return cast("T", await request.app.state.calls.run(work))


def from_query(
    kind: type, request: Request, *, without: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """The fields of a request that stand in a query, as JSON would have them."""
    hints = {name: hint for name, hint in _hints(kind).items() if name not in without}
    found: dict[str, Any] = {}
    for name in request.query_params:
        values = request.query_params.getlist(name)
        if name not in hints:
            raise Misfit(f"{name} is unknown; there are {', '.join(hints) or 'none'}.")
        found[name] = _from_text(name, hints[name], values)
    return found


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    hints = get_type_hints(kind)
    return {each.name: hints[each.name] for each in fields(kind)}


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


def _from_headers(route: Route, request: Request, given: Mapping[str, Any]) -> dict[str, Any]:
    """`Idempotency-Key` and `If-Match`, where the operation has a field for them."""
    known = _hints(route.operation.request)
    found: dict[str, Any] = {}
    key = key_of(request)
    if key and "idempotency_key" in known and given.get("idempotency_key") is None:
        found["idempotency_key"] = key
    wanted = request.headers.get("if-match")
    if wanted is not None and issubclass(route.operation.request, Change) and wanted != "*":
        found[_VERSION] = version_of(wanted)
        if given.get(_VERSION, found[_VERSION]) not in (None, found[_VERSION]):
            raise InvalidInput("version and If-Match name different versions; send one of them.")
    return found


def key_of(request: Request) -> str | None:
    """The `Idempotency-Key` of a request, if it carries one."""
    key = request.headers.get("idempotency-key")
    if key is not None and not _KEY.fullmatch(key):
        raise Misfit("Idempotency-Key must be 1 to 128 printable characters without spaces.")
    return key


def version_of(tag: str) -> int:
    """The version that an entity tag names."""
    found = _TAG.fullmatch(tag.strip())
    if found is None:
        raise Misfit('If-Match must be the ETag of a block, such as "3".')
    return int(found[1])
