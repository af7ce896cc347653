"""Whether a statement is worth keeping: a sum over its rule, its words and where it stands.

Who somebody is, where they live and work, and their health are kept as they are read. Of what
people did, plan, like and own, most is true and of no use a year later; what such things looked
like that readers kept was learned from real conversations by bench/train_facts.py.
"""

from __future__ import annotations

import math
import re

from remanence.language.english import lexicon
from remanence.language.english.extraction.statement import NamedEntity, Statement
from remanence.language.english.extraction.worth_weights import BASE, WEIGHTS
from remanence.model.knowledge import FactKind
from remanence.model.predicates import FAVOURITE

ENOUGH = 0.65
_NEXT = re.compile(r"[\w']+|[.,!?;:()-]")
_LISTED = re.compile(r"\s*(?:[-*#>•]|\d+[.)])")
_FIRST_PERSON = re.compile(r"\b(?:I|my|we|our|me)\b")
_YOU = re.compile(r"\byou\b", re.IGNORECASE)
_EDGES = ".,!?'\""
_SHORT, _LONG, _DOCUMENT = 2, 7, 2_000


def is_loose(one: Statement) -> bool:
    """Whether it is something done, planned, liked or owned, and no state of a person."""
    if one.kind == FactKind.PREFERENCE:
        return not one.predicate.startswith(FAVOURITE) and one.predicate != "diet"
    return one.kind in (FactKind.EVENT, FactKind.PLAN) or one.predicate == "has"


def is_kept(one: Statement, text: str, speaker: NamedEntity) -> bool:
    """Whether the statement, read in the text, is worth keeping."""
    return not is_loose(one) or worth(one, text, speaker) >= ENOUGH


def worth(one: Statement, text: str, speaker: NamedEntity) -> float:
    """How probable it is that a reader would keep it."""
    odds = BASE + sum(
        WEIGHTS.get(cue, 0.0) * much for cue, much in cues(one, text, speaker).items()
    )
    return 1 / (1 + math.exp(-odds))


def cues(one: Statement, text: str, speaker: NamedEntity) -> dict[str, float]:
    """What the sum goes over, by name."""
    words = [word.lower().strip(_EDGES) for word in one.value.split()]
    found = {
        f"rule {one.rule}": True,
        f"predicate {one.predicate}": True,
        "own": one.subject == speaker,
        "kin": "'s " in one.subject.text,
        "short": len(words) <= _SHORT,
        "long": len(words) >= _LONG,
        "document": len(text) > _DOCUMENT,
        "dated": (one.began or one.ended) is not None,
        "vague": not lexicon.words("vague_values").isdisjoint(words),
        "pronoun": not lexicon.words("pronouns").isdisjoint(words),
        "name": any(word[:1].isupper() for word in one.value.split()[1:]),
        "digit": any(map(str.isdigit, one.value)),
        "list": _LISTED.match(one.sentence) is not None,
        "first person": _FIRST_PERSON.search(one.sentence) is not None,
        "you": _YOU.search(one.sentence) is not None,
        "asks": "?" in text,
        "by the way": "by the way" in text.lower(),
        f"then {_after(one)}": True,
        f"{'last' if one.kind == FactKind.PREFERENCE else 'verb'} {_telling(one, words)}": True,
    }
    return {name: 1.0 for name, there in found.items() if there} | {
        "words": math.log1p(len(words)),
        "sentence": math.log1p(len(one.sentence)),
        "text": math.log1p(len(text)),
        "lines": math.log1p(text.count("\n")),
        "confidence": one.confidence,
        "trust": one.trust,
    }


def _telling(one: Statement, words: list[str]) -> str:
    """The word that says most: what is done, or what is liked or owned."""
    if not words:
        return ""
    return words[0] if one.kind in (FactKind.EVENT, FactKind.PLAN) else words[-1]


def _after(one: Statement) -> str:
    """What follows the value in its sentence: a value that stops before "with" is cut short."""
    at = one.sentence.find(one.value)
    if at < 0:
        return "elsewhere"
    found = _NEXT.match(one.sentence[at + len(one.value) :].lstrip())
    if found is None:
        return "end"
    word = found[0].lower()
    return word if word in lexicon.words("after_values") or not word[0].isalnum() else "word"
