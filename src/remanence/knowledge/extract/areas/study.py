"""What and where somebody studies and has studied."""

from __future__ import annotations

import re
from collections.abc import Iterable

from remanence.knowledge.extract.phrases import name_at, phrase
from remanence.knowledge.extract.rule import Aspect, Found, Scene, each, rule
from remanence.knowledge.extract.shapes import known_school, school, stop_at, topics
from remanence.knowledge.extract.tables.places import is_place
from remanence.knowledge.extract.tables.tongues import LANGUAGES
from remanence.knowledge.extract.verb_group import Tense

_DEGREE = (
    r"(?P<degree>ph\.?d|doctorate|master(?:'?s)?|bachelor(?:'?s)?|mba|degree|diploma|b\.?sc|m\.?sc"
    r"|b\.?a"
    r"|m\.?a|law degree|associate(?:'?s)?)(?:\s+degree)?\b"
)
_AT = re.compile(r"\b(?:at|from)\s+", re.IGNORECASE)
_STUDY_AT = re.compile(r"\bat\s+", re.IGNORECASE)
_FIELD = re.compile(r"\s+(?:in|of)\s+")
_AFTER_FIELD = stop_at("from at with")
_IN_TOWN = re.compile(r"\s(?:in|near)\s+(?=[A-Z]).*")
_IDLE = frozenset(
    ["abroad", "hard", "lot", "part-time", "full-time", "online", "exam", "exams", "test", "tests"]
)
_YEAR = r"(?:my|his|her|a|the)\s+(?:\w+\s+)?(?:year|degree|studies|course|semester|phd|masters?)"


def _degree(scene: Scene, after: str, tail: re.Match[str]) -> Iterable[Found]:
    degree, field = tail["degree"], _FIELD.match(after)
    subject = phrase(after[field.end() :], _AFTER_FIELD) if field else ""
    subject = "" if is_place(subject) else subject
    if degree.lower() == "degree" and not subject:
        return
    studying = scene.group.progressive or scene.group.tense is Tense.FUTURE
    if studying and scene.group.verb in ("do", "get", "finish", "complete"):
        if subject:
            yield Found("studies", subject)
        where = _AT.search(after)
        for one in school(after[where.end() :], scene.lower) if where else ():
            yield Found("studies at", one)
        return
    yield Found("has degree", f"{degree} in {subject}" if subject else degree, Aspect.EVER)
    where = _AT.search(after)
    name = name_at(after[where.end() :]) if where else ""
    if name:
        yield Found("graduated from", name, Aspect.EVER)


def _graduated(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
    for one in school(after, scene.lower):
        yield Found("graduated from", one, Aspect.EVER)
        yield Found("studies at", one, Aspect.END)


def _studies(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
    if after.lstrip().lower().startswith("to "):
        return
    where = _STUDY_AT.search(after)
    what = _IN_TOWN.sub("", after[: where.start()] if where else after)
    for one in topics(what, scene.lower) if what.strip() else ():
        if one.split()[-1].lower() not in _IDLE and not one.lower().startswith(("for", "in ")):
            yield Found("studies", one)
    for one in school(after[where.end() :], scene.lower) if where else ():
        yield Found("studies at", one)


def _learns(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
    if scene.group.progressive or scene.group.phase:
        for one in topics(after, scene.lower):
            if one.lower() in LANGUAGES:
                yield Found("studies", one)


RULES = (
    rule("study", r"(?!for\b)", _studies),
    rule("learn", r"", _learns),
    rule("major minor", r"in\s+", each("studies", topics)),
    rule("go", r"to\s+", each("studies at", known_school)),
    rule("start begin", rf"{_YEAR}\s+(?:.{{0,25}}?\b)?at\s+",
         each("studies at", school, Aspect.START)),
    rule("graduate", r"(?:.{0,25}?\b)?from\s+", _graduated),
    rule("have get earn finish complete hold receive do",
         rf"(?:(?:an?|my|his|her|the)\s+)?(?:[a-z]+\s+)?{_DEGREE}", _degree),
    rule("drop", r"out of\s+", each("studies at", school, Aspect.END)),
    rule("be", r"(?:an?\s+)?(?:[a-z-]+\s+){0,2}student\s+(?:at|of)\s+", each("studies at", school)),
)  # fmt: skip
