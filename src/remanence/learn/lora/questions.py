"""Questions that facts answer, so that a language model can be taught them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from remanence.model.knowledge import EntityType, When
from remanence.model.predicates import FAVOURITE, NOTE, predicate_of

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


def question_at(subject: str, began: When | None) -> str | None:
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
