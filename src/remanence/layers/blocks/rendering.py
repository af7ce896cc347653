"""Blocks as a part of a prompt, through Jinja2 templates that cannot leave their sandbox."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING

from remanence.errors import InvalidInput
from remanence.model.accept import text_of
from remanence.model.block import FENCE, Block
from remanence.text.fences import disarmed

if TYPE_CHECKING:
    from jinja2 import Template

MAX_TEMPLATE = 20_000
DEFAULT_TEMPLATE = """\
<core_memory>
{%- for block in blocks %}
<{{ block.label }} description="{{ block.description }}" \
characters="{{ block.characters }}/{{ block.limit }}"\
{{ ' read_only="true"' if block.read_only }}>
{%- if block.value %}
{{ block.value }}
{% endif -%}
</{{ block.label }}>
{%- endfor %}
</core_memory>"""
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
    """The blocks through the template, or as tagged text inside <core_memory>."""
    source = DEFAULT_TEMPLATE if template is None else text_of("template", template, MAX_TEMPLATE)
    from jinja2 import TemplateError

    try:
        return _compiled(source).render(blocks=shown(blocks))
    except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        line = getattr(error, "lineno", None)
        where = f" (line {line})" if line else ""
        raise InvalidInput(f"The template cannot be rendered{where}: {error}.") from error


@lru_cache(maxsize=32)
def _compiled(source: str) -> Template:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(  # prompts are no HTML, so nothing is escaped
        autoescape=False, undefined=StrictUndefined, keep_trailing_newline=True
    )
    return environment.from_string(source)


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
