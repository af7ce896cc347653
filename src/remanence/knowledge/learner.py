"""Learning: what new memories say, read by rules and made ready to be stored with them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from remanence import deadline
from remanence.knowledge.extract.statement import Named, NameFinder, Reader, Reading, Statement
from remanence.knowledge.extract.wording import retold
from remanence.model.knowledge import (
    TIMEZONE,
    Claim,
    Entity,
    EntityType,
    FactKind,
    Learnt,
    entity_id,
)
from remanence.model.memory import EMPTY, Kind, MemoryRecord, Metadata, State
from remanence.model.predicates import phrase
from remanence.remember.tool_calls import OF_MEMORY
from remanence.zones import zone_name

RULES = "rules"
SELF = "user"  # who speaks, when nobody says who
# What people and notes say. Summaries and reflections only repeat it.
READ = frozenset({Kind.MESSAGE, Kind.EPISODIC, Kind.SEMANTIC})
UNHEARD = frozenset({"assistant", "system", "tool", "function", "developer"})
# What a client calls its model is nobody's name.
NO_NAMES = UNHEARD | {"ai", "bot", "chatbot", "chatgpt", "gpt", "llm", "model", "agent"}
RETOLD = 0.6  # trust in what a named assistant says: it knows it from somebody else
TICK = timedelta(microseconds=1)
# How far whoever spoke of somebody is trusted, and whom they spoke of.
Heard = tuple[float, Named]
RECENT = 3  # people last spoken of, whom "she" may mean in the next message


class Learner:
    """Reads memories. `entities` and `relations` can each be switched off. Thread-safe.

    Without a `reader`, the rules read. `refused` counts, since this was made, what did not become
    knowledge and why.
    """

    def __init__(
        self,
        new_id: Callable[[], UUID],
        *,
        entities: bool = True,
        relations: bool = True,
        find_names: NameFinder | None = None,
        reader: Reader | None = None,
        origin: str = RULES,
    ) -> None:
        self._new_id = new_id
        self._reader = reader
        self._origin = origin
        self._entities = entities
        self._relations = relations
        self._find_names = find_names
        self._lock = threading.Lock()
        self._refused: Counter[str] = Counter()

    def refused(self) -> dict[str, int]:
        """How often something was refused, by reason, the most frequent first."""
        with self._lock:
            return dict(self._refused.most_common())

    def reading_by(self, reader: Reader, origin: str) -> Learner:
        """A learner with the same switches that reads in another way; counts go to this one."""
        other = Learner(
            self._new_id,
            entities=self._entities,
            relations=self._relations,
            find_names=self._find_names,
            reader=reader,
            origin=origin,
        )
        other._lock, other._refused = self._lock, self._refused
        return other

    def read(
        self, text: str, *, speaker: Named, at: datetime, recent: Sequence[Named] = ()
    ) -> Reading:
        """What a text says, as this learner reads."""
        reader = self._reader or _rules()
        return reader(
            text,
            speaker=speaker,
            at=at,
            recent=recent,
            find_names=self._find_names,
            relations=self._relations,
        )

    def learn(self, records: Sequence[MemoryRecord]) -> list[Learnt]:
        """What each of these memories says, those of one session in their order."""
        if not (self._entities or self._relations):
            return []
        refused: Counter[str] = Counter()
        recent: dict[str | None, list[Heard]] = {}
        readings = [self._reading(record, recent, refused) for record in records]
        found = [
            self._learnt(record, reading)
            for record, reading in zip(_in_order(records), readings, strict=True)
        ]
        with self._lock:
            self._refused.update(refused)
        return found

    def _reading(
        self,
        record: MemoryRecord,
        recent: dict[str | None, list[Heard]],
        refused: Counter[str],
    ) -> Reading:
        deadline.breathe()
        reason = unheard(record)
        if reason is not None:
            refused[reason] += 1
            return Reading()
        heard = recent.get(record.session_id, []) if record.session_id else []
        known = [name for trust, name in heard if trust >= record.trust][-RECENT:]
        reading = self.read(
            record.text, speaker=speaker_of(record), at=record.happened_at, recent=known
        )
        refused.update(reading.refused)
        people = [name for name in reading.names if name.type == EntityType.PERSON]
        recent[record.session_id] = _lately([*heard, *((record.trust, one) for one in people)])
        return reading

    def _learnt(self, record: MemoryRecord, reading: Reading) -> Learnt:
        names = reading.names if self._entities else ()
        said_here = [*reading.statements, *reading.implied] if self._relations else []
        statements = _distinct(_retold(one, speaker_of(record)) for one in said_here)
        said = [name for one in statements for name in (one.subject, one.object) if name]
        return Learnt(
            memory=record.id,
            entities=tuple(_entities(record, [*names, *said])),
            mentions=tuple(dict.fromkeys(entity_id(record.user_id, n.text) for n in names)),
            claims=tuple(self._claim(record, one) for one in statements),
        )

    def _claim(self, record: MemoryRecord, said: Statement) -> Claim:
        return claim_of(record, said, str(self._new_id()), self._origin)


def _rules() -> Reader:
    """Loaded when something is first read: making the patterns takes a fifth of a second."""
    from remanence.knowledge.extract.reading import read

    return read


def _lately(heard: Sequence[Heard]) -> list[Heard]:
    """The last few that anybody may mean: the less trusted push out none of the more trusted."""
    kept: list[Heard] = []
    for trust, name in reversed(heard):
        if sum(other >= trust for other, _ in kept) < RECENT:
            kept.append((trust, name))
    return kept[::-1]


def _in_order(records: Iterable[MemoryRecord]) -> Iterator[MemoryRecord]:
    """The records, those of one moment a little apart: what was said later counts as later."""
    seen: Counter[tuple[str | None, datetime]] = Counter()
    for record in records:
        moment = (record.user_id, record.happened_at)
        yield replace(record, happened_at=record.happened_at + seen[moment] * TICK)
        seen[moment] += 1


def unheard(record: MemoryRecord) -> str | None:
    """Why a memory is not read at all; None if it is."""
    if record.kind not in READ:
        return f"a {record.kind}"
    if record.metadata.get(OF_MEMORY) is True:
        return "memory's own tools"
    if record.role in ("tool", "function", "system", "developer"):
        return f"role {record.role}"
    named = record.speaker is not None and record.speaker.strip().casefold() not in NO_NAMES
    if record.role in UNHEARD and not named:
        return "the assistant's words"
    return None


def speaker_of(record: MemoryRecord) -> Named:
    """Who says "I" in a memory."""
    return Named(record.speaker or record.user_id or SELF, EntityType.PERSON)


def claim_of(record: MemoryRecord, said: Statement, id: str, origin: str) -> Claim:
    """A statement as a claim: recorded when its memory came to say so."""
    whose = record.user_id
    return Claim(
        id=id,
        subject=entity_id(whose, said.subject.text),
        predicate=said.predicate,
        value=said.value,
        object=None if said.object is None else entity_id(whose, said.object.text),
        text=phrase(said.subject.text, said.predicate, said.value),
        kind=said.kind,
        confidence=said.confidence,
        trust=record.trust * said.trust * (RETOLD if record.role in UNHEARD else 1.0),
        observed_at=record.happened_at,
        recorded_at=_told_at(record),
        began=said.began,
        ended=said.ended,
        origin=origin,
        memory=record.id,
        rested_at=None if record.state == State.ACTIVE else record.updated_at,
        user_id=whose,
        agent_id=record.agent_id,
        session_id=record.session_id,
        metadata=_calendar(record),
    )


def _calendar(record: MemoryRecord) -> Metadata:
    """Where the days of a claim are days, unless in UTC: `When` is printed by it."""
    name = zone_name(record.happened_at)
    return EMPTY if name == "UTC" else {TIMEZONE: name}


def _told_at(record: MemoryRecord) -> datetime:
    """When the memory came to say what it says."""
    return record.created_at if record.version == 1 else record.updated_at


def _retold(said: Statement, speaker: Named) -> Statement:
    """An act without the speaker's "my" and "me", which nobody else could read."""
    if said.kind not in (FactKind.EVENT, FactKind.PLAN):
        return said
    return replace(said, value=retold(said.value, speaker.text, own=said.subject == speaker))


def _distinct(statements: Iterable[Statement]) -> list[Statement]:
    """Each thing said once, the surest of those that say the same."""
    best: dict[tuple[str, str, str, object, object], Statement] = {}
    for one in statements:
        key = (one.subject.text, one.predicate, one.value.casefold(), one.began, one.ended)
        if key not in best or best[key].confidence < one.confidence:
            best[key] = one
    return list(best.values())


def _entities(record: MemoryRecord, names: Iterable[Named]) -> list[Entity]:
    """An entity for each name; of several types, one that says more than `thing`."""
    found: dict[str, Entity] = {}
    for name in names:
        id = entity_id(record.user_id, name.text)
        if id not in found or found[id].type == EntityType.THING:
            found[id] = Entity(
                id=id,
                name=name.text,
                type=name.type,
                created_at=_told_at(record),
                user_id=record.user_id,
            )
    return list(found.values())
