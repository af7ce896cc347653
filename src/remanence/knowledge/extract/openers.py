"""What may stand before the subject of a clause: greetings, adverbs, names called, times."""

from __future__ import annotations

import re

from remanence.knowledge.extract.phrases import PERSON

_OPENER = re.compile(
    r"(?:(?:well|so|oh|yeah|yes|yep|no|nope|actually|honestly|anyway|anyways|also|and|but|hey|hi"
    r"|hello|ok|okay|wow|haha|lol|btw|by the way|fyi|fun fact|update|news|good news|big news|wait"
    r"|great news|ps|now|currently|recently|lately|finally|luckily|unfortunately|sadly|fortunately"
    r"|eventually|then|after that|these days|nowadays|as for me|personally|in fact|to be honest|tbh"
    r"|for me|guess what|thanks|thank you|sure|right|exactly|absolutely|definitely|cool|great|nice"
    r"|awesome|sorry|basically|usually|sometimes|originally|like|plus|though|besides|still"
    r"|correction|to be fair|at the moment|right now|just|because|since(?=\s+(?:I|we|he|she|my"
    r"|it)\b)|although|while|however"
    r"|as you know|as i said|like i said|meanwhile|professionally|instead|not anymore|happily"
    r"|hi there|good morning|good evening|good afternoon|note|reminder|ugh|hmm|ah|aw|aww|omg|gosh"
    r"|apart from that|on top of that|first|second|that was wrong|asking because|turns out|today"
    r"|it's official|it is official|before that|after all|before|only|when|while|after"
    r"|once)(?:\s*[,:!.…-]+\s*|\s+))",
    re.IGNORECASE,
)
_VOCATIVE = re.compile(rf"{PERSON}\s*[,!]\s+(?=(?:I|my|we|our)\b)", re.IGNORECASE)
_HEAD = re.compile(
    r"(?:in|on|last|next|this|since|during|yesterday|tomorrow|today|tonight|two|three|four|five"
    r"|six|a|an|about|around|back|at|by|for|until|from|after|before|every|earlier|later|some|many"
    r"|several|once|starting|as|one|\d{1,4}|come|over|the)\b[^,;|]{0,50}?,?\s+"
    r"(?=(?:I|we|he|she|my|our)\b)",
    re.IGNORECASE,
)
_NAMED_HEAD = re.compile(
    r"(?:in|on|last|next|this|yesterday|two|three|a|back|according)\b[^,;|]{0,40},\s+(?=[A-ZÀ-Þ])",
    re.IGNORECASE,
)


def after_openers(text: str, at: int = 0) -> int:
    """Where the clause itself starts."""
    for _ in range(4):
        further = past(_VOCATIVE, text, past(_OPENER, text, at))
        if further == at:
            break
        at = further
    return at


def head_at(text: str, at: int) -> int | None:
    """Where the subject starts, if a time or a place stands before it."""
    found = _HEAD.match(text, at) or _NAMED_HEAD.match(text, at)
    return found.end() if found else None


def past(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where what the pattern matches ends; `at` if it does not."""
    found = pattern.match(text, at)
    return found.end() if found else at
