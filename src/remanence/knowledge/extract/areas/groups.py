"""Which clubs, choirs, teams and the like somebody belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterable

from remanence.knowledge.extract.phrases import name_at, phrase
from remanence.knowledge.extract.rule import Aspect, Found, Give, Scene, rule
from remanence.knowledge.extract.shapes import stop_at

_CLUB = re.compile(
    r"\b(?:club|choir|band|team|group|society|orchestra|league|association|union|party|gym|church"
    r"|committee|board|network|community|crew|squad|ensemble|circle|federation|guild|class|brigade"
    r"|troupe)\b",
    re.IGNORECASE,
)
_CALLED = re.compile(r"\b(?:called|named)\s+")
_AFTER_CLUB = stop_at("in at on near with for since where called named")


def _member(aspect: Aspect) -> Give:
    """A club, a choir, a team."""

    def give(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
        called = _CALLED.search(after)
        value = name_at(after[called.end() :] if called else after) or phrase(after, _AFTER_CLUB)
        short = 0 < len(value.split()) <= 6 and not value.startswith("no ")
        if short and _CLUB.search(after):
            yield Found("member of", value, aspect)

    return give


RULES = (
    rule("belong", r"to\s+", _member(Aspect.STATE)),
    rule("be", r"(?:an?\s+|the\s+|on\s+the\s+)?(?:\w+\s+)?(?:member|part)\s+of\s+",
         _member(Aspect.STATE)),
    rule("be play sing", r"(?:in|on)\s+(?=an?\s|the\s|our\s|my\s)",
         _member(Aspect.STATE)),
    rule("join", r"", _member(Aspect.START)),
    rule("leave quit", r"", _member(Aspect.END)),
)  # fmt: skip
