"""The command line, in process: every command, in all its forms, with sane and hostile input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from remanence import Memory
from remanence.api.verbs.table import VERBS
from remanence.cli import values
from remanence.cli.app import app
from remanence.cli.layer_screens import show

ROOT = Path(__file__).parents[2]
SOMEBODY = "01890000-0000-7000-8000-000000000000"

Rem = Callable[..., Any]


@pytest.fixture
def rem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rem:
    """Run `rem` on a database of the test's own; settings of the machine do not count."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REMANENCE_DATABASE", str(tmp_path / "memory.db"))
    monkeypatch.setenv("COLUMNS", "200")
    Memory(tmp_path / "memory.db").close()

    def call(*arguments: str, stdin: str | bytes | None = None) -> Any:
        return CliRunner().invoke(app, list(arguments), input=stdin)

    return call


@pytest.fixture
def wordy(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model: quicker, and everything must work by words alone."""
    monkeypatch.setenv("REMANENCE_EMBEDDER", "no-such-model")


def data(result: Any) -> Any:
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["ok"] is True
    return told["data"]


def added(rem: Rem, text: str, *more: str) -> str:
    return str(data(rem("add", text, "--json", *more))["id"])


def test_a_memory_from_beginning_to_end(rem: Rem) -> None:
    id = added(rem, "Ana moved to Lisbon", "-u", "ana", "-m", "team=sales", "--at", "2026-05-01")
    found = data(rem("search", "where does Ana live?", "-u", "ana", "--json"))
    assert [hit["memory"]["id"] for hit in found["hits"]] == [id]
    assert sum(found["hits"][0]["signals"].values()) == pytest.approx(found["hits"][0]["score"])
    assert found["hits"][0]["memory"]["happened_at"] == "2026-05-01T00:00:00Z"

    shown = rem("search", "where does Ana live?", "-u", "ana", "--explain")
    assert "Ana moved to Lisbon" in shown.stdout
    assert "▇" in shown.stdout
    assert "understood: words ana, live" in shown.stdout

    near = data(rem("similarity", id, "Ana lives in Portugal", "--json"))
    assert 0.3 < near["cosine"] < 1
    assert rem("why-not", "Lisbon", id, "-u", "ana").stdout.startswith("returned")

    assert data(rem("update", id, "-t", "Ana moved to Porto", "--json"))["version"] == 2
    history = rem("history", id, "--ndjson").stdout.splitlines()
    assert json.loads(history[1])["before"] == {"text": "Ana moved to Lisbon"}

    refused = rem("forget", id, "--erase", stdin="")
    assert (refused.exit_code, "--yes" in refused.stderr) == (1, True)
    assert data(rem("forget", id, "--erase", "--yes", "--json"))["erased"] is True
    assert rem("get", id).exit_code == 1


def test_every_list_comes_as_lines(rem: Rem, wordy: None) -> None:
    for text in ("one", "two", "three"):
        added(rem, text)
    lines = rem("list", "--ndjson").stdout.splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["three", "two", "one"]
    first = rem("list", "--no-newest-first", "-k", "1", "--ndjson").stdout
    assert json.loads(first)["text"] == "one"
    assert data(rem("count", "--json")) == {"count": 3}
    assert rem("count").stdout == "3\n"


def test_filters_and_metadata_are_pairs_or_objects(rem: Rem, wordy: None) -> None:
    added(rem, "Ana sells", "-m", "team=sales", "-m", "level=3", "-m", 'zip="007"')
    added(rem, "Ben buys", "-m", '{"team": "buying", "level": 1}')
    kept = data(rem("list", "-f", "team=sales", "--json"))["memories"]
    assert [each["metadata"] for each in kept] == [{"team": "sales", "level": 3, "zip": "007"}]
    assert data(rem("count", "-f", '{"level": {"gte": 2}}', "--json"))["count"] == 1


def test_text_and_lists_come_from_stdin(rem: Rem, wordy: None, tmp_path: Path) -> None:
    assert "from a pipe" in rem("add", stdin="from a pipe\n").stdout
    turns = [{"role": "user", "content": "hello", "id": "D1:1"}, {"role": "user", "content": "bye"}]
    lines = "\n".join(map(json.dumps, turns))
    said = data(rem("add-messages", "-s", "s1", "--json", stdin=lines))["memories"]
    assert [each["external_id"] for each in said] == ["D1:1", None]
    file = tmp_path / "many.json"
    file.write_text(json.dumps([{"text": "a"}, {"text": "b", "kind": "semantic"}]))
    assert len(data(rem("add-many", str(file), "--json"))["memories"]) == 2
    assert rem("search", "-", stdin="from a pipe").stdout


def test_memories_are_linked_and_judged(rem: Rem, wordy: None) -> None:
    a, b = added(rem, "cause"), added(rem, "effect")
    assert data(rem("associate", a, b, "-t", "leads_to", "--strength", "0.5", "--json"))
    assert "→ leads_to 0.50" in rem("related", a).stdout
    assert "← leads_to" in rem("related", b, "--direction", "in").stdout
    assert data(rem("dissociate", a, b, "--json")) == {"count": 1}
    assert rem("related", a).stdout == ""
    assert rem("feedback", a, "--useful").exit_code == 0
    assert rem("feedback", a).exit_code == 2


def test_a_dry_run_changes_nothing(rem: Rem, wordy: None) -> None:
    id = added(rem, "small talk", "-u", "ana")
    dry = rem("forget", "-u", "ana", "--dry-run")
    assert id in dry.stdout
    assert "would be archived" in dry.stderr
    assert data(rem("count", "-u", "ana", "--json"))["count"] == 1
    assert "1 memory archived" in rem("forget", "-u", "ana").stderr
    assert data(rem("count", "-u", "ana", "--state", "archived", "--json"))["count"] == 1
    assert data(rem("cleanup", "--json")) == {"dry_run": True, "memories": []}
    assert rem("forget").exit_code == 1


def test_what_a_source_brought_is_taken_back(rem: Rem, wordy: None) -> None:
    kept = added(rem, "I live in Utrecht", "-u", "ana")
    id = added(rem, "I live in Antwerp", "-u", "ana", "--source", "web")
    rem("update", kept, "--text", "I live in Ghent", "--actor", "mallory")
    dry = rem("purge", "--source", "web", "--dry-run")
    assert id in dry.stdout
    assert "1 would be taken back" in dry.stderr
    assert "in quarantine" in rem("purge", "--source", "web").stdout
    told = rem("purge", "--actor", "mallory")
    assert (kept in told.stdout, "as before" in told.stdout) == (True, True)
    assert data(rem("list", "-u", "ana", "--json"))["memories"][0]["text"] == "I live in Utrecht"
    assert rem("purge", "--source", "web", "--erase", stdin="").exit_code == 1
    gone = data(rem("purge", "--source", "web", "--erase", "--yes", "--json"))
    assert (gone["removed"], gone["receipt"]["counts"]["memories"]) == ([id], 1)
    assert rem("purge").exit_code == 1


def test_pinning_can_be_undone(rem: Rem, wordy: None) -> None:
    id = added(rem, "keep me")
    assert data(rem("pin", id, "--json"))["pinned"] is True
    assert data(rem("pin", id, "--no-pinned", "--json"))["pinned"] is False


def test_the_store_is_looked_after(rem: Rem, tmp_path: Path) -> None:
    added(rem, "kept", "-u", "ana")
    assert data(rem("stats", "--json"))["memories"] == 1
    assert "memories" in rem("stats").stdout
    assert data(rem("doctor", "--json"))["healthy"] is True
    assert data(rem("reembed", "--json")) == {"count": 0}
    copy = tmp_path / "copy.db"
    assert data(rem("backup", str(copy), "--json"))["bytes"] == copy.stat().st_size
    added(rem, "later", "-u", "ana")
    assert rem("restore", str(copy), "--yes").exit_code == 0
    assert data(rem("count", "-u", "ana", "--json"))["count"] == 1


def test_settings_say_where_they_come_from(rem: Rem, tmp_path: Path) -> None:
    assert rem("config", "--path").stdout == ""
    (tmp_path / "remanence.toml").write_text('decay = 0.9\nembedder_key = "secret"\n')
    told = data(rem("config", "--tenant", "acme", "--json"))
    origins = {each["name"]: each["origin"] for each in told["settings"]}
    assert origins["decay"] == "remanence.toml"
    assert origins["database"] == "environment"
    assert origins["tenant"] == "command line"
    assert origins["device"] == "default"
    assert "secret" not in rem("config").output
    assert rem("config", "--path").stdout.strip() == "remanence.toml"


def test_options_may_stand_before_or_after_the_command(rem: Rem, tmp_path: Path) -> None:
    other = str(tmp_path / "other.db")
    assert rem("--db", other, "add", "x", "-u", "u").exit_code == 0
    assert rem("--db", other, "count").stdout == "0\n"
    assert rem("count", "--db", other, "--tenant", "x").stdout == "0\n"
    assert Path(other).exists()


def test_reading_makes_no_database(rem: Rem, tmp_path: Path) -> None:
    for command in (["search", "x"], ["doctor"], ["stats"], ["list"], ["export"]):
        result = rem(*command, "--db", str(tmp_path / "typo.db"))
        assert (result.exit_code, "There is no database" in result.stderr) == (1, True)
    assert not (tmp_path / "typo.db").exists()


def test_no_copy_replaces_a_file_unasked(rem: Rem, tmp_path: Path, wordy: None) -> None:
    added(rem, "kept")
    other = tmp_path / "notes.txt"
    other.write_text("precious")
    for command in ("backup", "export"):
        result = rem(command, str(other))
        assert (result.exit_code, "exists already" in result.stderr) == (1, True)
        assert other.read_text() == "precious"
    assert rem("backup", str(tmp_path / "memory.db"), "--overwrite").exit_code == 1
    assert rem("backup", str(other), "--overwrite").exit_code == 0
    assert rem("export", str(other), "--overwrite").exit_code == 0
    assert data(rem("count", "--json")) == {"count": 1}


HOSTILE = [
    (["add", ""], None, 1, "text is empty"),
    (["add"], b"a\0b", 1, "NUL"),
    (["add"], b"\xff\xfe", 1, "not UTF-8"),
    (["add"], b"", 1, "text is empty"),
    (["add", "half \udcff"], None, 1, "lone surrogate"),
    (["add", "x", "--user-id", "\udcff"], None, 1, "printable"),
    (["add", "x", "--importance", "nan"], None, 1, "between 0 and 1"),
    (["add", "x", "--importance", "many"], None, 2, "valid number"),
    (["add", "x", "--kind", "rumour"], None, 1, "Unknown kind"),
    (["add", "x", "--at", "soon"], None, 1, "is no date"),
    (["add", "x", "-m", "lonely"], None, 1, "KEY=VALUE"),
    (["add", "x", "-m", "{broken"], None, 1, "not JSON"),
    (["add-many"], b'{"text": "a"}\nnonsense', 1, "Line 2"),
    (["add-many"], b"5", 1, "JSON objects"),
    (["add-many"], b"[" * 100_000, 1, "Line 1"),
    (["add-messages"], b'["hello"]', 1, "JSON objects"),
    (["add-many", "no-such-file"], None, 1, "cannot be read"),
    (["get", SOMEBODY], None, 1, "no memory"),
    (["get", "\udcff"], None, 1, "no memory"),
    (["search", "x", "--limit", "0"], None, 1, "limit"),
    (["search", "x", "--filter", "field.secret=1"], None, 1, "Unknown field"),
    (["search", "x", "-u", "a", "--all-users"], None, 1, "not both"),
    (["list", "--db", "mysql://somewhere"], None, 1, "not supported"),
    (["--config", "missing.toml", "list"], None, 1, "cannot be read"),
    (["restore", "missing.db", "--yes"], None, 1, "no backup"),
    (["export", "no/such/folder/x.jsonl"], None, 1, "No such file"),
    (["import", "missing.jsonl"], None, 1, "No such file"),
    (["bench", "recall", "--data", "missing"], None, 1, ""),
    (["nonsense"], None, 2, "No such command"),
]


@pytest.mark.parametrize(("arguments", "stdin", "code", "told"), HOSTILE)
def test_bad_input_is_refused_in_one_line(
    rem: Rem, wordy: None, arguments: list[str], stdin: bytes | None, code: int, told: str
) -> None:
    result = rem(*arguments, stdin=stdin)
    assert (result.exit_code, result.stdout) == (code, "")
    assert told in result.stderr
    assert "Traceback" not in result.stderr
    if code == 1:
        assert len(result.stderr.splitlines()) == 1


def test_errors_have_an_envelope_too(rem: Rem, wordy: None) -> None:
    for form in ("--json", "--ndjson"):
        result = rem("list", "--kind", "rumour", form)
        assert result.exit_code == 1
        told = json.loads(result.stdout)
        assert told["ok"] is False
        assert told["error"]["type"] == "InvalidInput"


def test_endless_input_is_not_read_to_its_end(
    rem: Rem, wordy: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "split it" in rem("add", stdin="x" * 2_000_000).stderr
    monkeypatch.setattr(values, "MOST_BYTES", 1000)
    assert "larger than 1,000 bytes" in rem("add", stdin="x" * 2_000).stderr


def test_another_tenants_id_is_simply_not_here(rem: Rem, wordy: None) -> None:
    id = added(rem, "mine")
    theirs = rem("get", id, "--tenant", "other")
    unknown = rem("get", SOMEBODY, "--tenant", "other")
    assert theirs.exit_code == unknown.exit_code == 1
    assert theirs.stderr.replace(id, "ID") == unknown.stderr.replace(SOMEBODY, "ID")


def test_a_file_that_is_no_store_is_refused(rem: Rem, tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_bytes(b"this is not a database" * 100)
    result = rem("list")
    assert result.exit_code == 1
    assert "not a Remanence store" in result.stderr


def test_without_a_model_words_still_find(rem: Rem, wordy: None) -> None:
    added(rem, "Ana moved to Lisbon")
    result = rem("search", "Lisbon")
    assert "Ana moved to Lisbon" in result.stdout
    assert "Searched without" in result.stderr
    missing = rem("similarity", "a", "b")
    assert missing.exit_code == 1
    assert "no-such-model" in missing.stderr


def test_stored_texts_cannot_command_the_terminal(rem: Rem, wordy: None) -> None:
    added(rem, "\x1b[2J[red]boo[/red]\x07")
    shown = rem("list").stdout
    assert "\x1b" not in shown
    assert "\\x1b[2J[red]boo[/red]\\x07" in shown


def test_long_texts_show_the_passage_that_matched(rem: Rem, wordy: None) -> None:
    added(rem, "nothing to see here. " * 60 + "The key is under the blue pot.")
    assert len(rem("search", "blue pot").stdout) < 900


def test_the_demo_runs_without_a_terminal(rem: Rem) -> None:
    result = rem("demo")
    assert result.exit_code == 0
    assert "What animals did Maya see last May?" in result.stdout
    assert "time 2025-05-01 to 2025-06-01" in result.stdout
    assert "What is known of Maya:" in result.stdout
    assert len(result.stdout.splitlines()) < 55
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = page.partition("What is known of Maya:\n")[2].partition("```")[0]
    assert shown.splitlines()
    assert shown in result.stdout


def test_every_command_has_help_and_is_documented(rem: Rem) -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    commands = {each.spelled for each in VERBS}
    commands |= {command.name for command in app.registered_commands if command.name}
    commands |= {group.name for group in app.registered_groups if group.name}
    for command in sorted(commands):
        first, *rest = command.split(" ")
        assert f"`rem {first}`" in page
        assert all(f"`{name}`" in page for name in rest), command
        assert rem(first, *rest, "--help").exit_code == 0


def test_core_memory_in_a_shell(rem: Rem, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rem("blocks", "append", "human", "Ana likes tea", "-u", "ana").exit_code == 0
    monkeypatch.setenv("EDITOR", "sed -i s/tea/coffee/")
    monkeypatch.delenv("VISUAL", raising=False)
    assert "version 2" in rem("blocks", "edit", "human", "-u", "ana").stdout
    assert "+Ana likes coffee" in rem("blocks", "diff", "human", "-u", "ana").stdout
    assert "by editor" in rem("blocks", "log", "human", "-u", "ana").stdout
    monkeypatch.setenv("EDITOR", "true")
    assert "Nothing changed" in rem("blocks", "edit", "human", "-u", "ana").stdout
    monkeypatch.setenv("EDITOR", "no-such-editor")
    assert rem("blocks", "edit", "human", "-u", "ana").exit_code == 1
    undone = data(rem("blocks", "undo", "human", "-u", "ana", "--json"))
    assert (undone["value"], undone["version"]) == ("Ana likes tea", 3)
    assert "Ana likes tea" in rem("blocks", "render", "-u", "ana").stdout
    over = rem("blocks", "rethink", "human", "x" * 2050, "-u", "ana")
    assert (over.exit_code, "2" in over.stderr) == (1, True)
    assert rem("blocks", "create", "project", "--description", "what we do").exit_code == 0
    assert "shared by all users" in rem("blocks", "get", "project").stdout
    assert data(rem("blocks", "delete", "project", "--json")) == {"done": True}
    assert "Done" in rem("blocks", "delete", "human", "-u", "ana", "--erase", "--yes").stderr


def test_what_a_person_wrote_is_kept_when_it_cannot_be_stored(
    rem: Rem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.delenv("VISUAL", raising=False)
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nhead -c 3000 /dev/zero | tr '\\0' x > $1\n")
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    refused = rem("blocks", "edit", "human", "-u", "ana")
    assert refused.exit_code == 1
    [kept] = tmp_path.glob("rem-human-*.txt")
    assert str(kept) in refused.stderr
    assert len(kept.read_text()) == 3000
    editor.write_text("#!/bin/sh\nprintf '\\377' > $1\n")
    assert "UTF-8" in rem("blocks", "edit", "human", "-u", "ana").stderr


def test_every_answer_has_a_screen() -> None:
    nothing = show.dispatch(object)
    assert [each.name for each in VERBS if show.dispatch(each.response) is nothing] == []


def test_sessions_working_memory_and_snapshots_in_a_shell(rem: Rem) -> None:
    here = ("-s", "s1", "-u", "ana")
    assert rem("session", "create", "s1", "-u", "ana", "-d", "topic=tea").exit_code == 0
    assert data(rem("session", "update", "s1", "-u", "ana", "-d", "n=3", "--json"))["data"] == {
        "topic": "tea",
        "n": 3,
    }
    assert rem("working", "set", "plan", '{"step": 2}', *here).exit_code == 0
    assert rem("working", "get", "plan", *here).stdout == '{"step":2}\n'
    assert rem("working", "get", "nothing", *here).exit_code == 1
    assert rem("snapshot", "take", "before", "-u", "ana").exit_code == 0
    assert "Done" in rem("working", "remove", "plan", *here).stderr
    assert "nothing to do" in rem("working", "remove", "plan", *here).stderr
    assert rem("snapshot", "restore", "before", "-u", "ana").exit_code == 0
    assert "plan" in rem("working", "list", *here).stdout
    refused = rem("session", "erase", "s1", "-u", "ana", stdin="")
    assert (refused.exit_code, "--yes" in refused.stderr) == (1, True)
    assert data(rem("session", "erase", "s1", "-u", "ana", "--yes", "--json")) == {"done": True}


def test_a_conversation_and_its_context_in_a_shell(rem: Rem) -> None:
    turns = [
        {"role": "user", "name": "Ana", "content": "I moved to Lisbon in March."},
        {"role": "assistant", "content": "How is it there?"},
    ]
    here = ("-s", "s1", "-u", "ana")
    assert rem("conversation", "append", *here, stdin=json.dumps(turns)).exit_code == 0
    assert "2 messages" in rem("conversation", "list", "-u", "ana").stdout
    assert "I moved to Lisbon" in rem("conversation", "window", "s1", "-u", "ana").stdout
    found = rem("conversation", "search", "Lisbon", *here, "--within", "window", "-k", "1")
    assert "I moved to Lisbon" in found.stdout
    shown = rem("context", "where does Ana live?", *here)
    assert "I moved to Lisbon" in shown.stdout
    assert "recent turn" in rem("context", "where?", *here, "--explain").stdout
    assert data(rem("context", "where?", *here, "-n", "40", "--json"))["tokens"] <= 40
    assert rem("conversation", "forget", "s1", "-u", "ana", "--erase", "--yes").exit_code == 0
    assert "Lisbon" not in rem("context", "where does Ana live?", *here).stdout


def test_a_memory_written_by_the_library_is_read_here(rem: Rem, tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embedder="no-such-model") as memory:
        memory.add("from Python", user_id="ana")
    assert "from Python" in rem("list", "--all-users").stdout
