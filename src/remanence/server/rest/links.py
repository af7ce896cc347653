"""Which operations follow on which: what an answer names, and where that can be looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ID = {"id": "$response.body#/id"}
FIRST = {"id": "$response.body#/memories/0/id"}
RUN = {"id": "$response.body#/runs/0/id"}
PREFIX = {"prefix": "$response.body#/about/prefix"}
BLOCK = {"label": "$response.body#/label", "user_id": "$request.body#/user_id"}
OF_MEMORY = ("get", "update", "pin", "history", "sources", "related", "feedback", "erase")
OF_FACT = ("facts_get", "facts_confirm", "facts_correct", "facts_retract")
OF_RUN = ("sleep_show", "sleep_undo", "sleep_cancel")
OF_BLOCK = ("blocks_get", "blocks_history", "blocks_diff", "blocks_delete")
OF_SNAPSHOT = ("snapshots_get", "snapshots_diff", "snapshots_delete")
OF_NODE = ("graph_get", "graph_timeline", "graph_mentions", "graph_neighbours", "graph_erase")
NAMED = {"name": "$response.body#/name", "user_id": "$request.body#/user_id"}
OF_KEY = ("admin_rotate", "admin_revoke")

# By operation: what follows, and where its parameters stand.
LINKS: Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]] = {
    "add": (OF_MEMORY, ID),
    "memory_store": (OF_MEMORY, ID),
    "add_many": (OF_MEMORY, FIRST),
    "add_messages": (OF_MEMORY, FIRST),
    "find": (OF_MEMORY, FIRST),
    "find_all": (OF_MEMORY, FIRST),
    "facts_add": (OF_FACT, ID),
    "facts_find": (OF_FACT, {"id": "$response.body#/facts/0/id"}),
    "sleep_run": (OF_RUN, RUN),
    "sleep_log": (OF_RUN, RUN),
    "memory_consolidate": (OF_RUN, RUN),
    "blocks_create": (OF_BLOCK, BLOCK),
    "snapshots_take": (OF_SNAPSHOT, NAMED),
    "graph_add": (OF_NODE, NAMED),
    "erasures_list": (("erasures_get",), {"id": "$response.body#/erasures/0/id"}),
    "admin_create": (OF_KEY, PREFIX),
}


def add_links(document: dict[str, Any]) -> None:
    """Tell in an OpenAPI document what follows on each answer."""
    told = (operation for path in document["paths"].values() for operation in path.values())
    for operation in told:
        following, parameters = LINKS.get(operation["operationId"], ((), {}))
        links = {each: {"operationId": each, "parameters": dict(parameters)} for each in following}
        if links:
            operation["responses"]["200"]["links"] = links
