"""Where somebody lives, grew up, was born and comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta

from remanence.language.english import lexicon
from remanence.language.english.extraction.phrases import known_place, place
from remanence.language.english.extraction.rule import Aspect, ClauseScene, RuleFinding, each, rule
from remanence.language.english.extraction.verb_group import Tense

_ALSO = r"(?:(?:back|home|over|out|up|down|alone|here|again,?|this time|somewhere|right)\s+){0,4}"
# One "with" only: several could be parted in so many ways that a sentence would take for ever.
_WAY = rf"{_ALSO}(?:with .{{1,30}}?\s+)?{_ALSO}"
_BY_THE_WAY = r"(?:.{0,20}?\b)?"
_NOW = re.compile(r"\bnow\b", re.IGNORECASE)
_TO = re.compile(r"\b(?:for|to)\s+")
_FOR_GOOD = re.compile(r"\b(?:for good|forever|permanently|for ever|behind)\b", re.IGNORECASE)
_ON_THE_WAY = re.compile(rf"\b(?:{lexicon.either('on_the_way')})\b", re.IGNORECASE)
_LONG = timedelta(days=27)  # a month is the shortest time that tells of a move, not of a journey


def _moved_between(scene: ClauseScene, _after: str, tail: re.Match[str]) -> Iterable[RuleFinding]:
    for old in place(tail[1], scene.lower)[:1]:
        yield RuleFinding("lives in", old, Aspect.END)
    for new in place(tail[2], scene.lower)[:1]:
        yield RuleFinding("lives in", new, Aspect.START)


def _moved_away(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    for old in place(after, scene.lower)[:1]:
        yield RuleFinding("lives in", old, Aspect.END)
        to = _TO.search(after)
        for new in place(after[to.end() :], scene.lower)[:1] if to else ():
            yield RuleFinding("lives in", new, Aspect.START)


def _left(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    """ "I left Porto in 2019", and not "I left Porto at eight"."""
    point = scene.times.point
    short = point is not None and point.start and point.end and point.end - point.start < _LONG
    leaves = short or _ON_THE_WAY.search(scene.clause.text)
    if leaves and not _FOR_GOOD.search(scene.sentence):
        return
    for old in known_place(after, scene.lower)[:1]:
        yield RuleFinding("lives in", old, Aspect.END)


def _stays(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    """ "Been in Toronto for six years", "I am back in Riga": to be there is to live there."""
    long = scene.group.tense is Tense.PERFECT and scene.timed
    before = scene.group.tense is Tense.PAST and "before that" in scene.sentence
    now = _NOW.search(scene.clause.text) is not None and scene.group.tense is Tense.PRESENT
    if long or before or now or scene.rest.lstrip().lower().startswith("back"):
        for one in place(after, scene.lower):
            yield RuleFinding("lives in", one, sure=0.9)


RULES = (
    rule("live reside", rf"{_WAY}(?:in|at|near|outside|around)\s+", each("lives in", place)),
    rule("be", r"(?:living|based)\s+in\s+", each("lives in", place)),
    rule("be", r"(?:back\s+)?(?:living\s+)?in\s+", _stays),
    rule("move relocate", rf"{_WAY}from\s+(.+?)\s+(?:to|into)\s+(.+)", _moved_between),
    rule("move relocate", rf"{_WAY}(?:away\s+)?(?:from|out of)\s+", _moved_away),
    rule("leave", r"", _left),
    rule(
        "move relocate emigrate immigrate return", rf"{_WAY}(?:to|into)\s+",
        each("lives in", place, Aspect.START),
    ),
    rule(
        "bear", rf"(?:and raised\s+|and bred\s+)?{_BY_THE_WAY}in\s+",
        each("born in", place, Aspect.EVER), passive=True,
    ),
    rule("grow", rf"up\s+{_BY_THE_WAY}in\s+", each("is from", place, Aspect.EVER)),
    rule("be come", r"(?:both\s+)?from\s+", each("is from", place, Aspect.EVER)),
)  # fmt: skip
