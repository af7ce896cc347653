"""What a fixture holds beside memories: blocks, conversations, sessions, knowledge, runs, keys."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from remanence.server.access.audit import Audit
from remanence.server.access.keys import Keys
from support.upgrade.contents import ACME, GLOBEX, Scribe

TALK = (
    ("user", "My name is Ana and I work at Harbour Logistics in Lisbon."),
    ("assistant", "Nice to meet you, Ana. What do you do there?"),
    ("user", "I lead the night shift. My brother Marco lives in Turin."),
    ("assistant", "Noted. Anything I should remember for this week?"),
    ("user", "The crane inspection is on Wednesday at seven."),
    ("assistant", "I will remind you of the crane inspection."),
    ("user", "Also, Marco visits on Saturday and he likes anchovies."),
    ("assistant", "Then let us plan a dinner with anchovies."),
    ("user", "Book the table at the Blue Heron for eight."),
    ("assistant", "The table at the Blue Heron is booked for eight."),
)


def converse(scribe: Scribe) -> None:
    """A conversation with a title and summaries of every level."""
    memory = scribe.of(ACME)
    for n, (role, content) in enumerate(TALK):
        scribe.pass_time(minutes=3)
        message = {"role": role, "content": content, "id": f"turn-{n}", "at": scribe.clock.now()}
        memory.conversations.append([message], session_id="monday", user_id="ana")
    memory.conversations.describe(
        "monday", title="The crane and the dinner", metadata={"mood": "busy"}, user_id="ana"
    )
    memory.conversations.summarise("monday", user_id="ana")
    for verb in ("day", "week", "month"):
        getattr(memory.conversations, verb)(scribe.clock.now().date(), user_id="ana")


def keep_state(scribe: Scribe) -> None:
    """Blocks with editions, sessions, working memory, and a snapshot before all of it changes."""
    memory = scribe.of(ACME)
    _blocks(memory.blocks)
    memory.sessions.create("monday", user_id="ana", data={"step": 1, "cart": ["tea"]})
    memory.sessions.update("monday", {"step": 2, "done": None}, user_id="ana")
    memory.sessions.create("closed", user_id="bruno", agent_id="planner", data={"n": 1.5})
    memory.sessions.end("closed", user_id="bruno")
    values: tuple[Any, ...] = ("Blue Heron", 8, 0.5, True, None, ["a", {"b": 1}], {"c": "ü"})
    for n, value in enumerate(values):
        memory.working.set(f"item-{n}", value, session_id="monday", user_id="ana", importance=0.5)
    memory.working.promote("item-0", session_id="monday", user_id="ana")
    memory.snapshot("before the trip", user_id="ana", note="all is well")
    scribe.pass_time(hours=2)
    memory.add("Ana took the ferry to Barreiro.", user_id="ana")
    memory.blocks.append("human", "Gets seasick.", user_id="ana", author="agent")
    memory.snapshot("everyone", all_users=True)


def _blocks(blocks: Any) -> None:
    blocks.rethink("persona", "I am a patient assistant.", author="admin", reason="tone")
    blocks.create("human", "Ana, night shift lead.", user_id="ana", limit=500, description="who")
    blocks.append("human", "Lives in Lisbon.", user_id="ana", author="agent", reason="she said so")
    blocks.replace("human", "Lisbon", "Lisbon, by the river", user_id="ana")
    blocks.rethink("human", "Nothing at all.", user_id="ana")
    blocks.undo("human", user_id="ana")
    blocks.create("rules", "Be brief.", agent_id="planner", read_only=True)
    blocks.create("scratch", "to be thrown away", user_id="bruno")
    blocks.delete("scratch", user_id="bruno", reason="done")


def know(scribe: Scribe) -> None:
    """Facts stated, confirmed, corrected, retracted, contradicted; entities observed and merged."""
    memory = scribe.of(ACME)
    facts, graph = memory.facts, memory.graph
    letter = memory.add("A letter with a stamp of Genoa came.", user_id="ana")
    moved = facts.add(
        "Marco",
        "lives in",
        "Genoa",
        user_id="ana",
        valid_from="2019",
        valid_to="2023-05",
        source=letter.id,
        metadata={"page": 3},
    )
    facts.confirm(moved.id)
    shift = facts.add("Ana", "starts work at", "nine in the evening", user_id="ana")
    scribe.pass_time(minutes=1)
    facts.correct(shift.id, object="ten in the evening", reason="new shifts")
    wrong = facts.add("Ana", "owns", "a boat", user_id="ana")
    facts.retract(wrong.id, reason="it was her sister's")
    for town in ("Turin", "Milan"):
        facts.add("Giulia", "born in", town, user_id="ana", confidence=0.8)
    graph.add("Blue Heron", "place", observations=["closed on Mondays"], user_id="ana")
    graph.observe("Blue Heron", ["has a terrace"], user_id="ana", actor="ana")
    graph.relate("Marco", "recommended", "Blue Heron", user_id="ana")
    graph.add("Marco Bellini", "person", user_id="ana")
    graph.merge("Marco", "Marco Bellini", user_id="ana", reason="the same person")


def sleep(scribe: Scribe) -> None:
    """Runs of every step, one of which can be undone, and schedules that were changed."""
    memory = scribe.of(ACME)
    for n in range(3):
        memory.add("Dora feeds the cat at seven.", user_id="dora")
        memory.add(f"Dora saw {n + 2} herons at the pond.", user_id="dora")
        scribe.pass_time(hours=5)
    memory.schedules.set("weekly", cron="15 4 * * 6", zone="Europe/Lisbon", steps=["merge"])
    memory.schedules.set("daily", enabled=False)
    runs = memory.sleep.run("merge", user_id="dora")
    runs += memory.sleep.run(["talks", "distil", "reflect", "forget", "learn", "upkeep"])
    scribe.notes["undoable"] = next(run.id for run in runs if run.counts.get("merge"))


def pack(scribe: Scribe, tenant: str) -> None:
    """Let what is old take less room, in the tenant's codec."""
    run = scribe.of(tenant).sleep.run("compress", now=scribe.clock.now())[0]
    if not run.counts["texts"]:
        raise ValueError(f"Nothing of {tenant} was packed: {run}")


def erase(scribe: Scribe) -> None:
    """Erasures by id, by filter and by scope, each with its receipt."""
    memory = scribe.of(ACME)
    gone = memory.add("This was said in confidence.", user_id="ana")
    receipts = [memory.forget(gone.id, erase=True).receipt]
    memory.add("Also a secret.", user_id="ana", metadata={"secret": True})
    receipts.append(memory.forget(filters={"secret": True}, user_id="ana", erase=True).receipt)
    memory.add("Mallory was here.", user_id="mallory")
    memory.blocks.create("human", "Mallory", user_id="mallory")
    receipts.append(memory.forget(user_id="mallory", erase=True).receipt)
    scribe.notes["erased"] = [id for one in receipts if one is not None for id in one.ids]


def let_in(scribe: Scribe) -> None:
    """Keys of every sort, with the log of them."""
    store = scribe.memory.parts.store
    keys = Keys(store.documents, scribe.clock, ledger=Audit(store, scribe.clock))
    later: datetime = scribe.clock.now() + timedelta(days=3_650)
    made = {
        "good": keys.create("laptop", tenant=ACME, grants=["read", "write", "admin"]),
        "limited": keys.create(
            "crawler",
            tenant=GLOBEX,
            grants=["write"],
            trust=0.3,
            quarantine=True,
            rate_limit=60,
            expires_at=later,
        ),
        "revoked": keys.create("lost", tenant=ACME, grants=["read"]),
        "rotated": keys.create("old", tenant=ACME, grants=["read"]),
    }
    scribe.notes["keys"] = {name: text for name, (_, text) in made.items()}
    keys.revoke(made["revoked"][0].prefix)
    scribe.notes["keys"]["rotation"] = keys.rotate(made["rotated"][0].prefix)[1]
