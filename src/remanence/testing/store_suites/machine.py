"""A store and a dictionary driven side by side by random actions; they must agree at every step."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from remanence.errors import Conflict
from remanence.model.document import Address, Discard, Document, Edition, Put, Shelf
from remanence.model.filter import parse_filter, satisfies
from remanence.model.memory import Kind, MemoryRecord, State
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.tier import TextCodec, Tier
from remanence.model.write import Insert, Remove, Revise
from remanence.testing.store_suites.making import (
    FINGERPRINT,
    LONG,
    NOW,
    healthy,
    link,
    memory,
    pieces,
    postings,
    write,
)

SECOND = timedelta(seconds=1)
TENANTS = ("t", "u")
USERS = (None, "a", "b")
WORDS = ("tea", "rain", "paris", "東京", "zug", "7")

scalars = st.one_of(
    st.sampled_from(["x", "Y", "", LONG, "ß", "10"]),
    st.sampled_from([0, 1, -5, 2**53, 2**53 + 1]),
    st.sampled_from([0.5, 1.0, -1e300]),
    st.booleans(),
    st.none(),
)
names = st.sampled_from(["k", "n", "n.k", "n.n"])
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["k", "n"]), inner, max_size=2)
    ),
    max_leaves=4,
)
metadatas = st.dictionaries(st.sampled_from(["k", "n", "n.k"]), values, max_size=3)
said = st.lists(st.sampled_from(WORDS), min_size=0, max_size=5).map(" ".join) | st.just(LONG)
known = scalars.filter(lambda value: not isinstance(value, bool) and value is not None)
tests = st.one_of(
    st.tuples(st.sampled_from(["eq", "ne"]), scalars),
    st.tuples(st.sampled_from(["in", "not_in"]), st.lists(scalars, max_size=3)),
    st.tuples(st.sampled_from(["gt", "gte", "lt", "lte"]), known),
    st.tuples(st.just("exists"), st.booleans()),
)
leaves = st.one_of(
    st.tuples(names, tests).map(lambda pair: {pair[0]: dict([pair[1]])}),
    st.sampled_from(WORDS).map(lambda word: {"text": {"contains": word.upper()}}),
    st.sampled_from(list(Kind)).map(lambda kind: {"field.kind": {"ne": kind}}),
    st.sampled_from(list(State)).map(lambda state: {"field.state": state}),
    st.sampled_from([0.0, 0.25, 1.0]).map(lambda least: {"field.importance": {"gte": least}}),
)
shelves = st.sampled_from([Shelf.BLOCK, Shelf.SESSION])
addresses = st.builds(
    Address,
    shelf=shelves,
    name=st.sampled_from(["n", "ñ"]),
    user_id=st.sampled_from(USERS),
    session_id=st.sampled_from([None, "n"]),
)
filters = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda parts: {"and": parts})
        | st.lists(inner, max_size=3).map(lambda parts: {"or": parts})
        | inner.map(lambda part: {"not": part})
    ),
    max_leaves=5,
)


class StoreMachine(RuleBasedStateMachine):
    """Give it `open_store`, then `TestCase` runs it."""

    ids = Bundle("ids")

    def open_store(self) -> Store:
        """An empty store."""
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.store = self.open_store()
        self.model: dict[str, MemoryRecord] = {}
        self.links: dict[tuple[str, str], float] = {}
        self.documents: dict[tuple[str, Address], Document] = {}
        self.editions: dict[tuple[str, Address], list[Edition]] = {}

    @rule(
        target=ids,
        tenant=st.sampled_from(TENANTS),
        user=st.sampled_from(USERS),
        contents=st.lists(st.tuples(said, metadatas), min_size=1, max_size=3),
        kind=st.sampled_from(Kind),
        embedded=st.booleans(),
    )
    def insert(
        self,
        tenant: str,
        user: str | None,
        contents: list[tuple[str, dict[str, Any]]],
        kind: Kind,
        embedded: bool,
    ) -> Any:
        records = [
            memory(text, tenant, user_id=user, metadata=metadata, kind=kind)
            for text, metadata in contents
        ]
        made = pieces(2) if embedded else None
        write(self.store, *[Insert(record=one, pieces=made) for one in records], tenant=tenant)
        self.model |= {record.id: record for record in records}
        return multiple(*[record.id for record in records])

    @rule(
        id=ids,
        changes=st.fixed_dictionaries(
            {},
            optional={
                "text": said,
                "metadata": metadatas,
                "importance": st.sampled_from([0.0, 0.25, 1.0]),
                "state": st.sampled_from(State),
                "kind": st.sampled_from(Kind),
                "session_id": st.sampled_from([None, "s"]),
            },
        ),
    )
    def revise(self, id: str, changes: dict[str, Any]) -> None:
        old = self.model[id]
        at = old.updated_at + timedelta(seconds=1)
        action = Revise(id=id, changes=changes, verb="update", at=at, expected=old.version)
        new = replace(old, **changes, updated_at=at, version=old.version + 1)
        assert write(self.store, action, tenant=old.tenant).records == (new,)
        self.model[id] = new
        assert len(self.store.archive.history(old.tenant, id)) == new.version

    @rule(id=consumes(ids))
    def remove(self, id: str) -> None:
        write(self.store, Remove(id=id), tenant=self.model.pop(id).tenant)
        self.links = {ends: value for ends, value in self.links.items() if id not in ends}

    @rule(id=ids)
    def use(self, id: str) -> None:
        old = self.model[id]
        self.store.archive.note_uses(old.tenant, [(id, NOW)])
        self.model[id] = replace(old, uses=old.uses + 1, used_at=NOW)

    @rule(a=ids, b=ids, strength=st.sampled_from([0.1, 0.9]))
    def associate(self, a: str, b: str, strength: float) -> None:
        source, target = self.model[a], self.model[b]
        if source.tenant == target.tenant:
            self.store.links.associate(source.tenant, link(source, target, strength))
            self.links[a, b] = strength

    @rule(
        tenant=st.sampled_from(TENANTS),
        address=addresses,
        value=metadatas,
        seconds=st.integers(0, 3),
        lives=st.none() | st.integers(-2, 2),
        keep=st.booleans(),
        off=st.sampled_from([None, 0, 0, 1]),
    )
    def put(
        self,
        tenant: str,
        address: Address,
        value: dict[str, Any],
        seconds: int,
        lives: int | None,
        keep: bool,
        off: int | None,
    ) -> None:
        old = self.documents.get((tenant, address))
        version, at = old.version if old else 0, NOW + seconds * SECOND
        asked = Put(
            address=address,
            value=value,
            at=at,
            expected=None if off is None else version + off,
            expires_at=None if lives is None else NOW + lives * SECOND,
            keep=keep,
        )
        if off:
            with pytest.raises(Conflict):
                self.store.documents.put(tenant, [asked])
            return
        new = Document(
            address=address,
            value=value,
            version=version + 1,
            created_at=old.created_at if old else at,
            updated_at=at,
            expires_at=asked.expires_at,
        )
        assert self.store.documents.put(tenant, [asked]) == [new]
        self.documents[tenant, address] = new
        if keep:
            edition = Edition(version=new.version, verb="put", at=at, value=value)
            self.editions.setdefault((tenant, address), []).append(edition)

    @rule(tenant=st.sampled_from(TENANTS), some=st.lists(addresses, max_size=3))
    def discard(self, tenant: str, some: list[Address]) -> None:
        assert (
            self.store.documents.put(tenant, [Discard(address=address) for address in some]) == []
        )
        for address in some:
            self.documents.pop((tenant, address), None)
            self.editions.pop((tenant, address), None)

    @rule(tenant=st.sampled_from(TENANTS), shelf=shelves, seconds=st.integers(-3, 3))
    def expire(self, tenant: str, shelf: Shelf, seconds: int) -> None:
        now = NOW + seconds * SECOND
        gone = {
            address: document.expires_at
            for (of, address), document in self.documents.items()
            if of == tenant and address.shelf == shelf and not document.alive(now)
        }
        found = self.store.documents.expire(tenant, shelf, now)
        assert {address: gone[address] for address in found} == gone
        assert [gone[address] for address in found] == sorted(filter(None, gone.values()))
        for address in found:
            del self.documents[tenant, address]
            self.editions.pop((tenant, address), None)

    @rule(tenant=st.sampled_from(TENANTS), user=st.sampled_from((*USERS, "all")), shelf=shelves)
    def read_shelf(self, tenant: str, user: str | None, shelf: Shelf) -> None:
        all_users = user == "all"
        reach = Reach(tenant=tenant, user_id=None if all_users else user, all_users=all_users)
        found = self.store.documents.shelved(reach, shelf)
        wanted = {
            address: document
            for (of, address), document in self.documents.items()
            if of == tenant and address.shelf == shelf and (all_users or address.user_id == user)
        }
        assert {document.address: document for document in found} == wanted
        times = [document.updated_at for document in found]
        assert times == sorted(times, reverse=True)

    @rule(tenant=st.sampled_from(TENANTS), limit=st.integers(1, 4))
    def embed(self, tenant: str, limit: int) -> None:
        waiting = self.store.vectors.unembedded(tenant, FINGERPRINT, limit)
        assert all(record.tenant == tenant for _, record in waiting)
        made = [(key, record.text, pieces(1)) for key, record in waiting]
        assert self.store.vectors.put(tenant, made) == len(waiting)

    @rule(
        tenant=st.sampled_from(TENANTS),
        tier=st.sampled_from(list(Tier)),
        codec=st.sampled_from(list(TextCodec)),
    )
    def pack(self, tenant: str, tier: Tier, codec: TextCodec) -> None:
        reach = Reach(tenant=tenant, all_users=True)
        if tier is Tier.HOT:
            self.store.tiers.unpack(reach)
        else:
            self.store.tiers.pack(reach, tier, before=NOW + 1000 * SECOND, codec=codec)

    @rule(tenant=st.sampled_from(TENANTS), user=st.sampled_from((*USERS, "all")), given=filters)
    def find(self, tenant: str, user: str | None, given: dict[str, Any]) -> None:
        where = parse_filter(given)
        all_users = user == "all"
        reach = Reach(tenant=tenant, user_id=None if all_users else user, all_users=all_users)
        wanted = {
            record.id: record
            for record in self.model.values()
            if record.tenant == tenant
            and (all_users or record.user_id == user)
            and satisfies(record, where)
        }
        found = self.store.archive.find(reach, where, limit=10_000)
        assert {record.id: record for record in found} == wanted
        assert self.store.archive.count(reach, where) == len(wanted)

    @rule(tenant=st.sampled_from(TENANTS), user=st.sampled_from(USERS))
    def read_words(self, tenant: str, user: str | None) -> None:
        wanted: dict[str, list[str]] = {term: [] for term in ("tea", "rain", "zug", "7")}
        for record in self.model.values():
            if (record.tenant, record.user_id) == (tenant, user):
                for term in wanted:
                    wanted[term] += [record.id] * record.text.split().count(term)
        for partition in self.store.recall.partitions(Reach(tenant=tenant, user_id=user)):
            found = postings(self.store, list(wanted), partition)
            for keys, ids in zip(found, wanted.values(), strict=True):
                records = self.store.recall.records(partition, keys.tolist())
                assert sorted(records[key].id for key in keys.tolist()) == sorted(ids)

    @invariant()
    def everything_is_there(self) -> None:
        for tenant in TENANTS:
            mine = [record for record in self.model.values() if record.tenant == tenant]
            assert self.store.archive.get(tenant, [record.id for record in mine]) == mine
            assert self.store.archive.count(Reach(tenant=tenant, all_users=True)) == len(mine)

    @invariant()
    def every_document_is_there(self) -> None:
        for tenant in TENANTS:
            mine = {at: one for (of, at), one in self.documents.items() if of == tenant}
            assert self.store.documents.get(tenant, list(mine)) == list(mine.values())

    def teardown(self) -> None:
        for tenant in TENANTS:
            for document, editions in self.store.documents.scan(tenant):
                at = tenant, document.address
                assert self.documents.pop(at) == document
                assert self.editions.get(at, []) == list(editions)
        assert self.documents == {}
        links = [one for tenant in TENANTS for one in self.store.links.scan(tenant)]
        assert {(one.source, one.target): one.strength for one in links} == self.links
        assert healthy(self.store)
        self.store.close()
