"""Knowledge in an export: nothing lost, nothing added twice, nothing read again."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory
from remanence.errors import InvalidInput
from remanence.model.knowledge import Claim, Entity
from remanence.model.scope import Reach
from remanence.model.write import Insert
from remanence.testing.store_suites.making import (
    NOW,
    add,
    claim,
    entity,
    found,
    healthy,
    memory,
    mention,
    write,
)
from remanence.tools.transfer import export_memory, import_memory, imports
from support.copies import everything, fill_knowledge
from support.places import Place, places

HEADER = {"type": "remanence-export", "version": 3}
KINDS = ["sqlite", "postgres"]
EVERY = Reach(tenant="default", all_users=True)


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    with places(tmp_path, request) as made:
        yield made


def opened(url: object, tenant: str = "default") -> Memory:
    return Memory(str(url), tenant=tenant, embedder="no-such-model")


def exported(memory: Memory) -> bytes:
    file = io.BytesIO()
    export_memory(memory, file)
    return file.getvalue()


def filled(memory: Memory) -> None:
    tenant = memory.tenant
    records = [_said(n, tenant) for n in range(30)]
    add(memory.parts.store, *records)
    fill_knowledge(memory.parts.store, tenant, memories=25)


def _said(n: int, tenant: str) -> Any:
    return memory(
        f"tea {n}",
        tenant,
        user_id="ana" if n % 2 else None,
        session_id="s",
        state="archived" if n % 5 == 4 else "active",
        updated_at=NOW + timedelta(hours=n),
    )


@pytest.fixture
def told(tmp_path: Path) -> bytes:
    with opened(tmp_path / "source.db", "acme") as memory:
        filled(memory)
        return exported(memory)


def lines(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", KINDS)
def test_knowledge_comes_through_unchanged(place: Place, source: str, kind: str) -> None:
    with opened(place(source), "acme") as mine, opened(place(kind), "other") as theirs:
        filled(mine)
        data = exported(mine)
        done = import_memory(theirs, io.BytesIO(data))
        assert (done.known, done.dangling) == (0, 0)
        assert sorted(data.splitlines()[1:]) == sorted(exported(theirs).splitlines()[1:])
        before, after = everything(mine.parts.store), everything(theirs.parts.store)
        assert after.entities == {"other": before.entities["acme"]}
        assert [one for _, one in after.claims] == [one for _, one in before.claims]
        assert {one.rested_at is None for one in after.claims.values()} == {True, False}
        assert {one.retired_at is None for one in after.claims.values()} == {True, False}
        assert (len(after.claims), len(after.mentions)) == (done.claims, len(before.mentions))
        assert healthy(theirs.parts.store)


@pytest.mark.parametrize("kind", KINDS)
def test_imported_twice_nothing_is_added(told: bytes, place: Place, kind: str) -> None:
    with opened(place(kind)) as memory:
        first = import_memory(memory, io.BytesIO(told))
        before = everything(memory.parts.store)
        again = import_memory(memory, io.BytesIO(told))
        assert (again.entities, again.claims, again.dangling) == (0, 0, 0)
        assert again.known == first.entities + first.claims
        assert everything(memory.parts.store) == before


def test_the_last_line_counts_what_is_known(told: bytes) -> None:
    first, *middle, last = lines(told)
    assert first["version"] == 3
    counted = Counter(line["type"] for line in middle)
    names = {"entities": "entity", "claims": "claim", "mentions": "mention"}
    assert {name: last[name] for name in names} == {n: counted[one] for n, one in names.items()}
    assert min(counted[one] for one in names.values()) > 3


def test_what_memories_say_is_not_read_again(place: Place) -> None:
    """The file says that nothing was found in a text which any reader would find something in."""
    with opened(place("sqlite")) as mine, opened(place("sqlite")) as theirs:
        record = memory("My name is Ana and I live in Lisbon.", "default", user_id="ana")
        add(mine.parts.store, record)
        done = import_memory(theirs, io.BytesIO(exported(mine)))
        assert done.memories == 1
        assert list(theirs.parts.store.knowledge.scan("default")) == []


def test_small_batches_and_a_cut_off_file(
    told: bytes, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "BATCH", 7)
    with opened(place("sqlite")) as memory:
        cut = b"".join(told.splitlines(keepends=True)[:-9])
        with pytest.raises(InvalidInput, match="ends early"):
            import_memory(memory, io.BytesIO(cut))
        import_memory(memory, io.BytesIO(told))
        assert sorted(exported(memory).splitlines()[1:]) == sorted(told.splitlines()[1:])
        assert healthy(memory.parts.store)


def test_another_tenant_is_not_touched(told: bytes, place: Place) -> None:
    url = place("sqlite")
    with opened(url, "a") as a, opened(url, "b") as b:
        filled(a)
        before = list(a.parts.store.knowledge.scan("a"))
        import_memory(b, io.BytesIO(told))
        assert list(a.parts.store.knowledge.scan("a")) == before


def test_what_a_memory_says_here_is_not_mixed_with_what_it_said_there(place: Place) -> None:
    ana, rome, oslo = entity("Ana"), entity("Rome"), entity("Oslo")
    record = memory("Ana lives in Oslo", "default")
    there = claim(ana, "lives in", oslo, memory=record.id)
    with opened(place("sqlite")) as mine, opened(place("sqlite")) as theirs:
        for one in (mine, theirs):
            known = found(record, there, names=(ana, oslo))
            write(one.parts.store, Insert(record=record), tenant="default", learnt=(known,))
        stated = claim(ana, "is", "tall")
        mine.parts.store.knowledge.know("default", [], [stated])
        theirs.update(record.id, text="Ana lives in Rome")
        said = claim(ana, "lives in", rome, memory=record.id, recorded_at=NOW + timedelta(days=1))
        changed = theirs.parts.store.archive.get("default", [record.id])[0]
        learnt = found(changed, said, names=(ana, rome))
        write(theirs.parts.store, tenant="default", learnt=(learnt,))
        before = everything(theirs.parts.store)
        done = import_memory(theirs, io.BytesIO(exported(mine)))
        after = everything(theirs.parts.store)
        assert (done.skipped, done.claims) == (1, 1)
        assert after.mentions == before.mentions
        assert after.claims == before.claims | {("default", stated.id): stated}


def test_older_files_are_still_read(told: bytes, place: Place) -> None:
    kept = [line for line in lines(told) if line["type"] not in ("entity", "claim", "mention")]
    for version in (1, 2):
        raw = "".join(
            f"{json.dumps(line)}\n" for line in [kept[0] | {"version": version}, *kept[1:]]
        )
        with opened(place("sqlite")) as memory:
            done = import_memory(memory, io.BytesIO(raw.encode()))
            assert (done.memories, done.entities, done.claims) == (30, 0, 0)


ANA = entity("Ana", user_id="ana", given=True)
ENTITY = {
    "type": "entity", "sort": "person", "id": ANA.id, "name": "Ana", "user_id": "ana",
    "created_at": "2026-01-01T00:00:00+00:00", "given": True,
}  # fmt: skip
CLAIM = {
    "type": "claim", "id": "01890000-0000-7000-8000-000000000001", "subject": ANA.id,
    "predicate": "is", "value": "tall", "text": "Ana is tall", "user_id": "ana",
    "observed_at": "2026-01-01T00:00:00+00:00", "recorded_at": "2026-01-01T00:00:00+00:00",
}  # fmt: skip
MENTION = {
    "type": "mention", "entity": ANA.id, "memory": "01890000-0000-7000-8000-000000000002",
    "happened_at": "2026-01-01T00:00:00+00:00",
}  # fmt: skip


def imported(memory: Memory, *lines: dict[str, Any]) -> Any:
    raw = "".join(f"{json.dumps(line)}\n" for line in (HEADER, *lines, {"type": "end"}))
    return import_memory(memory, io.BytesIO(raw.encode()))


def test_the_least_that_a_line_must_say(place: Place) -> None:
    with opened(place("sqlite")) as memory:
        done = imported(memory, ENTITY, CLAIM)
        assert (done.entities, done.claims, done.known) == (1, 1, 0)
        assert memory.parts.store.knowledge.entities(EVERY) == [
            replace(
                ANA,
                type="person",
                created_at=memory.parts.store.knowledge.entities(EVERY)[0].created_at,
            )
        ]
        (said,) = memory.parts.store.knowledge.claims(EVERY)
        assert (said.kind, said.confidence, said.origin, said.memory) == ("fact", 1, "caller", None)


BAD = [
    (ENTITY, {"id": "7"}, "UUID"),
    (ENTITY, {"name": ""}, "name is empty"),
    (ENTITY, {"name": "a\0b"}, "NUL"),
    (ENTITY, {"sort": None}, "sort must be text"),
    (ENTITY, {"sort": "\ud800"}, "surrogate"),
    (ENTITY, {"user_id": "a\nb"}, "printable"),
    (ENTITY, {"given": "yes"}, "True or False"),
    (ENTITY, {"created_at": "2026-01-01"}, "time zone"),
    (ENTITY, {"tenant": "a"}, "Unknown field"),
    (ENTITY, {"name": "x" * 1_000_001}, "characters"),
    (CLAIM, {"id": None}, "UUID"),
    (CLAIM, {"subject": "Ana"}, "UUID"),
    (CLAIM, {"object": "Oslo"}, "UUID"),
    (CLAIM, {"memory": 7}, "UUID"),
    (CLAIM, {"predicate": ""}, "predicate is empty"),
    (CLAIM, {"value": 7}, "value must be text"),
    (CLAIM, {"text": "\0"}, "NUL"),
    (CLAIM, {"reason": ["x"]}, "reason must be text"),
    (CLAIM, {"confidence": 2}, "between 0 and 1"),
    (CLAIM, {"trust": "high"}, "trust"),
    (CLAIM, {"denies": 1}, "True or False"),
    (CLAIM, {"began": "2026"}, "start and end"),
    (CLAIM, {"began": {"from": None}}, "start and end"),
    (CLAIM, {"ended": {"start": "2026-01-01"}}, "time zone"),
    (CLAIM, {"ended": {"start": "2027-01-01T00:00:00Z", "end": "2026-01-01T00:00:00Z"}},
     "must not end before"),
    (CLAIM, {"recorded_at": None}, "recorded_at"),
    (CLAIM, {"retired_at": "soon"}, "ISO 8601"),
    (CLAIM, {"metadata": [1]}, "mapping"),
    (CLAIM, {"session_id": ""}, "printable"),
    (CLAIM, {"surprise": 1}, "Unknown field"),
    (MENTION, {"entity": None}, "UUID"),
    (MENTION, {"memory": None}, "UUID"),
    (MENTION, {"happened_at": 5}, "happened_at"),
    (MENTION, {"surprise": 1}, "Unknown field"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "change", "told"), BAD)
def test_a_bad_line_is_named_and_nothing_of_its_batch_written(
    tmp_path: Path, line: dict[str, Any], change: dict[str, Any], told: str
) -> None:
    with opened(tmp_path / "memory.db") as memory:
        with pytest.raises(InvalidInput, match=f"Line 3: .*{told}"):
            imported(memory, ENTITY, line | change)
        assert list(memory.parts.store.knowledge.scan("default")) == []


@pytest.mark.parametrize("missing", ["sort", "id", "name", "created_at"])
def test_an_entity_without_what_it_needs_is_refused(tmp_path: Path, missing: str) -> None:
    with opened(tmp_path / "memory.db") as memory, pytest.raises(InvalidInput, match=missing):
        imported(memory, {n: v for n, v in ENTITY.items() if n != missing})


@pytest.mark.parametrize("kind", KINDS)
def test_what_names_nobody_is_counted_and_the_rest_taken(place: Place, kind: str) -> None:
    lost = [
        CLAIM | {"id": "01890000-0000-7000-8000-000000000009", "subject": MENTION["memory"]},
        CLAIM | {"id": "01890000-0000-7000-8000-000000000008", "memory": MENTION["memory"]},
        CLAIM | {"id": "01890000-0000-7000-8000-000000000007", "user_id": "bob"},
        MENTION,
    ]
    with opened(place(kind)) as memory:
        done = imported(memory, ENTITY, lost[0], CLAIM, *lost[1:])
        assert (done.entities, done.claims, done.dangling) == (1, 1, 4)
        known = list(memory.parts.store.knowledge.scan("default"))
        assert [type(one) for one in known] == [Entity, Claim]


def test_an_entity_that_is_here_keeps_its_name(place: Place) -> None:
    with opened(place("sqlite")) as memory:
        own = entity("ANA", user_id="ana")
        record = add(memory.parts.store, _said(1, "default"))[0]
        memory.parts.store.knowledge.know("default", [own], [], [mention(record, own)])
        done = imported(memory, ENTITY, CLAIM)
        assert (done.entities, done.claims, done.known) == (0, 1, 1)
        (now,) = memory.parts.store.knowledge.entities(EVERY)
        assert now == replace(own, type="person", given=True)
