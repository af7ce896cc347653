"""Where MCP clients keep their list of servers, and how an entry gets in and stays single."""

from __future__ import annotations

import json
import os
import re
import shutil
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import platformdirs

from remanence.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A program that speaks MCP: its files, for one user or one project, and their form.

    `key` is what its list of servers is called; `typed` entries say how they are spoken to.
    """

    name: str
    title: str
    key: str
    user: Callable[[], Path]
    project: str | None
    typed: bool = False
    toml: bool = False

    def file(self, scope: str) -> Path:
        """Where its servers are listed."""
        if scope == "user":
            return self.user()
        if self.project is None:
            raise InvalidInput(
                f"{self.title} has no list of servers per project; leave --scope out."
            )
        return Path.cwd() / self.project

    def entry(self, command: str, args: tuple[str, ...]) -> dict[str, Any]:
        """How it wants a server described."""
        own = {"type": "stdio"} if self.typed else {}
        return {**own, "command": command, "args": list(args)}


def _settings_of(name: str, file: str) -> Path:
    return platformdirs.user_config_path(name, appauthor=False, roaming=True) / file


CLIENTS: Mapping[str, Client] = {
    each.name: each
    for each in (
        Client(
            name="claude-desktop",
            title="Claude Desktop",
            key="mcpServers",
            user=partial(_settings_of, "Claude", "claude_desktop_config.json"),
            project=None,
        ),
        Client(
            name="claude-code",
            title="Claude Code",
            key="mcpServers",
            user=lambda: Path.home() / ".claude.json",
            project=".mcp.json",
            typed=True,
        ),
        Client(
            name="cursor",
            title="Cursor",
            key="mcpServers",
            user=lambda: Path.home() / ".cursor" / "mcp.json",
            project=".cursor/mcp.json",
        ),
        Client(
            name="codex",
            title="Codex",
            key="mcp_servers",
            user=lambda: Path.home() / ".codex" / "config.toml",
            project=".codex/config.toml",
            toml=True,
        ),
        Client(
            name="vscode",
            title="VS Code",
            key="servers",
            user=partial(_settings_of, "Code", "User/mcp.json"),
            project=".vscode/mcp.json",
            typed=True,
        ),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """What was done to a client's file, or would be; `backup` is the file as it was before."""

    client: str
    file: Path
    changed: bool
    dry_run: bool
    snippet: str
    backup: Path | None = None


def install(
    client: Client, file: Path, name: str, entry: Mapping[str, Any], *, dry_run: bool = False
) -> Installed:
    """Put the server into the client's file; all else in it stays, and so does a copy of it."""
    file = file.resolve()  # a link stays a link
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    snippet = _snippet(client, name, entry)
    try:
        after = (_in_toml if client.toml else _in_json)(client, before, name, entry)
    except ValueError as error:
        raise InvalidInput(
            f"{file} cannot be changed safely ({error}). Add this to it by hand:\n{snippet}"
        ) from error
    changed = after != before
    backup = _write(file, after) if changed and not dry_run else None
    told = {"client": client.name, "snippet": snippet}
    return Installed(**told, file=file, changed=changed, dry_run=dry_run, backup=backup)


def _snippet(client: Client, name: str, entry: Mapping[str, Any]) -> str:
    if client.toml:
        return toml_block(client.key, name, entry)
    return json.dumps({client.key: {name: entry}}, indent=2, ensure_ascii=False)


def _in_json(client: Client, text: str, name: str, entry: Mapping[str, Any]) -> str:
    whole = json.loads(text) if text.strip() else {}
    if not isinstance(whole, dict) or not isinstance(whole.get(client.key, {}), dict):
        raise ValueError("it is of another shape than expected")
    servers = dict(whole.get(client.key, {}))
    known = servers.get(name, {})
    wanted = {**known, **entry} if isinstance(known, dict) else dict(entry)
    if known == wanted:
        return text
    servers[name] = wanted
    return json.dumps({**whole, client.key: servers}, indent=2, ensure_ascii=False) + "\n"


def _in_toml(client: Client, text: str, name: str, entry: Mapping[str, Any]) -> str:
    whole = tomllib.loads(text)
    known = whole.get(client.key, {}).get(name, {})
    wanted = {**known, **entry}
    if known == wanted:
        return text
    after = with_block(text, client.key, name, wanted)
    expected = {**whole, client.key: {**whole.get(client.key, {}), name: wanted}}
    if tomllib.loads(after) != expected:
        raise ValueError("its servers are written in a form that is not understood")
    return after


def _write(file: Path, text: str) -> Path | None:
    """Replace the file at once, with the same permissions; new ones are the owner's alone."""
    file.parent.mkdir(parents=True, exist_ok=True)
    backup = None
    coming = file.with_name(f"{file.name}.coming")
    with open(
        os.open(coming, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
        "w",
        encoding="utf-8",
        newline="",
    ) as out:
        out.write(text)
    if file.exists():
        backup = file.with_name(f"{file.name}.bak")
        shutil.copy2(file, backup)
        shutil.copymode(file, coming)
    coming.replace(file)
    return backup


_HEADER = re.compile(r"^\s*\[")


def toml_block(key: str, name: str, entry: Mapping[str, Any]) -> str:
    """The table of one server."""
    lines = [f"{_bare(field)} = {_value(value)}" for field, value in entry.items()]
    return "\n".join([f"[{key}.{_bare(name)}]", *lines]) + "\n"


def with_block(text: str, key: str, name: str, entry: Mapping[str, Any]) -> str:
    """The text with this server's table in it, once; tables below it stay as they are."""
    lines = text.splitlines(keepends=True)
    header = re.compile(rf'^\s*\[\s*{re.escape(key)}\s*\.\s*"?{re.escape(name)}"?\s*\]')
    start = next((n for n, line in enumerate(lines) if header.match(line)), None)
    if start is None:
        gap = "\n" if text.strip() else ""
        ending = "" if not text or text.endswith("\n") else "\n"
        return f"{text}{ending}{gap}{toml_block(key, name, entry)}"
    later = (n for n in range(start + 1, len(lines)) if _HEADER.match(lines[n]))
    end = next(later, len(lines))
    flat = {field: value for field, value in entry.items() if not isinstance(value, Mapping)}
    gap = "\n" if end < len(lines) else ""
    return "".join(lines[:start]) + toml_block(key, name, flat) + gap + "".join(lines[end:])


def _bare(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_bare(each)} = {_value(item)}" for each, item in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, list):
        return f"[{', '.join(_value(item) for item in value)}]"
    if isinstance(value, str | bool | int | float):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    raise ValueError("it holds a value that cannot be written back")
