"""The command line as a process of its own: pipes, interrupts, bytes and files."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryFile

import psutil
import pytest

from remanence.config import load_settings
from remanence.config.assembly import open_store
from remanence.model.document import Discard, Shelf
from remanence.model.scope import Reach
from remanence.testing.patience import HANG_S, until
from support.program import Program

Rem = Callable[..., "subprocess.CompletedProcess[bytes]"]
MAIN = "from remanence.cli.app import main; main()"
COMMAND = [sys.executable, "-c", MAIN]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    own = {"REMANENCE_DATABASE": str(tmp_path / "memory.db"), "REMANENCE_EMBEDDER": "none-here"}
    return {**os.environ, **own, "LC_ALL": "C"}


@pytest.fixture
def rem(tmp_path: Path, environment: dict[str, str]) -> Rem:
    def call(
        *arguments: str | bytes, stdin: bytes = b"", **more: str
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*COMMAND, *arguments],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env={**environment, **more},
            check=False,
        )

    return call


@pytest.fixture
def forked(tmp_path: Path, environment: dict[str, str]) -> Rem:
    """The command in a process that has everything loaded, where its start is not in question."""

    def call(*arguments: str, **more: str) -> subprocess.CompletedProcess[bytes]:
        with (
            TemporaryFile() as errors,
            Program(
                MAIN, *arguments, env={**environment, **more}, cwd=tmp_path, stderr=errors.fileno()
            ) as program,
        ):
            said = program.rest().encode()
            code = program.wait()
            errors.seek(0)
            return subprocess.CompletedProcess(arguments, code, said, errors.read())

    return call


def test_help_needs_neither_numpy_nor_pydantic() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from remanence.cli.app import app; "
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0; "
        "assert not {'numpy', 'pydantic', 'onnxruntime', 'apsw'} & sys.modules.keys()"
    )
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    print(f"rem --help took {time.perf_counter() - started:.2f} s")


def test_bytes_that_are_no_text_are_refused(rem: Rem) -> None:
    done = rem("add", b"odd \xff byte")
    assert done.returncode == 1
    assert b"lone surrogate" in done.stderr
    assert b"Traceback" not in done.stderr


def test_texts_leave_whole_in_any_locale(rem: Rem) -> None:
    done = rem("add", "--json", stdin="grüße 日本 🎉".encode())
    assert json.loads(done.stdout)["data"]["text"] == "grüße 日本 🎉"
    shown = rem("list")
    assert shown.returncode == 0
    assert b"\x1b[" not in shown.stdout


def test_a_pipe_without_unicode_gets_what_it_can_show(rem: Rem) -> None:
    done = rem("add", stdin="grüße 日本".encode(), PYTHONIOENCODING="cp1252")
    assert done.returncode == 0, done.stderr
    assert "grüße ??".encode("cp1252") in done.stdout
    assert rem("stats", PYTHONIOENCODING="cp1252").returncode == 0


def test_colours_are_for_terminals_and_can_be_refused(rem: Rem) -> None:
    assert b"\x1b[" in rem("get", "1", FORCE_COLOR="1").stderr
    assert b"\x1b[31m" not in rem("get", "1", FORCE_COLOR="1", NO_COLOR="1").stderr


def test_a_reader_that_leaves_early_is_no_error(
    rem: Rem, environment: dict[str, str], tmp_path: Path
) -> None:
    many = "\n".join(json.dumps({"text": f"memory {n} " * 200}) for n in range(400))
    assert rem("add-many", stdin=many.encode()).returncode == 0
    for arguments in (["list", "-k", "400"], ["list", "-k", "400", "--ndjson"], ["export", "-"]):
        with subprocess.Popen(
            [*COMMAND, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=environment,
        ) as process:
            assert process.stdout
            assert process.stderr
            process.stdout.read(100)
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait() == 0


def test_an_interrupt_ends_it_quietly(environment: dict[str, str], tmp_path: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "import", "-"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment,
    ) as process:
        assert process.stdin
        assert process.stderr
        process.stdin.write(b" ")
        process.stdin.flush()
        until(lambda: _waits_for_more(process))
        process.send_signal(signal.SIGINT)
        assert process.wait(HANG_S) == 130
        assert b"Traceback" not in process.stderr.read()


def _waits_for_more(process: subprocess.Popen[bytes]) -> bool:
    """Whether it has read all there was; a signal that comes while it is at work may be lost."""
    assert process.stdin
    unread = fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4))
    return unread == bytes(4) and psutil.Process(process.pid).status() == psutil.STATUS_SLEEPING


@pytest.mark.parametrize(("said", "code", "left"), [(b"n\n", 1, b"1\n"), (b"y\n", 0, b"0\n")])
def test_a_terminal_is_asked_before_anything_is_forgotten(
    rem: Rem, environment: dict[str, str], said: bytes, code: int, left: bytes
) -> None:
    rem("add", "precious", "-u", "ana")
    own, theirs = pty.openpty()
    os.write(own, said)
    done = subprocess.run(
        [*COMMAND, "forget", "-u", "ana"], stdin=theirs, capture_output=True, env=environment
    )
    os.close(own)
    os.close(theirs)
    assert done.returncode == code
    assert b"Forget 1 memory?" in done.stderr
    assert rem("count", "-u", "ana").stdout == left


def test_a_memory_moves_through_a_pipe(rem: Rem, tmp_path: Path) -> None:
    rem("add", "kept", "--user-id", "ana")
    file = tmp_path / "out.jsonl"
    told = json.loads(rem("export", str(file), "--json").stdout)
    nothing = dict.fromkeys(("associations", "documents", "entities", "claims", "mentions"), 0)
    assert told == {"ok": True, "data": {"memories": 1, **nothing}}
    assert file.stat().st_mode & 0o777 == 0o600
    piped = rem("export", "-")
    assert b"1 memory," in piped.stderr
    other = str(tmp_path / "other.db")
    done = json.loads(rem("--db", other, "import", "-", "--json", stdin=piped.stdout).stdout)
    assert done["data"]["memories"] == 1
    assert b"kept" in rem("--db", other, "list", "-u", "ana").stdout
    again = rem("--db", other, "import", str(file))
    assert b"1 memory and 0 documents were here already" in again.stderr


def test_a_failed_export_leaves_no_file(rem: Rem, tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_bytes(b"no database" * 1000)
    assert rem("export", "out.jsonl").returncode == 1
    assert not list(tmp_path.glob("out.jsonl*"))


def test_completion_is_offered(rem: Rem) -> None:
    done = rem("--show-completion", "bash")
    assert done.returncode in (0, 1)
    assert b"Traceback" not in done.stderr


@pytest.fixture(params=["sqlite", "postgres"])
def logged(request: pytest.FixtureRequest, forked: Rem, tmp_path: Path) -> tuple[Rem, str]:
    """A store with three entries in its audit log, and where it is."""
    place = str(tmp_path / "memory.db")
    if request.param == "postgres":
        place = str(request.getfixturevalue("postgres_url"))

    def at(*arguments: str, **more: str) -> subprocess.CompletedProcess[bytes]:
        return forked("--db", place, *arguments, **more)

    for name in ("one", "two", "three"):
        assert at("keys", "create", name, "--scope", "read").returncode == 0
    return at, place


def verified(rem: Rem, *more: str) -> tuple[int, dict[str, object]]:
    done = rem("audit", "--verify", *more, "--json")
    return done.returncode, json.loads(done.stdout)["data"]


def test_an_older_anchor_of_the_same_log_holds(logged: tuple[Rem, str]) -> None:
    rem, _ = logged
    assert rem("audit", "--anchor", "then.json").returncode == 0
    assert rem("audit", "--anchor", "then.json").returncode == 1  # earlier ones are kept
    assert rem("keys", "create", "four", "--scope", "read").returncode == 0
    code, told = verified(rem, "--against", "then.json")
    assert (code, told["entries"], told["intact"], told["first_bad"]) == (0, 4, True, None)


@pytest.mark.parametrize("body", [
    b"", b"no json", b"[]", b"null", b"{}", b"3", b'{"seq": "x"}', b"\xff\xfe", b"[" * 20_000,
    b'{"tenant": "default", "seq": NaN, "hash": "", "at": "2026-01-01T00:00:00+00:00"}',
    b'{"tenant": "default", "seq": 1e999, "hash": "", "at": "2026-01-01T00:00:00+00:00"}',
    b'{"tenant": "default", "seq": -4, "hash": "", "at": "2026-01-01T00:00:00+00:00"}',
    b'{"tenant": "default", "seq": 1, "hash": null, "at": "2026-01-01T00:00:00+00:00"}',
    b'{"tenant": "default", "seq": 1, "hash": "00", "at": "yesterday"}',
], ids=lambda body: body[:20].decode("latin-1"))  # fmt: skip
def test_a_file_that_is_no_anchor_is_refused(forked: Rem, tmp_path: Path, body: bytes) -> None:
    assert forked("keys", "create", "one", "--scope", "read").returncode == 0
    (tmp_path / "odd.json").write_bytes(body)
    done = forked("audit", "--verify", "--against", "odd.json")
    assert done.returncode == 1, done
    assert b"odd.json is no anchor; `rem audit --anchor FILE` writes one." in done.stderr
    assert b"Traceback" not in done.stderr


def test_an_anchor_that_cannot_be_read_or_written_is_told(forked: Rem, tmp_path: Path) -> None:
    assert forked("keys", "create", "one", "--scope", "read").returncode == 0
    (tmp_path / "folder").mkdir()
    for odd in ("folder", "nowhere.json", "memory.db/x.json"):
        done = forked("audit", "--verify", "--against", odd)
        assert (done.returncode == 1, b"cannot be read" in done.stderr) == (True, True), done
    for odd in ("nowhere/x.json", "memory.db/x.json"):
        done = forked("audit", "--anchor", odd)
        assert (done.returncode == 1, b"cannot be written" in done.stderr) == (True, True), done


def test_an_anchor_of_another_log_accuses_or_is_refused(
    logged: tuple[Rem, str], forked: Rem, tmp_path: Path
) -> None:
    rem, _ = logged
    assert rem("--tenant", "other", "audit", "--anchor", "other.json").returncode == 0
    done = rem("audit", "--verify", "--against", "other.json")
    assert (done.returncode, b"The anchor is of the log of" in done.stderr) == (1, True)
    elsewhere = str(tmp_path / "second.db")
    for name in ("x", "y"):
        done = forked("--db", elsewhere, "keys", "create", name, "--scope", "read")
        assert done.returncode == 0
    assert forked("--db", elsewhere, "audit", "--anchor", "second.json").returncode == 0
    code, told = verified(rem, "--against", "second.json")
    assert (code, told["intact"], told["first_bad"]) == (1, False, 2)


def test_a_log_that_was_emptied_is_found_by_its_anchor(logged: tuple[Rem, str]) -> None:
    rem, place = logged
    assert rem("audit", "--anchor", "then.json").returncode == 0
    with closing(open_store(load_settings({"database": place}))) as store:
        for shelf in (Shelf.AUDIT, Shelf.SEAL):
            found = store.documents.shelved(Reach(tenant="default"), shelf, limit=100)
            store.documents.put("default", [Discard(address=one.address) for one in found])
    assert verified(rem) == (0, {"tenant": "default", "entries": 0, "intact": True,
                                 "first_bad": None, "since": 1})  # fmt: skip
    code, told = verified(rem, "--against", "then.json")
    assert (code, told["intact"], told["first_bad"]) == (1, False, 1)
