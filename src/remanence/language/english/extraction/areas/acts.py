"""What somebody plans and wants to do, and past acts that no other rule reads."""

from __future__ import annotations

import re
from collections.abc import Iterable

from remanence.language.english import lexicon
from remanence.language.english.extraction.phrases import before_cut
from remanence.language.english.extraction.rule import Aspect, ClauseScene, Give, RuleFinding, rule
from remanence.language.english.extraction.verb_group import Tense
from remanence.language.english.verbs import base_of

_END = re.compile(
    r",\s|\sand\s(?=(?:I|we|he|she|it|that|the|see|then)\b)|\s(?:for (?:my|his|her|our)|over)\s.*",
    re.IGNORECASE,
)
_WHOLE = re.compile(
    r"[|;!?()\[\]…\n—–]|[.:](?!\d)|,(?!\d{3}\b)|\s-\s|\sand\s(?=(?:I|we|he|she|it|that|then|you)\b)"
    r"|\s(?:but|because|cause|since|so|when|whenever|where|which|while|who|whom|although|though|unless"
    r"|until|if|before|after|than|not|it was|it is)\b",
    re.IGNORECASE,
)
_OVER_TIME = re.compile(r"\s*\|\s*(?=(?:with|at|in|to|for|from|by|about)\s)")
_NOUN = re.compile(
    r"(?:be|have|see|try|use|give|call|bring|send|do)\s+(?:an?|the|my|our|[A-Z])", re.I
)
POINTING = re.compile(r"\b(?:it|that|this|these|those|them|you|yours?)\b", re.IGNORECASE)
_THERE = re.compile(r"\s*(?:in|at)\s+(?:the\s+)?[A-Z]")
_ON_THE_NTH = re.compile(r"\bon the \d{1,2}(?:st|nd|rd|th)\b")
_OFF_TO = re.compile(r"\s*off to\s+(?=[A-Z])")
_FIRST = frozenset(["just", "also", "really", "finally", "maybe", "definitely"])
_SHORT = frozenset(["quit", "retire", "graduate", "marry", "divorce", "resign", "emigrate", "died"])
_MAX_WORDS, _LONGEST = 9, 14
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
    r"|startup|shop|channel|club|studio|restaurant|firm)\b"
)
_SEEN = re.compile(r"\s*(?:[A-Z]|an?\s|the\s)")
_MEAL = re.compile(r"\s*(?:lunch|dinner|breakfast|brunch|coffee|drinks)\s+(?:with|at|in)\b")
_MADE = re.compile(r"\s*(?:an?|my|our|the|his|her)\s")
# What makes an act of a verb that says little by itself.
_ACTS = {
    "have": _MEDICAL,
    "get": _GOT,
    "see": _SEEN,
    **dict.fromkeys(("start", "begin"), _FOUNDED),
    **dict.fromkeys(("make", "give", "put"), re.compile(rf"{_MADE.pattern}| up | birth")),
    "turn": re.compile(" down "),
}
_PARTICLE = re.compile(
    r"(?!passed away)[\w'-]+ (?:off|up|out|down|away|back|over|on|in|through|around|myself)"
)
_LOOSE = re.compile(rf"\b(?:{lexicon.either('loose_objects')})$", re.IGNORECASE)


def action(text: str) -> str:
    """The act that the text starts with, without times and reasons; nothing if none is left.

    It is told whole if that is not too long, so that nobody has to guess with whom or what for.
    """
    whole = _WHOLE.split(_OVER_TIME.sub(" ", text.strip()), maxsplit=1)[0]
    return _trimmed(whole, _LONGEST) or _trimmed(
        _END.split(before_cut(text.strip()))[0], _MAX_WORDS
    )


def _trimmed(text: str, most: int) -> str:
    words = text.split()
    while words and words[0].lower() in _FIRST:
        words = words[1:]
    while words and words[-1].lower() in lexicon.words("plan_ends"):
        words = words[:-1]
    if not words or len(words) > most or words[-1].lower() in lexicon.words("auxiliaries"):
        return ""
    enough = len(words) > 1 or words[0].lower() in _SHORT
    return " ".join(words).rstrip(",.!;:") if enough else ""


def _plan(predicate: str) -> Give:
    def give(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
        group = scene.group
        past = group.tense in (Tense.PAST, Tense.USED) and group.verb != "decide"
        if group.negated or past:
            return
        lead, _, more = after.strip().partition(" ")
        value = action(f"{base_of(lead)} {more}" if lead.endswith("ing") else after)
        first = value.split()[0].lower() if value else ""
        fits = (
            first in lexicon.words("like_to")
            or (group.wished == "love" and first in lexicon.words("love_to"))
            if group.wished
            else first not in lexicon.words("no_plans") or _NOUN.match(value)
        )
        if value and fits and not (POINTING.search(value) or value.startswith("make sure")):
            yield RuleFinding(predicate, value, Aspect.PLAN)

    return give


def planned(scene: ClauseScene, *, change: bool) -> Iterable[RuleFinding]:
    """What a clause in the future says that no rule reads: "I am visiting Ana at Easter".

    `change` if it is known to speak of a change: "I am moving" needs no time to be to come.
    """
    group = scene.group
    soon = scene.coming or change or _ON_THE_NTH.search(scene.clause.rest) is not None
    going = group.progressive or (group.verb == "be" and _OFF_TO.match(scene.rest) is not None)
    coming = going and group.tense is Tense.PRESENT and soon
    ahead = group.tense is Tense.FUTURE and (scene.coming or not group.willed)
    if not (coming or ahead) or group.phase or group.negated or group.supposed or group.passive:
        return
    if away := _OFF_TO.match(scene.rest):
        yield RuleFinding("plans to", action(f"go to {scene.rest[away.end() :]}"), Aspect.PLAN)
        return
    lead = base_of(group.word)
    if group.verb == "be" and not _THERE.match(scene.rest):
        return
    value = action(f"{lead} {scene.rest.strip()}")
    if (
        value
        and (lead == "be" or lead not in lexicon.words("no_plans"))
        and not POINTING.search(value)
    ):
        yield RuleFinding("plans to", value, Aspect.PLAN)


def _trip(scene: ClauseScene, after: str, tail: re.Match[str]) -> Iterable[RuleFinding]:
    value = action(f"{tail['what']}{after}")
    if scene.group.tense in (Tense.PRESENT, Tense.PERFECT) and value:
        yield RuleFinding("plans to", value, Aspect.PLAN)


RULES = (
    rule("plan intend aim decide", r"to\s+(?=\w)", _plan("plans to")),
    rule("plan organise organize book",
         r"(?:an?|our|my)\s+(?P<what>(?:\w+\s+){0,2}(?:trip|holiday|vacation|wedding|party|tour"
         r"|visit"
         r"|journey|move|retreat|reunion))\b", _trip),
    rule("want hope", r"(?:(?:really|also|eventually|someday|one day)\s+)?to\s+(?=\w)",
         _plan("wants to")),
    rule("dream", r"(?:of|about)\s+(?=\w+ing)", _plan("wants to")),
)  # fmt: skip


def happened(scene: ClauseScene) -> Iterable[RuleFinding]:
    """The act of a clause in the past, in its own words: "ran a marathon"."""
    group = scene.group
    past = group.tense is Tense.PAST or (group.tense is Tense.PERFECT and scene.timed)
    if not past or group.negated or group.progressive or group.passive or group.supposed:
        return
    if group.phase or not _is_act(group.verb, scene.rest, scene.timed):
        return
    value = action(f"{group.word} {scene.rest.strip()}")
    if value and not _LOOSE.search(value) and not _PARTICLE.fullmatch(value):
        yield RuleFinding("did", value, Aspect.EVENT, 0.9)


def _is_act(verb: str, rest: str, timed: bool) -> bool:
    if verb == "have" and timed and (_MADE.match(rest) or _MEAL.match(rest)):
        return True
    if verb in _ACTS:
        return _ACTS[verb].match(rest) is not None and (timed or verb != "see")
    return verb not in lexicon.words("no_acts")
