"""Writes the reference of all operations: `python -m remanence.operations.reference FILE`."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, get_type_hints

from remanence.memory import LAYERS, Memory
from remanence.model.block import BlockVersion
from remanence.model.context import Item, Part
from remanence.model.hit import Hit, Understanding
from remanence.model.memory import Related, Revision
from remanence.model.stats import Finding
from remanence.operations.operation import Group, Operation, flags
from remanence.operations.table import LEFT_OUT, OPERATIONS

HEAD = """# Reference

Every verb of the memory, made from the table in `src/remanence/operations` by `make docs`.
In Python they are methods of `Memory` and of its layers (`memory.blocks.append(…)`), and of
`AsyncMemory` when awaited; on the command line they are commands of `rem`. Every one of them
works inside one tenant, except those of scope *store*, which are for whoever runs the store.
"""
SHORTENED = re.compile(r"\b(?:[a-z_]+\.)+([A-Za-z]+)")


def reference() -> str:
    """The whole page, in Markdown."""
    parts = [HEAD]
    for group in Group:
        parts.append(f"## {group}\n")
        parts += [_section(each) for each in OPERATIONS if each.group == group]
    parts.append("## Answers\n")
    parts += [_value(each) for each in _values()]
    parts.append("## Not operations\n")
    parts += [f"- `{name}`: {reason}." for name, reason in LEFT_OUT.items()]
    return "\n".join(parts) + "\n"


def _section(operation: Operation) -> str:
    does = "writes" if operation.writes else "reads"
    lines = [
        f"### {operation.name}\n",
        f"{_doc(operation)}\n",
        f"`rem {operation.spelled}` · {does} · scope: {operation.scope}\n",
        *_requests(operation.request),
        f"Answers {_linked(operation.response)}.\n",
    ]
    return "\n".join(lines)


def _doc(operation: Operation) -> str:
    owner = LAYERS[operation.layer] if operation.layer else Memory
    return inspect.getdoc(getattr(owner, operation.verb)) or operation.summary


def _requests(request: type) -> Iterator[str]:
    if not fields(request):
        return
    hints = get_type_hints(request)
    yield "| argument | command line | type | default | |"
    yield "|---|---|---|---|---|"
    for each in sorted(fields(request), key=_optional):
        kind, default = _type(hints[each.name]), _default(each)
        about = each.metadata["help"]
        yield f"| `{each.name}` | {_flags(each)} | {kind} | {default} | {about} |"
    yield ""


def _flags(each: Field[Any]) -> str:
    return ", ".join(f"`{flag}`" for flag in flags(each)) or f"`{each.name.upper()}`"


def _values() -> list[type]:
    answers = [each.response for each in OPERATIONS]
    nested = [Hit, Understanding, Related, Revision, Finding, BlockVersion, Part, Item]
    return list(dict.fromkeys([*answers, *nested]))


def _value(answer: type) -> str:
    hints = get_type_hints(answer)
    lines = [f"- `{each.name}`: {_type(hints[each.name])}" for each in fields(answer)]
    return "\n".join([f"### {answer.__name__}\n", f"{inspect.getdoc(answer)}\n", *lines, ""])


def _linked(answer: type) -> str:
    return f"[`{answer.__name__}`](#{answer.__name__.lower()})"


def _optional(each: Field[Any]) -> bool:
    return each.default is not MISSING


def _default(each: Field[Any]) -> str:
    if each.default is MISSING:
        return "required"
    return "" if each.default in (None, ()) else f"`{each.default}`"


def _type(hint: Any) -> str:
    named = hint.__name__ if isinstance(hint, type) and not hasattr(hint, "__args__") else str(hint)
    short = SHORTENED.sub(r"\1", named).replace(" | None", "").replace(", ...", "")
    return short.replace("|", "or")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(reference(), encoding="utf-8")
