"""What follows from what a text says, and what it takes back of itself.

Whose "my mom" is, who is the same, what a wedding ends; jokes, and values that are replaced.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from remanence.language.english.extraction.phrases import PERSON
from remanence.language.english.extraction.statement import NamedEntity, Statement
from remanence.language.english.extraction.subjects import Kinsman, People
from remanence.language.english.kin import KIN
from remanence.model.knowledge import EntityType, FactKind, Timespan, folded_name
from remanence.model.predicates import SAME_AS, Holds, predicate_of

_TAKES_BACK = re.compile(
    r"(?:(?:ha(?:ha)+|lol|no|nah|nope|ok|okay|wait|oh)\b[,.!]*\s+){0,3}"
    r"(?:(?:i'm\s|i am\s|i was\s)?(?:(?:just|only|totally)\s+)?(?:kidding|joking)|j/?k|psych"
    r"|that was a joke|scratch that|lol,?\s+not really|not really,?\s+lol)\b[\s,.!:)]*",
    re.IGNORECASE,
)
FOLLOWS = "follows"
_NOT_REALLY = re.compile(r"(?:lol|haha)[,.!]*\s+not really\b[\s,.!]*", re.IGNORECASE)
_PARTED = re.compile(r"\b(?:divorc\w*|split\w*|separat\w*|br[eo]ak\w*|broke\w*|over)\b", re.I)
_PERSON = re.compile(PERSON)
_SPLIT = re.compile(r"\bsplit\b", re.IGNORECASE)
_NOT_THE_ONE = frozenset(
    ["ex", "former", "old", "future", "imaginary", "late", "would-be", "other", "new", "previous"]
)
# Of these one has but one, or one at a time: "my wife" is whoever is called so.
_ONLY_ONE = ("mother", "father", "married to")
_LASTING = ("mother", "father")
_STATUS = "relationship status"
_ENDED_BY: dict[str, tuple[str, ...]] = {
    "married to": (_STATUS, "dating", "engaged to"),
    "engaged to": (_STATUS,),
    "dating": (_STATUS,),
    "single": ("dating", "engaged to", "married to"),
    "divorced": ("married to",),
    "widowed": ("married to",),
    "married": ("dating", "engaged to"),
}


def takes_back(sentence: str) -> int:
    """How far the sentence only says that the one before was no more than a joke; else 0."""
    found = _NOT_REALLY.match(sentence) or _TAKES_BACK.match(sentence)
    return found.end() if found else 0


def corrected(said: Sequence[Statement], refused: Counter[str]) -> list[Statement]:
    """Of undated values that exclude each other only the last, or the most trusted."""
    last: dict[tuple[str, str], Statement] = {}
    for one in said:
        before = last.get(_key(one))
        if _is_plain(one) and (before is None or before.trust <= one.trust):
            last[_key(one)] = one
    kept = [one for one in said if not _is_plain(one) or last[_key(one)] is one]
    if len(kept) < len(said):
        refused["corrected"] += len(said) - len(kept)
    return kept


def _is_plain(one: Statement) -> bool:
    dated = one.began is not None or one.ended is not None
    return not dated and predicate_of(one.predicate).holds is not Holds.MANY


def following(said: Sequence[Statement], people: People, at: datetime) -> list[Statement]:
    """All that follows from what was said at that time, each thing once."""
    known = {_key(one) for one in said}
    ends = (end for one in said for end in _ends(one, at) if _key(end) not in known)
    found = [*ends, *_relatives(said, people), *_called(said, people), *_same(said, people)]
    return list({(*_key(one), one.value): one for one in found}.values())


def _key(one: Statement) -> tuple[str, str]:
    return one.subject.text, one.predicate


def _ends(one: Statement, at: datetime) -> Iterator[Statement]:
    """What a partner, a parting or a state of life brings to its end."""
    if one.ended is None:
        when = one.began or Timespan(end=at)
        over = _ENDED_BY.get(one.value if one.predicate == _STATUS else one.predicate, ())
    else:
        when, over = one.ended, _parted(one)
    for predicate in over:
        yield _over(one, predicate, when)


def _parted(one: Statement) -> tuple[str, ...]:
    if one.predicate not in ("dating", "married to") or not _PARTED.search(one.sentence):
        return ()
    over = ("engaged to", _STATUS) if one.predicate == "dating" else (_STATUS,)
    return (*over, "married to") if _SPLIT.search(one.sentence) else over


def _over(one: Statement, predicate: str, when: Timespan) -> Statement:
    return replace(
        one, predicate=predicate, value="", object=None, kind=FactKind.FACT, began=None, ended=when,
        rule=FOLLOWS,
    )  # fmt: skip


def _relatives(said: Iterable[Statement], people: People) -> Iterator[Statement]:
    """Who is one and the same though called otherwise: "my mom" is my mother."""
    for one in said:
        kinsman = people.unnamed.get(one.subject.text)
        if kinsman is None or not _is_the_one(kinsman):
            continue
        predicate = KIN[kinsman.word].predicate
        if predicate in _LASTING and kinsman.word != predicate:
            yield _link(one, one.subject, SAME_AS, kinsman.called(predicate))


def _called(said: Iterable[Statement], people: People) -> Iterator[Statement]:
    """Who "my mom" is, where her name was told."""
    told = {(one.subject.text, one.predicate, one.value): one for one in said if not one.ended}
    for kinsman, name in people.christened:
        predicate = KIN[kinsman.word].predicate if kinsman.word in KIN else ""
        one = told.get((kinsman.owner.text, predicate, name.text))
        if one is None or predicate not in _ONLY_ONE or not _is_the_one(kinsman):
            continue
        words = (kinsman.word, predicate) if predicate in _LASTING else (kinsman.word,)
        for word in dict.fromkeys(words):
            yield _link(one, kinsman.called(word), SAME_AS, name)


def _same(said: Iterable[Statement], people: People) -> Iterator[Statement]:
    """Who speaks, where they told their name and are known by a user's id so far."""
    speaker = people.speaker
    if _PERSON.fullmatch(speaker.text):
        return
    for one in said:
        own = one.predicate == "is named" and one.subject == speaker and one.trust == 1.0
        if own and one.ended is None and folded_name(one.value) != folded_name(speaker.text):
            yield _link(one, speaker, SAME_AS, NamedEntity(one.value, EntityType.PERSON))


def _is_the_one(kinsman: Kinsman) -> bool:
    return kinsman.word in KIN and _NOT_THE_ONE.isdisjoint(kinsman.adjective.split())


def _link(one: Statement, subject: NamedEntity, predicate: str, other: NamedEntity) -> Statement:
    return replace(
        one, subject=subject, predicate=predicate, value=other.text, object=other,
        kind=FactKind.FACT, began=None, ended=None, rule=FOLLOWS,
    )  # fmt: skip
