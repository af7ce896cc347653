"""What somebody likes and dislikes, and what they eat."""

from __future__ import annotations

import re
from collections.abc import Iterable

from remanence.knowledge.extract.phrases import listed, phrase
from remanence.knowledge.extract.rule import Aspect, Found, Give, Scene, rule
from remanence.knowledge.extract.shapes import stop_at
from remanence.knowledge.extract.tables.listing import words
from remanence.knowledge.extract.verb_group import Phase, Tense

DIETS = (
    r"(?P<diet>vegan|vegetarian|veggie|pescatarian|pescetarian|flexitarian|gluten[- ]free|keto"
    r"|dairy[- ]free|paleo|halal|kosher|lactose[- ]free|plant[- ]based|low[- ]carb|sugar[- ]free"
    r"|carnivore|teetotal(?:er)?|mediterranean|raw food)"
)
_END = stop_at("at from by to for with over rather")
_LEAD = re.compile(r"\s*(?:to\s+|going\s+(?=\w+ing\b)|doing\s+|anything\s+(?:with|made of|by)\s+)")
_NOT_LIKED = re.compile(
    r"(?:how|it|that|this|what|when|you|your|him|her|them|to hear|to see you|hearing|seeing you"
    r"|the way|being able|talking to you|these|those|the (?:idea|sound|photo|picture|look|fact)"
    r"|idea|sound|to say|to think|my new|our new|a good)\b",
    re.IGNORECASE,
)
_WEAK = words("having being seeing hearing knowing getting help doing making going")
_THE = re.compile(
    r"\s*the\s+(?!(?:sea|ocean|beach|mountains?|outdoors|theat(?:re|er)|cinema|opera|ballet|city"
    r"|forest"
    r"|countryside|woods|rain|snow|sun|cold|heat|winter|summer|autumn|gym|office|guitar|piano"
    r"|violin"
    r"|country|night|quiet|dark)(?:\s*(?:$|[|.,!;])|\s(?:and|in|so|when|at|but)\b)"
    r"|(?:smell|taste|sound) of\b|[A-Z])",
)
_VERY = (
    r"(?:(?:really|so|very|quite|pretty|super|totally|completely|big|huge|absolutely|also|a bit"
    r"|deeply|always|more|mostly|such|an?|real|massive|lifelong|not)\s+)*"
)
_FEELING = (
    r"(?:into|fond of|keen on|crazy about|obsessed with|passionate about|mad about|in love with"
    r"|addicted to|nuts about|hooked on|big on)"
)


def _likes(predicate: str, denied: str = "") -> Give:
    """Likings; a denial is another predicate, or none at all. Tastes of old are over."""

    def give(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
        group = scene.group
        if group.tense in (Tense.PAST, Tense.FUTURE) or (group.negated and not denied):
            return
        if _NOT_LIKED.match(after.lstrip()) or _THE.match(after):
            return
        for value in _liked(after):
            yield Found(
                denied if group.negated else predicate,
                value,
                Aspect.EVER if group.tense is Tense.PERFECT else Aspect.STATE,
                denied=group.negated,
            )

    return give


def _liked(text: str) -> list[str]:
    lead = _LEAD.match(text)
    values = listed(text[lead.end() :] if lead else text, _END)
    return [one for one in values if len(one.split()) <= 5 and _tells(one)]


def _tells(value: str) -> bool:
    first = value.lower().split()[0]
    return first not in _WEAK and value.lower() != "spending time"


def _stand(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
    if scene.group.negated and scene.group.able and not _NOT_LIKED.match(after.lstrip()):
        for value in _liked(after):
            yield Found("dislikes", value, denied=True)


def _gladly_does_without(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
    if scene.group.able and not scene.group.negated:
        for value in _liked(after):
            yield Found("dislikes", value)


def _prefers(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
    if not scene.group.negated and scene.group.tense is Tense.PRESENT:
        for value in _liked(after)[:1]:
            yield Found("likes", value)


def _diet(aspect: Aspect) -> Give:
    return lambda _scene, _after, tail: (Found("diet", tail["diet"].lower(), aspect),)


def _eats(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
    """ "I do not eat pork", "I stopped eating sugar"."""
    group = scene.group
    never = group.negated and group.tense is Tense.PRESENT and not group.able
    value = phrase(after, _END)
    if value and len(value.split()) <= 2 and (never or group.no_longer):
        yield Found("diet", f"no {value}", denied=True)
    elif value and group.phase is Phase.END and len(value.split()) <= 2:
        yield Found("diet", f"no {value}", Aspect.EVER)


RULES = (
    rule("love like enjoy adore appreciate", r"", _likes("likes", "dislikes")),
    rule("hate dislike detest loathe despise", r"", _likes("dislikes")),
    rule("stand bear abide", r"", _stand),
    rule("do", r"without\s+", _gladly_does_without),
    rule("have", r"(?:such\s+)?an?\s+(?:real\s+)?(?:soft spot|weakness|thing|passion|love) for\s+",
         _likes("likes")),
    rule("be", rf"{_VERY}(?:partial to|sucker for)\s+", _likes("likes")),
    rule("prefer", r"", _prefers),
    rule("be", rf"{_VERY}{_FEELING}\s+", _likes("likes", "dislikes")),
    rule("be", rf"{_VERY}(?:[a-z]+\s+)?(?:fan|lover|enthusiast|admirer) of\s+",
         _likes("likes", "dislikes")),
    rule("be", rf"(?:an?\s+)?(?:strict\s+|on an?\s+)?{DIETS}\b", _diet(Aspect.STATE)),
    rule("go become turn", rf"(?:an?\s+)?{DIETS}\b", _diet(Aspect.START)),
    rule("follow eat have keep", rf"(?:an?\s+)?(?:strict\s+)?{DIETS}(?:\s+diet)?\b",
         _diet(Aspect.STATE)),
    rule("eat drink", r"", _eats),
)  # fmt: skip
