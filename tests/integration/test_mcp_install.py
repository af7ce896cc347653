"""`rem mcp install`: each client's own file gains one entry and loses nothing."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from remanence.errors import InvalidInput
from remanence.server.mcp.clients import CLIENTS, Installed, install, with_block
from remanence.testing.patience import HANG_S

REM = "from remanence.cli.app import main; main()"
FILES = {
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "claude-code": ".claude.json",
    "cursor": ".cursor/mcp.json",
    "codex": ".codex/config.toml",
    "vscode": ".config/Code/User/mcp.json",
}
PROJECT = {
    "claude-code": ".mcp.json",
    "cursor": ".cursor/mcp.json",
    "codex": ".codex/config.toml",
    "vscode": ".vscode/mcp.json",
}
CODEX = """# my own settings
model = "a"

[mcp_servers.other]
command = "other"  # keep me

[mcp_servers.remanence]
command = "old"
startup_timeout_sec = 30

[mcp_servers.remanence.env]
A = "1"

[profiles.x]
model = "b"
"""


def rem(home: Path, *args: str, before: str = "") -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "HOME": str(home)}
    env.pop("XDG_CONFIG_HOME", None)
    return subprocess.run(
        [sys.executable, "-c", before + REM, "mcp", "install", *args],
        cwd=home,
        env=env,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


def servers(client: str, file: Path) -> dict[str, Any]:
    text = file.read_text(encoding="utf-8")
    whole = tomllib.loads(text) if CLIENTS[client].toml else json.loads(text)
    found: dict[str, Any] = whole[CLIENTS[client].key]
    return found


def put(client: str, file: Path, **more: Any) -> Installed:
    known = CLIENTS[client]
    return install(known, file, "remanence", known.entry("/bin/rem", ("mcp",)), **more)


@pytest.mark.parametrize("client", sorted(FILES))
def test_the_clients_own_file_is_written(client: str, tmp_path: Path) -> None:
    done = rem(tmp_path, "--client", client, "--json", "--db", "memory.db", "-u", "ana")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)["data"]
    assert told["file"] == str(tmp_path / FILES[client])
    entry = servers(client, tmp_path / FILES[client])["remanence"]
    args = entry["args"]
    assert Path(entry["command"]).is_absolute()
    assert args[args.index("--db") + 1] == str(tmp_path / "memory.db")
    assert args[args.index("mcp") :] == ["mcp", "--user-id", "ana"]
    assert entry.get("type", "stdio") == "stdio"
    again = json.loads(
        rem(tmp_path, "--client", client, "--json", "--db", "memory.db", "-u", "ana").stdout
    )
    assert again["data"]["changed"] is False


def test_a_project_has_a_file_of_its_own(tmp_path: Path) -> None:
    for client, file in PROJECT.items():
        assert rem(tmp_path, "--client", client, "--scope", "project").returncode == 0
        assert "remanence" in servers(client, tmp_path / file)
    refused = rem(tmp_path, "--client", "claude-desktop", "--scope", "project")
    assert refused.returncode == 1
    assert "leave --scope out" in refused.stderr


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    done = rem(tmp_path, "--client", "cursor", "--dry-run")
    assert json.loads(done.stdout)["mcpServers"]["remanence"]["args"][-1] == "mcp"
    assert list(tmp_path.iterdir()) == []


def test_a_password_is_not_written_into_a_clients_file(tmp_path: Path) -> None:
    address = "postgresql://ana:secret@127.0.0.1/x"
    done = rem(tmp_path, "--client", "cursor", "--db", address)
    assert done.returncode == 1
    assert "secret" not in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []


def test_all_else_in_a_json_file_stays(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    known = {
        "theme": "dark",
        "mcpServers": {"other": {"command": "x"}, "remanence": {"env": {"A": "1"}}},
    }
    file.write_text(json.dumps(known), encoding="utf-8")
    file.chmod(0o640)
    done = put("cursor", file)
    after = json.loads(file.read_text(encoding="utf-8"))
    assert after["theme"] == "dark"
    assert after["mcpServers"]["other"] == {"command": "x"}
    assert after["mcpServers"]["remanence"] == {
        "env": {"A": "1"},
        "command": "/bin/rem",
        "args": ["mcp"],
    }
    assert done.backup is not None
    assert json.loads(done.backup.read_text(encoding="utf-8")) == known
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    written = file.stat().st_mtime_ns
    assert put("cursor", file).changed is False
    assert file.stat().st_mtime_ns == written


def test_a_client_is_told_of_nothing_that_cannot_start(tmp_path: Path) -> None:
    told = rem(tmp_path, "--client", "cursor", before="import sys; sys.modules['mcp'] = None\n")
    assert told.returncode != 0
    assert "MCP is not installed: install the wheel with the extra `server`" in told.stderr
    assert not (tmp_path / FILES["cursor"]).exists()


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    put("cursor", tmp_path / "deep" / "mcp.json")
    assert stat.S_IMODE((tmp_path / "deep" / "mcp.json").stat().st_mode) == 0o600
    assert [each.name for each in (tmp_path / "deep").iterdir()] == ["mcp.json"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("{}", encoding="utf-8")
    link.symlink_to(real)
    put("cursor", link)
    assert link.is_symlink()
    assert "remanence" in servers("cursor", real)


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("vscode", '{\n  // a comment\n  "servers": {}\n}'),
        ("vscode", "[]"),
        ("vscode", '{"servers": []}'),
        ("codex", "not toml"),
        ("codex", 'mcp_servers = { other = { command = "x" } }\n'),
    ],
)
def test_what_cannot_be_changed_safely_is_left_alone(
    client: str, text: str, tmp_path: Path
) -> None:
    file = tmp_path / "config"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match="by hand"):
        put(client, file)
    assert file.read_text(encoding="utf-8") == text
    assert [each.name for each in tmp_path.iterdir()] == ["config"]


def test_comments_and_tables_of_a_toml_file_stay(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(CODEX, encoding="utf-8")
    put("codex", file)
    text = file.read_text(encoding="utf-8")
    assert tomllib.loads(text)["mcp_servers"]["remanence"] == {
        "command": "/bin/rem",
        "startup_timeout_sec": 30,
        "args": ["mcp"],
        "env": {"A": "1"},
    }
    for kept in ("# my own settings", "# keep me", "[profiles.x]", 'model = "b"'):
        assert kept in text
    assert text.count("[mcp_servers.remanence]") == 1
    assert put("codex", file).changed is False


def test_texts_are_quoted_for_toml() -> None:
    odd = 'a "quoted" \\ path\n\x7f \u00e9'
    made = with_block("", "mcp_servers", "my server", {"command": odd, "args": [odd, "mcp"]})
    assert tomllib.loads(made)["mcp_servers"]["my server"] == {"command": odd, "args": [odd, "mcp"]}
