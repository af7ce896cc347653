"""Writes `docs/settings.md` from the settings themselves: `make docs`."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from remanence.config import (
    CONFIG_FILES,
    ENVIRONMENT_ALIASES,
    FILE_ALIASES,
    FILE_IGNORED,
    HELP,
    PREFIX,
    Settings,
)

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"
HEAD = """# Settings

A setting is looked for in this order: an argument of `Memory(…)`, the environment, a file, the
default below. This page is made from `src/remanence/config/settings.py` by `make docs`.

```python
from remanence import Memory

with Memory("agent.db", tenant="acme", max_memory_mb=32) as memory:
    assert memory.settings.max_memory_mb == 32
```

An unknown name or a value that cannot be used is refused with a `ConfigError` that says what may
have been meant. A variable `REMANENCE_…` that is like no setting may be another program's: the log
says that it has no effect.
"""
FILES = """## Files

The first of these that exists is read: the file named by the argument `config=` or by
`{prefix}CONFIG`, then {files} in the current folder, then `remanence.toml` in the user's
configuration folder. A file holds names and values:

```toml
tenant = "acme"
max_memory_mb = 32
```
"""


def page() -> str:
    """The whole page, in Markdown."""
    files = FILES.format(prefix=PREFIX, files=", ".join(f"`{name}`" for name in CONFIG_FILES))
    parts = [HEAD, "## All of them\n", _table(), files, "## Names of other systems\n", _aliases()]
    return "\n".join(parts)


def _table() -> str:
    rows = ["| argument | environment | type | default | |", "|---|---|---|---|---|"]
    for field in fields(Settings):
        shown = f"`{field.default}`" if field.default != "" else ""
        name = f"`{PREFIX}{field.name.upper()}`"
        rows.append(f"| `{field.name}` | {name} | {field.type} | {shown} | {HELP[field.name]} |")
    return "\n".join(rows) + "\n"


def _aliases() -> str:
    rows = ["| name | where | means here |", "|---|---|---|"]
    rows += [f"| `{a}` | environment | `{n}` |" for a, n in ENVIRONMENT_ALIASES.items()]
    rows += [f"| `{a}` | file | `{n}` |" for a, n in FILE_ALIASES.items()]
    rows += [
        f"| `{name}` (the rest) | file | understood, without effect |" for name in FILE_IGNORED
    ]
    note = "`USE_GPU` true means `device = auto`, false means `cpu`. Our own name wins over these."
    return "\n".join(rows) + f"\n\n{note}\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
