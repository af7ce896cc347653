"""Blocks, sessions and the rest of the documents in an export: nothing lost, nothing taken back."""

from __future__ import annotations

import io
import json
import zlib
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory
from remanence.errors import InvalidInput
from remanence.layers.snapshots.section import HEADS, PARTS, packed
from remanence.model.document import OF_A_STORE, PORTABLE, Address, Put, Shelf
from remanence.testing.store_suites.making import NOW
from remanence.tools.transfer import export_memory, import_memory, imports
from remanence.tools.transfer.document_lines import check_shape
from support.copies import everything, fill_documents
from support.places import Place, places

HEADER = {"type": "remanence-export", "version": 2}
SHELVED = 4 * len(PORTABLE)  # documents: four on each shelf
BOMB = b64encode(zlib.compress(bytes(8 << 20), 9)).decode()


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    with places(tmp_path, request) as made:
        yield made


@pytest.fixture
def told(tmp_path: Path) -> bytes:
    """An export with nothing but documents."""
    file = io.BytesIO()
    with Memory(tmp_path / "source.db", tenant="acme", embedder="no-such-model") as memory:
        fill_documents(memory.parts.store, "acme", each=4, shelves=PORTABLE)
        export_memory(memory, file)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_documents_come_through_unchanged(told: bytes, place: Place, kind: str) -> None:
    with Memory(place(kind), tenant="other", embedder="no-such-model") as memory:
        done = import_memory(memory, io.BytesIO(told))
        assert (done.documents, done.kept) == (SHELVED, 0)
        file = io.BytesIO()
        export_memory(memory, file)
        there = everything(memory.parts.store).documents
    mine, theirs = (raw.splitlines()[1:] for raw in (told, file.getvalue()))
    assert sorted(mine) == sorted(theirs)
    assert {len(editions) for _, editions in there.values()} == {0, 3}
    assert {tenant for tenant, _ in there} == {"other"}


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_another_tenant_is_not_touched(told: bytes, place: Place, kind: str) -> None:
    url = place(kind)
    with (
        Memory(url, tenant="a", embedder="no-such-model") as a,
        Memory(url, tenant="b", embedder="no-such-model") as b,
    ):
        fill_documents(a.parts.store, "a", shelves=PORTABLE)
        before = everything(a.parts.store).documents
        import_memory(b, io.BytesIO(told))
        after = everything(a.parts.store).documents
        assert {at: one for at, one in after.items() if at[0] == "a"} == before


def test_what_is_here_is_not_taken_back(told: bytes, memory: Memory) -> None:
    address = Address(shelf=Shelf.BLOCK, name="block 0")
    own = memory.parts.store.documents.put(
        "default", [Put(address=address, value={"value": "own"}, at=NOW)]
    )
    done = import_memory(memory, io.BytesIO(told))
    assert (done.documents, done.kept) == (SHELVED - 1, 1)
    assert memory.parts.store.documents.get("default", [address]) == own


def test_what_is_written_meanwhile_is_not_taken_back(
    told: bytes, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, address = memory.parts.store, Address(shelf=Shelf.BLOCK, name="block 0")
    adopt, own = store.documents.adopt, {"value": "acknowledged"}

    def overtaken(*given: Any) -> None:
        monkeypatch.setattr(store.documents, "adopt", adopt)
        store.documents.put("default", [Put(address=address, value=own, at=NOW, keep=True)])
        adopt(*given)

    monkeypatch.setattr(store.documents, "adopt", overtaken)
    done = import_memory(memory, io.BytesIO(told))
    assert (done.documents, done.kept) == (SHELVED - 1, 1)
    assert [one.value for one in store.documents.get("default", [address])] == [own]
    assert len(store.documents.editions("default", address)) == 1


def test_batches_are_written_as_they_fill(
    told: bytes, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "BATCH", 3)
    cut = b"".join(told.splitlines(keepends=True)[:-3])
    with pytest.raises(InvalidInput, match="ends early"):
        import_memory(memory, io.BytesIO(cut))
    done = import_memory(memory, io.BytesIO(told))
    assert done.documents + done.kept == SHELVED
    assert done.documents <= 3


def test_an_export_of_the_first_format_is_still_read(memory: Memory) -> None:
    lines = [
        {"type": "remanence-export", "version": 1, "memories": 1, "associations": 0},
        {
            "type": "memory",
            "id": "01890000-0000-7000-8000-000000000000",
            "text": "old but good",
            "happened_at": "2026-01-01T00:00:00+00:00",
            "created_at": "2026-01-01T00:00:00+00:00",
            "updated_at": "2026-01-01T00:00:00+00:00",
        },
        {"type": "end", "memories": 1, "associations": 0},
    ]
    raw = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    done = import_memory(memory, io.BytesIO(raw))
    assert (done.memories, done.documents) == (1, 0)


BLOCK = {
    "type": "document",
    "shelf": "block",
    "name": "human",
    "value": {"value": "Ana", "limit": 10, "description": "", "read_only": False},
    "version": 3,
    "created_at": "2026-01-01T00:00:00+00:00",
    "updated_at": "2026-01-02T00:00:00+00:00",
}
EDITION = {
    "type": "edition",
    "shelf": "block",
    "name": "human",
    "version": 2,
    "verb": "append",
    "at": "2026-01-01T00:00:00+00:00",
    "value": BLOCK["value"],
}


def imported(memory: Memory, *lines: dict[str, Any]) -> Any:
    raw = "".join(f"{json.dumps(line)}\n" for line in (HEADER, *lines, {"type": "end"}))
    return import_memory(memory, io.BytesIO(raw.encode()))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"shelf": "attic"}, "Unknown shelf"),
        ({"shelf": ["block"]}, "Unknown shelf"),
        ({"shelf": None}, "Unknown shelf"),
        ({"name": None}, "needs a name"),
        ({"name": ""}, "printable"),
        ({"name": "a\0"}, "printable"),
        ({"user_id": 7}, "must be text"),
        ({"value": [1]}, "must be an object"),
        ({"value": {}}, "must be of type"),
        ({"value": BLOCK["value"] | {"limit": True}}, "must be of type int"),  # type: ignore[operator]
        ({"shelf": "session", "value": {"a": "\0"}}, "NUL"),
        ({"shelf": "session", "value": {"\0": 1}}, "NUL"),
        ({"shelf": "session", "value": {"a": "\ud800"}}, "surrogate"),
        ({"shelf": "session", "value": {"a": 2**70}}, "64 bits"),
        ({"shelf": "session", "value": {"a": [[[]]] * 3, "b": json.loads("[" * 40 + "]" * 40)}},
         "deeper"),
        ({"version": 0}, "1 or more"),
        ({"version": 2.5}, "whole number"),
        ({"created_at": "yesterday"}, "ISO 8601"),
        ({"updated_at": None}, "updated_at"),
        ({"expires_at": "2026-01-01"}, "time zone"),
        ({"tenant": "a"}, "Unknown field"),
    ],
)  # fmt: skip
def test_a_bad_document_is_named_and_not_written(
    memory: Memory, change: dict[str, Any], told: str
) -> None:
    with pytest.raises(InvalidInput, match=f"Line 2: .*{told}"):
        imported(memory, BLOCK | change)
    assert not list(memory.parts.store.documents.scan("default"))


SESSION: dict[str, Any] = {
    "agent": None, "data": {}, "version": 1, "began": "2026-01-01T00:00:00+00:00", "ended": None,
    "run": "r", "ttl_s": 60,
}  # fmt: skip
ITEM = {
    "agent": None, "value": None, "version": 1, "set_at": "2026-01-01T00:00:00+00:00",
    "importance": None, "ttl_s": 60,
}  # fmt: skip
HEAD = {"scope": {"user_id": "ana"}, "counts": {"memories": 1}, "note": None}
COPY = {"shelf": "session", "agent": None, "left_s": None, "value": SESSION}
PART = f"{PARTS}x"
GOOD: list[tuple[str, str | None, str, dict[str, Any]]] = [
    ("session", None, "s", SESSION),
    ("working", "s", "k", ITEM),
    ("conversation", None, "s", {"title": "T"}),
    ("snapshot", HEADS, "kept", HEAD),
    ("snapshot", PART, "memories.0", {"active": packed({})}),
    ("snapshot", PART, "blocks.0", {"blocks": [["block", "b", None, None, 1, NOW.isoformat()]]}),
    ("snapshot", PART, "documents.late-x", {"documents": [["session", "s", None, None]]}),
    ("snapshot", "s", "copy", COPY),
]
BAD: list[tuple[str, str | None, str, dict[str, Any]]] = [
    *(("session", None, "s", {n: v for n, v in SESSION.items() if n != name}) for name in SESSION),
    ("session", None, "s", SESSION | {"ttl_s": 1e300}),
    ("session", None, "s", SESSION | {"ttl_s": None}),
    ("session", None, "s", SESSION | {"data": []}),
    ("session", None, "s", SESSION | {"version": "1"}),
    ("session", None, "s", SESSION | {"agent": 5}),
    ("session", None, "s", SESSION | {"began": "2026-01-01"}),
    ("session", None, "s", SESSION | {"ended": 5}),
    *(("working", "s", "k", {n: v for n, v in ITEM.items() if n != name}) for name in ITEM),
    ("working", "s", "k", ITEM | {"ttl_s": 1e300}),
    ("working", "s", "k", ITEM | {"importance": 2}),
    ("conversation", None, "s", {"title": 5}),
    ("conversation", None, "s", {"metadata": "abc"}),
    ("conversation", None, "s", {"agent_id": ["x"]}),
    ("snapshot", HEADS, "kept", {"scope": {}}),
    ("snapshot", HEADS, "kept", HEAD | {"scope": {"user_id": "bob"}}),
    ("snapshot", HEADS, "kept", HEAD | {"scope": {"all_users": True}}),
    ("snapshot", HEADS, "kept", HEAD | {"counts": {"memories": None}}),
    ("snapshot", PART, "attic.0", {}),
    ("snapshot", PART, "memories.0", {"active": "?"}),
    ("snapshot", PART, "memories.0", {"active": BOMB}),
    ("snapshot", PART, "memories.0", {"all": packed({})}),
    ("snapshot", PART, "blocks.0", {"blocks": [1]}),
    ("snapshot", PART, "documents.0", {"documents": [["block", "b", None, None]]}),
    ("snapshot", "s", "copy", COPY | {"value": {}}),
    ("snapshot", "s", "copy", COPY | {"shelf": "snapshot", "value": COPY}),
    ("snapshot", "s", "copy", COPY | {"left_s": "soon"}),
    ("snapshot", None, "copy", {}),
]


def shelved(shelf: str, session_id: str | None, name: str, value: dict[str, Any]) -> dict[str, Any]:
    place = {"shelf": shelf, "session_id": session_id, "name": name, "user_id": "ana"}
    return BLOCK | place | {"value": value}


def test_what_the_layers_put_is_taken(memory: Memory) -> None:
    assert imported(memory, *(shelved(*one) for one in GOOD)).documents == len(GOOD)


@pytest.mark.parametrize("given", BAD)
def test_what_the_layers_could_not_read_is_refused(
    memory: Memory, given: tuple[str, str | None, str, dict[str, Any]]
) -> None:
    with pytest.raises(InvalidInput, match=r"Line 2: .* is not as it should be"):
        imported(memory, shelved(*given))
    assert not list(memory.parts.store.documents.scan("default"))


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([EDITION], "does not follow"),
        ([BLOCK | {"name": "other"}, EDITION], "does not follow"),
        ([BLOCK, EDITION, EDITION], "comes after version 2"),
        ([BLOCK, EDITION | {"version": 4}], "has version 3"),
        ([BLOCK, EDITION | {"version": 0}], "version 0"),
        ([BLOCK, EDITION | {"verb": ""}], "verb is empty"),
        ([BLOCK, EDITION | {"value": 7}], "must be an object"),
        ([BLOCK, EDITION | {"surprise": 7}], "Unknown field"),
    ],
)
def test_a_bad_edition_is_named(memory: Memory, lines: list[dict[str, Any]], told: str) -> None:
    with pytest.raises(InvalidInput, match=f"Line {len(lines) + 1}: .*{told}"):
        imported(memory, *lines)
    assert not list(memory.parts.store.documents.scan("default"))


def test_a_document_twice_in_a_file_is_taken_once(memory: Memory) -> None:
    done = imported(memory, BLOCK, EDITION, BLOCK, EDITION)
    assert (done.documents, done.kept) == (1, 1)
    [(document, editions)] = memory.parts.store.documents.scan("default")
    assert (document.version, [one.version for one in editions]) == (3, [2])


@pytest.mark.parametrize("shelf", sorted(OF_A_STORE))
def test_what_is_of_a_store_stays_there(tmp_path: Path, shelf: Shelf) -> None:
    told = io.BytesIO()
    with Memory(tmp_path / "from.db", embedder="no-such-model") as memory:
        fill_documents(memory.parts.store, "default", shelves=[shelf])
        assert export_memory(memory, told).documents == 0
    line = {"document": {"shelf": str(shelf), "name": "x"}}
    assert shelf.value.encode() not in told.getvalue()
    with pytest.raises(InvalidInput, match="belong to the store"):
        check_shape(Address(shelf=shelf, name="x"), line)
