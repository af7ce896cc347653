"""Writes `docs/reference.md` from the declarations of the verbs: `make docs`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, get_type_hints

from remanence.api.verb import AnyVerb, Group, Parameter
from remanence.api.verbs.table import VERBS
from remanence.model.block import BlockVersion
from remanence.model.context import ContextItem, ContextPart
from remanence.model.hit import Hit, Understanding
from remanence.model.memory import Related, Revision
from remanence.model.stats import Finding

PAGE = Path(__file__).parents[1] / "docs" / "reference.md"
HEAD = """# Reference

Every verb of the memory, made from its declaration in `src/remanence/api/verbs` by `make docs`.
In Python they are methods of `Memory` and of its layers (`memory.blocks.append(…)`), and of
`AsyncMemory` when awaited; on the command line they are commands of `rem`. Every one of them
works inside one tenant, except those of scope *store*, which are for whoever runs the store.
"""
SHORTENED = re.compile(r"\b(?:[a-z_]+\.)+([A-Za-z]+)")


def page() -> str:
    """The whole page, in Markdown."""
    parts = [HEAD]
    for group in Group:
        parts.append(f"## {group}\n")
        parts += [_section(each) for each in VERBS if each.group == group]
    parts.append("## Answers\n")
    parts += [_value(each) for each in _values()]
    return "\n".join(parts) + "\n"


def _section(operation: AnyVerb) -> str:
    does = "writes" if operation.writes else "reads"
    lines = [
        f"### {operation.name}\n",
        f"{operation.__doc__}\n",
        f"`rem {operation.spelled}` · {does} · scope: {operation.scope}\n",
        *_requests(operation.parameters),
        f"Answers {_linked(operation.response)}.\n",
    ]
    return "\n".join(lines)


def _requests(parameters: Sequence[Parameter]) -> Iterator[str]:
    if not parameters:
        return
    yield "| argument | command line | type | default | |"
    yield "|---|---|---|---|---|"
    for each in sorted(parameters, key=lambda each: each.default is not MISSING):
        kind, default = _type(each.kind), _default(each.default)
        yield f"| `{each.name}` | {_flags(each)} | {kind} | {default} | {each.says.help} |"
    yield ""


def _flags(each: Parameter) -> str:
    return ", ".join(f"`{flag}`" for flag in each.flags) or f"`{each.name.upper()}`"


def _values() -> list[type]:
    answers = [each.response for each in VERBS]
    nested = [
        Hit,
        Understanding,
        Related,
        Revision,
        Finding,
        BlockVersion,
        ContextPart,
        ContextItem,
    ]
    return list(dict.fromkeys([*answers, *nested]))


def _value(answer: type) -> str:
    hints = get_type_hints(answer)
    lines = [f"- `{each.name}`: {_type(hints[each.name])}" for each in fields(answer)]
    return "\n".join([f"### {answer.__name__}\n", f"{inspect.getdoc(answer)}\n", *lines, ""])


def _linked(answer: type) -> str:
    return f"[`{answer.__name__}`](#{answer.__name__.lower()})"


def _default(value: Any) -> str:
    if value is MISSING:
        return "required"
    return "" if value in (None, ()) else f"`{value}`"


def _type(hint: Any) -> str:
    named = hint.__name__ if isinstance(hint, type) and not hasattr(hint, "__args__") else str(hint)
    short = SHORTENED.sub(r"\1", named).replace(" | None", "").replace(", ...", "")
    return short.replace("|", "or")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
