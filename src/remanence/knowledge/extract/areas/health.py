"""Allergies, conditions and medicines."""

from __future__ import annotations

import re
from collections.abc import Iterable

from remanence.knowledge.extract.phrases import listed
from remanence.knowledge.extract.rule import Aspect, Found, Give, Scene, rule
from remanence.knowledge.extract.shapes import stop_at, topics
from remanence.knowledge.extract.subjects import OWNER, People
from remanence.knowledge.extract.tables.listing import words
from remanence.knowledge.extract.verb_group import Tense

_KNOWN = (
    r"asthma|(?:type (?:1|2|one|two) )?diabetes|migraines?|epilepsy|arthritis|depression|anxiety"
    r"|adhd|autism|dyslexia|insomnia|eczema|psoriasis|anaemia|anemia|hypertension|high blood "
    r"pressure"
    r"|low blood pressure|cancer|crohn's|ibs|lupus|ptsd|ocd|parkinson's|alzheimer's|dementia"
    r"|multiple sclerosis|hay fever|sleep apn(?:o?e)a|tinnitus|vertigo|heart condition|glaucoma"
    r"|fibromyalgia|sciatica|rosacea|pcos|gout|kidney stones|bad back|high cholesterol|covid"
    r"|pneumonia"
)
_ENDING = (
    r"(?:[\w'-]+\s+){0,3}?(?:deficiency|disease|syndrome|disorder|intolerance|[a-z]{3,}itis"
    r"|[a-z]{3,}osis|[a-z]{3,}emia|[a-z]{3,}aemia|[a-z]{3,}algia|dystrophy|palsy)"
)
_CONDITION = rf"(?P<condition>{_KNOWN}|{_ENDING})"
_OF = re.compile(rf"(?P<owner>{OWNER})\s+(?:\w+\s+)?(?P<condition>{_KNOWN}|[a-z]{{3,}}itis)\b")
_STATES = (
    r"(?P<condition>diabetic|asthmatic|epileptic|dyslexic|autistic|colou?r[- ]?blind|coeliac|celiac"
    r"|lactose[- ]intolerant|gluten[- ]intolerant|anaemic|anemic|deaf|blind|pregnant|hard of "
    r"hearing)"
)
_MEDICINE = re.compile(
    r"\b(?:insulin|medication|meds|medicine|pills?|tablets?|supplements?|vitamins?|antibiotics?"
    r"|statins?|ibuprofen|aspirin|paracetamol|metformin|antidepressants?|antihistamines?|lithium"
    r"|steroids?|beta[- ]blockers?|blood thinners?|melatonin|iron|magnesium|inhaler|drops"
    r"|[a-z]{4,}(?:ine|olol|cillin|mycin|azole|pram|pril|sartan|statin|oxetine|azepam|profen))\b",
    re.IGNORECASE,
)
_NOT_MEDICINE = re.compile(
    r"\b(?:line|wine|magazine|machine|routine|vaccine|discipline|marine|cuisine|engine|online"
    r"|medicine class|headline|deadline|valentine|caffeine|gasoline|trampoline)\b",
    re.IGNORECASE,
)
_REACTION = re.compile(
    r"\b(?:rash|allerg\w+|sick|swell\w*|hives|react\w*|anaphyla\w+|itch\w*)\b", re.I
)
_LEAD = re.compile(r"^(?:(?:an?|the|some|really|very|my|this|that|quite)\s+)+", re.IGNORECASE)
_JOKES = words("small talk mornings mondays work nonsense drama bullshit meetings")
_END = stop_at("at when while from in for")
_DOSE = stop_at("twice once three daily weekly at in with before after for")


def _allergic(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
    for value in listed(after, _END):
        if _JOKES.isdisjoint(value.lower().split()):
            yield Found("allergic to", value)


def _cannot_eat(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
    """ "I can't eat strawberries, they give me a rash"."""
    if scene.group.able and scene.group.negated and _REACTION.search(scene.sentence):
        for value in listed(after, _END):
            yield Found("allergic to", value, denied=True)


def _allergy(_scene: Scene, _after: str, tail: re.Match[str]) -> Iterable[Found]:
    yield Found("allergic to", tail["what"])


def _condition(aspect: Aspect) -> Give:
    def give(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
        for value in topics(after, scene.lower):
            yield Found("has condition", value, aspect)

    return give


def _known(scene: Scene, _after: str, tail: re.Match[str]) -> Iterable[Found]:
    if scene.group.tense is not Tense.FUTURE:
        yield Found("has condition", _LEAD.sub("", tail["condition"]))


def _takes(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
    for value in listed(after, _DOSE)[:2]:
        if _MEDICINE.search(value) and not _NOT_MEDICINE.search(value):
            yield Found("takes", value)


RULES = (
    rule("be", r"(?:\w+ly\s+|very\s+|also\s+)?allergic\s+to\s+", _allergic),
    rule("have", r"(?:an?\s+)?(?:[a-z]+\s+)?(?P<what>[a-z]+)\s+allergy\b", _allergy),
    rule("have", r"(?:an?\s+)?(?:[a-z]+\s+)?allerg(?:y|ies)\s+to\s+", _allergic),
    rule("eat have drink tolerate", r"", _cannot_eat),
    rule("diagnose", r"with\s+", _condition(Aspect.START), passive=True),
    rule("come", r"down with\s+", _condition(Aspect.START)),
    rule("suffer", r"from\s+", _condition(Aspect.STATE)),
    rule(
        "have get",
        rf"(?:(?:an?|really|terrible|bad|severe|mild|chronic)\s+)*{_CONDITION}\b",
        _known,
    ),
    rule("take use need", r"", _takes),
    rule("be", r"on\s+(?=\w+)", _takes),
    rule(
        "be",
        rf"(?:\w+ly\s+|an?\s+)?(?:type [12]\s+)?{_STATES}\b(?!\s+(?:without|to|with)\b)",
        _known,
    ),
)


def conditions(text: str, people: People) -> Iterable[Found]:
    """What is said by the way: "Ana's asthma got worse"."""
    for found in _OF.finditer(text):
        if owner := people.owner(found["owner"]):
            yield Found("has condition", found["condition"], subject=owner)
