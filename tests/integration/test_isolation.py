"""No verb reads, changes, counts, relates or erases across the tenant's wall."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory, RemanenceError
from remanence.model.erasure import Erasure
from support.services.database_pool import DatabasePool
from support.working import WORKING

CANARY = "zyzzogeton"
TEXT = f"The {CANARY} vault code is quixotry"
UNKNOWN = "00000000-0000-7000-8000-000000000000"
ALL: dict[str, Any] = {"all_users": True, "states": "any"}
PAST = datetime.now(UTC) - timedelta(days=1)
SWEEP: dict[str, Any] = {
    "max_age_days": 0,
    "min_importance": 1,
    "dry_run": False,
    "now": datetime.now(UTC) + timedelta(days=3),
}


@dataclass
class House:
    """Two tenants in one store: `theirs` holds the canary, `ours` looks for it."""

    ours: Memory
    theirs: Memory
    id: str
    other: str
    settings: dict[str, Any]
    picture: Path

    @property
    def own(self) -> str:
        """A new memory of ours."""
        return self.ours.add("Our own plain memory", user_id="ana", session_id="s1").id

    def theirs_now(self) -> str:
        """Everything the other tenant has, as text, to see whether it changed."""
        records = self.theirs.find(**ALL, limit=100, newest_first=False)
        history = [self.theirs.history(record.id) for record in records]
        related = [self.theirs.related(record.id) for record in records]
        documents = list(self.theirs.parts.store.documents.scan("a"))
        knowledge = list(self.theirs.parts.store.knowledge.scan("a"))
        return repr((records, history, related, documents, knowledge))

    @property
    def fact(self) -> str:
        """The id of a fact of theirs."""
        return self.theirs.facts.about("Ana", predicate="works at", user_id="ana")[0].id

    @property
    def run(self) -> str:
        """The id of a run of theirs."""
        return self.theirs.sleep.log()[0].id

    @property
    def receipt(self) -> Erasure:
        """The receipt of an erasure of theirs."""
        return self.theirs.erasures.list()[0]


@pytest.fixture(scope="module", params=["file", "postgres", "everything"])
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Any]]:
    """Settings of a file, of PostgreSQL, and of PostgreSQL with Qdrant and Valkey beside it."""
    if request.param == "file":
        yield {"database": tmp_path_factory.mktemp("isolation") / "memory.db"}
        return
    settings: dict[str, Any] = {}
    if request.param == "everything":
        settings |= {"index": "qdrant", "index_url": request.getfixturevalue("qdrant").url}
        settings |= {"cache_url": request.getfixturevalue("valkey").url}
    pool: DatabasePool = request.getfixturevalue("postgres_pool")
    with pool.lent() as url:
        yield settings | {"database": url}


@pytest.fixture(scope="module")
def house(place: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with Memory(**place, tenant="a") as theirs, Memory(**place, tenant="b") as ours:
        first, second = (
            theirs.add(f"{TEXT} {user}", user_id=user, **_labels()) for user in ("ana", "ben")
        )
        theirs.add(f"{TEXT} shared", **_labels())
        theirs.associate(first.id, second.id, f"{CANARY}-link")
        theirs.feedback(first.id, useful=True, query=f"{CANARY}?")
        theirs.add("once", idempotency_key="the same key")
        _fill_layers(theirs)
        yield House(
            ours, theirs, first.id, second.id, place, tmp_path_factory.mktemp("plot") / "graph.svg"
        )


def _fill_layers(theirs: Memory) -> None:
    """The canary in every layer, under names that the other tenant will try."""
    for whose in ({"user_id": "ana"}, {}):
        theirs.blocks.create("vault", TEXT, **whose, description=CANARY)
        theirs.blocks.append("human", TEXT, **whose, author=CANARY)
        theirs.sessions.create("s1", **whose, data={"secret": CANARY})
        theirs.working.set("code", [CANARY], session_id="s1", **whose)
        theirs.conversations.describe("s1", **whose, title=TEXT)
        theirs.snapshots.take("before", **whose, note=CANARY)
        theirs.facts.add("Ana", "works at", CANARY, **whose, text=TEXT)
        theirs.graph.add("Vault", "place", observations=[TEXT], **whose)
        theirs.graph.relate("Ana", "guards", "Vault", **whose)
    theirs.forget(theirs.add(TEXT).id, erase=True)
    theirs.schedules.set("nightly", cron="0 1 * * *", steps=["merge"])
    theirs.sleep.run(["merge", "forget"])


def _labels() -> dict[str, Any]:
    names = ("source", "actor", "origin", "speaker", "role", "external_id")
    labels: dict[str, Any] = {name: f"{CANARY}-{name}" for name in names}
    return labels | {
        "agent_id": "x",
        "session_id": "s1",
        "metadata": {"secret": CANARY, CANARY: 1},
        "importance": 0.01,
    }


# What tenant b tries with each verb. `x` is a memory of tenant a, or an id that does not exist.
TRIES: dict[str, Callable[[House, str], list[Callable[[], object]]]] = {
    "add": lambda h, x: [
        lambda: h.ours.add("once", idempotency_key="the same key"),
        lambda: h.ours.add("mine", user_id="ana", external_id=f"{CANARY}-external_id"[:3]),
    ],
    "add_many": lambda h, x: [lambda: h.ours.add_many(["once"], idempotency_key="the same key")],
    "add_messages": lambda h, x: [
        lambda: h.ours.add_messages([{"content": "hi"}], session_id="s1", user_id="ana")
    ],
    "associate": lambda h, x: [
        lambda: h.ours.associate(h.own, x),
        lambda: h.ours.associate(x, h.own),
        lambda: h.ours.associate(x, h.other if x == h.id else UNKNOWN[:-1] + "1"),
    ],
    "backup": lambda h, x: [],  # the whole file, for whoever runs the store: see below
    "cleanup": lambda h, x: [
        lambda: h.ours.cleanup(**SWEEP, all_users=True),
        lambda: h.ours.cleanup(**SWEEP, user_id="ben"),
        lambda: h.ours.cleanup(**SWEEP),
    ],
    "close": lambda h, x: [],  # ends b's own connection only: see below
    "for_tenant": lambda h, x: [],  # no caller from outside has it; its views are tried below
    "runner": lambda h, x: [],  # sleep's own verbs are tried below
    "sleep_by_itself": lambda h, x: [],  # what it takes runs the tenant's schedules, as above
    "write_uses": lambda h, x: [lambda: h.ours.write_uses()],
    "count": lambda h, x: [
        lambda: h.ours.count(**ALL),
        lambda: h.ours.count(user_id="ben", states="any"),
        lambda: h.ours.count(**ALL, filters={"secret": {"exists": True}}),
        lambda: h.ours.count(**ALL, filters={"text": {"contains": "quixotry"}}),
    ],
    "dissociate": lambda h, x: [
        lambda: h.ours.dissociate(x, h.other if x == h.id else UNKNOWN[:-1] + "1"),
        lambda: h.ours.dissociate(h.own, x),
    ],
    "compact": lambda h, x: [h.ours.compact],
    "doctor": lambda h, x: [h.ours.doctor, lambda: h.ours.doctor(repair=True)],
    "feedback": lambda h, x: [lambda: h.ours.feedback(x, useful=False)],
    "find": lambda h, x: [
        lambda: h.ours.find(**ALL),
        lambda: h.ours.find(user_id="ana", include_shared=True, states="any"),
        lambda: h.ours.find(session_id="s1", all_users=True),
        lambda: h.ours.find(**ALL, filters={"or": [{"not": {"nothing": 1}}, {"secret": "x"}]}),
    ],
    "forget": lambda h, x: [
        lambda: h.ours.forget(x),
        lambda: h.ours.forget([h.own, x]),
        lambda: h.ours.forget(x, erase=True),
        lambda: h.ours.forget(x, dry_run=True),
        lambda: h.ours.forget(user_id="ben", erase=True),
        lambda: h.ours.forget(all_users=True, filters={"text": {"contains": "vault"}}, erase=True),
        lambda: h.ours.forget(all_users=True, dry_run=True, erase=True),
        lambda: h.ours.forget(user_id="ana", erase=True),
    ],
    "get": lambda h, x: [lambda: h.ours.get(x)],
    "history": lambda h, x: [lambda: h.ours.history(x)],
    "pin": lambda h, x: [lambda: h.ours.pin(x)],
    "set_timezone": lambda h, x: [
        lambda: h.ours.set_timezone("Asia/Kathmandu", user_id="ana"),
        lambda: h.ours.set_timezone(None, user_id="ben"),
    ],
    "timezone": lambda h, x: [lambda: h.ours.timezone(user_id="ana")],
    "purge": lambda h, x: [
        lambda: h.ours.purge(source=f"{CANARY}-source"),
        lambda: h.ours.purge(actor=f"{CANARY}-actor", erase=True),
        lambda: h.ours.purge(actor=CANARY, user_id="ana"),
        lambda: h.ours.purge(since=PAST, user_id="ben", erase=True),
        lambda: h.ours.purge(since=PAST, dry_run=True),
    ],
    "reembed": lambda h, x: [h.ours.reembed],
    "reindex": lambda h, x: [h.ours.reindex],
    "related": lambda h, x: [
        lambda: h.ours.related(x),
        lambda: h.ours.related(x, direction="in"),
        lambda: h.ours.related(h.own),
    ],
    "search": lambda h, x: [
        lambda: h.ours.search("the vault code", **ALL, limit=100),
        lambda: h.ours.search("vault code", user_id="ana", include_shared=True),
        lambda: h.ours.search("vault code", user_id="ben"),
        lambda: h.ours.search("vault", **ALL, filters={"text": {"contains": "vault"}}),
    ],
    "similarity": lambda h, x: [lambda: h.ours.similarity(x, "vault code")],
    "sources": lambda h, x: [lambda: h.ours.sources(x)],
    "stats": lambda h, x: [h.ours.stats],
    "update": lambda h, x: [
        lambda: h.ours.update(x, text="overwritten"),
        lambda: h.ours.update(x, state="archived"),
    ],
    "why_not": lambda h, x: [
        lambda: h.ours.why_not("vault code", x, all_users=True),
        lambda: h.ours.why_not("vault code", x),
    ],
}


ANA: dict[str, Any] = {"user_id": "ana"}
IN_S1: dict[str, Any] = {"session_id": "s1", "user_id": "ana"}
OUR_TURN = [{"role": "user", "content": "our own turn"}]

# The layers go by names, which both tenants may use; an id of the other's is a name like any.
TRIES |= {
    "context": lambda h, x: [
        lambda: h.ours.context("what is the vault code?", **ANA, session_id="s1", max_tokens=4000),
        lambda: h.ours.context("vault", include_shared=True, user_id="ana"),
    ],
    "snapshot": lambda h, x: [lambda: h.ours.snapshot(f"ours {h.own}", **ANA)],
    "blocks.append": lambda h, x: [lambda: h.ours.blocks.append("human", "ours", **ANA)],
    "blocks.configure": lambda h, x: [
        lambda: h.ours.blocks.configure("vault", limit=99, **ANA),
        lambda: h.ours.blocks.configure("human", description="ours", **ANA),
    ],
    "blocks.create": lambda h, x: [lambda: h.ours.blocks.create("vault", "ours", agent_id=h.own)],
    "blocks.delete": lambda h, x: [
        lambda: h.ours.blocks.delete("vault", **ANA),
        lambda: h.ours.blocks.delete("vault", **ANA, erase=True),
        lambda: h.ours.blocks.delete("human", erase=True),
    ],
    "blocks.diff": lambda h, x: [lambda: h.ours.blocks.diff("vault", before=0, after=1, **ANA)],
    "blocks.get": lambda h, x: [
        lambda: h.ours.blocks.get("vault", **ANA),
        lambda: h.ours.blocks.get("human"),
    ],
    "blocks.history": lambda h, x: [lambda: h.ours.blocks.history("human", **ANA)],
    "blocks.insert": lambda h, x: [lambda: h.ours.blocks.insert("human", "ours", line=0, **ANA)],
    "blocks.list": lambda h, x: [lambda: h.ours.blocks.list(**ANA), h.ours.blocks.list],
    "blocks.redo": lambda h, x: [lambda: h.ours.blocks.redo("human", **ANA)],
    "blocks.render": lambda h, x: [lambda: h.ours.blocks.render(**ANA), h.ours.blocks.render],
    "blocks.replace": lambda h, x: [
        lambda: h.ours.blocks.replace("human", "vault", "bank", **ANA),
        lambda: h.ours.blocks.replace("vault", "vault", "bank", **ANA),
    ],
    "blocks.restore": lambda h, x: [lambda: h.ours.blocks.restore("human", 1, **ANA)],
    "blocks.rethink": lambda h, x: [lambda: h.ours.blocks.rethink("human", "ours", **ANA)],
    "blocks.undo": lambda h, x: [lambda: h.ours.blocks.undo("human", **ANA)],
    "conversations.append": lambda h, x: [
        lambda: h.ours.conversations.append(OUR_TURN, **IN_S1),
        lambda: h.ours.conversations.append(OUR_TURN, **IN_S1, idempotency_key="the same key"),
    ],
    "conversations.day": lambda h, x: [
        lambda: h.ours.conversations.day(datetime.now(UTC).date(), **ANA)
    ],
    "conversations.describe": lambda h, x: [
        lambda: h.ours.conversations.describe("s1", metadata={"ours": 1}, **ANA)
    ],
    "conversations.forget": lambda h, x: [
        lambda: h.ours.conversations.forget("s1", **ANA, erase=True),
        lambda: h.ours.conversations.forget("s1"),
    ],
    "conversations.get": lambda h, x: [
        lambda: h.ours.conversations.get("s1", **ANA),
        lambda: h.ours.conversations.get("s1"),
    ],
    "conversations.list": lambda h, x: [lambda: h.ours.conversations.list(all_users=True)],
    "conversations.messages": lambda h, x: [lambda: h.ours.conversations.messages("s1", **ANA)],
    "conversations.search": lambda h, x: [
        lambda: h.ours.conversations.search("vault code", **IN_S1, within="window"),
        lambda: h.ours.conversations.search("vault code", **IN_S1, within="conversation"),
        lambda: h.ours.conversations.search("vault code", **ANA),
    ],
    "conversations.summarise": lambda h, x: [lambda: h.ours.conversations.summarise("s1", **ANA)],
    "conversations.summary": lambda h, x: [lambda: h.ours.conversations.summary("s1", **ANA)],
    "conversations.window": lambda h, x: [lambda: h.ours.conversations.window("s1", **ANA)],
    "sessions.active": lambda h, x: [lambda: h.ours.sessions.active(all_users=True)],
    "sessions.cleanup": lambda h, x: [
        lambda: h.ours.sessions.cleanup(now=datetime.now(UTC) + timedelta(days=9))
    ],
    "sessions.create": lambda h, x: [lambda: h.ours.sessions.create("s1", **ANA)],
    "sessions.drop": lambda h, x: [lambda: h.ours.sessions.service.drop([h.ours.get(h.own)])],
    "sessions.end": lambda h, x: [lambda: h.ours.sessions.end("s1", **ANA)],
    "sessions.erase": lambda h, x: [lambda: h.ours.sessions.erase("s1", **ANA)],
    "sessions.get": lambda h, x: [lambda: h.ours.sessions.get("s1", **ANA)],
    "sessions.push": lambda h, x: [
        lambda: h.ours.sessions.service.push("s1", [h.ours.get(h.own)], **ANA)
    ],
    "sessions.renew": lambda h, x: [lambda: h.ours.sessions.service.renew([("s1", "ana")])],
    "sessions.recent": lambda h, x: [lambda: h.ours.sessions.recent("s1", **ANA)],
    "sessions.update": lambda h, x: [lambda: h.ours.sessions.update("s1", {"ours": 1}, **ANA)],
    "facts.about": lambda h, x: [
        lambda: h.ours.facts.about("Ana", **ANA, history=True),
        lambda: h.ours.facts.about("Vault", **ANA, include_shared=True),
        lambda: h.ours.facts.about(CANARY[:3], **ANA),
    ],
    "facts.add": lambda h, x: [
        lambda: h.ours.facts.add("Ana", "works at", "ours", **ANA),
        lambda: h.ours.facts.add("Ana", "works at", "ours", **ANA, source=x),
    ],
    "facts.confirm": lambda h, x: [
        lambda: h.ours.facts.confirm(h.fact),
        lambda: h.ours.facts.confirm(_own_fact(h), source=x),
    ],
    "facts.conflicts": lambda h, x: [lambda: h.ours.facts.conflicts(**ANA, include_shared=True)],
    "facts.correct": lambda h, x: [lambda: h.ours.facts.correct(h.fact, object="ours")],
    "facts.extract": lambda h, x: [lambda: h.ours.facts.extract("Ana works at Acme")],
    "facts.find": lambda h, x: [
        lambda: h.ours.facts.find(**ANA, include_shared=True),
        lambda: h.ours.facts.find(object=CANARY[:4]),
    ],
    "facts.get": lambda h, x: [lambda: h.ours.facts.get(h.fact), lambda: h.ours.facts.get(x)],
    "facts.learn": lambda h, x: [lambda: h.ours.facts.learn(all_users=True)],
    "facts.refused": lambda h, x: [h.ours.facts.refused],
    "facts.retract": lambda h, x: [
        lambda: h.ours.facts.retract(h.fact),
        lambda: h.ours.facts.retract(h.fact, erase=True),
    ],
    "facts.timeline": lambda h, x: [lambda: h.ours.facts.timeline("Ana", **ANA)],
    "graph.add": lambda h, x: [lambda: h.ours.graph.add("Vault", "thing", **ANA)],
    "graph.alike": lambda h, x: [lambda: h.ours.graph.alike(**ANA)],
    "graph.communities": lambda h, x: [lambda: h.ours.graph.communities(**ANA)],
    "graph.erase": lambda h, x: [
        lambda: h.ours.graph.erase("Vault", **ANA),
        lambda: h.ours.graph.erase("Ana"),
    ],
    "graph.entities": lambda h, x: [
        lambda: h.ours.graph.entities(**ANA, include_shared=True),
        lambda: h.ours.graph.entities(text="vault"),
    ],
    "graph.export": lambda h, x: [
        lambda: h.ours.graph.export("json", **ANA),
        lambda: h.ours.graph.export("graphml", **ANA),
        lambda: h.ours.graph.export("mermaid", **ANA),
    ],
    "graph.get": lambda h, x: [
        lambda: h.ours.graph.get("Vault", **ANA),
        lambda: h.ours.graph.get("Ana", **ANA, include_shared=True),
    ],
    "graph.mentions": lambda h, x: [lambda: h.ours.graph.mentions("Ana", **ANA)],
    "graph.merge": lambda h, x: [lambda: h.ours.graph.merge("Ana", "Vault", **ANA)],
    "graph.neighbours": lambda h, x: [lambda: h.ours.graph.neighbours("Ana", depth=3, **ANA)],
    "graph.observe": lambda h, x: [
        lambda: h.ours.graph.observe("Vault", "ours", **ANA),
        lambda: h.ours.graph.observe("Vault", "ours", **ANA, source=x),
    ],
    "graph.paths": lambda h, x: [lambda: h.ours.graph.paths("Ana", "Vault", **ANA)],
    "graph.plot": lambda h, x: [lambda: h.ours.graph.plot(h.picture, **ANA)],
    "graph.relate": lambda h, x: [
        lambda: h.ours.graph.relate("Ana", "guards", "Gate", **ANA, source_memory=x)
    ],
    "graph.resolve": lambda h, x: [lambda: h.ours.graph.resolve(dry_run=False, **ANA)],
    "graph.timeline": lambda h, x: [lambda: h.ours.graph.timeline("Ana", **ANA)],
    "graph.unmerge": lambda h, x: [lambda: h.ours.graph.unmerge("Ana", **ANA)],
    "graph.unobserve": lambda h, x: [lambda: h.ours.graph.unobserve("Vault", TEXT[:9], **ANA)],
    "graph.unrelate": lambda h, x: [lambda: h.ours.graph.unrelate("Ana", "guards", "Vault", **ANA)],
    "conversations.month": lambda h, x: [
        lambda: h.ours.conversations.month(datetime.now(UTC).date(), **ANA)
    ],
    "conversations.week": lambda h, x: [
        lambda: h.ours.conversations.week(datetime.now(UTC).date(), **ANA)
    ],
    "erasures.get": lambda h, x: [lambda: h.ours.erasures.get(h.receipt.id)],
    "erasures.list": lambda h, x: [h.ours.erasures.list],
    "erasures.verify": lambda h, x: [
        lambda: h.ours.erasures.verify(h.receipt) and h.ours.search(CANARY)
    ],
    "learn.outcome": lambda h, x: [
        lambda: h.ours.learn.outcome("vault?", useful=[x]),
        lambda: h.ours.learn.outcome("vault?", useful=[h.own], not_useful=[x]),
    ],
    "learn.replay": lambda h, x: [h.ours.learn.replay, lambda: h.ours.learn.replay(user_id="ana")],
    "learn.rollback": lambda h, x: [lambda: h.ours.learn.rollback("ana")],
    "learn.status": lambda h, x: [lambda: h.ours.learn.status("ana")],
    "learn.train": lambda h, x: [lambda: h.ours.learn.train("ana")],
    "learn.trained": lambda h, x: [
        lambda: h.ours.learn.service.trained(
            "ana", datetime.now(UTC), h.ours.learn.service.policy, None
        )
    ],
    "learn.trim": lambda h, x: [h.ours.learn.service.trim],
    "learn.unlearn": lambda h, x: [lambda: h.ours.learn.service.unlearn([x])],
    "learn.versions": lambda h, x: [lambda: h.ours.learn.versions("ana")],
    "schedules.get": lambda h, x: [lambda: h.ours.schedules.get("nightly")],
    "schedules.list": lambda h, x: [h.ours.schedules.list],
    "schedules.remove": lambda h, x: [lambda: h.ours.schedules.remove("nightly")],
    "schedules.reset": lambda h, x: [h.ours.schedules.reset],
    "schedules.set": lambda h, x: [lambda: h.ours.schedules.set("nightly", enabled=False)],
    "sleep.cancel": lambda h, x: [lambda: h.ours.sleep.cancel(h.run)],
    "sleep.forecast": lambda h, x: [
        h.ours.sleep.forecast,
        lambda: h.ours.sleep.forecast(user_id="ana"),
    ],
    "sleep.log": lambda h, x: [h.ours.sleep.log],
    "sleep.plan": lambda h, x: [h.ours.sleep.plan, lambda: h.ours.sleep.plan(user_id="ana")],
    "sleep.plot": lambda h, x: [
        lambda: (h.ours.sleep.plot(h.picture), h.picture.read_text()),
    ],
    "sleep.resume": lambda h, x: [h.ours.sleep.resume],
    "sleep.run": lambda h, x: [h.ours.sleep.run, lambda: h.ours.sleep.run(user_id="ana")],
    "sleep.show": lambda h, x: [lambda: h.ours.sleep.show(h.run)],
    "sleep.undo_night": lambda h, x: [h.ours.sleep.undo_night],
    "sleep.undo": lambda h, x: [lambda: h.ours.sleep.undo(h.run)],
    "snapshots.delete": lambda h, x: [lambda: h.ours.snapshots.delete("before", **ANA)],
    "snapshots.diff": lambda h, x: [lambda: h.ours.snapshots.diff("before", **ANA)],
    "snapshots.get": lambda h, x: [lambda: h.ours.snapshots.get("before", **ANA)],
    "snapshots.list": lambda h, x: [lambda: h.ours.snapshots.list(all_users=True)],
    "snapshots.restore": lambda h, x: [lambda: h.ours.snapshots.restore("before", **ANA)],
    "snapshots.take": lambda h, x: [lambda: h.ours.snapshots.take(f"all {h.own}", all_users=True)],
    "tuning.adapters": lambda h, x: [lambda: h.ours.tuning.adapters("ana")],
    "tuning.examples": lambda h, x: [
        h.ours.tuning.examples,
        lambda: h.ours.tuning.examples(user_id="ana"),
    ],
    "tuning.export_chat": lambda h, x: [
        lambda: (h.ours.tuning.export_chat(h.picture), h.picture.read_text())
    ],
    "tuning.finetune": lambda h, x: [
        lambda: h.ours.tuning.finetune(h.picture.parent / "lora", base="none", user_id="ana")
    ],
    "tuning.unlearn": lambda h, x: [lambda: h.ours.tuning.service.unlearn([x])],
    "working.cleanup": lambda h, x: [
        lambda: h.ours.working.cleanup(now=datetime.now(UTC) + timedelta(days=9))
    ],
    "working.clear": lambda h, x: [lambda: h.ours.working.clear(**IN_S1)],
    "working.get": lambda h, x: [
        lambda: h.ours.working.get("code", **IN_S1),
        lambda: h.ours.working.get("code", **IN_S1, default="none"),
    ],
    "working.items": lambda h, x: [lambda: h.ours.working.items(**IN_S1)],
    "working.promote": lambda h, x: [lambda: h.ours.working.promote("code", **IN_S1)],
    "working.remove": lambda h, x: [lambda: h.ours.working.remove("code", **IN_S1)],
    "working.set": lambda h, x: [lambda: h.ours.working.set("code", "ours", **IN_S1)],
}


def _own_fact(house: House) -> str:
    return house.ours.facts.add("Ours", "likes", "tea", user_id="ana").id


def test_a_view_of_one_tenant_sees_nothing_of_another(house: House) -> None:
    view = house.theirs.for_tenant("b")
    before = house.theirs_now()
    assert CANARY not in _told(lambda: view.search("vault code", all_users=True))
    assert CANARY not in _told(lambda: view.find(**ALL, limit=100))
    assert CANARY not in _told(lambda: view.get(house.id))
    view.forget(filters={"text": {"contains": CANARY}}, all_users=True, erase=True)
    view.close()
    assert house.theirs_now() == before


def test_every_public_verb_has_a_case() -> None:
    inside = {
        f"{layer}.{name}".removeprefix(".")
        for layer, kind in WORKING.items()
        for name, _ in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }
    assert set(TRIES) == inside | {"snapshot"}


def _told(attempt: Callable[[], object]) -> str:
    """Everything an attempt tells: what it answers, or the error with its causes."""
    try:
        answer = attempt()
    except RemanenceError as error:
        causes = (error, error.__cause__, error.__context__)
        return " ".join(f"{type(cause).__name__}: {cause}" for cause in causes)
    details = [vars(answer)] if hasattr(answer, "__dict__") else []
    return repr((answer, details))


@pytest.mark.parametrize("verb", sorted(TRIES))
def test_another_tenant_learns_nothing_and_changes_nothing(house: House, verb: str) -> None:
    before = house.theirs_now()
    for attempt in TRIES[verb](house, house.id):
        told = _told(attempt)
        assert CANARY not in told
        assert "quixotry" not in told
        assert house.other not in told
    assert house.theirs_now() == before
    assert len(house.theirs.search("vault code", **ALL)) == 4


@pytest.mark.parametrize("verb", sorted(TRIES))
def test_a_foreign_id_answers_like_one_that_does_not_exist(house: House, verb: str) -> None:
    foreign = [_told(attempt) for attempt in TRIES[verb](house, house.id)]
    unknown = [_told(attempt) for attempt in TRIES[verb](house, UNKNOWN)]
    if not any(house.id in told for told in foreign):
        return  # the verb takes no id
    for ours, nobodys in zip(foreign, unknown, strict=True):
        if house.id in ours:
            assert ours.replace(house.id, UNKNOWN).replace(house.other, UNKNOWN) == nobodys


def test_counts_and_figures_are_of_one_tenant(house: House) -> None:
    with Memory(**house.settings, tenant="c") as third:
        third.add("alone")
        assert third.count(**ALL) == 1
        stats = third.stats()
        assert (stats.memories, stats.associations) == (1, 0)
        assert stats.by_kind == {"episodic": 1}
        assert sum(stats.by_day.values()) == 1
    assert house.theirs.count(**ALL) == 4


def test_a_key_of_one_tenant_means_nothing_to_another(house: House) -> None:
    with Memory(**house.settings, tenant="d") as fourth:
        record = fourth.add("another request", idempotency_key="the same key")
        assert record.tenant == "d"
        assert fourth.get(record.id).text == "another request"
    again = house.theirs.add("once", idempotency_key="the same key")
    assert again.tenant == "a"
    assert house.theirs.count(**ALL) == 4


def test_words_of_another_tenant_do_not_weigh(tmp_path: Path) -> None:
    """How rare a word is, is counted among one's own memories; else it would tell of others'."""
    texts = ["the red parrot", "the green parrot", "the red lamp", "a quiet evening"]
    with Memory(tmp_path / "alone.db", tenant="b") as alone:
        alone.add_many(texts)
        expected = [(h.memory.text, h.score) for h in alone.search("red parrot", now=PAST)]
    path = tmp_path / "shared.db"
    with Memory(path, tenant="a") as theirs, Memory(path, tenant="b") as ours:
        theirs.add_many([f"red parrot {n}" for n in range(40)])
        ours.add_many(texts)
        found = [(h.memory.text, h.score) for h in ours.search("red parrot", now=PAST)]
    assert [text for text, _ in found] == [text for text, _ in expected]
    assert [score for _, score in found] == pytest.approx([s for _, s in expected], abs=1e-5)


def test_closing_one_leaves_the_other_open(house: House) -> None:
    Memory(**house.settings, tenant="b").close()
    assert house.theirs.get(house.id).text.startswith(TEXT)


def test_a_backup_keeps_the_wall(
    house: House, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A backup is the whole store, so it is for whoever runs it; tenants stay apart in it."""
    before = house.ours.count(**ALL)
    copy = house.ours.backup(tmp_path / "copy")
    on_server = str(house.settings["database"]).startswith("postgresql")
    elsewhere = request.getfixturevalue("postgres_url") if on_server else tmp_path / "back.db"
    with Memory.restore(copy, elsewhere, tenant="b") as ours:
        assert ours.count(**ALL) == before
        assert CANARY not in repr(ours.search("vault code", **ALL))
        with Memory(elsewhere, tenant="a") as theirs:
            assert theirs.count(**ALL) == 4


def test_names_that_look_alike_are_apart(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    names = ["a", "A", "a ", "a/b", "a:b", "%", "_", "a'--", "á", "a\u0301", "*", '"a"', "None"]
    for name in names:
        with Memory(path, tenant=name, cache=str(tmp_path)) as memory:
            memory.add(f"of {name!r}", user_id=name)
            memory.add(f"shared of {name!r}")
    for name in names:
        with Memory(path, tenant=name, cache=str(tmp_path)) as memory:
            assert memory.count(all_users=True) == 2
            [hit] = memory.search("of whom", user_id=name)
            assert hit.memory.text == f"of {name!r}"


USERS: dict[str, Callable[[Memory], object]] = {
    "search": lambda m: m.search("vault code", user_id="ben"),
    "search shared": lambda m: m.search("vault code", user_id="ben", include_shared=True),
    "search nobody": lambda m: m.search("vault code"),
    "find": lambda m: m.find(user_id="ben", states="any"),
    "find nobody": lambda m: m.find(states="any"),
    "forget": lambda m: m.forget(user_id="ben", erase=True),
    "forget by filter": lambda m: m.forget(
        user_id="ben", filters={"text": {"contains": "vault"}}, erase=True
    ),
    "forget the session": lambda m: m.forget(session_id="s1", erase=True),
    "cleanup": lambda m: m.cleanup(**SWEEP, user_id="ben"),
    "cleanup nobody": lambda m: m.cleanup(**SWEEP),
    "blocks": lambda m: (m.blocks.render(user_id="ben"), m.blocks.render()),
    "a block": lambda m: m.blocks.get("human", user_id="ben"),
    "a block's history": lambda m: m.blocks.history("human", user_id="ben"),
    "an edit": lambda m: m.blocks.append("human", "mine", user_id="ben"),
    "a shared edit": lambda m: m.blocks.append("human", "all", agent_id="x"),
    "facts": lambda m: (m.facts.find(user_id="ben"), m.facts.find()),
    "facts about": lambda m: m.facts.about("Ana", user_id="ben", history=True),
    "the graph": lambda m: m.graph.export(user_id="ben"),
    "an entity": lambda m: m.graph.add("Vault", "thing", user_id="ben"),
    "active sessions": lambda m: (m.sessions.active(user_id="ben"), m.sessions.active()),
    "a session": lambda m: m.sessions.create("s1", user_id="ben"),
    "working memory": lambda m: m.working.items(session_id="s1", user_id="ben"),
    "clearing it": lambda m: m.working.clear(session_id="s1"),
    "conversations": lambda m: (m.conversations.list(user_id="ben"), m.conversations.list()),
    "a window": lambda m: m.conversations.window("s1", user_id="ben"),
    "forgetting a conversation": lambda m: m.conversations.forget("s1", user_id="ben"),
    "a context": lambda m: m.context("vault code", user_id="ben", session_id="s1"),
    "a shared context": lambda m: m.context("vault", session_id="s1", include_shared=True),
    "snapshots": lambda m: (m.snapshots.list(user_id="ben"), m.snapshots.list()),
    "restoring": lambda m: m.snapshots.restore(m.snapshot("x", user_id="ben").name, user_id="ben"),
}


@pytest.mark.parametrize("name", USERS)
def test_users_of_one_tenant_are_apart(tmp_path: Path, name: str) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        record = memory.add(TEXT, user_id="ana", session_id="s1", importance=0.01)
        memory.add("plain", user_id="ben")
        memory.add("everybody's")
        memory.blocks.append("human", TEXT, user_id="ana")
        memory.sessions.create("s1", user_id="ana", data={"secret": CANARY})
        memory.working.set("code", CANARY, **IN_S1)
        memory.snapshot("x", user_id="ana", note=CANARY)
        before = _documents_of(memory, "ana")
        told = _told(lambda: USERS[name](memory))
        assert CANARY not in told
        assert memory.get(record.id) == record
        assert memory.count(user_id="ana") == 1
        assert _documents_of(memory, "ana") == before


def _documents_of(memory: Memory, user_id: str) -> str:
    every = memory.parts.store.documents.scan(memory.tenant)
    return repr([one for one in every if one[0].address.user_id == user_id])


def test_records_tell_their_own_tenant(house: House) -> None:
    assert house.own
    assert {record.tenant for record in house.ours.find(**ALL)} == {"b"}
