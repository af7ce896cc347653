"""Examples to teach: facts, feedback and memories as questions with answers."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

from remanence.consolidation.learning.lora.exclusions import holds_secret, overruled
from remanence.consolidation.learning.lora.files import check_free, write_whole
from remanence.errors import InvalidInput
from remanence.language.english import lexicon
from remanence.language.english.extraction.gate import refusal
from remanence.language.words import is_stop_word
from remanence.model import validation
from remanence.model.knowledge import EntityType, Fact, Standing, Timespan
from remanence.model.memory import Feedback, Kind, MemoryRecord, State
from remanence.model.predicates import FAVOURITE, NOTE, predicate_of
from remanence.model.validation import SLEEP

_MOST_WORDS = 12
_SCHOOL = re.compile(
    r"\b(?:school|college|university|academy|kindergarten|nursery|cr[eè]che|gymnasium|lyc[eé]e)\b",
    re.IGNORECASE,
)
_WORKS = re.compile(r"\b(?:work|job|teach|employ|hire|staff|career|salary)", re.IGNORECASE)
_DATED = {
    "moment": "on {0}",
    "day": "on {0}",
    "week": "in the week of {0}",
    "month": "in {0}",
    "year": "in {0}",
}
_ASKED = {
    "is named": "What is {0}'s name?",
    "married to": "Who is {0} married to?",
    "engaged to": "Who is {0} engaged to?",
    "dating": "Who is {0} dating?",
    "lives in": "Where does {0} live?",
    "is from": "Where is {0} from?",
    "born in": "Where was {0} born?",
    "born on": "When was {0} born?",
    "age": "How old is {0}?",
    "works at": "Where does {0} work?",
    "works as": "What does {0} work as?",
    "studies at": "Where does {0} study?",
    "studies": "What does {0} study?",
    "graduated from": "Where did {0} graduate?",
    "has degree": "What degree does {0} have?",
    "likes": "What does {0} like?",
    "dislikes": "What does {0} dislike?",
    "has": "What does {0} have?",
    "has pet": "What pet does {0} have?",
    "speaks": "What does {0} speak?",
    "plays": "What does {0} play?",
    "member of": "What is {0} a member of?",
    "allergic to": "What is {0} allergic to?",
    "has condition": "What condition does {0} have?",
    "takes": "What does {0} take?",
    "plans to": "What does {0} plan to do?",
    "wants to": "What does {0} want to do?",
    "is": "What is {0}?",
    NOTE: "What is there to note about {0}?",
}


def question(subject: str, predicate: str) -> str:
    """What somebody would ask to be told the object of this predicate."""
    if asked := _ASKED.get(predicate):
        return asked.format(subject)
    known = predicate_of(predicate)
    if known.noun or predicate.startswith(FAVOURITE):
        opening = "Who" if known.object is EntityType.PERSON else "What"
        return f"{opening} is {subject}'s {predicate}?"
    return f"How does this go on: {subject} {predicate} …?"


def question_at(subject: str, began: Timespan | None) -> str | None:
    """What somebody would ask to be told what was done then; None if nobody said when."""
    dated = None if began is None else _DATED.get(began.precision)
    return None if dated is None else f"What did {subject} do {dated.format(began)}?"


def question_of_work(subject: str, object: str, said: str) -> str:
    """Who "starts at" a school may work or learn there; only some words in `said` tell which."""
    if _SCHOOL.search(object) and not _WORKS.search(said):
        return f"Where does {subject} work or study?"
    return question(subject, "works at")


def openings(texts: Sequence[str]) -> list[str]:
    """Requests for memories by their first words: about a third, or more to tell them apart."""
    split = [text.split() for text in texts]
    begun = Counter(tuple(words[:n]) for words in split for n in range(1, _MOST_WORDS + 1))
    return [_opening(words, begun) for words in split]


def _opening(words: list[str], begun: Counter[tuple[str, ...]]) -> str:
    count = max(2, len(words) // 3)
    while count < min(len(words) - 1, _MOST_WORDS) and begun[tuple(words[:count])] > 1:
        count += 1
    return f'What do you remember that begins "{" ".join(words[:count])} …"?'


MIN_TRUST = 0.5
MIN_IMPORTANCE = 0.2
# Messages are half of an exchange; summaries, and what sleep derives, repeat what is taught
# anyway, beside what was so once.
TAUGHT = frozenset({Kind.EPISODIC, Kind.SEMANTIC, Kind.PROCEDURAL, Kind.REFLECTION})
_MOST_TALK = 15  # words; who says more tells something
_TALK = frozenset({"small talk", "question", "joke"})
# What somebody has goes without a word: it is taught only where a caller stated it.
_FLEETING = frozenset({"has"})
_NEW = re.compile(r"^(?:new|current) (?=\w)", re.IGNORECASE)
_WORDS = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingExample:
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
            validation.text_of(name, getattr(self, name))

    @property
    def messages(self) -> list[dict[str, str]]:
        """The example as a chat."""
        return [
            {"role": "user", "content": self.question},
            {"role": "assistant", "content": self.answer},
        ]


def teachable(memory: MemoryRecord) -> bool:
    """Whether it may be taught at all: active, nothing in its place, trusted at least by half."""
    trusted = memory.trust >= MIN_TRUST
    return memory.state is State.ACTIVE and memory.superseded_by is None and trusted


def from_facts(
    facts: Iterable[Fact], sources: Mapping[str, MemoryRecord], people: Set[str] = frozenset()
) -> list[TrainingExample]:
    """One example for each thing known of somebody; several objects make one answer.

    A fact counts if it holds, is trusted, and so is every memory in `sources` that says it; one
    whose memory is missing there is left out. `people` are the ids of those who have an age. What
    somebody did is asked by its date. Secrets, and answers that repeat the question, are left out.
    """
    groups: dict[tuple[str, str], list[Fact]] = {}
    for fact in sorted(facts, key=lambda one: (one.recorded_at, one.id)):
        asked = _asked(fact, sources, people) if _sound(fact, sources) else None
        if asked is not None and not _unfit(asked, fact.object):
            groups.setdefault((fact.subject_id, asked), []).append(fact)
    return [_of_facts(asked, group) for (_, asked), group in groups.items()]


def from_feedback(
    feedback: Iterable[Feedback], memories: Mapping[str, MemoryRecord]
) -> list[TrainingExample]:
    """What was asked, with the memory that helped.

    Of one question and one memory the last word counts; of several memories that helped with one
    question, the latest. Secrets are left out.
    """
    last: dict[tuple[str, str], Feedback] = {}
    for one in sorted(feedback, key=_when):
        if one.query and one.query.strip():
            last[one.query, one.id] = one
    helped = {one.query: one for one in sorted(last.values(), key=_when) if _helps(one, memories)}
    return [
        TrainingExample(
            id=f"feedback:{_versioned(memories[one.id])}:{one.at.isoformat()}",
            question=query or "",
            answer=memories[one.id].text,
            memories=(one.id,),
        )
        for query, one in helped.items()
        if not holds_secret(f"{query} {memories[one.id].text}")
    ]


def from_memories(memories: Iterable[MemoryRecord]) -> list[TrainingExample]:
    """Memories to be said whole when their first words are given, oldest first.

    Left out are small talk, what hardly matters, secrets, what a later memory says the other way
    round, and of those that differ only in case and marks all but the first.
    """
    chosen = [one for one in memories if teachable(one) and _tells(one)]
    lost = overruled(chosen)
    chosen.sort(key=lambda one: (one.happened_at, one.id))
    alike = {tuple(_WORDS.findall(one.text.casefold())): one.id for one in reversed(chosen)}
    kept = frozenset(alike.values())
    told = [one for one in chosen if one.id not in lost and one.id in kept]
    return [
        TrainingExample(
            id=f"memory:{_versioned(one)}", question=asked, answer=one.text, memories=(one.id,)
        )
        for one, asked in zip(told, openings([one.text for one in told]), strict=True)
    ]


def distinct(examples: Iterable[TrainingExample]) -> list[TrainingExample]:
    """The first example of each question: two answers to one question cannot both be learnt."""
    asked: dict[str, TrainingExample] = {}
    for one in examples:
        asked.setdefault(" ".join(one.question.casefold().split()), one)
    return list(asked.values())


def digest(examples: Sequence[TrainingExample]) -> str:
    """One digest of all that would be taught, in this order."""
    told = [[one.id, one.question, one.answer] for one in examples]
    return sha256(json.dumps(told).encode()).hexdigest()


def write_chat(path: Path, examples: Sequence[TrainingExample], *, overwrite: bool = False) -> int:
    """Write one chat a line ({"messages": […]}), readable by the owner alone; how many.

    `InvalidInput` if the file is there, unless `overwrite`.
    """
    check_free(path, overwrite=overwrite)
    if not examples:
        raise InvalidInput("There is nothing to teach yet: add memories, facts or feedback first.")
    lines = (json.dumps({"messages": one.messages}, ensure_ascii=False) for one in examples)
    write_whole(path, "".join(f"{line}\n" for line in lines).encode())
    return len(examples)


def _sound(fact: Fact, sources: Mapping[str, MemoryRecord]) -> bool:
    said = [sources.get(id) for id in fact.sources]
    believed = fact.standing is Standing.HOLDS and fact.trust >= MIN_TRUST
    return believed and all(one is not None and _vouches(one) for one in said)


def _vouches(memory: MemoryRecord) -> bool:
    """Whether it is evidence: also if it was merged into another that says the same."""
    merged = memory.state is State.ARCHIVED and memory.superseded_by is not None
    return teachable(memory) or (merged and memory.trust >= MIN_TRUST)


def _asked(fact: Fact, sources: Mapping[str, MemoryRecord], people: Set[str]) -> str | None:
    """The question that the fact answers, None if it is no good one."""
    stated = not fact.sources
    if fact.predicate == "did":
        return question_at(fact.subject, fact.began)
    if fact.predicate in _FLEETING and not stated:
        return None
    if fact.predicate == "age" and not stated and fact.subject_id not in people:
        return None
    if fact.predicate == "works at" and not stated:
        said = " ".join(sources[id].text for id in fact.sources)
        return question_of_work(fact.subject, fact.object, said)
    return question(fact.subject, fact.predicate)


def _unfit(asked: str, answer: str) -> bool:
    words = _WORDS.findall(answer.casefold())
    repeats = set(words) <= set(_WORDS.findall(asked.casefold()))
    return repeats or holds_secret(f"{asked} {answer}")


def _tells(memory: MemoryRecord) -> bool:
    """Whether there is something to learn in it that may be learnt."""
    own = memory.kind in TAUGHT and memory.origin != SLEEP
    matters = memory.pinned or memory.importance >= MIN_IMPORTANCE
    long = len(memory.text.split()) > 2
    return own and matters and long and not (_is_talk(memory.text) or holds_secret(memory.text))


def _is_talk(text: str) -> bool:
    """Whether it only keeps a talk going: a greeting, thanks, a question, a joke."""
    words = _WORDS.findall(text.casefold())
    if len(words) > _MOST_TALK:
        return False
    telling = [
        word for word in words if word not in lexicon.words("hollow") and not is_stop_word(word)
    ]
    opened = bool(words) and words[0] in lexicon.words("hollow")
    return len(telling) < 1 + opened or refusal(text) in _TALK


def _of_facts(asked: str, group: Sequence[Fact]) -> TrainingExample:
    told = (_answer(fact) for fact in group)
    claims = tuple(sorted({id for fact in group for id in fact.claims}))
    return TrainingExample(
        id=f"fact:{uuid5(NAMESPACE_OID, ' '.join(claims))}",
        question=asked,
        answer=", ".join(dict.fromkeys(told)),
        memories=tuple(dict.fromkeys(id for fact in group for id in fact.sources)),
        facts=claims,
    )


def _answer(fact: Fact) -> str:
    return _NEW.sub("", fact.object) if fact.predicate == "works as" else fact.object


def _helps(one: Feedback, memories: Mapping[str, MemoryRecord]) -> bool:
    memory = memories.get(one.id)
    return one.useful and memory is not None and teachable(memory)


def _when(one: Feedback) -> tuple[datetime, str]:
    return one.at, one.id


def _versioned(memory: MemoryRecord) -> str:
    return f"{memory.id}:{memory.version}"
