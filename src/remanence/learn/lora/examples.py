"""Examples to teach: facts, useful feedback and memories as a question with its answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

from remanence.errors import InvalidInput
from remanence.learn.lora.files import write_whole
from remanence.learn.lora.questions import openings, question
from remanence.model import accept
from remanence.model.knowledge import Fact, Standing
from remanence.model.memory import Feedback, Kind, MemoryRecord, State

MIN_TRUST = 0.5
# Messages are half of an exchange, and summaries repeat what is taught anyway.
TAUGHT = frozenset({Kind.EPISODIC, Kind.SEMANTIC, Kind.PROCEDURAL, Kind.REFLECTION})


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A question and the answer to learn. `id` is made of ids, never of the text.

    `memories` and `facts` are what it came from; whoever erases one of them has to unlearn it.
    """

    id: str
    question: str
    answer: str
    memories: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("id", "question", "answer"):
            accept.text_of(name, getattr(self, name))

    @property
    def messages(self) -> list[dict[str, str]]:
        """The example as a chat."""
        return [
            {"role": "user", "content": self.question},
            {"role": "assistant", "content": self.answer},
        ]


def teachable(memory: MemoryRecord) -> bool:
    """Whether it may be taught at all: active, and trusted at least by half."""
    return memory.state is State.ACTIVE and memory.trust >= MIN_TRUST


def from_facts(facts: Iterable[Fact], sources: Mapping[str, MemoryRecord]) -> list[Example]:
    """One example for each thing known of somebody; several objects make one answer.

    A fact counts if it holds, is trusted, and so is every memory in `sources` that says it; one
    whose memory is missing there is left out.
    """
    groups: dict[tuple[str, str], list[Fact]] = {}
    for fact in sorted(facts, key=lambda one: (one.recorded_at, one.id)):
        if _sound(fact, sources):
            groups.setdefault((fact.subject_id, fact.predicate), []).append(fact)
    return [_of_facts(group) for group in groups.values()]


def from_feedback(
    feedback: Iterable[Feedback], memories: Mapping[str, MemoryRecord]
) -> list[Example]:
    """What was asked, with the memory that helped.

    Of one question and one memory the last word counts; of several memories that helped with one
    question, the latest.
    """
    last: dict[tuple[str, str], Feedback] = {}
    for one in sorted(feedback, key=_when):
        if one.query and one.query.strip():
            last[one.query, one.id] = one
    helped = {one.query: one for one in sorted(last.values(), key=_when) if _helps(one, memories)}
    return [
        Example(
            id=f"feedback:{_versioned(memories[one.id])}:{one.at.isoformat()}",
            question=query or "",
            answer=memories[one.id].text,
            memories=(one.id,),
        )
        for query, one in helped.items()
    ]


def from_memories(memories: Iterable[MemoryRecord]) -> list[Example]:
    """Memories to be said whole when their first words are given, oldest first."""
    chosen = [one for one in memories if teachable(one) and one.kind in TAUGHT]
    told = [one for one in chosen if len(one.text.split()) > 2]
    told.sort(key=lambda one: (one.happened_at, one.id))
    return [
        Example(
            id=f"memory:{_versioned(one)}",
            question=asked,
            answer=one.text,
            memories=(one.id,),
        )
        for one, asked in zip(told, openings([one.text for one in told]), strict=True)
    ]


def distinct(examples: Iterable[Example]) -> list[Example]:
    """The first example of each question: two answers to one question cannot both be learnt."""
    asked: dict[str, Example] = {}
    for one in examples:
        asked.setdefault(" ".join(one.question.casefold().split()), one)
    return list(asked.values())


def digest(examples: Sequence[Example]) -> str:
    """One digest of all that would be taught, in this order."""
    told = [[one.id, one.question, one.answer] for one in examples]
    return sha256(json.dumps(told).encode()).hexdigest()


def write_chat(path: Path, examples: Sequence[Example]) -> int:
    """Write one chat a line ({"messages": […]}), readable by the owner alone; how many."""
    if not examples:
        raise InvalidInput("There is nothing to teach yet: add memories, facts or feedback first.")
    lines = (json.dumps({"messages": one.messages}, ensure_ascii=False) for one in examples)
    write_whole(path, "".join(f"{line}\n" for line in lines).encode())
    return len(examples)


def _sound(fact: Fact, sources: Mapping[str, MemoryRecord]) -> bool:
    said = [sources.get(id) for id in fact.sources]
    believed = fact.standing is Standing.HOLDS and fact.trust >= MIN_TRUST
    return believed and all(one is not None and teachable(one) for one in said)


def _of_facts(group: Sequence[Fact]) -> Example:
    first = group[0]
    claims = tuple(sorted({id for fact in group for id in fact.claims}))
    return Example(
        id=f"fact:{uuid5(NAMESPACE_OID, ' '.join(claims))}",
        question=question(first.subject, first.predicate),
        answer=", ".join(dict.fromkeys(fact.object for fact in group)),
        memories=tuple(dict.fromkeys(id for fact in group for id in fact.sources)),
        facts=claims,
    )


def _helps(one: Feedback, memories: Mapping[str, MemoryRecord]) -> bool:
    memory = memories.get(one.id)
    return one.useful and memory is not None and teachable(memory)


def _when(one: Feedback) -> tuple[datetime, str]:
    return one.at, one.id


def _versioned(memory: MemoryRecord) -> str:
    return f"{memory.id}:{memory.version}"
