"""Every way into a server, each with a call that goes through it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from starlette.applications import Starlette

from remanence.api.verb import AnyVerb
from remanence.api.verbs.table import served
from remanence.server.mcp.server import PROMPTS
from remanence.server.mcp.tool import Tool, respelled
from remanence.server.mcp.tools import PROFILES, tools_of
from remanence.server.mem0.routes import NOT_HERE_PATHS
from support.canary_values import Fill

JSON = "application/json"
MCP_HEADERS = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2025-06-18",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, without its key."""

    method: str
    path: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def raw(self) -> bytes:
        """All that it says."""
        return b"\n".join((self.path.encode(), self.body, repr(self.headers).encode()))


@dataclass(frozen=True, slots=True)
class Door:
    """A way in. `server` names the one that has it; `harvest` what kind of ids its answers tell.

    A door that is `rare` takes long, or takes much away.
    """

    name: str
    ask: Callable[[Fill], Asked]
    server: str = "full"
    harvest: str | None = None
    rare: bool = False


def doors() -> list[Door]:
    """All of them."""
    return [
        *map(_operation, served()),
        *(
            Door(name, ask, harvest=HARVEST.get(name), rare=name in RARE or name in REFUSED)
            for name, ask in {**OTHERS, **MEM0, **REFUSED, **PROXY}.items()
        ),
        *(_tool(profile, tool) for profile in PROFILES for tool in tools_of(profile).values()),
        *(Door(f"mcp {name}", ask) for name, ask in MCP.items()),
    ]


def unknown(app: Starlette, profile: str) -> set[str]:
    """The served and tools of a server that no door leads through."""
    there = set(_served(app.routes)) | {f"{profile}:{name}" for name in tools_of(profile)}
    known = {door.name for door in doors()} | {f"{m} {path}" for m, path in _MCP_PATHS}
    known |= {f"HEAD {name.removeprefix('GET ')}" for name in known if name.startswith("GET ")}
    return there - known - {f"* {path}" for _, path in _MCP_PATHS}


def _served(found: Iterable[Any]) -> Iterator[str]:
    for each in found:
        for method in getattr(each, "methods", None) or ("*",):
            yield f"{method} {each.path}"


def _operation(route: AnyVerb) -> Door:
    name, layer = route.name, route.layer
    withheld = route.withheld

    def ask(fill: Fill) -> Asked:
        given = fill.request(name, route.request, () if _daring(fill) else [*withheld])
        path = route.path
        for part in route.in_path:
            path = path.replace(f"{{{part}}}", quote(str(given.pop(part)), safe=""))
        headers = _headers(fill) if route.writes else {}
        if route.reports and fill.chance.random() < 0.3:
            headers = {**headers, "accept": "text/event-stream"}
        if route.in_query:
            return Asked(route.method, path + _query(given), headers=headers)
        return _posted(path, given, route.method, headers)

    kind = layer if layer in ("facts", "sleep", "erasures") else ""
    harvest = kind if name in _TELLING or kind else None
    return Door(f"{route.method} {route.path}", ask, harvest=harvest, rare=name in RARE)


HARVEST = {"GET /v1/jobs": "jobs"}
_TELLING = ("add", "add_many", "find", "get", "search")
RARE = frozenset(
    {
        *("reembed", "learn.train", "facts.learn", "sleep.run", "sleep.undo_night"),
        *("POST /reset", "POST /v1/import", "GET /v1/export", "DELETE /v1/memories/"),
        *("snapshots.restore", "cleanup", "purge", "POST /memory/consolidate"),
    }
)


def _daring(fill: Fill) -> bool:
    return fill.chance.random() < 0.1


def _headers(fill: Fill) -> Mapping[str, str]:
    if fill.chance.random() < 0.15:
        return {"idempotency-key": fill.name("once").encode("ascii", "ignore").decode() or "x"}
    return {}


def _tool(profile: str, tool: Tool) -> Door:
    operation = tool.uses[0] if profile == "full" else tool.name

    def ask(fill: Fill) -> Asked:
        given = fill.request(operation, tool.asked, [*tool.withheld])
        arguments = respelled(given, tool.names)
        return _rpc(fill, "tools/call", {"name": tool.name, "arguments": arguments})

    return Door(f"{profile}:{tool.name}", ask, server=profile, rare=operation in RARE)


def _rpc(fill: Fill, method: str, params: Mapping[str, Any]) -> Asked:
    headers = dict(MCP_HEADERS)
    if fill.chance.random() < 0.4:
        headers["x-memory-user-id"] = _header(fill.user())
    asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return _posted("/mcp", asked, "POST", headers)


def _header(text: str) -> str:
    return text.encode("ascii", "ignore").decode().strip() or "x"


def _posted(
    path: str, body: Any, method: str = "POST", headers: Mapping[str, str] | None = None
) -> Asked:
    sent = {"content-type": JSON, **(headers or {})}
    return Asked(method, path, json.dumps(body).encode(), sent)


def _query(given: Mapping[str, Any]) -> str:
    plain = {n: str(v).lower() if isinstance(v, bool) else v for n, v in given.items()}
    return f"?{urlencode(plain, doseq=True)}" if plain else ""


def _get(path: str) -> Callable[[Fill], Asked]:
    return lambda fill: Asked("GET", path)


def _prefix(fill: Fill) -> str:
    """A key's prefix: the victim's, or the caller's spare one, so that it is not locked out."""
    if fill.chance.random() < 0.7:
        return fill.chance.choice(fill.victim.prefixes)
    return fill.own.prefixes[-1]


def _new_key(fill: Fill) -> Asked:
    tenant = fill.one({}, {"tenant": fill.victim.name}, {"tenant": "remanence:keys"})
    wanted = {"name": fill.content("keyname"), "grants": ["read"], **tenant}
    return _posted("/v1/admin/keys", wanted)


OTHERS: Mapping[str, Callable[[Fill], Asked]] = {
    "GET /health": _get("/health"),
    "GET /ready": _get("/ready"),
    "GET /metrics": _get("/metrics"),
    "GET /openapi.json": _get("/openapi.json"),
    "POST /memory/store": lambda fill: _posted(
        "/memory/store",
        {"context": fill.sentence("text"), "user_id": fill.user()},
    ),
    "GET /memory/retrieve": lambda fill: Asked(
        "GET", "/memory/retrieve" + _query({"q": fill.question(), "user_id": fill.user()})
    ),
    "POST /memory/consolidate": lambda fill: _posted(
        "/memory/consolidate", {"user_id": fill.user()}
    ),
    "GET /memory/stats": _get("/memory/stats"),
    "GET /v1/memories": lambda fill: Asked(
        "GET",
        "/v1/memories" + _query(fill.one({"all_users": True}, {"user_id": fill.user()})),
    ),
    "DELETE /v1/memories/{id}": lambda fill: Asked("DELETE", f"/v1/memories/{fill.id('')}"),
    "GET /v1/export": _get("/v1/export"),
    "POST /v1/import": lambda fill: Asked(
        "POST",
        "/v1/import",
        fill.own.exported.replace(
            fill.own.name.encode(), fill.one(fill.own, fill.victim).name.encode()
        ),
        {"content-type": "application/x-ndjson"},
    ),
    "GET /v1/jobs": _get("/v1/jobs"),
    "GET /v1/jobs/{id}": lambda fill: Asked("GET", f"/v1/jobs/{fill.id('jobs')}"),
    "DELETE /v1/jobs/{id}": lambda fill: Asked("DELETE", f"/v1/jobs/{fill.id('jobs')}"),
    "GET /v1/admin/keys": _get("/v1/admin/keys"),
    "POST /v1/admin/keys": _new_key,
    "POST /v1/admin/keys/{prefix}/rotate": lambda fill: _posted(
        f"/v1/admin/keys/{_prefix(fill)}/rotate", {"grace_s": 3600}
    ),
    "DELETE /v1/admin/keys/{prefix}": lambda fill: Asked(
        "DELETE", f"/v1/admin/keys/{_prefix(fill)}"
    ),
    "GET /v1/admin/audit": lambda fill: Asked("GET", "/v1/admin/audit?limit=20"),
    "GET /v1/admin/audit/verify": _get("/v1/admin/audit/verify"),
}


def _mem0_filters(fill: Fill) -> Any:
    return fill.one(
        {"user_id": fill.user()},
        {"OR": [{"user_id": "*"}, {"agent_id": fill.name("agent")}]},
        {"AND": [{"user_id": fill.user()}, {"run_id": fill.name("session")}]},
        {"user_id": "*"},
    )


def _mem0_id(pattern: str, method: str, body: Callable[[Fill], Any] | None = None) -> Any:
    def ask(fill: Fill) -> Asked:
        path = pattern.replace("{id}", fill.id(""))
        return Asked(method, path) if body is None else _posted(path, body(fill), method)

    return ask


def _mem0_add(fill: Fill) -> Any:
    return {"messages": [fill.message()], "user_id": fill.user(), "infer": False}


def _mem0_search(fill: Fill) -> Any:
    return {"query": fill.question(), "filters": _mem0_filters(fill)}


def _mem0_text(fill: Fill) -> Any:
    return {"text": fill.sentence("text")}


def _mem0_whose(path: str) -> Callable[[Fill], Asked]:
    return lambda fill: Asked("DELETE", path + _query({"user_id": fill.user()}))


def _mem0_batch(fill: Fill) -> Any:
    return {"memories": [{"memory_id": fill.id(""), "text": fill.sentence("text")}]}


def _mem0_feedback(fill: Fill) -> Any:
    return {"memory_id": fill.id(""), "feedback": "POSITIVE"}


def _entity(fill: Fill) -> Asked:
    kind, name = fill.one(("user", fill.user()), ("run", fill.name("session")))
    return Asked("DELETE", f"/v2/entities/{kind}/{quote(name, safe='')}/")


MEM0: Mapping[str, Callable[[Fill], Asked]] = {
    "GET /v1/ping/": _get("/v1/ping/"),
    "POST /v3/memories/add/": lambda f: _posted("/v3/memories/add/", _mem0_add(f)),
    "POST /v3/memories/search/": lambda f: _posted("/v3/memories/search/", _mem0_search(f)),
    "POST /v3/memories/": lambda f: _posted("/v3/memories/", {"filters": _mem0_filters(f)}),
    "GET /v1/memories/{id}/history/": _mem0_id("/v1/memories/{id}/history/", "GET"),
    "GET /v1/memories/{id}/": _mem0_id("/v1/memories/{id}/", "GET"),
    "DELETE /v1/memories/{id}/": _mem0_id("/v1/memories/{id}/", "DELETE"),
    "PUT /v1/memories/{id}/": _mem0_id("/v1/memories/{id}/", "PUT", _mem0_text),
    "DELETE /v1/memories/": _mem0_whose("/v1/memories/"),
    "PUT /v1/batch/": lambda f: _posted("/v1/batch/", _mem0_batch(f), "PUT"),
    "DELETE /v1/batch/": lambda f: _posted("/v1/batch/", _mem0_batch(f), "DELETE"),
    "GET /v1/entities/": _get("/v1/entities/"),
    "DELETE /v2/entities/{type}/{name:path}/": _entity,
    "POST /v1/feedback/": lambda f: _posted("/v1/feedback/", _mem0_feedback(f)),
    "GET /v1/events/": _get("/v1/events/"),
    "GET /v1/event/{id}/": _mem0_id("/v1/event/{id}/", "GET"),
    "POST /memories": lambda f: _posted("/memories", _mem0_add(f)),
    "GET /memories": lambda f: Asked("GET", "/memories" + _query({"user_id": f.user()})),
    "DELETE /memories": _mem0_whose("/memories"),
    "GET /memories/{id}": _mem0_id("/memories/{id}", "GET"),
    "DELETE /memories/{id}": _mem0_id("/memories/{id}", "DELETE"),
    "PUT /memories/{id}": _mem0_id("/memories/{id}", "PUT", _mem0_text),
    "GET /memories/{id}/history": _mem0_id("/memories/{id}/history", "GET"),
    "POST /search": lambda f: _posted("/search", _mem0_search(f)),
    "POST /reset": lambda f: _posted("/reset", {}),
}


def _refused(method: str, path: str) -> Callable[[Fill], Asked]:
    return lambda fill: _posted(path.replace("{rest:path}", fill.victim.name), {}, method)


REFUSED: Mapping[str, Callable[[Fill], Asked]] = {
    f"{method} {path}": _refused(method, path)
    for path in NOT_HERE_PATHS
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
}


def _chat(fill: Fill) -> Asked:
    headers = {"x-memory-user-id": _header(fill.user())}
    if fill.chance.random() < 0.5:
        headers["x-memory-session-id"] = _header(fill.name("session"))
    asked = {"role": "user", "content": fill.one(fill.question(), fill.sentence("said"))}
    body = {"model": "scripted", "messages": [asked], "stream": fill.one(True, False)}
    return _posted("/v1/chat/completions", body, "POST", headers)


PROXY: Mapping[str, Callable[[Fill], Asked]] = {
    "POST /v1/chat/completions": _chat,
    "GET /v1/models": _get("/v1/models"),
}


def _resource(fill: Fill) -> Asked:
    label = quote(fill.name("label"), safe="")
    uri = fill.one("memory://blocks", "memory://recent", f"memory://blocks/{label}")
    return _rpc(fill, "resources/read", {"uri": uri})


def _prompt(fill: Fill) -> Asked:
    prompt = fill.chance.choice(sorted(PROMPTS))
    given = {each.name: fill.question() for each in PROMPTS[prompt].arguments}
    return _rpc(fill, "prompts/get", {"name": prompt, "arguments": given})


_MCP_PATHS = (("*", "/mcp"), ("*", "/mcp/"))
MCP: Mapping[str, Callable[[Fill], Asked]] = {
    "tools/list": lambda fill: _rpc(fill, "tools/list", {}),
    "resources/list": lambda fill: _rpc(fill, "resources/list", {}),
    "resources/read": _resource,
    "prompts/list": lambda fill: _rpc(fill, "prompts/list", {}),
    "prompts/get": _prompt,
    "DELETE /mcp": lambda fill: Asked("DELETE", "/mcp", headers=MCP_HEADERS),
}
