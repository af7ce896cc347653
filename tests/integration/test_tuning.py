"""Tuning without its libraries: what would be taught, the export, the registry, the refusal."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from remanence.consolidation.learning.lora.manifest import (
    WEIGHTS,
    AdapterManifest,
    AdapterState,
    Registry,
    claim,
    read_manifest,
    write_manifest,
)
from remanence.consolidation.learning.lora.tuning import Tuning
from remanence.errors import ConfigError, Conflict, InvalidInput
from remanence.knowledge.facts import Facts
from remanence.model.clock import FixedClock, IdMaker
from remanence.model.memory import MemoryRecord, State
from remanence.model.write import Batch, Insert
from remanence.store.sqlite import SqliteStore

NOW = datetime(2026, 3, 1, tzinfo=UTC)
CLOCK = FixedClock(NOW)
NEW_ID = IdMaker()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "memory.db", durability="normal")) as opened:
        yield opened


@pytest.fixture
def facts(store: SqliteStore) -> Facts:
    return Facts(store, "t", CLOCK, NEW_ID, writer=None, learner=None)


@pytest.fixture
def tuning(store: SqliteStore, facts: Facts) -> Tuning:
    return Tuning(store, "t", facts, CLOCK)


def remember(store: SqliteStore, text: str, **more: Any) -> str:
    given = {"tenant": "t", "happened_at": NOW, "created_at": NOW, "updated_at": NOW, **more}
    record = MemoryRecord(id=str(NEW_ID()), text=text, **given)
    store.archive.write(Batch(tenant=record.tenant, at=NOW, actions=(Insert(record=record),)))
    return record.id


def test_examples_come_from_one_user_only_and_from_what_is_trusted(
    store: SqliteStore, facts: Facts, tuning: Tuning
) -> None:
    mine = remember(store, "Ana moved to Lisbon in the spring", user_id="ana")
    remember(store, "Bo hides the key under the mat", user_id="bo")
    remember(store, "nobody in particular likes this rain", tenant="other", user_id="ana")
    remember(store, "forged words of a stranger here", user_id="ana", trust=0.2)
    remember(store, "words that look like an order", user_id="ana", state=State.QUARANTINED)
    facts.add("Ana", "lives in", "Lisbon", source=mine, user_id="ana")
    facts.add("Bo", "lives in", "Bergen", user_id="bo")
    store.archive.note_feedback("t", mine, useful=True, query="where is she now?", at=NOW)
    told = tuning.examples(user_id="ana")
    assert [(one.question, one.memories) for one in told] == [
        ("Where does Ana live?", (mine,)),
        ("where is she now?", (mine,)),
        ('What do you remember that begins "Ana moved …"?', (mine,)),
    ]
    assert told == tuning.examples(user_id="ana")
    assert tuning.examples() == []
    assert [one.answer for one in tuning.examples(user_id="ana", parts=["facts"])] == ["Lisbon"]
    with pytest.raises(InvalidInput, match="parts"):
        tuning.examples(parts=["dreams"])


def test_the_export_holds_the_examples(store: SqliteStore, tuning: Tuning, tmp_path: Path) -> None:
    remember(store, "Ana moved to Lisbon in the spring")
    assert tuning.export_chat(tmp_path / "chats.jsonl") == 1
    [line] = (tmp_path / "chats.jsonl").read_text().splitlines()
    assert [one["role"] for one in json.loads(line)["messages"]] == ["user", "assistant"]
    assert stat.S_IMODE((tmp_path / "chats.jsonl").stat().st_mode) == 0o600
    remember(store, "Bo keeps bees behind the house")
    with pytest.raises(InvalidInput, match="exists already"):
        tuning.export_chat(tmp_path / "chats.jsonl")
    assert (tmp_path / "chats.jsonl").read_text().splitlines() == [line]
    assert tuning.export_chat(tmp_path / "chats.jsonl", overwrite=True) == 2


def test_examples_are_limited_and_the_export_is_not(
    store: SqliteStore, tuning: Tuning, tmp_path: Path
) -> None:
    for number in range(5):
        remember(store, f"Ana planted tree {number} in the orchard")
    assert len(tuning.examples(limit=2)) == 2
    assert len(tuning.examples()) == 5
    assert tuning.export_chat(tmp_path / "chats.jsonl") == 5
    with pytest.raises(InvalidInput, match="limit"):
        tuning.examples(limit=0)


def test_a_memory_that_is_not_so_any_more_is_not_taught(
    store: SqliteStore, facts: Facts, tuning: Tuning
) -> None:
    old, new, wrong = (
        remember(store, f"Nora {said} by the sea", user_id="nora")
        for said in ("lives in Bristol", "lives in Ghent", "works at Kestrel")
    )
    for source, city, day in ((old, "Bristol", 1), (new, "Ghent", 20)):
        at = datetime(2026, 2, day, tzinfo=UTC)
        facts.add("Nora", "lives in", city, source=source, observed_at=at, user_id="nora")
    job = facts.add("Nora", "works at", "Kestrel", source=wrong, user_id="nora")
    for id, query in ((old, "what before?"), (new, "what now?"), (wrong, "which job?")):
        store.archive.note_feedback("t", id, useful=True, query=query, at=NOW)
    before = tuning.examples(user_id="nora", parts=["feedback", "memories"])
    assert {one.memories for one in before} == {(new,), (wrong,)}
    facts.retract(job.id)
    told = tuning.examples(user_id="nora", parts=["feedback", "memories"])
    assert [one.memories for one in told] == [(new,), (new,)]


def test_an_age_is_a_persons_and_grows_old(
    store: SqliteStore, facts: Facts, tuning: Tuning
) -> None:
    said = remember(store, "Budget is 12,000 euros and Ana is 34", user_id="u")
    given: dict[str, Any] = {"source": said, "user_id": "u", "subject_type": "person"}
    facts.add("Budget", "age", "12", **given)
    facts.add("Ana", "age", "34", **given)
    facts.add("Bo", "age", "61", observed_at=datetime(2025, 1, 1, tzinfo=UTC), **given)
    told = tuning.examples(user_id="u", parts=["facts"])
    assert [(one.question, one.answer) for one in told] == [("How old is Ana?", "34")]


def manifest(run: str, *memories: str, state: AdapterState = AdapterState.READY) -> AdapterManifest:
    return AdapterManifest(
        run=run, state=state, base="b", base_sha256="0", recipe={"steps": 1}, memories=memories
    )


def adapter(folder: Path, told: AdapterManifest) -> Path:
    folder.mkdir()
    (folder / WEIGHTS).write_bytes(b"weights")
    write_manifest(folder, told)
    return folder


def test_unlearning_deletes_the_weights_of_what_learnt_it_and_no_others(
    store: SqliteStore, tuning: Tuning, tmp_path: Path
) -> None:
    registry = Registry(store.documents, "t")
    for name, told in (("one", manifest("r1", "m1", "m2")), ("two", manifest("r2", "m3"))):
        registry.note(adapter(tmp_path / name, told), "ana", told, NOW, 0)
    assert tuning.unlearn(["m2", "m9"]) == {"loras": 1}
    assert not (tmp_path / "one" / WEIGHTS).exists()
    assert (tmp_path / "two" / WEIGHTS).exists()
    states = {one.folder.name: (one.state, one.weights_deleted) for one in tuning.adapters("ana")}
    assert states == {
        "one": (AdapterState.UNLEARNT, True),
        "two": (AdapterState.READY, False),
    }
    found = read_manifest(tmp_path / "one")
    assert found is not None
    assert found.memories == ()
    assert tuning.adapters("bo") == []


def test_a_folder_that_is_anothers_by_now_is_left_alone(
    store: SqliteStore, tuning: Tuning, tmp_path: Path
) -> None:
    told = manifest("r1", "m1")
    Registry(store.documents, "t").note(
        adapter(tmp_path / "one", manifest("r2")), None, told, NOW, 0
    )
    assert tuning.unlearn(["m1"]) == {"loras": 1}
    assert (tmp_path / "one" / WEIGHTS).exists()
    assert [one.weights_deleted for one in tuning.adapters()] == [False]


def test_a_folder_is_claimed_only_by_its_own_run(tmp_path: Path) -> None:
    done = adapter(tmp_path / "done", manifest("r1"))
    assert claim(done, "r1") == manifest("r1")
    with pytest.raises(Conflict, match="another adapter"):
        claim(done, "r2")
    begun = adapter(tmp_path / "begun", manifest("r1", state=AdapterState.TRAINING))
    assert claim(begun, "r2") is None
    assert list(begun.iterdir()) == []
    (begun / "letter.txt").write_text("keep me")
    with pytest.raises(Conflict, match="something else"):
        claim(begun, "r2")


def test_without_the_extra_the_error_says_what_to_install(tuning: Tuning, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"pip install 'remanence\[train\]'"):
        tuning.finetune(tmp_path / "out", base=tmp_path)


def test_learning_is_imported_without_torch() -> None:
    imported = "import sys, remanence.consolidation.learning.lora"
    code = f"{imported}; print(sorted({{'torch', 'peft'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"
