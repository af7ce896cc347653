"""Learning: what memories say, read and made ready to be stored; by new ones, or read anew."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from datetime import datetime, timedelta
from typing import Unpack
from uuid import UUID

from remanence.errors import InvalidInput
from remanence.knowledge.arguments import KnowledgeOwner
from remanence.language.english.extraction.statement import (
    NamedEntity,
    NameFinder,
    Reader,
    Reading,
    Statement,
    retold,
)
from remanence.memories.messages import OF_MEMORY
from remanence.memories.writer import Writer
from remanence.model import deadline, validation
from remanence.model.clock import Clock
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
from remanence.model.ports.language_model import LanguageModel
from remanence.model.ports.store import Store
from remanence.model.predicates import phrase
from remanence.model.progress import Progress
from remanence.model.scope import Reach
from remanence.model.zones import zone_name

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
Heard = tuple[float, NamedEntity]
RECENT = 3  # people last spoken of, whom "she" may mean in the next message
PAGE = 200
MODEL = "model"


@dataclass(eq=False)
class Learner:
    """Reads memories. `entities` and `relations` can each be switched off. Thread-safe.

    Without a `reader`, the rules read. `refused` counts, since this was made, what did not become
    knowledge and why.
    """

    new_id: Callable[[], UUID]
    _: KW_ONLY
    entities: bool = True
    relations: bool = True
    find_names: NameFinder | None = None
    reader: Reader | None = None
    origin: str = RULES

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._refused: Counter[str] = Counter()

    def refused(self) -> dict[str, int]:
        """How often something was refused, by reason, the most frequent first."""
        with self._lock:
            return dict(self._refused.most_common())

    def reading_by(self, reader: Reader, origin: str) -> Learner:
        """A learner with the same switches that reads in another way; counts go to this one."""
        other = copy(self)
        other.reader, other.origin = reader, origin
        return other

    def read(
        self,
        text: str,
        *,
        speaker: NamedEntity,
        at: datetime,
        recent: Sequence[NamedEntity] = (),
        all: bool = False,
    ) -> Reading:
        """What a text says, as this learner reads; with `all` also what is of little worth."""
        reader = self.reader or _rules()
        return reader(
            text,
            speaker=speaker,
            at=at,
            recent=recent,
            find_names=self.find_names,
            relations=self.relations,
            all=all,
        )

    def learn(self, records: Sequence[MemoryRecord]) -> list[Learnt]:
        """What each of these memories says, those of one session in their order."""
        if not (self.entities or self.relations):
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
        self, record: MemoryRecord, recent: dict[str | None, list[Heard]], refused: Counter[str]
    ) -> Reading:
        deadline.breathe()
        reason = unheard(record)
        if reason is not None:
            refused[reason] += 1
            return Reading()
        heard = recent.get(record.session_id, []) if record.session_id else []
        known = [name for trust, name in heard if trust >= record.trust][-RECENT:]
        reading = self.read(
            record.text,
            speaker=speaker_of(record),
            at=record.happened_at,
            recent=known,
            all=record.kind != Kind.MESSAGE,  # a note is kept on purpose
        )
        refused.update(reading.refused)
        people = [name for name in reading.names if name.type == EntityType.PERSON]
        recent[record.session_id] = _lately([*heard, *((record.trust, one) for one in people)])
        return reading

    def _learnt(self, record: MemoryRecord, reading: Reading) -> Learnt:
        names = reading.names if self.entities else ()
        said_here = [*reading.statements, *reading.implied] if self.relations else []
        statements = _distinct(_retold(one, speaker_of(record)) for one in said_here)
        said = [name for one in statements for name in (one.subject, one.object) if name]
        return Learnt(
            memory=record.id,
            entities=tuple(_entities(record, names, said)),
            mentions=tuple(dict.fromkeys(entity_id(record.user_id, n.text) for n in names)),
            claims=tuple(
                claim_of(record, one, str(self.new_id()), self.origin) for one in statements
            ),
        )


def _rules() -> Reader:
    """Loaded when something is first read: making the patterns takes a fifth of a second."""
    from remanence.language.english.extraction.reading import read

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


def speaker_of(record: MemoryRecord) -> NamedEntity:
    """Who says "I" in a memory."""
    return NamedEntity(record.speaker or record.user_id or SELF, EntityType.PERSON)


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
    """Where the days of a claim are days, unless in UTC: a `Timespan` is printed by it."""
    name = zone_name(record.happened_at)
    return EMPTY if name == "UTC" else {TIMEZONE: name}


def _told_at(record: MemoryRecord) -> datetime:
    """When the memory came to say what it says."""
    return record.created_at if record.version == 1 else record.updated_at


def _retold(said: Statement, speaker: NamedEntity) -> Statement:
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


def _entities(
    record: MemoryRecord, names: Iterable[NamedEntity], said: Iterable[NamedEntity]
) -> list[Entity]:
    """An entity for each name; of several types, one that says more than `thing`.

    What only statements name is of the type they need. What is trusted less than fully does not
    say of what sort a name is: others go by that.
    """
    types = _types(record, said) | _types(record, names)
    return [
        Entity(
            id=id,
            name=name.text,
            type=name.type if record.trust >= 1 else EntityType.THING,
            created_at=_told_at(record),
            user_id=record.user_id,
        )
        for id, name in types.items()
    ]


def _types(record: MemoryRecord, names: Iterable[NamedEntity]) -> dict[str, NamedEntity]:
    found: dict[str, NamedEntity] = {}
    for name in names:
        id = entity_id(record.user_id, name.text)
        if id not in found or found[id].type == EntityType.THING:
            found[id] = name
    return found


class FactLearning:
    """Reads memories again, by the rules or by a language model."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        tenant: str,
        *,
        writer: Writer,
        learner: Learner,
        model: LanguageModel | None = None,
    ) -> None:
        self._store = store
        self._writer = writer
        self._learner = learner
        self._clock = clock
        self._tenant = tenant
        self._model = model

    def extract(
        self,
        text: str,
        *,
        speaker: str | None = None,
        at: datetime | None = None,
        model: bool = False,
    ) -> Reading:
        """What a text says, and what of it would be refused and why; nothing is kept."""
        name = validation.label_of("speaker", speaker) or SELF
        moment = self._clock.now() if at is None else validation.moment_of("at", at)
        learner = self._reader(model)
        whole = validation.text_of("text", text)
        return learner.read(whole, speaker=NamedEntity(name, EntityType.PERSON), at=moment)

    def learn(
        self,
        *,
        all_users: bool = False,
        model: bool = False,
        progress: Progress | None = None,
        **whose: Unpack[KnowledgeOwner],
    ) -> int:
        """Read memories anew, such as those stored before facts were; how many claims they make.

        What was found in them before is replaced; what callers stated stays. Stop it at any time:
        what was read is read. With `model`, by the language model of the settings.
        """
        reach = Reach(tenant=self._tenant, all_users=all_users, **whose)
        learner = self._reader(model)
        # All at once, whatever others archive meanwhile.
        ids = [id for id, _ in self._store.archive.versions(reach)]
        claims = 0
        for start in range(0, len(ids), PAGE):
            page = self._store.archive.get(self._tenant, ids[start : start + PAGE])
            claims += self._writer.learn_again(page, learner.learn) if page else 0
            if progress:
                progress(min(start + PAGE, len(ids)), len(ids))
        return claims

    def refused(self) -> dict[str, int]:
        """How often something did not become a fact since the memory was opened, by reason."""
        return self._learner.refused()

    def _reader(self, model: bool) -> Learner:
        if not validation.truth_of("model", model):
            return self._learner
        if self._model is None:
            raise InvalidInput("No language model is configured; set llm_url and llm_model.")
        from remanence.language.english.extraction.by_model import ModelReader

        return self._learner.reading_by(ModelReader(self._model), MODEL)
