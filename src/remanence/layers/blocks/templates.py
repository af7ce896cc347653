"""Blocks as a part of a prompt, through Jinja2 templates that cannot leave their sandbox."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any

from remanence.errors import InvalidInput
from remanence.language.fences import disarmed
from remanence.model.block import FENCE, Block
from remanence.model.validation import text_of

if TYPE_CHECKING:
    from jinja2 import Template

MAX_TEMPLATE = 65_536
MAX_RENDERED = 1_000_000
MAX_RANGE = 10_000
# The operators by which a short template makes something endless out of little.
GROWING = frozenset(("*", "**"))
# A reader takes `< / human>` for a closing tag too, whatever invisible characters are in it.
_BLANK = r"[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A block as templates see it: `value` cannot close its fence, `raw` is what was written."""

    label: str
    value: str
    raw: str
    characters: int
    limit: int
    description: str
    read_only: bool
    version: int


def render(blocks: Sequence[Block], template: str | None) -> str:
    """The blocks through the template, or as tagged text inside <core_memory>.

    Whatever goes wrong in a template is `InvalidInput`, as is what it writes beyond the limit.
    """
    seen = shown(blocks)
    if template is None:
        return "\n".join((f"<{FENCE}>", *map(tagged, seen), f"</{FENCE}>"))
    if isinstance(template, str) and len(template) > MAX_TEMPLATE:
        raise InvalidInput(
            f"The template has {len(template):,} characters and at most {MAX_TEMPLATE:,} are taken."
        )
    source = text_of("template", template)
    try:
        return _limited(_compiled(source).generate(blocks=seen))
    except Exception as error:  # a template may raise anything, RecursionError and MemoryError too
        line = getattr(error, "lineno", None)
        where = f" (line {line})" if line else ""
        why = str(error)[:300].rstrip(".") or type(error).__name__
        raise InvalidInput(f"The template cannot be rendered{where}: {why}.") from error


def opening(seen: Shown) -> str:
    """The opening tag of a block; a description only where there is one."""
    about = f' description="{seen.description}"' if seen.description else ""
    kept = ' read_only="true"' if seen.read_only else ""
    return f'<{seen.label}{about} characters="{seen.characters}/{seen.limit}"{kept}>'


def tagged(seen: Shown) -> str:
    """A block between its tags, on lines of its own where it says something."""
    said = f"\n{seen.value}\n" if seen.value else ""
    return f"{opening(seen)}{said}</{seen.label}>"


def _limited(pieces: Iterable[str]) -> str:
    said, length = list[str](), 0
    for piece in pieces:
        said.append(piece)
        length += len(piece)
        if length > MAX_RENDERED:
            raise OverflowError(f"it writes more than {MAX_RENDERED:,} characters")
    text = "".join(said)
    text.encode()  # half a character cannot be sent to any model
    return text


@lru_cache(maxsize=32)
def _compiled(source: str) -> Template:
    from jinja2 import StrictUndefined, pass_context
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Environment(ImmutableSandboxedEnvironment):
        intercepted_binops = GROWING

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            _check_growth(operator, left, right)
            return super().call_binop(context, operator, left, right)

    environment = Environment(  # prompts are no HTML, so nothing is escaped
        autoescape=False,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        # Nothing is worked out while compiling: what is compiled is kept, however long it is.
        optimized=False,
        finalize=pass_context(lambda _context, value: value),
    )
    environment.globals["range"] = _range
    return environment.from_string(source)


def _range(*bounds: int) -> range:
    numbers = range(*bounds)
    if len(numbers) > MAX_RANGE:
        raise OverflowError(f"a range has at most {MAX_RANGE:,} numbers")
    return numbers


def _check_growth(operator: str, left: Any, right: Any) -> None:
    """Refuse an operation whose result is too large, before it is worked out."""
    if operator == "**":
        large = abs(left) > MAX_RENDERED or abs(right) > 1_000
    else:
        pairs = ((left, right), (right, left))
        sized = (str, list, tuple)
        large = any(
            isinstance(many, sized) and isinstance(times, int) and len(many) * times > MAX_RENDERED
            for many, times in pairs
        )
    if large:
        raise OverflowError(f"{operator} makes too much of what it is given")


def shown(blocks: Sequence[Block]) -> tuple[Shown, ...]:
    """The blocks as templates see them."""
    tags = _tags(blocks)
    return tuple(
        Shown(
            label=block.label,
            value=tags.sub("&lt;", disarmed(block.value)),
            raw=block.value,
            characters=block.characters,
            limit=block.limit,
            description=escape(" ".join(block.description.split())),
            read_only=block.read_only,
            version=block.version,
        )
        for block in blocks
    )


def _tags(blocks: Sequence[Block]) -> re.Pattern[str]:
    """Finds the `<` of every closing tag, and of an opening one that is named like a block."""
    names = "|".join(re.escape(name) for name in (FENCE, *(block.label for block in blocks)))
    return re.compile(rf"[<＜﹤](?={_BLANK}(?:[/／]|(?:{names})\b))", re.IGNORECASE)
