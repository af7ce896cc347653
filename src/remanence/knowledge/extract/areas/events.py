"""What somebody did: past acts that no other rule reads."""

from __future__ import annotations

import re
from collections.abc import Iterable

from remanence.knowledge.extract.areas.plans import action
from remanence.knowledge.extract.rule import Aspect, Found, Scene
from remanence.knowledge.extract.tables.listing import words
from remanence.knowledge.extract.verb_group import Tense

_NO_ACTS = words(
    """
    be do say tell think know feel hear mean seem look want need like love hate hope wish guess
    believe remember forget understand wonder notice realise realize agree expect worry happen
    matter let keep stay live sound stand remain decide plan intend see bear suppose figure
    consider try start begin continue stop ask talk chat call text mention come turn used prefer
    enjoy care trust hang wait end appreciate suffer dislike belong own have get make put give
    help
    """
)
_MEDICAL = re.compile(
    r"\s*(?:an?\s+(?:\w+\s+)?(?:heart attack|stroke|operation|accident|miscarriage|baby|surgery"
    r"|transplant"
    r"|crash)\b|(?:\w+\s+){0,2}surgery\b|(?:my|his|her)\s+\w+(?:\s\w+)?\s+(?:out|removed|done)\b)"
)
_GOT = re.compile(
    r"\s*(?:into|accepted|robbed|stuck|lost|a (?:promotion|raise|scholarship|tattoo)"
    r"|(?:my|his|her) (?:\w+ )?(?:licen[cs]e"
    r"|results|visa|passport|degree)|the (?:job|role|keys)|rid of|back from)\b"
)
_FOUNDED = re.compile(
    r"\s*(?:an?|my|our|his|her)\s+(?:\w+\s+){0,2}(?:business|company|band|podcast|blog|family"
    r"|startup|shop"
    r"|channel|club|studio|restaurant|firm)\b"
)
_SEEN = re.compile(r"\s*(?:[A-Z]|an?\s|the\s)")
_MEAL = re.compile(r"\s*(?:lunch|dinner|breakfast|brunch|coffee|drinks)\s+(?:with|at|in)\b")
_MADE = re.compile(r"\s*(?:an?|my|our|the|his|her)\s")
_PARTICLE = re.compile(
    r"(?!passed away)[\w'-]+ (?:off|up|out|down|away|back|over|on|in|through|around|myself)"
)
_LOOSE = re.compile(
    r"\b(?:it|that|this|there|you|him|her|them|me|us|more|something|anything|hard|some|one|lot|fun"
    r"|home|bed|early"
    r"|late|mistake|nap|temper)$",
    re.IGNORECASE,
)


def happened(scene: Scene) -> Iterable[Found]:
    """The act of a clause in the past, in its own words: "ran a marathon"."""
    group = scene.group
    past = group.tense is Tense.PAST or (group.tense is Tense.PERFECT and scene.timed)
    if not past or group.negated or group.progressive or group.passive or group.supposed:
        return
    if group.phase or not _is_act(group.verb, scene.rest, scene.timed):
        return
    value = action(f"{group.word} {scene.rest.strip()}")
    if value and not _LOOSE.search(value) and not _PARTICLE.fullmatch(value):
        yield Found("did", value, Aspect.EVENT, 0.9)


def _is_act(verb: str, rest: str, timed: bool) -> bool:
    if verb == "have":
        return _MEDICAL.match(rest) is not None or (
            timed and (_MADE.match(rest) or _MEAL.match(rest)) is not None
        )
    if verb == "get":
        return _GOT.match(rest) is not None
    if verb == "see":
        return timed and _SEEN.match(rest) is not None
    if verb in ("start", "begin"):
        return _FOUNDED.match(rest) is not None
    if verb in ("make", "give", "put"):
        return _MADE.match(rest) is not None or rest.startswith((" up ", " birth"))
    if verb == "turn":
        return rest.startswith(" down ")
    return verb not in _NO_ACTS
