"""Whatever door it comes through, nothing foreign, reserved or private is stored."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pytest

from remanence import Memory
from remanence.api.verbs.table import served
from remanence.model.document import PORTABLE
from remanence.server.rest.transfers import Spool
from remanence.testing.patience import HANG_S
from remanence.testing.serving import Served, serving
from remanence.tools.transfer import export_memory
from support import http

MAIL, CARD = "ana.silva@example.com", "4111\u00a01111\u00a01111\u00a01111"
PRIVATE = f"Ask {MAIL}, she pays with {CARD}."
SECRETS = (MAIL, CARD)
LINES = {"content-type": "application/x-ndjson"}
ID = "0190c3f1-4a4b-7cde-8f01-00000000000%d"


@pytest.fixture(params=["sqlite", "postgres"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    if request.param == "sqlite":
        memory = Memory(tmp_path / "memory.db", redact="all")
    else:
        database = request.getfixturevalue("postgres_url")
        memory = Memory(database, redact="all")
    with serving(memory, redact="all") as served:
        yield served


@pytest.fixture
def writer(server: Served) -> dict[str, str]:
    key = server.key("read", "write", name="writer")
    return {"authorization": f"Bearer {key}"}


def stored(memory: Memory) -> str:
    """Everything that the tenant holds, as text; wide characters as they are."""
    file = BytesIO()
    export_memory(memory, file)
    lines = [json.loads(line) for line in file.getvalue().splitlines()]
    return json.dumps(lines[1:-1], ensure_ascii=False)


def post(server: Served, key: dict[str, str], path: str, body: Any) -> httpx.Response:
    return http.post(server.url + path, json=body, headers=key, timeout=HANG_S)


FOREIGN = {"actor": "key:innocent", "source": f"mail of {MAIL}"}
SAID = {"role": "user", "name": MAIL, "content": PRIVATE, "metadata": {MAIL: PRIVATE}}
WHO = {"user_id": "u"}
# What is sent to each operation that stores words; the fields that name things are harmless.
BODIES: dict[str, dict[str, Any]] = {
    "add": {"text": PRIVATE, "speaker": MAIL, "metadata": {MAIL: PRIVATE}, **FOREIGN},
    "add_many": {"memories": [{"text": PRIVATE, "metadata": {MAIL: [CARD]}, **FOREIGN}]},
    "add_messages": {"messages": [SAID], **FOREIGN},
    "conversations.append": {"messages": [SAID], "session_id": "s", **FOREIGN},
    "conversations.describe": {"session_id": "s", "title": PRIVATE, "metadata": {MAIL: CARD}},
    "blocks.create": {"label": "human", "value": PRIVATE, "description": PRIVATE},
    "blocks.append": {"label": "human", "text": PRIVATE, "reason": PRIVATE, "author": "innocent"},
    "blocks.rethink": {"label": "human", "value": PRIVATE},
    "sessions.create": {"session_id": "s", "data": {MAIL: {CARD: [PRIVATE]}}},
    "sessions.update": {"session_id": "s", "changes": {CARD: PRIVATE}},
    "working.set": {"session_id": "s", "key": "k", "value": {MAIL: PRIVATE}, "importance": 0.9},
    "working.promote": {"session_id": "s", "key": "k"},
    "facts.add": {
        "subject": MAIL,
        "predicate": f"pays with {CARD}",
        "object": CARD,
        "text": PRIVATE,
        "kind": MAIL,
        "metadata": {MAIL: CARD},
        "actor": "key:innocent",
    },
    "graph.add": {"name": MAIL, "type": f"owner of {CARD}", "observations": [PRIVATE]},
    "graph.observe": {"name": MAIL, "observations": [PRIVATE + "!"], "actor": "key:innocent"},
    "graph.relate": {"source": MAIL, "relation": f"trusts {MAIL}", "target": CARD},
    "snapshots.take": {"name": "before", "note": PRIVATE},
}
# Writing operations that bring no words in: they name, move, derive from or remove what is there.
WORDLESS = {
    *("associate", "cleanup", "compact", "dissociate", "doctor", "feedback", "forget", "pin"),
    "set_timezone",
    *(
        "purge",
        "reembed",
        "reindex",
        "update",
        "blocks.configure",
        "blocks.delete",
        "blocks.insert",
    ),
    *("blocks.redo", "blocks.replace", "blocks.restore", "blocks.undo", "conversations.day"),
    *("conversations.forget", "conversations.month", "conversations.summarise", "facts.confirm"),
    *("conversations.week", "facts.correct", "facts.learn", "facts.retract", "graph.erase"),
    *("graph.merge", "graph.resolve", "graph.unmerge", "graph.unobserve", "graph.unrelate"),
    *("learn.outcome", "learn.rollback", "learn.train", "schedules.remove", "schedules.reset"),
    *("schedules.set", "sessions.cleanup", "sessions.end", "sessions.erase", "sessions.get"),
    *("sleep.cancel", "sleep.resume", "sleep.run", "sleep.undo", "sleep.undo_night"),
    *("snapshots.delete", "snapshots.restore", "working.cleanup", "working.clear"),
    *("working.remove", "set_timezone"),
}


def test_every_door_is_known_here() -> None:
    """A new operation that writes is either walked below or brings no words in."""
    written = {route.name for route in served() if route.writes}
    assert written == set(BODIES) | WORDLESS


def test_no_operation_stores_anything_private_or_foreign(
    server: Served, writer: dict[str, str]
) -> None:
    by_name = {route.name: route for route in served()}
    for name, body in BODIES.items():
        route, given = by_name[name], dict(body) | WHO
        path = route.path
        for part in route.in_path:
            path = path.replace(f"{{{part}}}", given.pop(part))
        answer = http.request(
            route.method, server.url + path, json=given, headers=writer, timeout=HANG_S
        )
        assert answer.status_code == 200, (name, answer.text)
    kept = stored(server.memory)
    assert "[email]" in kept
    for secret in (*SECRETS, "key:innocent", "innocent"):
        assert secret not in kept


@pytest.mark.parametrize(
    "claim", [{"origin": "summary"}, {"origin": "sleep"}, {"metadata": {"remanence.merged": 2}}]
)
def test_no_door_takes_what_only_the_memory_says(
    claim: dict[str, Any], server: Served, writer: dict[str, str]
) -> None:
    message = {"role": "user", "content": "Hi", **claim}
    bodies: list[tuple[str, Any]] = [
        ("/v1/memories", {"text": "a", **claim}),
        ("/v1/memories/batch", {"memories": [{"text": "a", **claim}]}),
        ("/v1/messages", {"messages": [message]}),
        ("/v1/conversations", {"messages": [message], "session_id": "s"}),
    ]
    if "metadata" in claim:
        fact = {"subject": "Ana", "predicate": "likes", "object": "tea", **claim}
        mem0 = {"messages": [{"role": "user", "content": "Hi"}], "user_id": "u", **claim}
        bodies += [("/v1/facts", fact), ("/v3/memories/add/", mem0)]
    for path, body in bodies:
        assert post(server, writer, path, body).status_code in (400, 422), path
    assert imported(server, writer, memory_line(**claim)).status_code == 422
    revision = {"type": "revision", "id": ID % 1, "version": 2, "verb": "updated", "at": AT}
    record = memory_line(version=2)
    assert imported(server, writer, record, revision | {"before": claim}).status_code == 422
    assert stored(server.memory) == "[]"


@pytest.mark.parametrize("type", ["summarises", "merged_into"])
def test_no_door_makes_or_cuts_the_links_by_which_erasing_finds_what_tells_of_a_memory(
    type: str, server: Served, writer: dict[str, str]
) -> None:
    memory = server.memory
    told, source = (memory.add(text, user_id="u").id for text in ("a summary", "what was said"))
    ends, url = {"a": told, "b": source}, f"{server.url}/v1/associations"
    assert post(server, writer, "/v1/associations", ends | {"type": type}).status_code == 422
    line = {"type": "association", "link": type, "source": told, "target": source}
    line |= {"strength": 1.0, "created_at": AT}
    assert imported(server, writer, line).status_code == 422
    memory.associate(told, source, type)
    memory.associate(told, source, "about")
    for params in (ends, ends | {"type": type}):
        answer = http.delete(url, params=params, headers=writer, timeout=HANG_S)
        assert answer.status_code == 422, answer.text
    cut = http.delete(url, params=ends | {"type": "about"}, headers=writer, timeout=HANG_S)
    assert cut.json() == {"count": 1}
    assert memory.parts.store.links.pointed(memory.tenant, [told], type) == [source]


AT = "2026-05-01T10:00:00+00:00"


def memory_line(number: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "type": "memory",
        "id": ID % number,
        "text": "hello",
        "user_id": "u",
        "happened_at": AT,
        "created_at": AT,
        "updated_at": AT,
    } | more


def imported(server: Served, key: dict[str, str], *lines: Any) -> httpx.Response:
    head = {"type": "remanence-export", "version": 3, "remanence": "0.1.0"}
    body = "\n".join(json.dumps(one) for one in (head, *lines, {"type": "end"}))
    url = f"{server.url}/v1/import"
    return http.post(url, content=body, headers=LINES | key, timeout=HANG_S)


def document(shelf: str, name: str, value: Any, **more: Any) -> dict[str, Any]:
    times = {"created_at": AT, "updated_at": AT}
    line = {"type": "document", "shelf": shelf, "name": name, "value": value, "version": 1}
    return line | {"user_id": "u"} | times | more


BLOCK = {"value": PRIVATE, "limit": 500, "description": PRIVATE, "read_only": False}
SESSION = {
    "agent": None,
    "data": {MAIL: PRIVATE},
    "version": 1,
    "began": AT,
    "ended": None,
    "run": "r",
    "ttl_s": 60.0,
}
ITEM = {
    "value": {MAIL: CARD},
    "importance": None,
    "agent": None,
    "ttl_s": 60.0,
    "set_at": AT,
    "version": 1,
    "trust": 1.0,
}
CLAIM = {
    "type": "claim",
    "id": ID % 5,
    "subject": ID % 4,
    "predicate": "likes",
    "value": CARD,
    "text": PRIVATE,
    "observed_at": AT,
    "recorded_at": AT,
    "user_id": "u",
    "origin": "rules",
    "metadata": {"actor": "key:innocent", MAIL: CARD},
    "reason": PRIVATE,
}
EXPORT = [
    memory_line(1, text=PRIVATE, metadata={MAIL: CARD}, speaker=MAIL, version=2, **FOREIGN),
    {
        "type": "revision",
        "id": ID % 1,
        "version": 2,
        "verb": "updated",
        "at": AT,
        "actor": "key:innocent",
        "reason": PRIVATE,
        "before": {"text": PRIVATE},
    },
    {"type": "entity", "id": ID % 4, "name": MAIL, "sort": MAIL, "created_at": AT, "user_id": "u"},
    CLAIM,
    document("block", "human", BLOCK),
    {
        "type": "edition",
        "shelf": "block",
        "name": "human",
        "version": 1,
        "verb": "create",
        "at": AT,
        "value": BLOCK,
        "author": "key:innocent",
        "reason": PRIVATE,
    },
    document("conversation", "s", {"title": PRIVATE, "metadata": {MAIL: CARD}, "agent_id": None}),
    document("session", "s", SESSION),
    document("user", "timezone", {"name": "Asia/Kathmandu"}),
    document("working", MAIL, ITEM, session_id="s"),
    document("user", "timezone", {"name": "+05:45", MAIL: PRIVATE}),
]


class TestImport:
    def test_it_stores_what_its_caller_could_have_written(
        self, server: Served, writer: dict[str, str]
    ) -> None:
        shelves = {"block", "conversation", "session", "snapshot", "user", "working"}
        assert shelves == set(PORTABLE)
        answer = imported(server, writer, *EXPORT)
        assert answer.status_code == 200, answer.text
        assert (answer.json()["memories"], answer.json()["documents"]) == (1, 5)
        kept = stored(server.memory)
        for secret in (*SECRETS, "key:innocent"):
            assert secret not in kept
        own = next(f"key:{k.prefix}" for k in server.app.state.keys.list() if k.name == "writer")
        record = server.memory.get(ID % 1)
        assert (record.actor, server.memory.history(record.id)[-1].actor) == (own, own)
        assert server.memory.blocks.history("human", user_id="u")[0].author == own
        assert server.memory.facts.about("[email]", user_id="u")

    def test_what_it_stated_is_purged_by_its_name(
        self, server: Served, writer: dict[str, str]
    ) -> None:
        imported(server, writer, *EXPORT)
        own = next(f"key:{k.prefix}" for k in server.app.state.keys.list() if k.name == "writer")
        server.memory.purge(actor=own)
        assert server.memory.facts.about("[email]", user_id="u", history=True) == []
        assert server.memory.count(user_id="u") == 0

    def test_an_admin_restores_what_others_did_and_the_memory_made(self, server: Served) -> None:
        admin = {"authorization": f"Bearer {server.key('read', 'write', 'admin')}"}
        made = {"origin": "summary", "kind": "summary", "metadata": {"remanence.sources": 1}}
        line = memory_line(actor="key:innocent", **made)
        assert imported(server, admin, line, memory_line(2, text=PRIVATE)).status_code == 200
        record = server.memory.get(ID % 1)
        assert (record.actor, record.origin) == ("key:innocent", "summary")
        assert MAIL not in server.memory.get(ID % 2).text, "private data goes for everybody"

    def test_snapshots_are_for_admins(self, server: Served, writer: dict[str, str]) -> None:
        head = {"scope": {}, "counts": {}, "note": None}
        line = document("snapshot", "x", head, user_id=None, session_id="heads")
        assert imported(server, writer, line).status_code == 403

    @pytest.mark.parametrize(
        "line",
        [
            document("block", "memories", BLOCK),
            document("block", "no label", BLOCK),
            document("block", "415-555-0132", BLOCK),
            document("block", "human", BLOCK | {"value": "x" * 501}),
            document("block", "human", BLOCK | {"limit": 10**9}),
            document("block", "human", BLOCK | {"description": "x" * 2_000}),
            document("session", "s", SESSION | {"data": {"a": "x" * 70_000}}),
            document("working", "k", ITEM | {"value": "x" * 20_000}, session_id="s"),
            memory_line(text="x" * 1_000_001),
            memory_line(id=["a"]),
            {"type": "entity", "id": {}, "name": MAIL, "sort": "person", "created_at": AT},
            CLAIM | {"subject": [1]},
        ],
    )
    def test_what_its_verb_refuses_it_refuses(
        self, line: Any, server: Served, writer: dict[str, str]
    ) -> None:
        assert imported(server, writer, line).status_code == 422
        assert server.memory.count(all_users=True) == 0

    def test_another_tenants_id_is_as_good_as_an_unused_one(self, server: Served) -> None:
        theirs, ours = (
            {"authorization": f"Bearer {server.key('read', 'write', tenant=name)}"}
            for name in ("theirs", "ours")
        )
        assert imported(server, theirs, memory_line(1, text="theirs")).status_code == 200
        answers = [imported(server, ours, memory_line(n, text="ours")) for n in (1, 2)]
        assert answers[0].json() == answers[1].json()
        for key, text in ((ours, "ours"), (theirs, "theirs")):
            url = f"{server.url}/v1/memories/{ID % 1}"
            assert http.get(url, headers=key).json()["text"] == text
        url = f"{server.url}/v1/memories/{ID % 1}"
        changed = http.patch(url, json={"text": "ours anew"}, headers=ours, timeout=HANG_S)
        assert changed.json()["text"] == "ours anew"
        assert http.get(url, headers=theirs).json()["text"] == "theirs"
        assert imported(server, ours, memory_line(1)).json()["skipped"] == 1
        assert not [one for one in server.memory.doctor() if one.problems]
        erase = {"authorization": f"Bearer {server.key('read', 'write', 'erase', tenant='ours')}"}
        assert http.delete(url, headers=erase, timeout=HANG_S).status_code == 200
        assert http.get(url, headers=ours).status_code == 404
        assert http.get(url, headers=theirs).json()["text"] == "theirs"


def test_mem0s_door(server: Served, writer: dict[str, str]) -> None:
    said = [{"role": "user", "content": PRIVATE, "name": "ana"}]
    more = {"metadata": {MAIL: CARD}, "categories": [MAIL], "user_id": "u"}
    assert post(server, writer, "/v3/memories/add/", {"messages": said, **more}).status_code == 200
    kept = stored(server.memory)
    assert not [secret for secret in SECRETS if secret in kept]


@pytest.mark.parametrize("door", ["chat", "graph", "export", "add"])
def test_the_command_lines_doors(
    door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from remanence.cli.app import app

    files: dict[str, Callable[[], str]] = {
        "chat": lambda: json.dumps(
            {
                "session_id": "s",
                "title": PRIVATE,
                "metadata": {MAIL: CARD},
                "messages": [
                    {"role": "user", "content": PRIVATE, "id": "1", "metadata": {MAIL: CARD}},
                    {"role": "user", "content": "b", "metadata": {"remanence.merged": 2}},
                ],
            }
        ),
        "graph": lambda: json.dumps(
            {"type": "entity", "name": MAIL, "entityType": "person", "observations": [PRIVATE]}
        ),
        "export": lambda: "\n".join(
            json.dumps(one)
            for one in ({"type": "remanence-export", "version": 3}, *EXPORT, {"type": "end"})
        ),
        "add": lambda: "",
    }
    file = tmp_path / "file.json"
    file.write_text(files[door](), "utf-8")
    database = tmp_path / "memory.db"
    monkeypatch.setenv("REMANENCE_REDACT", "all")
    named = [] if door == "export" else [door]
    command = ["add", PRIVATE] if door == "add" else ["import", *named, str(file)]
    done = CliRunner().invoke(app, [*command, "--db", str(database)])
    assert done.exit_code == 0, done.output
    with Memory(database) as memory:
        kept = stored(memory)
        assert "[email]" in kept
        assert "remanence.merged" not in kept
        assert not [secret for secret in SECRETS if secret in kept]


def test_an_upload_is_not_on_disk_in_the_clear() -> None:
    with Spool() as spool:
        for _ in range(1_000):
            spool.write(b"a secret line that is long enough\n")
        spool._file.flush()
        spool._file.seek(0)
        assert b"secret" not in spool._file.read()
        assert len(gzip.compress(spool._file.read())) < 100, "read to its end"
        assert spool.opened().read() == b"a secret line that is long enough\n" * 1_000
