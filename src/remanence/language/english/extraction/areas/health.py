"""Allergies, conditions and medicines."""

from __future__ import annotations

import re
from collections.abc import Iterable

from remanence.language.english import lexicon
from remanence.language.english.extraction.phrases import listed, stop_at, topics
from remanence.language.english.extraction.rule import Aspect, ClauseScene, Give, RuleFinding, rule
from remanence.language.english.extraction.subjects import OWNER, People
from remanence.language.english.extraction.verb_group import Tense

_KNOWN = lexicon.either("conditions")
_ENDING = (
    r"(?:[\w'-]+\s+){0,3}?(?:deficiency|disease|syndrome|disorder|intolerance|[a-z]{3,}itis"
    r"|[a-z]{3,}osis|[a-z]{3,}emia|[a-z]{3,}aemia|[a-z]{3,}algia|dystrophy|palsy)"
)
_CONDITION = rf"(?P<condition>{_KNOWN}|{_ENDING})"
_OF = re.compile(rf"(?P<owner>{OWNER})\s+(?:\w+\s+)?(?P<condition>{_KNOWN}|[a-z]{{3,}}itis)\b")
_STATES = f"(?P<condition>{lexicon.either('health_states')})"
_MEDICINE = re.compile(rf"\b(?:{lexicon.either('medicines')})\b", re.IGNORECASE)
_NOT_MEDICINE = re.compile(rf"\b(?:{lexicon.either('no_medicines')})\b", re.IGNORECASE)
_ANY_MEDICINE = frozenset(["meds", "medication", "medications", "medicine", "pills", "drugs"])
_MEDICINE_WORDS = 4
_REACTION = re.compile(
    r"\b(?:rash|allerg\w+|sick|swell\w*|hives|react\w*|anaphyla\w+|itch\w*)\b", re.I
)
_LEAD = re.compile(r"^(?:(?:an?|the|some|really|very|my|this|that|quite)\s+)+", re.IGNORECASE)
_END = stop_at("at when while from in for")
_DOSE = stop_at("twice once three daily weekly at in with before after for")


def _allergic(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    for value in listed(after, _END):
        if lexicon.words("joke_allergies").isdisjoint(value.lower().split()):
            yield RuleFinding("allergic to", value)


def _cannot_eat(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    """ "I can't eat strawberries, they give me a rash"."""
    if scene.group.able and scene.group.negated and _REACTION.search(scene.sentence):
        for value in listed(after, _END):
            yield RuleFinding("allergic to", value, denied=True)


def _allergy(_scene: ClauseScene, _after: str, tail: re.Match[str]) -> Iterable[RuleFinding]:
    yield RuleFinding("allergic to", tail["what"])


def _condition(aspect: Aspect) -> Give:
    def give(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
        for value in topics(after, scene.lower):
            yield RuleFinding("has condition", value, aspect)

    return give


def _known(scene: ClauseScene, _after: str, tail: re.Match[str]) -> Iterable[RuleFinding]:
    if scene.group.tense is not Tense.FUTURE:
        yield RuleFinding("has condition", _LEAD.sub("", tail["condition"]))


def _is_named(value: str) -> bool:
    """Whether it says which medicine: "metformin", and not "my meds", "help with my pills"."""
    named = len(value.split()) <= _MEDICINE_WORDS and value.lower() not in _ANY_MEDICINE
    return named and not _NOT_MEDICINE.search(value)


def _takes(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    for value in listed(after, _DOSE)[:2]:
        if _MEDICINE.search(value) and _is_named(value):
            yield RuleFinding("takes", value)


RULES = (
    rule("be", r"(?:\w+ly\s+|very\s+|also\s+)?allergic\s+to\s+", _allergic),
    rule("have", r"(?:an?\s+)?(?:[a-z]+\s+)?(?P<what>[a-z]+)\s+allergy\b", _allergy),
    rule("have", r"(?:an?\s+)?(?:[a-z]+\s+)?allerg(?:y|ies)\s+to\s+", _allergic),
    rule("eat have drink tolerate", r"", _cannot_eat),
    rule("diagnose", r"with\s+", _condition(Aspect.START), passive=True),
    rule("suffer", r"from\s+", _condition(Aspect.STATE)),
    rule(
        "have get",
        rf"(?:(?:an?|really|terrible|bad|severe|mild|chronic)\s+)*{_CONDITION}\b",
        _known,
    ),
    rule("take use", r"", _takes),
    rule("be", r"on\s+(?=\w+)", _takes),
    rule(
        "be",
        rf"(?:\w+ly\s+|an?\s+)?(?:type [12]\s+)?{_STATES}\b(?!\s+(?:without|to|with)\b)",
        _known,
    ),
)


def conditions(text: str, people: People) -> Iterable[RuleFinding]:
    """What is said by the way: "Ana's asthma got worse"."""
    for found in _OF.finditer(text):
        if owner := people.owner(found["owner"]):
            yield RuleFinding("has condition", found["condition"], subject=owner)
