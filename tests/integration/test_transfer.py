"""Export and import: nothing lost, nothing half-read, safe to run again."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory
from remanence.config import Settings
from remanence.errors import InvalidInput
from remanence.model import validation
from remanence.model.document import PORTABLE
from remanence.model.memory import MemoryRecord, Revision
from remanence.tools.transfer import export_memory, import_memory, imports
from remanence.tools.transfer import lines as read_lines
from support.copies import fill_documents

SHELVED = 3 * len(PORTABLE)  # documents: three on each shelf


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "filled.db", tenant="acme") as memory:
        a = memory.add(
            "Ana moved to Lisbon",
            user_id="ana",
            kind="semantic",
            metadata={"team": "sales", "deep": {"list": [1, 2.5, None, True, "ü\u2028"]}},
            importance=0.1 + 0.2,
            external_id="D1:1",
            pinned=True,
        )
        b = memory.add("line one\nline two", session_id="s", agent_id="bot", speaker="Ben")
        memory.update(a.id, text="Ana moved to Porto", actor="Ben", reason="wrong town")
        memory.update(a.id, kind="episodic", metadata={}, happened_at="2026-05-01T00:00:00+00:00")
        memory.forget(b.id)
        memory.associate(a.id, b.id, "led_to", strength=0.25)
        memory.search("Porto", user_id="ana")
        memory.stats()
        fill_documents(memory.parts.store, "acme", shelves=PORTABLE)
        yield memory


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "empty.db") as memory:
        yield memory


def exported(memory: Memory) -> bytes:
    file = io.BytesIO()
    export_memory(memory, file)
    return file.getvalue()


def lines(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def changed(data: bytes, number: int, **new: Any) -> bytes:
    told = lines(data)
    told[number - 1] |= new
    return "".join(f"{json.dumps(line)}\n" for line in told).encode()


def records(memory: Memory) -> dict[str, tuple[MemoryRecord, list[Revision]]]:
    found = [record for _, record in memory.parts.store.archive.scan(memory.tenant)]
    return {record.id: (record, memory.history(record.id)) for record in found}


def test_nothing_is_lost_but_the_tenant(filled: Memory, empty: Memory) -> None:
    done = import_memory(empty, io.BytesIO(exported(filled)))
    assert (done.memories, done.skipped, done.associations, done.dangling) == (2, 0, 1, 0)
    assert (done.documents, done.kept) == (SHELVED, 0)
    before, after = records(filled), records(empty)
    assert {id: history for id, (_, history) in before.items()} == {
        id: history for id, (_, history) in after.items()
    }
    assert lines(exported(filled))[1:] == lines(exported(empty))[1:]
    assert all(record.tenant == "default" for record, _ in after.values())


def test_what_was_imported_is_found(filled: Memory, empty: Memory) -> None:
    import_memory(empty, io.BytesIO(exported(filled)))
    [hit] = empty.search("where does Ana live?", user_id="ana")
    assert hit.memory.text == "Ana moved to Porto"
    assert hit.similarity is not None
    assert empty.stats().pending == 0


def test_an_import_can_be_run_again(filled: Memory, empty: Memory) -> None:
    data = exported(filled)
    import_memory(empty, io.BytesIO(data))
    done = import_memory(empty, io.BytesIO(data + b"\n"))
    assert (done.memories, done.skipped, done.associations) == (0, 2, 1)
    assert (done.documents, done.kept) == (0, SHELVED)
    assert empty.stats().associations == 1


def test_the_first_line_says_what_it_is(filled: Memory) -> None:
    first, *_, last = lines(exported(filled))
    assert (first["type"], first["version"]) == ("remanence-export", 3)
    assert (first["memories"], first["associations"]) == (2, 1)
    assert {n: last[n] for n in ("memories", "associations", "documents")} == {
        "memories": 2, "associations": 1, "documents": SHELVED,
    }  # fmt: skip


def test_progress_reaches_its_total(filled: Memory, empty: Memory) -> None:
    out: list[tuple[int, int]] = []
    file = io.BytesIO()
    export_memory(filled, file, lambda done, total: out.append((done, total)))
    assert out == [(1, 2), (2, 2)]
    read: list[tuple[int, int]] = []
    import_memory(
        empty, io.BytesIO(file.getvalue()), lambda done, total: read.append((done, total))
    )
    assert read[-1] == (2, 2)


def test_a_cut_off_file_is_noticed_and_its_whole_lines_kept(filled: Memory, empty: Memory) -> None:
    whole = exported(filled)
    cut = b"".join(whole.splitlines(keepends=True)[:6])
    with pytest.raises(InvalidInput, match="ends early"):
        import_memory(empty, io.BytesIO(cut))
    done = import_memory(empty, io.BytesIO(whole))
    assert done.skipped == 2


BAD = [
    ({"kind": "rumour"}, "Unknown kind"),
    ({"text": ""}, "text is empty"),
    ({"text": "a\0b"}, "NUL"),
    ({"text": "\ud800"}, "surrogate"),
    ({"id": "7"}, "UUID"),
    ({"happened_at": "2026-05-01T00:00:00"}, "time zone"),
    ({"created_at": None}, "created_at"),
    ({"importance": 2}, "between 0 and 1"),
    ({"pinned": "yes"}, "True or False"),
    ({"version": -1}, "version"),
    ({"uses": 1.5}, "uses"),
    ({"metadata": [1]}, "mapping"),
    ({"user_id": "a\nb"}, "printable"),
    ({"surprise": 1}, "Unknown field"),
    ({"type": "surprise"}, "not known"),
]


@pytest.mark.parametrize(("new", "told"), BAD)
def test_a_bad_line_is_named_and_nothing_of_its_batch_written(
    filled: Memory, empty: Memory, new: dict[str, Any], told: str
) -> None:
    with pytest.raises(InvalidInput, match=f"Line 5: .*{told}"):
        import_memory(empty, io.BytesIO(changed(exported(filled), 5, **new)))
    assert empty.stats().memories == 0


@pytest.mark.parametrize(
    ("new", "told"),
    [
        ({"at": "2026-05-01"}, "time zone"),
        ({"before": [1]}, "before must be an object"),
        ({"before": {"tenant": "x"}}, "cannot be changed"),
        ({"id": "7"}, "UUID"),
        ({"id": "01890000-0000-7000-8000-000000000000"}, "does not follow its memory"),
        ({"version": 2}, "version 2 comes after version 2"),
        ({"version": 99}, "version 99 comes after version 2 of a memory that has version"),
        ({"surprise": 1}, "Unknown field"),
    ],
)
def test_a_bad_revision_is_named(
    filled: Memory, empty: Memory, new: dict[str, Any], told: str
) -> None:
    with pytest.raises(InvalidInput, match=f"Line 4: .*{told}"):
        import_memory(empty, io.BytesIO(changed(exported(filled), 4, **new)))
    assert empty.stats().memories == 0


def test_a_revision_after_anything_else_is_refused(filled: Memory, empty: Memory) -> None:
    told = exported(filled).splitlines(keepends=True)
    with pytest.raises(InvalidInput, match=r"Line 8: The revision of .* does not follow"):
        import_memory(empty, io.BytesIO(b"".join([*told[:7], told[5], told[7]])))


def test_the_longest_history_is_read_line_by_line(
    empty: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory(tmp_path / "long.db") as memory:
        id = memory.add("x" * 500).id
        for n in range(20):
            memory.update(id, text=f"{n}" * 500)
        monkeypatch.setattr(read_lines, "MAX_LINE", 2_000)
        monkeypatch.setattr(imports, "BATCH_BYTES", 2_000)
        import_memory(empty, io.BytesIO(exported(memory)))
        assert empty.history(id) == memory.history(id)
        assert len(empty.history(id)) == 21


def test_the_longest_text_fits_a_line() -> None:
    longest = Settings(max_text=10_000_000).max_text
    escaped = json.dumps("\U0001f600")
    assert longest * len(escaped) + validation.MAX_METADATA < read_lines.MAX_LINE


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "not a file that `rem export` made"),
        (b'{"type": "entity"}\n', "not a file that `rem export` made"),
        (b'{"type": "remanence-export", "version": 4}\n', "Upgrade Remanence"),
        (b'{"type": "remanence-export", "version": [1]}\n', "Upgrade Remanence"),
        (b"\x00\xff\x80 rubbish", "Line 1 is not JSON"),
        (b"[1]\n", "Line 1 is no JSON object"),
        (b'{"type": NaN}', "Line 1 is not JSON"),
        (b"[" * 100_000, "Line 1 is not JSON"),
        (b"9" * 10_000, "Line 1 is not JSON"),
    ],
)
def test_other_files_are_refused(empty: Memory, data: bytes, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        import_memory(empty, io.BytesIO(data))


def test_a_line_without_end_is_not_read_to_its_end(
    filled: Memory, empty: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_lines, "MAX_LINE", 300)
    with pytest.raises(InvalidInput, match="Line 2 is longer than 300 bytes"):
        import_memory(empty, io.BytesIO(exported(filled)))


def test_batches_are_written_as_they_fill(
    filled: Memory, empty: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "BATCH", 1)
    with pytest.raises(InvalidInput, match="Line 5"):
        import_memory(empty, io.BytesIO(changed(exported(filled), 5, kind="rumour")))
    [(record, history)] = records(empty).values()
    assert (record.version, len(history)) == (3, 3)


def test_a_memory_twice_in_a_file_is_taken_once(filled: Memory, empty: Memory) -> None:
    told = exported(filled).splitlines(keepends=True)
    done = import_memory(empty, io.BytesIO(b"".join([*told[:4], *told[1:]])))
    assert (done.memories, done.skipped) == (2, 1)
    assert records(empty).keys() == records(filled).keys()
    assert all(len(history) == record.version for record, history in records(empty).values())


def test_an_association_that_leads_nowhere_is_counted(filled: Memory, empty: Memory) -> None:
    stray = changed(exported(filled), 7, target="01890000-0000-7000-8000-000000000000")
    done = import_memory(empty, io.BytesIO(stray))
    assert (done.associations, done.dangling) == (0, 1)


def test_another_tenants_memories_are_not_taken_over(filled: Memory, tmp_path: Path) -> None:
    data = exported(filled)
    before = filled.find(user_id="ana")
    with Memory(tmp_path / "filled.db", tenant="other") as other:
        assert import_memory(other, io.BytesIO(data)).memories == 2
        assert import_memory(other, io.BytesIO(data)).skipped == 2
        other.update(before[0].id, text="said otherwise")
    assert filled.find(user_id="ana") == before


def test_without_a_model_the_import_goes_through(filled: Memory, tmp_path: Path) -> None:
    with Memory(tmp_path / "wordy.db", embedder="no-such-model") as wordy:
        import_memory(wordy, io.BytesIO(exported(filled)))
        assert wordy.search("Porto", user_id="ana")[0].memory.text == "Ana moved to Porto"
