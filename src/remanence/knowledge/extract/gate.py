"""Whether a sentence can hold a fact at all, and why not; quick, before anything is parsed."""

from __future__ import annotations

import re

from remanence.knowledge.extract.tables.first_names import is_first_name
from remanence.knowledge.extract.tables.kin import FORMER, KIN, KIN_PLURALS, PET_PLURALS, PETS
from remanence.knowledge.extract.tables.verbs import FORMS

_WORDS = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_PLAIN = """
i i'm i've i'll i'd im ive am my our we we're we've we'll he's she's he she is are was were been
name email mail phone number favourite favorite birthday years called named
"""
_TRIGGERS = frozenset([*_PLAIN.split(), *FORMS, *KIN, *KIN_PLURALS, *FORMER, *PETS, *PET_PLURALS])
_ASKS = re.compile(
    r"(?:(?:so|and|but|hey|hi|ok|okay|well|oh|also|then|wait|wow|cool|nice|great)\b[,!]? +){0,3}"
    r"(?:(?:what|where|when|why|how|who|whom|which|whose)(?:'s|'re|'d)? (?:is|are|was|were|am|do"
    r"|does|did|has|have|had|can|could|will|would|should|many|much|long|old|often|about|kind|a)\b"
    r"|(?:do|does|did|is|are|was|were|have|has|can|could|will|would|should|am|don't|didn't|isn't"
    r"|aren't|haven't|won't|can't) (?:i|you|we|he|she|it|they|there|your|the|any|anyone|[A-Z]\w+)\b"
    r"|guess (?:what|who|where)\b|(?:remind|tell) me (?:what|where|when|why|how|who|which)\b"
    r"|any (?:idea|chance|tips)\b)",
)
_MARK = re.compile(r"[?？؟][\s!?\"')*]*$|[?？؟]")
_JOKE = re.compile(
    r"(?:^|\s)/s\b|\b(?:just|only) kidding\b|\bj/?k\b|\byeah,? right\b|\bas if\b|\bi'm joking\b"
    r"|\bjust joking\b|🙄|\bnot!$|\bin your dreams\b|\boh sure\b|\b(?:and|then) i'm the (?:queen"
    r"|king|pope)\b"
    r"|\bsaid no ?one ever\b|\bsarcas|\b(?:lol|haha),? not really\b|\bnot really,? (?:lol|haha)\b",
    re.IGNORECASE,
)
_STORY = re.compile(
    r"\b(?:in|from) (?:the|this|that|my|a|an|her|his) (?:\w+ ){0,2}(?:book|novel|story|film|movie"
    r"|series|game|play|episode|comic|dream|musical|anime|cartoon|poem|song|script"
    r"|campaign)\b(?=,? "
    r"(?:i\b|we\b|the|a |he|she|they|there|[A-Z]\w+))|\bmy character\b|\bthe (?:hero|heroine"
    r"|protagonist|narrator|main character|villain)\b|\bonce upon a time\b"
    r"|\b(?:i|we) (?:dreamt|dreamed|had a dream) (?:that|i|we|about)\b|\brole-?play"
    r"|\bpretend(?:ing|ed)?\b|\bfor example\b|\be\.g\.",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"^(?:(?:and|but|so|oh|well),? )?(?:had|were|should) (?:i|we|he|she|it|they) "
    r"|\bin (?:another|a different|my next|a past|a parallel|an alternate|an ideal|a perfect"
    r"|my other) (?:life|world|universe|timeline)\b|\b(?:given|had i) the chance\b|\bas long as\b"
    r"|(?:^|[\s,])(?:if|unless|imagine|suppose|supposing|what if|let's say|say i|wish|wishes|wished"
    r"|as though|provided that|assuming|in case|hypothetically|otherwise|whether|wonder"
    r"|wondering)\b",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"(?:please |can you |now )*(?:translate|rewrite|summari[sz]e|proofread|write|give me)\b",
    re.IGNORECASE,
)
_LINE = re.compile(r"(?P<name>[A-Z]\w+):\s+(?=I\b|my\b|we\b)", re.IGNORECASE)
_TALK = """
hi hello hey thanks thank welcome bye goodbye ok okay sure yes yeah yep no nope cool nice great
wow awesome haha lol congrats congratulations sorry please right exactly absolutely
"""
_SMALL_TALK = frozenset(_TALK.split())


def refusal(sentence: str) -> str | None:
    """Why nothing is read of the sentence, None if it may hold something."""
    words = _WORDS.findall(sentence.lower())
    short = "'s " in sentence or "n't " in sentence
    if " " not in sentence.strip() or (_TRIGGERS.isdisjoint(words) and not short):
        talk = words and words[0] in _SMALL_TALK
        return "small talk" if talk else "nothing said"
    if _MARK.search(sentence) or _ASKS.match(sentence[:1].lower() + sentence[1:]):
        return "question"
    if _SUPPOSED.search(sentence):
        return "hypothetical"
    if (line := _LINE.match(sentence)) and is_first_name(line["name"]):
        return "quoted"
    if _JOKE.search(sentence):
        return "joke"
    return "story" if _STORY.search(sentence) else None


def is_task(sentence: str) -> bool:
    """Whether it asks for work on words: what follows is the text to work on."""
    return _TASK.match(sentence) is not None
