"""What somebody likes and dislikes, and what they eat."""

from __future__ import annotations

import re
from collections.abc import Iterable

from remanence.language.english import lexicon
from remanence.language.english.extraction.phrases import listed, phrase, stop_at
from remanence.language.english.extraction.rule import Aspect, ClauseScene, Give, RuleFinding, rule
from remanence.language.english.extraction.verb_group import Phase, Tense

DIETS = f"(?P<diet>{lexicon.either('diets')})"
_END = stop_at("at from by to for with over rather")
_LEAD = re.compile(r"\s*(?:to\s+|going\s+(?=\w+ing\b)|doing\s+|anything\s+(?:with|made of|by)\s+)")
_NOT_LIKED = re.compile(rf"(?:{lexicon.either('not_liked')})\b", re.IGNORECASE)
_THE = re.compile(
    r"\s*the\s+(?!(?:sea|ocean|beach|mountains?|outdoors|theat(?:re|er)|cinema|opera|ballet|city"
    r"|forest"
    r"|countryside|woods|rain|snow|sun|cold|heat|winter|summer|autumn|gym|office|guitar|piano"
    r"|violin|country|night|quiet|dark)(?:\s*(?:$|[|.,!;])|\s(?:and|in|so|when|at|but)\b)"
    r"|(?:smell|taste|sound) of\b|[A-Z])"
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

    def give(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
        group = scene.group
        if group.tense in (Tense.PAST, Tense.FUTURE) or (group.negated and not denied):
            return
        if _NOT_LIKED.match(after.lstrip()) or _THE.match(after):
            return
        for value in _liked(after):
            yield RuleFinding(
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
    return first not in lexicon.words("weak_likes") and value.lower() != "spending time"


def _prefers(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    if not scene.group.negated and scene.group.tense is Tense.PRESENT:
        for value in _liked(after)[:1]:
            yield RuleFinding("likes", value)


def _diet(aspect: Aspect) -> Give:
    return lambda _scene, _after, tail: (RuleFinding("diet", tail["diet"].lower(), aspect),)


def _eats(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    """ "I do not eat pork", "I stopped eating sugar"."""
    group = scene.group
    never = group.negated and group.tense is Tense.PRESENT and not group.able
    value = phrase(after, _END)
    if value and len(value.split()) <= 2 and (never or group.no_longer):
        yield RuleFinding("diet", f"no {value}", denied=True)
    elif value and group.phase is Phase.END and len(value.split()) <= 2:
        yield RuleFinding("diet", f"no {value}", Aspect.EVER)


RULES = (
    rule("love like enjoy adore appreciate", r"", _likes("likes", "dislikes")),
    rule("hate dislike detest loathe despise", r"", _likes("dislikes")),
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
