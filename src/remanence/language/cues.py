"""What a sentence is, what it asks for, and how much it matters to remember it."""

from __future__ import annotations

import re
from functools import cache

from remanence.language.english import lexicon
from remanence.language.english.dates.tokens import meanings

_MARK = re.compile(r"[?？؟](?=[\s\"'”’)*!?]|$)|[？؟]")
_ASKING = re.compile(
    r"\s*(?:(?:so|and|but|hey|hi|ok|okay|please|also|then)\b[, ]*)*(?:"
    r"(?:what|where|when|why|how|who|whom|which)(?:'s|’s|'d| exactly| else)? "
    r"(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|should|many|much|long|old"
    r"|often|far|time|kind|type|day|year|month|of)\b"
    r"|(?:whose|which) \w+ (?:is|are|was|were|do|does|did|has|have|had)\b"
    r"|(?:do|does|did|is|are|was|were|have|has|can|could|will|would|should|am) "
    r"(?:i|you|we|he|she|it|they|there|my|your|the)\b"
    r"|(?:remind|tell) me (?:what|where|when|why|how|who|which|of|about)\b)",
    re.IGNORECASE,
)
_DIGIT = re.compile("[0-9]")
_HOW_MANY = re.compile(
    r"\bhow (?:many|much|often|long|old|far|tall|big|frequently)\b"
    r"|\b(?:number|amount|count|total) of\b|\bin total\b|\bcuánt[oa]s?\b|\bcombien\b"
    r"|\bwie ?viele?\b|\bquant[ieoa]s?\b|多少|几个|いくつ",
    re.IGNORECASE,
)
_LEAD = (
    r"(?:^|[.?!,;:]"
    r"|\b(?:and|or|but|so|with|to|from|for|by|of|about|know|remember|recall|me|say) )\s*"
)
_WHO = re.compile(
    rf"{_LEAD}(?:who|whom|whose|quién|quien|wer|qui|chi|quem)\b|\b(?:which|what) (?:person|people"
    r"|friend|colleague|family member)\b|谁|誰",
    re.IGNORECASE,
)
_WHO_WORDS = frozenset(
    ["who", "who's", "whom", "whose", "which", "what", "quien", "wer", "qui", "chi", "quem"]
)
_WHERE = re.compile(
    rf"{_LEAD}(?:where|dónde|donde|où|wo|dove|onde)\b|\b(?:which|what) (?:city|country|place|town"
    r"|state|location|restaurant|store|shop|address|area|spot|park)\b|哪里|哪儿|どこ",
    re.IGNORECASE,
)
_WHERE_WORDS = frozenset(
    ["where", "where's", "which", "what", "dónde", "donde", "où", "wo", "dove", "onde"]
)
_SPOKE = (
    r"(?:suggested|recommended|mentioned|told|said|advised|explained|proposed|listed|provided|gave"
    r"|shared|wrote|described|referred|showed|created|generated|came up)"
)
_SPEAK = (
    r"(?:suggest|recommend|mention|tell|say|advise|explain|propose|list|provide|give|share|write"
    r"|describe|come up)"
)
_ASSISTANT = re.compile(
    rf"\byou(?:'d|'ve|’d|’ve| had| have)?(?: \w+)? {_SPOKE}\b|\bdid you(?: \w+)? {_SPEAK}\b"
    r"|\byour (?:\w+ )?(?:suggestions?|recommendations?|advice|answer|response|list|explanation"
    r"|reply)\b"
    r"|\b(?:our|the) (?:previous|last|earlier|past) (?:conversation|chat|discussion|exchange)\b"
    r"|\b(?:previous|earlier) (?:conversation|chat|discussion) (?:with you|we had|about)\b",
    re.IGNORECASE,
)

_JUDGED = 20_000  # characters
_SPLIT = str.maketrans(dict.fromkeys('.,!?;:()[]"…*-\n', " ") | {"’": "'"})
_ROLE_WEIGHT = {"assistant": -0.1, "system": -0.15, "tool": -0.15}
_FIRST_PERSON = frozenset(
    ["i", "i'm", "i've", "i'd", "i'll", "my", "we", "we're", "we've", "our", "me"]
)
_TOPIC_WEIGHT = {
    "identity": 0.2, "family": 0.1, "home": 0.12, "work": 0.1, "health": 0.2, "taste": 0.1,
    "plan": 0.07, "decision": 0.1, "commitment": 0.12, "emphasis": 0.1,
}  # fmt: skip
_IDENTITY = re.compile(
    r"\bmy name is\b|\bcall me\b|\bi'?m called\b|\b\d+ years old\b", re.IGNORECASE
)
_TASTE = re.compile(
    r"\b(?:i|we|he|she|they|you|really|also|don't|not) likes?\b(?! (?:a|an|this|that)\b)"
    r"|\b(?:love|hate|prefer|enjoy|dislike)[sd]?\b|\bfavou?rite\b|\bbig fan\b|\bobsessed with\b",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"\b(?:plan(?:s|ning)? (?:to|on|for)|going to|gonna|want(?:s)? to|hop(?:e|ing) to|goals?|intend"
    r"|thinking (?:of|about)|i'll|we'll|will \w+)\b",
    re.IGNORECASE,
)
_CHECKED = {"taste": _TASTE, "plan": _PLAN}
_KEEP = re.compile(
    r"(?<!you )(?<!i )\bremember (?:that|to|my)\b|\bplease remember\b|^\s*remember\s*[,:]"
    r"|\bdon['’]?t (?:you )?(?:ever )?forget\b|\bkeep in mind\b|\b(?:make|take) a note\b"
    r"|^\s*note(?: that|:)|\bfor future reference\b|\bsave this\b",
    re.IGNORECASE,
)
_KEEP_WORDS = frozenset(["remember", "forget", "mind", "note", "reference", "save"])
_LEAST, _MOST = 0.1, 1.0


def is_question(text: str) -> bool:
    """Whether the text asks something, with or without its mark."""
    return _MARK.search(text) is not None or _ASKING.match(text) is not None


def has_number(text: str) -> bool:
    """Whether it holds digits or a number word above one."""
    return _DIGIT.search(text) is not None or not lexicon.words("amounts").isdisjoint(_words(text))


def asks_how_many(text: str) -> bool:
    """Whether the answer is a count or a measure."""
    return _asks(text, lexicon.words("how_many"), _HOW_MANY)


def asks_who(text: str) -> bool:
    """Whether the answer is a person."""
    return _asks(text, _WHO_WORDS, _WHO)


def asks_where(text: str) -> bool:
    """Whether the answer is a place."""
    return _asks(text, _WHERE_WORDS, _WHERE)


def asks_about_assistant(text: str) -> bool:
    """Whether it is about what the assistant said before, rather than what the person did."""
    return _ASSISTANT.search(text) is not None


def importance(text: str, role: str | None = None) -> float:
    """How much it matters to remember this, from 0 to 1; see `importance_reasons`."""
    return round(sum(weight for _, weight in importance_reasons(text, role)), 4)


def importance_reasons(text: str, role: str | None = None) -> list[tuple[str, float]]:
    """Why it matters: each reason with its share. The shares add up to the importance.

    Of a long text the beginning is judged.
    """
    text = text[:_JUDGED]
    words = _words(text)
    reasons = [("statement", 0.5), *_form(text, role)]
    reasons += [("small talk", -0.35)] if _is_small_talk(words) else _content(text, words)
    total = sum(weight for _, weight in reasons)
    limited = min(max(total, _LEAST), _MOST)
    return reasons if limited == total else [*reasons, ("limit", limited - total)]


def _words(text: str) -> list[str]:
    return text.lower().translate(_SPLIT).split()


def _asks(text: str, words: frozenset[str], pattern: re.Pattern[str]) -> bool:
    if text.isascii() and words.isdisjoint(_words(text)):
        return False
    return pattern.search(text) is not None


def _form(text: str, role: str | None) -> list[tuple[str, float]]:
    found = []
    if role in _ROLE_WEIGHT:
        found.append((f"said by the {role}", _ROLE_WEIGHT[role]))
    if "!" in text:
        found.append(("exclamation", 0.02))
    if is_question(text):
        found.append(("question", -0.1))
    return found


def _is_small_talk(words: list[str]) -> bool:
    if len(words) > 14:
        return False
    small = lexicon.words("small_talk")
    return sum(word in small or len(word) < 2 for word in words) >= 0.8 * len(words)


def _content(text: str, words: list[str]) -> list[tuple[str, float]]:
    known = lexicon.pairs("topics")
    named = dict.fromkeys(known[word] for word in words if word in known)
    topics = [one for one in named if one not in _CHECKED or _CHECKED[one].search(text)]
    found = [(topic, _TOPIC_WEIGHT[topic]) for topic in topics]
    if "identity" not in topics and _IDENTITY.search(text):
        found.append(("identity", _TOPIC_WEIGHT["identity"]))
    if found and not _FIRST_PERSON.isdisjoint(words):
        found.append(("about the speaker", 0.05))
    if len(words) < 3:
        found.append(("very short", -0.1))
    if _is_dated(words):
        found.append(("date", 0.06))
    if not _KEEP_WORDS.isdisjoint(words) and _KEEP.search(text):
        found.append(("asked to remember", 0.42))
    return found


def _is_dated(words: list[str]) -> bool:
    """A quick look for a day, month or year; `has_time` would take longer than all the rest."""
    kinds = {_time_kinds().get(word, "n" if word.isdigit() else "") for word in words}
    if not kinds.isdisjoint("DMW"):
        return True
    return ("m" in kinds and not kinds.isdisjoint("nL")) or any(
        len(word) == 4 and word.isdigit() and word[:2] in ("19", "20") for word in words
    )


@cache
def _time_kinds() -> dict[str, str]:
    telling = {"D": "D", "M": "M", "W": "W", "m": "m", "k": "m", "U": "m", "L": "L"}
    return {word: telling[kind] for word, (kind, _) in meanings().items() if kind in telling}
