"""What a text takes back of itself: jokes, and values that a later sentence replaces."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from remanence.knowledge.extract.statement import Statement
from remanence.model.predicates import Holds, predicate_of

_TAKES_BACK = re.compile(
    r"(?:(?:ha(?:ha)+|lol|no|nah|nope|ok|okay|wait|oh)\b[,.!]*\s+){0,3}"
    r"(?:(?:i'm\s|i am\s|i was\s)?(?:(?:just|only|totally)\s+)?(?:kidding|joking)|j/?k|psych"
    r"|that was a joke|scratch that|lol,?\s+not really|not really,?\s+lol)\b[\s,.!:)]*",
    re.IGNORECASE,
)
_NOT_REALLY = re.compile(r"(?:lol|haha)[,.!]*\s+not really\b[\s,.!]*", re.IGNORECASE)


def takes_back(sentence: str) -> int:
    """How far the sentence only says that the one before was no more than a joke; else 0."""
    found = _NOT_REALLY.match(sentence) or _TAKES_BACK.match(sentence)
    return found.end() if found else 0


def corrected(said: Sequence[Statement], refused: Counter[str]) -> list[Statement]:
    """Of undated values that exclude each other only the last, or the most trusted."""
    last: dict[tuple[str, str], Statement] = {}
    for one in said:
        before = last.get(_place(one))
        if _is_plain(one) and (before is None or before.trust <= one.trust):
            last[_place(one)] = one
    kept = [one for one in said if not _is_plain(one) or last[_place(one)] is one]
    if len(kept) < len(said):
        refused["corrected"] += len(said) - len(kept)
    return kept


def _place(one: Statement) -> tuple[str, str]:
    return one.subject.text, one.predicate


def _is_plain(one: Statement) -> bool:
    dated = one.began is not None or one.ended is not None
    return not dated and predicate_of(one.predicate).holds is not Holds.MANY
