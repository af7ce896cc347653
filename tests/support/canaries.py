"""Canaries: memories full of words that are nowhere else, and the search for what is left of them.

Every word ends alike, so that one pass over a file finds them all; a text index may leave out how a
word begins, never how it ends.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from remanence.api.memory import Memory
from remanence.memories.lineage import MERGED_INTO, SOURCES
from remanence.model.erasure import Forgotten
from remanence.model.memory import Association, Kind, MemoryRecord, State
from remanence.model.scope import Reach
from remanence.model.tier import Tier
from remanence.model.validation import SLEEP
from remanence.model.write import Batch, Insert

TAIL = "zqxjk"
_LETTERS = "abcdefghimnoprtuvw"
_WORD_LETTERS = 12
_KEPT_LETTERS = 8  # that a word must show before its tail; enough that no two show the same
_VECTOR_BYTES = 40
_FIRST = 8


@dataclass(slots=True)
class Planted:
    """A user with something to hide, and the bytes that must not stay when it is erased."""

    user: str
    ids: list[str] = field(default_factory=list)
    words: set[str] = field(default_factory=set)
    vectors: set[bytes] = field(default_factory=set)

    def secrets(self) -> Iterator[bytes]:
        """All of it, as it would lie in a file."""
        yield from (word[-len(TAIL) - _KEPT_LETTERS :].encode() for word in self.words)
        yield from self.vectors


class Canaries:
    """Plants canaries in a memory, by a seed, and erases them in different ways."""

    def __init__(self, memory: Memory, seed: int) -> None:
        self._memory = memory
        self._chance = random.Random(seed)

    def plant(self, number: int, now: datetime) -> Planted:
        """A user's memories, what was made of them, and what the layers keep."""
        planted, user = Planted(f"user {number}"), f"user {number}"
        first = self._remembered(planted, user, now)
        self._derived(planted, first)
        self._layers(planted, user)
        self._note_vectors(planted)
        return planted

    def erase(self, number: int, planted: Planted) -> Forgotten:
        """By id, by a filter or by scope; what goes by id leaves the layers to a second call."""
        match number % 3:
            case 0:
                return self._memory.forget(user_id=planted.user, erase=True)
            case 1:
                self._memory.forget(planted.ids[0], erase=True)
            case _:
                where = {"text": {"contains": TAIL}}
                self._memory.forget(filters=where, user_id=planted.user, erase=True)
        return self._memory.forget(user_id=planted.user, erase=True)

    def pack(self, user: str, now: datetime) -> None:
        """Move what a user has to the cold tier."""
        reach = Reach(tenant=self._memory.tenant, user_id=user)
        self._memory.parts.store.tiers.pack(reach, Tier.COLD, before=now + timedelta(days=1))

    def _word(self, planted: Planted) -> str:
        word = "".join(self._chance.choices(_LETTERS, k=_WORD_LETTERS)) + TAIL
        planted.words.add(word)
        return word

    def _remembered(self, planted: Planted, user: str, now: datetime) -> MemoryRecord:
        name = self._word(planted).capitalize()
        planted.words.add(name)
        [first, second] = self._memory.add_many(
            [
                {
                    "text": f"My dog is called {name} and I live in {self._word(planted)}.",
                    "metadata": {"note": self._word(planted)},
                    "speaker": self._word(planted),
                    "source": self._word(planted),
                    "external_id": self._word(planted),
                },
                f"The {self._word(planted)} is behind the {self._word(planted)}.",
            ],
            user_id=user,
            session_id=f"session of {user}",
            idempotency_key=self._word(planted),
        )
        self._memory.update(first.id, text=f"I moved to {self._word(planted)}.", reason="it did")
        self._memory.feedback(first.id, useful=True, query=f"what of {self._word(planted)}?")
        self._memory.associate(first.id, second.id, self._word(planted))
        planted.ids += [first.id, second.id]
        return self._memory.get(first.id)

    def _derived(self, planted: Planted, first: MemoryRecord) -> None:
        """What sleep would have made of it: a semantic memory, and a duplicate merged into it."""
        now = first.updated_at
        made = self._record(planted, first, kind=Kind.SEMANTIC, origin=SLEEP, made_of=1)
        twin = self._record(planted, first, kind=Kind.EPISODIC, state=State.ARCHIVED)
        self._memory.parts.writer.derive(
            self._memory.parts.writer.insertion(made), [first], f"made for {first.id}"
        )
        link = Association(
            source=twin.id, target=first.id, type=MERGED_INTO, strength=1.0, created_at=now
        )
        self._memory.parts.store.archive.write(
            Batch(
                tenant=first.tenant,
                at=now,
                actions=(Insert(record=_superseded(twin, first)),),
                links=(link,),
            )
        )
        planted.ids += [made.id, twin.id]

    def _record(
        self,
        planted: Planted,
        like: MemoryRecord,
        *,
        kind: Kind,
        state: State = State.ACTIVE,
        origin: str | None = None,
        made_of: int | None = None,
    ) -> MemoryRecord:
        return MemoryRecord(
            id=str(self._memory.service._new_id()),
            tenant=like.tenant,
            text=f"It is about {self._word(planted)}.",
            created_at=like.created_at,
            updated_at=like.updated_at,
            happened_at=like.happened_at,
            user_id=like.user_id,
            kind=kind,
            state=state,
            origin=origin,
            metadata={} if made_of is None else {SOURCES: made_of},
        )

    def _layers(self, planted: Planted, user: str) -> None:
        memory, session = self._memory, f"session of {user}"
        memory.blocks.create("secret", self._word(planted), user_id=user)
        memory.sessions.create(session, user_id=user, data={"a": self._word(planted)})
        memory.working.set("task", self._word(planted), session_id=session, user_id=user)
        memory.facts.add("Ana", "likes", self._word(planted), user_id=user)
        memory.snapshot("before", user_id=user, note=self._word(planted))

    def _note_vectors(self, planted: Planted) -> None:
        store, tenant = self._memory.parts.store, self._memory.tenant
        fingerprint = self._memory.parts.embedder.fingerprint
        for partition in store.recall.partitions(Reach(tenant=tenant, user_id=planted.user)):
            found = [store.recall.key_of(tenant, id) for id in planted.ids]
            keys = [place[1] for place in found if place is not None]
            for piece in store.vectors.pieces(fingerprint, partition, keys):
                planted.vectors.add(piece.vector[4 : 4 + _VECTOR_BYTES])
                planted.vectors.add(piece.codes[:_VECTOR_BYTES])
        planted.vectors = {one for one in planted.vectors if len(one) == _VECTOR_BYTES}


def left_in(files: Iterable[Path], planted: Iterable[Planted]) -> dict[str, list[Path]]:
    """The secrets that are in these files, in letters, and where."""
    words, vectors = set(), set()
    for one in planted:
        words |= {word[-len(TAIL) - _KEPT_LETTERS :].lower().encode() for word in one.words}
        vectors |= one.vectors
    found: dict[str, list[Path]] = {}
    finder = _Finder(vectors)
    for path in files:
        content = _read(path)
        hits = set(_tailed(content.lower())) & words
        hits |= finder.among(content)
        for hit in hits:
            shown = hit.decode() if hit in words else hit.hex()
            found.setdefault(shown, []).append(path)
    return found


class _Finder:
    """Finds byte strings by their first bytes, all at once; two rule out most places."""

    def __init__(self, wanted: set[bytes]) -> None:
        self._wanted = wanted
        self._firsts = np.unique(np.frombuffer(b"".join(w[:_FIRST] for w in wanted), np.uint64))
        self._likely = np.zeros(1 << 16, bool)
        self._likely[self._firsts & 0xFFFF] = True

    def among(self, content: bytes) -> set[bytes]:
        """Which of them are in the content."""
        near = [at for shift in range(_FIRST) for at in self._near(content, shift)]
        return {content[at : at + _VECTOR_BYTES] for at in near} & self._wanted

    def _near(self, content: bytes, shift: int) -> list[int]:
        whole = (len(content) - shift) // _FIRST
        if whole <= 0:
            return []
        numbers = np.frombuffer(content, np.uint64, whole, shift)
        places = np.flatnonzero(self._likely[numbers & 0xFFFF])
        places = places[np.isin(numbers[places], self._firsts)]
        return [int(place) * _FIRST + shift for place in places]


def _tailed(content: bytes) -> Iterator[bytes]:
    """What stands before every tail, with it."""
    tail, at = TAIL.encode(), -1
    while (at := content.find(tail, at + 1)) >= 0:
        yield content[max(0, at - _KEPT_LETTERS) : at + len(tail)]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:  # it went meanwhile
        return b""


def _superseded(record: MemoryRecord, by: MemoryRecord) -> MemoryRecord:
    return replace(record, superseded_by=by.id)
