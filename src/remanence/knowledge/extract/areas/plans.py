"""What somebody plans to do and wants to do."""

from __future__ import annotations

import re
from collections.abc import Iterable

from remanence.knowledge.extract.phrases import before_cut
from remanence.knowledge.extract.rule import Aspect, Found, Give, Scene, rule
from remanence.knowledge.extract.tables.listing import words
from remanence.knowledge.extract.tables.verbs import base_of
from remanence.knowledge.extract.verb_group import Tense

IDLE = words(
    """
    be know say tell hear ask see talk thank share check let keep give think show feel look
    understand do call mention remind point have need like love hope wish seem sound guess
    wonder happen stay sleep wait try use die come bring send text miss mean admit turn expect
    """
)
_END = re.compile(
    r",\s|\sand\s(?=(?:I|we|he|she|it|that|the|see|then)\b)|\s(?:for (?:my|his|her|our)|over)\s.*",
    re.IGNORECASE,
)
_LIKED = words("visit travel learn live own write become retire move study")
_LOVED = _LIKED | words("go build see play open climb run work have")
_WISHES = {"like": _LIKED, "love": _LOVED}
_NOUN = re.compile(
    r"(?:be|have|see|try|use|give|call|bring|send|do)\s+(?:an?|the|my|our|[A-Z])", re.I
)
POINTING = re.compile(r"\b(?:it|that|this|these|those|them|you|yours?)\b", re.IGNORECASE)
_THERE = re.compile(r"\s*(?:in|at)\s+(?:the\s+)?[A-Z]")
_ON_THE_NTH = re.compile(r"\bon the \d{1,2}(?:st|nd|rd|th)\b")
_OFF_TO = re.compile(r"\s*off to\s+(?=[A-Z])")
_FIRST = frozenset(["just", "also", "really", "finally", "maybe", "definitely"])
_LAST = words("and or to the a in on at with for it so my by from about of")
_SHORT = words("quit retire graduate marry divorce resign emigrate died")
_MAX_WORDS = 9


def action(text: str) -> str:
    """The act that the text starts with, without times and reasons; nothing if none is left."""
    text = before_cut(text.strip())
    end = _END.search(text)
    words = (text[: end.start()] if end else text).split()
    while words and words[0].lower() in _FIRST:
        words = words[1:]
    while words and words[-1].lower() in _LAST:
        words = words[:-1]
    if not words or len(words) > _MAX_WORDS:
        return ""
    enough = len(words) > 1 or words[0].lower() in _SHORT
    return " ".join(words).rstrip(",.!;:") if enough else ""


def _plan(predicate: str) -> Give:
    def give(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
        group = scene.group
        past = group.tense in (Tense.PAST, Tense.USED) and group.verb != "decide"
        if group.negated or past:
            return
        lead, _, more = after.strip().partition(" ")
        value = action(f"{base_of(lead)} {more}" if lead.endswith("ing") else after)
        first = value.split()[0].lower() if value else ""
        fits = (
            first in _WISHES[group.wished]
            if group.wished
            else first not in IDLE or _NOUN.match(value)
        )
        if value and fits and not POINTING.search(value):
            yield Found(predicate, value, Aspect.PLAN)

    return give


def planned(scene: Scene, *, change: bool) -> Iterable[Found]:
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
        yield Found("plans to", action(f"go to {scene.rest[away.end() :]}"), Aspect.PLAN)
        return
    lead = base_of(group.word)
    if group.verb == "be" and not _THERE.match(scene.rest):
        return
    value = action(f"{lead} {scene.rest.strip()}")
    if value and (lead == "be" or lead not in IDLE) and not POINTING.search(value):
        yield Found("plans to", value, Aspect.PLAN)


def _trip(scene: Scene, after: str, tail: re.Match[str]) -> Iterable[Found]:
    value = action(f"{tail['what']}{after}")
    if scene.group.tense in (Tense.PRESENT, Tense.PERFECT) and value:
        yield Found("plans to", value, Aspect.PLAN)


RULES = (
    rule("plan intend aim decide", r"to\s+(?=\w)", _plan("plans to")),
    rule("plan organise organize book",
         r"(?:an?|our|my)\s+(?P<what>(?:\w+\s+){0,2}(?:trip|holiday|vacation|wedding|party|tour"
         r"|visit"
         r"|journey|move|retreat|reunion))\b", _trip),
    rule("plan", r"on\s+(?=\w+ing)", _plan("plans to")),
    rule("want hope", r"(?:(?:really|also|eventually|someday|one day)\s+)?to\s+(?=\w)",
         _plan("wants to")),
    rule("dream", r"(?:of|about)\s+(?=\w+ing)", _plan("wants to")),
    rule("be", r"(?:determined|aiming|all set|about)\s+to\s+", _plan("plans to")),
)  # fmt: skip
