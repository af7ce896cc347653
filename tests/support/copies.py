"""Stores to be copied: some of everything in one, and all of one in a form to be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice, pairwise
from typing import Any

from remanence.model.document import OF_A_SERVER, Address, Document, Edition, Put, Shelf
from remanence.model.knowledge import Claim, Entity, Mention, Timespan
from remanence.model.memory import Association, Feedback, Kind, MemoryRecord, Revision, State
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.write import Insert
from remanence.testing.store_suites.making import (
    FINGERPRINT,
    NOW,
    OTHER,
    add,
    claim,
    entity,
    found,
    link,
    memory,
    pieces,
    revise,
    write,
)

COPIED = tuple(shelf for shelf in Shelf if shelf not in OF_A_SERVER)

ODD = "naïve café ☕ 日本語 \U0001f9e0 مرحبا\u200d \u2028 \x07 'quoted\" ;--"


@dataclass(frozen=True)
class Everything:
    """All that a copy must keep, tenant by tenant. Two are equal when nothing was lost."""

    order: dict[str, list[str]]
    records: dict[str, MemoryRecord]
    histories: dict[str, list[Revision]]
    pieces: dict[str, dict[str, list[Any]]]
    links: set[tuple[str, Association]]
    feedback: Counter[tuple[str, Feedback]]
    documents: dict[tuple[str, Address], tuple[Document, list[Edition]]]
    entities: dict[str, list[Entity]]
    claims: dict[tuple[str, str], Claim]
    mentions: set[tuple[str, Mention]]


def everything(store: Store) -> Everything:
    """Read by other ways than the copy reads."""
    told = Everything({}, {}, {}, {}, set(), Counter(), {}, {}, {}, set())
    for tenant in store.upkeep.tenants():
        scanned = list(store.archive.scan(tenant))
        told.order[tenant] = [record.id for _, record in scanned]
        told.records.update({record.id: record for _, record in scanned})
        for id in told.order[tenant]:
            told.histories[id] = store.archive.history(tenant, id)
            told.pieces[id] = _pieces(store, tenant, id)
        told.links.update((tenant, one) for one in store.links.scan(tenant))
        told.feedback.update((tenant, one) for one in store.archive.feedback(tenant))
        told.documents.update(_documents(store, tenant))
        told.entities[tenant] = store.knowledge.entities(all_of(tenant), limit=10**6)
        claims = store.knowledge.claims(all_of(tenant), limit=10**6)
        told.claims.update({(tenant, one.id): one for one in claims})
        told.mentions.update(_mentions(store, tenant))
    return told


def _mentions(store: Store, tenant: str) -> Iterator[tuple[str, Mention]]:
    for one in store.knowledge.scan(tenant):
        if isinstance(one, Mention):
            yield tenant, one


def _documents(
    store: Store, tenant: str
) -> Iterator[tuple[tuple[str, Address], tuple[Document, list[Edition]]]]:
    for shelf in Shelf:
        for one in store.documents.shelved(all_of(tenant), shelf, limit=100_000):
            yield (tenant, one.address), (one, store.documents.editions(tenant, one.address))


def fill(store: Store, memories: int = 60) -> None:
    """So many memories in three tenants, all that can hang on one, what is known, documents."""
    share, rest = divmod(memories, 3)
    _fill_t(store, share + rest)
    for tenant in ("acme", "Ünï © tenant"):
        records = [
            memory(f"tea {n} of {tenant}", tenant, user_id=f"user {n % 3}") for n in range(share)
        ]
        for start in range(0, share, 500):
            add(store, *records[start : start + 500], made=pieces(1, OTHER, n_of(tenant)))
        store.archive.note_feedback(tenant, records[0].id, useful=True, query=ODD, at=NOW)
    for tenant in ("t", "acme", "Ünï © tenant"):
        fill_documents(store, tenant)
        fill_knowledge(store, tenant)


def fill_knowledge(store: Store, tenant: str, memories: int = 12) -> None:
    """What some memories of a tenant say and said before, what callers stated, and took back."""
    records = [record for _, record in islice(store.archive.scan(tenant), memories)]
    for n, record in enumerate(records):
        whose = record.user_id
        ana, place = (
            entity("Ána", user_id=whose, type="person"),
            entity(f"Town {n % 3}", user_id=whose),
        )
        said = claim(
            ana, "lives in", place,
            memory=record.id, recorded_at=NOW + timedelta(microseconds=n), trust=1 / 3,
            began=Timespan(start=NOW - timedelta(days=n)), ended=Timespan() if n % 2 else None,
            session_id=record.session_id, agent_id=record.agent_id, origin="rules",
            metadata={"n": n, "odd": ODD}, reason=ODD if n % 3 else None,
        )  # fmt: skip
        learnt = [found(record, said, names=(ana, place))]
        if n % 4 == 0:
            new = claim(ana, "left", place, memory=record.id, recorded_at=NOW)
            learnt.append(found(record, new, names=(ana,)))
        for one in learnt:
            write(store, tenant=tenant, learnt=(one,))
    _state(store, tenant, records[0].user_id)


def _state(store: Store, tenant: str, whose: str | None) -> None:
    ana = entity("Ána", user_id=whose)
    odd = entity(ODD, user_id=whose, type="odd sort", given=True, created_at=NOW)
    told = [claim(ana, "same as", odd), claim(odd, "note", "", text=ODD, confidence=0.1)]
    store.knowledge.know(
        tenant, [odd], [*told, claim(ana, "same as", odd, denies=True, reason="wrong")]
    )


def fill_documents(
    store: Store, tenant: str, each: int = 3, shelves: Iterable[Shelf] = COPIED
) -> None:
    """So many documents on each shelf, one of them with editions: changed, and ended by time."""
    for shelf, n in ((shelf, n) for shelf in shelves for n in range(each)):
        address = Address(
            shelf=shelf,
            name=f"{ODD[:20]} {n}" if n == 1 else f"{shelf} {n}",
            user_id="ana" if n % 2 else None,
            agent_id="bot" if n == 2 else None,
            session_id="s1" if shelf is Shelf.WORKING else None,
        )
        for change in range(n + 1):
            store.documents.put(tenant, [_put(address, tenant, change, keep=n == 2)])


def _value(shelf: Shelf, text: str, change: int) -> dict[str, Any]:
    """Something that the shelf's layer could have put."""
    deep = {"z": [1, 2.5, 1.0, None, True, ODD], "a": {}, "n": change}
    lived = {"agent": "bot", "ttl_s": 60.5, "version": change + 1}
    match shelf:
        case Shelf.BLOCK:
            return {"value": text, "limit": 2048, "description": "", "read_only": False} | deep
        case Shelf.CONVERSATION:
            return {"title": f"Talk {change}", "metadata": deep, "agent_id": "bot"}
        case Shelf.SESSION:
            times = {"began": NOW.isoformat(), "ended": None}
            return {"data": {"text": text, "deep": deep}, "run": "r", **times, **lived}
        case Shelf.WORKING:
            return {"value": deep, "importance": 0.5, "set_at": NOW.isoformat(), **lived}
        case Shelf.USER:
            return {"name": "Asia/Kathmandu"} | deep
        case Shelf.SNAPSHOT:
            told = {"shelf": Shelf.SESSION.value, "agent": "bot", "left_s": 7.5}
            return {**told, "value": _value(Shelf.SESSION, text, change)}
        case _:
            return {"text": text, "deep": deep}


def _put(address: Address, tenant: str, change: int, keep: bool) -> Put:
    return Put(
        address=address,
        value=_value(address.shelf, f"{tenant} {change} {ODD}", change),
        at=NOW + timedelta(seconds=change, microseconds=1),
        verb="changed",
        author="Ben" if change else None,
        reason=ODD if change else None,
        expires_at=NOW + timedelta(days=change) if change else None,
        keep=keep,
    )


def n_of(text: str) -> int:
    """A byte that depends on the text."""
    return sum(text.encode()) % 60


def _fill_t(store: Store, count: int) -> None:
    records = [_varied(n) for n in range(count)]
    for start in range(0, count, 500):
        actions = [
            Insert(record=one, pieces=pieces(1 + n % 3, fill=n % 60) if n % 5 else None)
            for n, one in enumerate(records[start : start + 500])
        ]
        write(store, *actions)
    _revise_some(store, records)
    _embed_some_again(store, records)
    for one, other in pairwise(records[:10]):
        store.links.associate("t", link(one, other, strength=0.1 + 0.2))
    for at, record in enumerate(records[:8]):
        store.archive.note_uses("t", [(record.id, NOW + timedelta(seconds=at))] * (at + 1))
        for _ in range(2):  # twice the same is two
            store.archive.note_feedback("t", record.id, useful=at % 2 == 0, query=None, at=NOW)


def _varied(n: int) -> MemoryRecord:
    return memory(
        f"tea {n} {ODD}" if n % 7 == 0 else f"tea {n}",
        user_id=None if n % 2 else "ana",
        agent_id="bot" if n % 3 == 0 else None,
        session_id=f"s{n // 10}",
        external_id=f"D{n}",
        role="user",
        speaker=ODD if n % 11 == 0 else "Ana",
        kind=list(Kind)[n % 6],
        state=list(State)[n % 4],
        happened_at=NOW - timedelta(days=n // 4, microseconds=n % 2),
        created_at=NOW + timedelta(microseconds=n),
        importance=(n % 10) / 9,
        trust=0.1 + 0.2,
        pinned=n % 13 == 0,
        source="crm",
        actor="Ben",
        origin="here",
        metadata={"n": n, "deep": {"z": [1, 2.5, 1.0, None, True, ODD], "a": {}}, "": -0.5},
        version=1,
    )


def _revise_some(store: Store, records: list[MemoryRecord]) -> None:
    for one in records[10:14]:
        revise(store, one.id, text=f"better {one.text}", pieces=pieces(2, fill=9))
        revise(store, one.id, kind=Kind.SUMMARY, metadata={}, happened_at=NOW)
        revise(store, one.id, state=State.ARCHIVED, superseded_by=records[0].id, importance=1.0)


def _embed_some_again(store: Store, records: list[MemoryRecord]) -> None:
    made = []
    for n, one in enumerate(records[:20]):
        place = store.recall.key_of("t", one.id)
        assert place is not None
        text = store.archive.get("t", [one.id])[0].text
        made.append((place[1], text, pieces(2, OTHER, fill=40 + n)))
    assert store.vectors.put("t", made) == len(made)


def _pieces(store: Store, tenant: str, id: str) -> dict[str, list[Any]]:
    place = store.recall.key_of(tenant, id)
    assert place is not None
    found = {
        str(made_by): [
            tuple(one)[1:] for one in store.vectors.pieces(made_by, place[0], [place[1]])
        ]
        for made_by in (FINGERPRINT, OTHER)
    }
    return {made_by: told for made_by, told in found.items() if told}


def all_of(tenant: str) -> Reach:
    """Every memory of a tenant."""
    return Reach(tenant=tenant, all_users=True)
