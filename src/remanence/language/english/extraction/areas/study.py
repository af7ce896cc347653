"""What and where somebody studies, and which clubs, choirs and teams they belong to."""

from __future__ import annotations

import re
from collections.abc import Iterable

from remanence.language.english import lexicon
from remanence.language.english.extraction.name_types import is_place
from remanence.language.english.extraction.phrases import name_at, phrase, school, stop_at, topics
from remanence.language.english.extraction.rule import (
    Aspect,
    ClauseScene,
    Give,
    RuleFinding,
    each,
    rule,
)
from remanence.language.english.extraction.verb_group import Tense

_CLUB = re.compile(rf"\b(?:{lexicon.either('clubs')})\b", re.IGNORECASE)
_CALLED = re.compile(r"\b(?:called|named)\s+")
_AFTER_CLUB = stop_at("in at on near with for since where called named")
_DEGREE = (
    r"(?P<degree>ph\.?d|doctorate|master(?:'?s)?|bachelor(?:'?s)?|mba|degree|diploma|b\.?sc|m\.?sc"
    r"|b\.?a|m\.?a|law degree|associate(?:'?s)?)(?:\s+degree)?\b"
)
_AT = re.compile(r"\b(?:at|from)\s+", re.IGNORECASE)
_STUDY_AT = re.compile(r"\bat\s+", re.IGNORECASE)
_FIELD = re.compile(r"\s+(?:in|of)\s+")
_AFTER_FIELD = stop_at("from at with")
_IN_TOWN = re.compile(r"\s(?:in|near)\s+(?=[A-Z]).*")
_IDLE = frozenset(
    ["abroad", "hard", "lot", "part-time", "full-time", "online", "exam", "exams", "test", "tests"]
)


def _member(aspect: Aspect) -> Give:
    """A club, a choir, a team."""

    def give(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
        called = _CALLED.search(after)
        value = name_at(after[called.end() :] if called else after) or phrase(after, _AFTER_CLUB)
        short = 0 < len(value.split()) <= 6 and not value.startswith("no ")
        if short and _CLUB.search(after):
            yield RuleFinding("member of", value, aspect)

    return give


def _degree(scene: ClauseScene, after: str, tail: re.Match[str]) -> Iterable[RuleFinding]:
    degree, field = tail["degree"], _FIELD.match(after)
    subject = phrase(after[field.end() :], _AFTER_FIELD) if field else ""
    subject = "" if is_place(subject) else subject
    if degree.lower() == "degree" and not subject:
        return
    studying = scene.group.progressive or scene.group.tense is Tense.FUTURE
    if studying and scene.group.verb in ("do", "get", "finish", "complete"):
        if subject:
            yield RuleFinding("studies", subject)
        where = _AT.search(after)
        for one in school(after[where.end() :], scene.lower) if where else ():
            yield RuleFinding("studies at", one)
        return
    yield RuleFinding("has degree", f"{degree} in {subject}" if subject else degree, Aspect.EVER)
    where = _AT.search(after)
    name = name_at(after[where.end() :]) if where else ""
    if name:
        yield RuleFinding("graduated from", name, Aspect.EVER)


def _graduated(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    for one in school(after, scene.lower):
        yield RuleFinding("graduated from", one, Aspect.EVER)
        yield RuleFinding("studies at", one, Aspect.END)


def _studies(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    if after.lstrip().lower().startswith("to "):
        return
    where = _STUDY_AT.search(after)
    what = _IN_TOWN.sub("", after[: where.start()] if where else after)
    for one in topics(what, scene.lower) if what.strip() else ():
        if one.endswith("ly") and " " not in one:
            continue
        if one.split()[-1].lower() not in _IDLE and not one.lower().startswith(("for", "in ")):
            yield RuleFinding("studies", one)
    for one in school(after[where.end() :], scene.lower) if where else ():
        yield RuleFinding("studies at", one)


def _learns(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    if scene.group.progressive or scene.group.phase:
        for one in topics(after, scene.lower):
            if one.lower() in lexicon.words("languages"):
                yield RuleFinding("studies", one)


RULES = (
    rule("study", r"(?!for\b)", _studies),
    rule("learn", r"", _learns),
    rule("graduate", r"(?:.{0,25}?\b)?from\s+", _graduated),
    rule("have get earn finish complete hold receive do",
         rf"(?:(?:an?|my|his|her|the)\s+)?(?:[a-z]+\s+)?{_DEGREE}", _degree),
    rule("drop", r"out of\s+", each("studies at", school, Aspect.END)),
    rule("be", r"(?:an?\s+)?(?:[a-z-]+\s+){0,2}student\s+(?:at|of)\s+", each("studies at", school)),
    rule("be", r"(?:an?\s+|the\s+|on\s+the\s+)?(?:\w+\s+)?(?:member|part)\s+of\s+",
         _member(Aspect.STATE)),
    rule("join", r"", _member(Aspect.START)),
    rule("leave quit", r"", _member(Aspect.END)),
)  # fmt: skip
