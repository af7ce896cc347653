"""What a sentence is, what it asks for, and how much it matters to remember it."""

from __future__ import annotations

import re
from functools import cache

from remanence.text.date_words import meanings
from remanence.text.dates import asks_when

__all__ = [
    "asks_about_assistant",
    "asks_how_many",
    "asks_when",
    "asks_where",
    "asks_who",
    "has_number",
    "importance",
    "importance_reasons",
    "is_question",
]

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
_NUMBERS = """
two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred hundreds
thousand thousands million millions dozen dozens couple half twice
"""
_NUMBER_WORDS = frozenset(_NUMBERS.split())
_HOW_MANY = re.compile(
    r"\bhow (?:many|much|often|long|old|far|tall|big|frequently)\b"
    r"|\b(?:number|amount|count|total) of\b|\bin total\b|\bcuánt[oa]s?\b|\bcombien\b"
    r"|\bwie ?viele?\b|\bquant[ieoa]s?\b|多少|几个|いくつ",
    re.IGNORECASE,
)
_HOW_MANY_STARTS = """
how number amount count total cuánto cuánta cuántos cuántas combien wie wieviel wieviele quanti
quante quanto quanta quantos quantas
"""
_HOW_MANY_WORDS = frozenset(_HOW_MANY_STARTS.split())
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

_SPLIT = str.maketrans(dict.fromkeys('.,!?;:()[]"…*-\n', " ") | {"’": "'"})
_ROLE_WEIGHT = {"assistant": -0.1, "system": -0.15, "tool": -0.15}
_FIRST_PERSON = frozenset(
    ["i", "i'm", "i've", "i'd", "i'll", "my", "we", "we're", "we've", "our", "me"]
)
_TOPIC_WORDS = {
    "identity": "named birthday born nickname pronouns",
    "family": "wife husband mother mom mum father dad sister brother son daughter kids child "
    "children parents grandmother grandma grandfather grandpa girlfriend boyfriend partner fiance "
    "fiancée married engaged divorced baby dog cat puppy kitten pet uncle aunt cousin niece nephew",
    "home": "live lives moved moving apartment house address hometown rent mortgage neighborhood",
    "work": "job work works working boss company career promoted promotion hired fired quit "
    "office client salary interview colleague degree university graduated project startup",
    "health": "allergic allergy allergies diagnosed medication surgery pregnant diabetes asthma "
    "injury injured hospital therapy doctor anxiety depression illness cancer vegan vegetarian "
    "gluten",
    "taste": "love loves loved like likes hate hates prefer prefers enjoy enjoys dislike favorite "
    "favourite fan obsessed",
    "plan": "plan plans planning going want wants hope hoping goal goals intend will gonna "
    "thinking",
    "decision": "decided decision chose chosen agreed accepted signed bought booked adopted sold "
    "enrolled switched started finished launched won lost",
    "commitment": "promise promised deadline appointment due must meeting reminder remind "
    "scheduled",
    "emphasis": "important never always urgent critical crucial essential",
}
_TOPIC_WEIGHT = {
    "identity": 0.2, "family": 0.1, "home": 0.12, "work": 0.1, "health": 0.2, "taste": 0.1,
    "plan": 0.07, "decision": 0.1, "commitment": 0.12, "emphasis": 0.1,
}  # fmt: skip
_TOPIC_OF = {word: topic for topic, words in _TOPIC_WORDS.items() for word in words.split()}
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
_SMALL_TALK = """
hi hey hello hiya yo bye goodbye thanks thank thx ty cheers welcome cool nice great awesome
amazing wow haha hahaha lol lmao ok okay k sure yes yeah yep yup no nope nah right exactly
absolutely totally definitely good morning night evening afternoon see later soon care sounds hmm
hm oh ah aw aww um uh well fine perfect alright congrats congratulations indeed agreed true same
please sorry worries problem much so very you too to a it's it that's is the that for all one how
are doing going what's up take talk hope there everyone glad hear really just fun interesting got
i see day have lot again
"""
_SMALL_WORDS = frozenset(_SMALL_TALK.split())
_LEAST, _MOST = 0.1, 1.0


def is_question(text: str) -> bool:
    """Whether the text asks something, with or without its mark."""
    return _MARK.search(text) is not None or _ASKING.match(text) is not None


def has_number(text: str) -> bool:
    """Whether it holds digits or a number word above one."""
    return _DIGIT.search(text) is not None or not _NUMBER_WORDS.isdisjoint(_words(text))


def asks_how_many(text: str) -> bool:
    """Whether the answer is a count or a measure."""
    return _asks(text, _HOW_MANY_WORDS, _HOW_MANY)


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
    """Why it matters: each reason with its share. The shares add up to the importance."""
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
    return sum(word in _SMALL_WORDS or len(word) < 2 for word in words) >= 0.8 * len(words)


def _content(text: str, words: list[str]) -> list[tuple[str, float]]:
    topics = [topic for topic in _topics(words) if _confirmed(topic, text)]
    found = [(topic, _TOPIC_WEIGHT[topic]) for topic in topics]
    if "identity" not in topics and _IDENTITY.search(text):
        found.append(("identity", _TOPIC_WEIGHT["identity"]))
    if found and not _FIRST_PERSON.isdisjoint(words):
        found.append(("about the speaker", 0.05))
    if len(words) < 3:
        found.append(("very short", -0.1))
    if _is_dated(words):
        found.append(("date", 0.06))
    if _may_ask_to_keep(words) and _KEEP.search(text):
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


def _topics(words: list[str]) -> list[str]:
    return list(dict.fromkeys(_TOPIC_OF[word] for word in words if word in _TOPIC_OF))


def _confirmed(topic: str, text: str) -> bool:
    check = _CHECKED.get(topic)
    return check is None or check.search(text) is not None


def _may_ask_to_keep(words: list[str]) -> bool:
    return not {"remember", "forget", "mind", "note", "reference", "save"}.isdisjoint(words)
