"""What can be read by address: the blocks of core memory, and the newest memories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from remanence.errors import NotFound
from remanence.server.mcp import answers, wording
from remanence.server.mcp.tool import Desk
from remanence.text.fences import Fence, fenced

BLOCKS = "memory://blocks"
BLOCK = f"{BLOCKS}/{{label}}"
RECENT = "memory://recent"
NEWEST = 20
TEXT = "text/plain"
USED = ("blocks.list", "blocks.get", "find")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A resource as a client lists it."""

    uri: str
    name: str
    about: str


def listed(desk: Desk) -> list[Listing]:
    """All there is to read, each block by its own address."""
    own = [
        Listing(
            uri=f"{BLOCKS}/{quote(block.label, safe='')}",
            name=f"block {block.label}",
            about=block.description or f"The block {block.label!r} of core memory.",
        )
        for block in desk.do("blocks.list", **_owner(desk)).blocks
    ]
    return [
        Listing(uri=BLOCKS, name="blocks", about="Core memory: every block with what it says."),
        Listing(uri=RECENT, name="recent", about=f"The {NEWEST} newest memories."),
        *own,
    ]


def text_at(desk: Desk, uri: str) -> str:
    """What stands at an address, fenced as data; `NotFound` if nothing does."""
    if uri == BLOCKS:
        shown = desk.do("blocks.list", **_owner(desk)).blocks
        return "\n\n".join(_block(each) for each in shown) or "There are no blocks."
    if uri == RECENT:
        return recent(desk)
    label = uri.removeprefix(f"{BLOCKS}/")
    if label == uri:
        raise NotFound(f"Nothing is at {uri[:200]!r}; there are {BLOCKS}, {BLOCK} and {RECENT}.")
    return _block(desk.do("blocks.get", label=unquote(label), **_owner(desk)))


def recent(desk: Desk) -> str:
    """The newest memories, a line each."""
    found = desk.do("find", limit=NEWEST, **_owner(desk))
    return wording.listed(answers.page(found, NEWEST, 0))


def _block(block: Any) -> str:
    about = f" ({block.description})" if block.description else ""
    head = f"{block.label}{about}, {len(block.value):,} of {block.limit:,} characters:"
    return f"{head}\n{fenced(Fence.CORE, block.value)}"


def _owner(desk: Desk) -> Mapping[str, str]:
    scope = desk.visitor.scope
    return {name: scope[name] for name in ("user_id", "agent_id") if name in scope}
