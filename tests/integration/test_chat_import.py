"""`rem import chat`: histories of elsewhere become conversations here, once and whole."""

from __future__ import annotations

import io
import json
import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from remanence import Memory
from remanence.cli.app import app
from remanence.cli.transfer import ChatFormat
from remanence.errors import InvalidInput, RemanenceError, StoreBusy
from remanence.model.document import Address, Shelf
from remanence.tools.transfer import import_chat
from remanence.tools.transfer.chat import Format, files, imports
from support.places import Place, places

Rem = Callable[..., Any]


def chatgpt(id: str, *texts: str, title: str = "Tea") -> dict[str, Any]:
    nodes: dict[str, Any] = {"root": {"id": "root", "parent": None, "message": None}}
    parent = "root"
    for n, text in enumerate(texts):
        said = {
            "id": f"{id}-{n}",
            "author": {"role": "assistant" if n % 2 else "user"},
            "create_time": 1_700_000_000.25 + n,
            "content": {"content_type": "text", "parts": [text]},
            "metadata": {"model_slug": "gpt-4o"} if n % 2 else {},
        }
        nodes[f"n{n}"] = {"id": f"n{n}", "parent": parent, "message": said}
        parent = f"n{n}"
    return {"conversation_id": id, "title": title, "mapping": nodes, "current_node": parent}


def claude(id: str, *texts: str) -> dict[str, Any]:
    said = [
        {
            "uuid": f"{id}-{n}",
            "sender": "assistant" if n % 2 else "human",
            "created_at": f"2026-05-01T10:00:{n:02d}.000000Z",
            "content": [{"type": "text", "text": text}],
        }
        for n, text in enumerate(texts)
    ]
    return {"uuid": id, "name": "Coffee", "chat_messages": said}


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    with places(tmp_path, request) as made:
        yield made


@pytest.fixture(params=["sqlite", "postgres"])
def wordy(place: Place, request: pytest.FixtureRequest) -> Iterator[Memory]:
    """A memory on each store; words alone are enough here."""
    with Memory(place(request.param), embedder="no-such-model") as memory:
        yield memory


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    def write(told: Any, name: str = "conversations.json") -> Path:
        path = tmp_path / name
        path.write_bytes(told if isinstance(told, bytes) else json.dumps(told).encode())
        return path

    return write


Write = Callable[..., Path]


def test_a_history_is_found_again(memory: Memory, file: Write) -> None:
    path = file([chatgpt("c1", "Which tea calms?", "Camomile, says Ana.")])
    done = import_chat(memory, path, user_id="ana", agent_id="bot")
    assert (done.conversations, done.messages, done.present, done.skipped) == (1, 2, 0, {})
    [hit, *_] = memory.search("calming herb", user_id="ana")
    found = hit.memory
    assert (found.kind, found.session_id, found.agent_id) == ("message", "c1", "bot")
    first, second = memory.find(user_id="ana", newest_first=False)
    assert (first.external_id, first.role, first.source) == ("c1-0", "user", "chatgpt")
    assert first.happened_at.isoformat() == "2023-11-14T22:13:20.250000+00:00"
    assert (second.role, second.metadata) == ("assistant", {"model": "gpt-4o"})
    assert memory.stats().pending == 0


def test_the_title_is_kept_and_not_taken_back(wordy: Memory, file: Write) -> None:
    path = file([chatgpt("c1", "hello"), chatgpt("c2", "hello", title="\0")])
    import_chat(wordy, path, user_id="ana")
    address = Address(shelf=Shelf.CONVERSATION, name="c1", user_id="ana")
    [document] = wordy.parts.store.documents.get("default", [address])
    assert document.value["title"] == "Tea"
    import_chat(wordy, file([chatgpt("c1", "hello", title="Renamed")]), user_id="ana")
    assert wordy.parts.store.documents.get("default", [address]) == [document]


def test_again_adds_nothing_and_a_newer_export_only_what_is_new(wordy: Memory, file: Write) -> None:
    old = [chatgpt("c1", "one", "two"), claude("k1", "uno")]
    import_chat(wordy, file(old))
    again = import_chat(wordy, file(old))
    assert (again.conversations, again.messages, again.present) == (0, 0, 3)
    new = [chatgpt("c1", "one", "two", "three"), claude("k1", "uno"), claude("k2", "dos")]
    newer = import_chat(wordy, file(new))
    assert (newer.conversations, newer.messages, newer.present) == (2, 2, 3)
    told = [one.text for one in wordy.find(session_id="c1", newest_first=False)]
    assert told == ["one", "two", "three"]
    assert wordy.count() == 5


def test_what_was_forgotten_stays_so_and_what_was_erased_can_come_back(
    wordy: Memory, file: Write
) -> None:
    path = file([claude("k1", "uno", "dos")])
    import_chat(wordy, path)
    wordy.forget(session_id="k1")
    assert import_chat(wordy, path).messages == 0
    assert wordy.count() == 0
    wordy.forget(session_id="k1", erase=True)
    assert import_chat(wordy, path).messages == 2


def test_scopes_do_not_see_each_other(place: Place, file: Write) -> None:
    path = file([claude("k1", "uno", "dos")])
    for kind in ("sqlite", "postgres"):
        url = place(kind)
        tenants = [Memory(url, tenant=one, embedder="no-such-model") for one in ("a", "b")]
        with tenants[0] as a, tenants[1] as b:
            import_chat(a, path, user_id="ana")
            before = a.find(all_users=True)
            for user in ("ana", "ben", None):
                assert import_chat(b, path, user_id=user).messages == 2
            assert a.find(all_users=True) == before
            assert [a.count(all_users=True), b.count(all_users=True)] == [2, 6]


def test_a_dry_run_writes_nothing(wordy: Memory, file: Write) -> None:
    path = file([claude("k1", "uno", ""), 7])
    done = import_chat(wordy, path, dry_run=True)
    assert (done.dry_run, done.conversations, done.messages) == (True, 1, 1)
    assert done.skipped == {"without words": 1, "not a conversation": 1}
    assert wordy.count() == 0
    assert not wordy.parts.store.documents.get(
        "default", [Address(shelf=Shelf.CONVERSATION, name="k1")]
    )


def test_long_conversations_go_in_chunks(
    wordy: Memory, file: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "CHUNK", 7)
    texts = [f"turn {n}" for n in range(50)]
    assert import_chat(wordy, file([claude("k1", *texts)])).messages == 50
    assert [one.text for one in wordy.find(session_id="k1", newest_first=False)] == texts
    assert import_chat(wordy, file([claude("k1", *texts)])).present == 50


def test_messages_by_themselves_are_one_conversation(wordy: Memory, file: Write) -> None:
    said = [{"role": "user", "content": f"line {n % 5}"} for n in range(2_500)]
    path = file("\n".join(map(json.dumps, said)).encode(), "diary.jsonl")
    done = import_chat(wordy, path)
    assert (done.messages, wordy.count(session_id="diary")) == (2_500, 2_500)
    assert import_chat(wordy, path).present == 2_500


def test_summaries_are_made_when_asked_for(wordy: Memory, file: Write) -> None:
    texts = [f"Ana decided on {n} May to move to Lisbon, house {n}. " * 8 for n in range(90)]
    path = file([claude("k1", *texts)])
    assert import_chat(wordy, path).summaries == 0
    assert wordy.count(kinds="summary") == 0
    done = import_chat(wordy, path, summarise=True)
    assert (done.messages, done.summaries) == (0, wordy.count(kinds="summary"))
    assert done.summaries > 0
    assert "Lisbon" in wordy.conversations.summary("k1")
    assert import_chat(wordy, path, summarise=True).summaries == 0
    assert wordy.conversations.get("k1").title == "Coffee"


def test_one_import_at_a_time(wordy: Memory, file: Write) -> None:
    path = file([claude("k1", "uno")])

    def again(done: int, total: int) -> None:
        with pytest.raises(StoreBusy, match="Another import"):
            import_chat(wordy, path)

    assert import_chat(wordy, path, progress=again).messages == 1


def test_progress_is_told_in_hundredths(memory: Memory, file: Write) -> None:
    told: list[tuple[int, int]] = []
    path = file([claude(f"k{n}", "uno") for n in range(50)])
    import_chat(memory, path, progress=lambda done, total: told.append((done, total)))
    assert len(told) == 50
    assert told == sorted(told)
    assert told[-1] in ((99, 100), (100, 100))


def test_what_came_before_the_break_stays(wordy: Memory, file: Write) -> None:
    raw = json.dumps([claude("k1", "uno"), claude("k2", "dos", "tres")]).encode()
    with pytest.raises(InvalidInput, match="ends early"):
        import_chat(wordy, file(raw[:-40]))
    assert [one.text for one in wordy.find()] == ["uno"]
    assert import_chat(wordy, file(raw)).messages == 2


# -- zips


def zipped(path: Path, members: dict[str, bytes], **how: Any) -> Path:
    with zipfile.ZipFile(path, "w", **({"compression": zipfile.ZIP_DEFLATED} | how)) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_a_zip_is_read_where_it_is(wordy: Memory, tmp_path: Path) -> None:
    one, two = [json.dumps([claude(id, "uno")]).encode() for id in ("k1", "k2")]
    members = {
        "export/conversations-001.json": two,
        "export/conversations-000.json": one,
        "export/shared_conversations.json": b"[7]",
        "../../outside/conversations.json": json.dumps([claude("k3", "tres")]).encode(),
        "/etc/users.json": b"{}",
    }
    before = set(tmp_path.rglob("*"))
    path = zipped(tmp_path / "export.zip", members)
    assert import_chat(wordy, path).messages == 3
    made = {one for one in set(tmp_path.rglob("*")) - before if ".db" not in one.name}
    assert made == {path}


def damaged_zip(path: Path) -> Path:
    raw = bytearray(zipped(path, {"conversations.json": os.urandom(5_000)}).read_bytes())
    raw[200:220] = b"x" * 20
    path.write_bytes(raw)
    return path


def locked_zip(path: Path) -> Path:
    raw = bytearray(zipped(path, {"conversations.json": b"[]"}).read_bytes())
    raw[6] |= 1
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(raw)
    return path


def linked_zip(path: Path) -> Path:
    entry = zipfile.ZipInfo("conversations.json")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(entry, "/etc/passwd")
    return path


def lying_zip(path: Path) -> Path:
    """It says that the member is small."""
    raw = bytearray(zipped(path, {"conversations.json": b"[" + b" " * 5_000_000}).read_bytes())
    at = raw.index(b"PK\x01\x02") + 24
    raw[at : at + 4] = b"\x10\0\0\0"
    path.write_bytes(raw)
    return path


BOMB = b"[" + b" " * 50_000_000 + b"]"
ZIPS: list[tuple[Callable[[Path], Path], str]] = [
    (lambda path: zipped(path, {"chat.html": b"x"}), "no conversations.json"),
    (lambda path: zipped(path, {}), "no conversations.json"),
    (lambda path: zipped(path, {"conversations.json": BOMB}), "packed into"),
    (
        lambda path: zipped(path, {"conversations.json": BOMB}, compression=zipfile.ZIP_BZIP2),
        "packed into",
    ),
    (
        lambda path: zipped(path, {"conversations.json": b"[]"}, compression=zipfile.ZIP_LZMA),
        "not read here",
    ),
    (locked_zip, "password"),
    (linked_zip, "no conversations.json"),
    (lying_zip, "damaged"),
    (damaged_zip, "damaged|not JSON"),
    (lambda path: path.write_bytes(b"PK\x03\x04" + b"\0" * 100) and path, "damaged zip"),
]


@pytest.mark.parametrize(("make", "told"), ZIPS)
def test_zips_that_are_not_what_they_should_be(
    memory: Memory, tmp_path: Path, make: Callable[[Path], Path], told: str
) -> None:
    with pytest.raises(InvalidInput, match=told):
        import_chat(memory, make(tmp_path / "export.zip"))
    assert memory.count() == 0


def test_a_cut_off_zip_is_refused(memory: Memory, tmp_path: Path) -> None:
    whole = zipped(tmp_path / "export.zip", {"conversations.json": os.urandom(9_000)}).read_bytes()
    for keep in (5, 100, len(whole) // 2, len(whole) - 5):
        (tmp_path / "cut.zip").write_bytes(whole[:keep])
        with pytest.raises(InvalidInput):
            import_chat(memory, tmp_path / "cut.zip")


def test_a_bomb_is_measured_by_what_the_zip_says(tmp_path: Path) -> None:
    small = zipped(tmp_path / "small.zip", {"conversations.json": b"[" + b" " * 900_000 + b"]"})
    with files.parts_of(small) as parts:
        assert len(next(parts).stream.read()) == 900_002


def test_what_memory_had_put_into_the_prompt_is_not_counted_as_read(
    memory: Memory, file: Write
) -> None:
    recalled = "<memories>\nfoo\n</memories>"
    own = {"session_id": "s1", "messages": [{"role": "user", "content": recalled}]}
    path = file([claude("k1", recalled, f"{recalled}\nreal"), chatgpt("c1", recalled, "two"), own])
    first, again = (import_chat(memory, path, user_id="ana") for _ in range(2))
    assert (first.messages, again.messages, again.present) == (2, 0, 2)
    assert memory.count(user_id="ana") == 2
    assert first.skipped == again.skipped == {"only repeats what was recalled": 3}


# -- the command


@pytest.fixture
def rem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rem:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REMANENCE_DATABASE", str(tmp_path / "memory.db"))
    monkeypatch.setenv("REMANENCE_EMBEDDER", "no-such-model")
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments, stdin=None: CliRunner().invoke(app, list(arguments), input=stdin)


def data(result: Any) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["data"]


def test_the_command_counts_as_people_do_and_names_what_is_wrong(
    rem: Rem, file: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    said = {"role": "user", "content": "one", "id": "m1"}
    odd = {"role": "user", "content": "two", "mood": "glad"}
    file([{"session_id": "s1", "messages": [said, odd]}])
    done = rem("import", "chat", "conversations.json", "-u", "ana")
    [line] = done.stderr.splitlines()
    assert line.startswith("1 message of 1 conversation read; 0 were here already. Passed over: ")
    told = (
        "1 not as the format says. The first not as the format says: conversation s1: messages[1]"
    )
    assert told in line
    again = rem("import", "chat", "conversations.json", "-u", "ana")
    assert "0 messages of 0 conversations read; 1 was here already." in again.stderr


def test_the_command_says_what_a_text_is_not(rem: Rem, tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("Dear diary")
    done = rem("import", "chat", "diary.txt")
    assert done.exit_code == 1
    assert "The file is not JSON: it begins with 'Dear diary'" in done.stderr
    assert "cut off" not in done.stderr


def test_the_command_tells_what_it_did(rem: Rem, file: Write, tmp_path: Path) -> None:
    file([chatgpt("c1", "one", "two", " "), claude("k1", "uno")])
    would = rem("import", "chat", "conversations.json", "-u", "ana", "--dry-run")
    assert "3 messages of 2 conversations would be read" in would.stderr
    assert not (tmp_path / "memory.db").exists()
    done = rem("import", "chat", "conversations.json", "-u", "ana", "--agent", "bot")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "3 messages of 2 conversations read; 0 were here already." in done.stderr
    assert "Passed over: 1 without words." in done.stderr
    again = data(rem("import", "chat", "conversations.json", "-u", "ana", "--json"))
    assert (again["messages"], again["present"]) == (0, 3)
    assert again["skipped"] == {"without words": 1}
    assert again["first"][0]["message"] == "c1-2"
    piped = rem("import", "chat", "-u", "ben", "--json", stdin=json.dumps([claude("k1", "uno")]))
    assert data(piped)["messages"] == 1


def test_import_alone_still_reads_an_export(rem: Rem, file: Write) -> None:
    rem("add", "kept", "-u", "ana")
    assert rem("export", "out.jsonl").exit_code == 0
    for call in (
        ("import", "out.jsonl"),
        ("import", "--json", "out.jsonl"),
        ("import", "memories", "out.jsonl"),
        ("--db", "other.db", "import", "out.jsonl", "--tenant", "b"),
    ):
        assert rem(*call).exit_code == 0, call
    told = Path("out.jsonl").read_bytes()
    assert data(rem("import", "--db", "third.db", "--json", stdin=told))["memories"] == 1
    assert rem("import", "--help").exit_code == 0


def test_each_import_points_to_the_other(rem: Rem, file: Write) -> None:
    file([claude("k1", "uno")])
    rem("add", "kept")
    rem("export", "out.jsonl")
    refused = rem("import", "conversations.json")
    assert (refused.exit_code, "rem import chat FILE" in refused.stderr) == (1, True)
    refused = rem("import", "chat", "out.jsonl")
    assert (refused.exit_code, "`rem import FILE`" in refused.stderr) == (1, True)


def test_the_command_knows_the_formats() -> None:
    assert list(ChatFormat) == list(Format)


@pytest.mark.parametrize(
    "arguments",
    [["missing.json"], ["."], ["/dev/null"], ["conversations.json", "--user-id", "a\nb"],
     ["conversations.json", "--format", "claude"]],
)  # fmt: skip
def test_what_cannot_be_imported_is_refused_in_one_line(
    rem: Rem, file: Write, arguments: list[str]
) -> None:
    file([chatgpt("c1", "one")])
    result = rem("import", "chat", *arguments)
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("Error: ")


def test_a_fifo_is_not_waited_for(memory: Memory, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(InvalidInput, match="not a file"):
        import_chat(memory, tmp_path / "fifo")


@pytest.mark.parametrize("given", [{"format": "telegram"}, {"user_id": ""}, {"agent_id": "a\0"}])
def test_hostile_arguments(memory: Memory, given: dict[str, Any]) -> None:
    with pytest.raises(RemanenceError):
        import_chat(memory, io.BytesIO(b"[]"), **given)
    with pytest.raises(InvalidInput, match="NUL"):
        import_chat(memory, "a\0b")
