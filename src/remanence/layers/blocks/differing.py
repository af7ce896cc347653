"""Two versions of a block as a unified diff."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff

from remanence.layers.blocks.stored import Content

SETTINGS = ("limit", "description", "read_only", "deleted")


def difference(label: str, before: Content, after: Content, names: tuple[str, str]) -> str:
    """A unified diff of the values; settings that changed stand above them. Empty if none did."""
    changed = [name for name in SETTINGS if getattr(before, name) != getattr(after, name)]
    if before.deleted or after.deleted:
        changed = ["deleted"]
    was, now = ([*_settings(side, changed), *_lines(side.value)] for side in (before, after))
    first, last = (f"{label} {name}" for name in names)
    return "\n".join(unified_diff(was, now, first, last, lineterm=""))


def _lines(value: str) -> list[str]:
    return value.split("\n") if value else []


def _settings(content: Content, names: list[str]) -> Iterator[str]:
    for name in names:
        if name != "deleted":
            yield f"[{name}: {getattr(content, name)}]"
        elif content.deleted:
            yield "[no block]"
