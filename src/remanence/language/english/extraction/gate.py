"""Whether a sentence can hold a fact at all; and such a one written out, before it is parsed."""

from __future__ import annotations

import re
from functools import cache

from remanence.language.english import lexicon
from remanence.language.english.extraction.name_types import is_first_name
from remanence.language.english.extraction.phrases import PERSON
from remanence.language.english.kin import FORMER, KIN, KIN_PLURALS, PET_PLURALS, PETS
from remanence.language.english.verbs import Form, forms, verb

_WORDS = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_ASKS = re.compile(
    r"(?:(?:so|and|but|hey|hi|ok|okay|well|oh|also|then|wait|wow|cool|nice|great)\b[,!]? +){0,3}"
    r"(?:(?:what|where|when|why|how|who|whom|which|whose)(?:'s|'re|'d)? (?:is|are|was|were|am|do"
    r"|does|did|has|have|had|can|could|will|would|should|many|much|long|old|often|about|kind|a)\b"
    r"|(?:do|does|did|is|are|was|were|have|has|can|could|will|would|should|am|don't|didn't|isn't"
    r"|aren't|haven't|won't|can't) (?:i|you|we|he|she|it|they|there|your|the|any|anyone|[A-Z]\w+)\b"
    r"|guess (?:what|who|where)\b|(?:remind|tell) me (?:what|where|when|why|how|who|which)\b"
    r"|any (?:idea|chance|tips)\b)"
)
_MARK = re.compile(r"[?？؟][\s!?\"')*]*$|[?？؟]")
_JOKE = re.compile(lexicon.either("jokes"), re.IGNORECASE)
_STORY = re.compile(lexicon.either("stories"), re.IGNORECASE)
_SUPPOSED = re.compile(
    r"^(?:(?:and|but|so|oh|well),? )?(?:had|were|should) (?:i|we|he|she|it|they) "
    r"|\bin (?:another|a different|my next|a past|a parallel|an alternate|an ideal|a perfect"
    r"|my other) (?:life|world|universe|timeline)\b|\b(?:given|had i) the chance\b|\bas long as\b"
    r"|(?:^|[\s,])(?:if|unless|imagine|suppose|supposing|what if|let's say|say i|wish|wishes|wished"
    r"|as though|provided that|assuming|in case|hypothetically|otherwise|whether|wonder"
    r"|wondering)\b",
    re.IGNORECASE,
)
# What makes nothing doubtful: "I'm allergic to nuts, in case you cook for me".
_BY_THE_WAY = re.compile(
    r",?\s+(?:just\s+)?(?:in case|if (?:you must know|you were wondering|anyone asks|you ever need"
    r"|(?:that|it|this)(?:'s| is)? (?:helps?|matters|of (?:any )?(?:use|help)|relevant|useful))"
    r")\b.*",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"(?:please |can you |now )*(?:translate|rewrite|summari[sz]e|proofread|write|give me)\b",
    re.IGNORECASE,
)
_LINE = re.compile(r"(?P<name>[A-Z]\w+):\s+(?=I\b|my\b|we\b)", re.IGNORECASE)
_MAY_HOLD = re.compile(r"'|\b(?:im|ive|dont|doesnt|didnt|cant|isnt|gonna|wanna|gotta|i)\b", re.I)
_NOT = re.compile(r"\b(\w+?)n't\b", re.IGNORECASE)
_ODD_NOT = {"ca": "can", "wo": "will", "sha": "shall", "ai": "is"}
_CLEAR = (
    (re.compile(r"\b(i)'m\b", re.IGNORECASE), r"\1 am"),
    (re.compile(r"(\w)'re\b", re.IGNORECASE), r"\1 are"),
    (re.compile(r"(\w)'ve\b", re.IGNORECASE), r"\1 have"),
    (re.compile(r"(\w)'ll\b", re.IGNORECASE), r"\1 will"),
    (re.compile(r"\b(name|birthday)'s(?=\s+(?:[A-Z\d]|on\b|in\b))"), r"\1 is"),
    (re.compile(r"\bim\b"), "I am"),
    (re.compile(r"\bIm\b"), "I am"),
    (re.compile(r"\b[Ii]ve\b"), "I have"),
    (re.compile(r"\b(do|does|did|is|was|have|has)nt\b", re.IGNORECASE), r"\1 not"),
    (re.compile(r"\bcant\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bcannot\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bgonna\b", re.IGNORECASE), "going to"),
    (re.compile(r"\bwanna\b", re.IGNORECASE), "want to"),
    (re.compile(r"\bgotta\b", re.IGNORECASE), "have to"),
    (re.compile(r"\bi\b"), "I"),
)
_HAD = re.compile(r"\b(\w+)'d\b(?:\s+(\w+))?", re.IGNORECASE)
_IS = re.compile(r"\b(\w+)'s\b(?:\s+([\w-]+))?", re.IGNORECASE)
_AFTER_HAS = frozenset(["been", "got", "had", "never"])
_BESIDE = re.compile(
    rf"(?P<name>{PERSON})(?:,\s(?P<what>(?:an?|my|our|his|her)\s[^,;:()]{{2,50}}|\d{{1,3}}),"
    r"|\s\((?P<age>\d{1,3})\),?)(?=\s(?P<next>[a-z]+))"
)
_HELPERS = frozenset(
    ["is", "was", "has", "had", "will", "does", "did", "can", "just", "also", "now"]
)


def refusal(sentence: str) -> str | None:
    """Why nothing is read of the sentence, None if it may hold something."""
    words = _WORDS.findall(sentence.lower())
    short = "'s " in sentence or "n't " in sentence
    if " " not in sentence.strip() or (_triggers().isdisjoint(words) and not short):
        talk = words and words[0] in lexicon.words("interjections")
        return "small talk" if talk else "nothing said"
    sentence = _BY_THE_WAY.sub("", sentence)
    if _MARK.search(sentence) or _ASKS.match(sentence[:1].lower() + sentence[1:]):
        return "question"
    if _SUPPOSED.search(sentence):
        return "hypothetical"
    if (line := _LINE.match(sentence)) and is_first_name(line["name"]):
        return "quoted"
    if _JOKE.search(sentence):
        return "joke"
    return "story" if _STORY.search(sentence) else None


@cache
def _triggers() -> frozenset[str]:
    """Words of which a sentence that states a fact has one."""
    kin = (KIN, KIN_PLURALS, FORMER, PETS, PET_PLURALS)
    return lexicon.words("fact_words").union(forms(), *kin)


def is_task(sentence: str) -> bool:
    """Whether it asks for work on words: what follows is the text to work on."""
    return _TASK.match(sentence) is not None


def expanded(sentence: str) -> str:
    """The sentence with its short forms written out; a possessive 's stays."""
    if not _MAY_HOLD.search(sentence):
        return sentence
    sentence = _NOT.sub(lambda m: f"{_ODD_NOT.get(m[1].lower(), m[1])} not", sentence)
    for pattern, long in _CLEAR:
        sentence = pattern.sub(long, sentence)
    if "'" not in sentence:
        return sentence
    return _IS.sub(_is_or_has, _HAD.sub(_had_or_would, sentence))


def _had_or_would(match: re.Match[str]) -> str:
    after = (match[2] or "").lower()
    known = verb(after)
    had = after in ("been", "better", "already") or (known and Form.PARTICIPLE in known[1])
    return f"{match[1]} {'had' if had else 'would'}{_tail(match)}"


def _is_or_has(match: re.Match[str]) -> str:
    word, after = match[1].lower(), (match[2] or "").lower()
    if word in ("master", "bachelor", "associate"):
        return match[0]
    if word == "let":
        return f"let us{_tail(match)}"
    known = verb(after)
    participle = bool(known and Form.PARTICIPLE in known[1] and Form.BASE not in known[1])
    has = after in _AFTER_HAS or (participle and word in lexicon.words("always_is"))
    going = after.endswith("ing") and after not in lexicon.words("no_ing")
    people = after in lexicon.words("peoples") and match.string[match.end() : match.end() + 1] in (
        "",
        ".",
        ",",
        "!",
    )
    if people:
        return f"{match[1]} is{_tail(match)}"
    if not (
        word in lexicon.words("always_is")
        or after in lexicon.words("after_is")
        or going
        or after.isdigit()
    ):
        return match[0]
    return f"{match[1]} {'has' if has else 'is'}{_tail(match)}"


def _tail(match: re.Match[str]) -> str:
    return f" {match[2]}" if match[2] else ""


def unfolded(sentence: str) -> list[str]:
    """The sentence without what stands beside its names, and that as sentences of their own.

    >>> unfolded("Ana, a nurse, lives in Rome")
    ['Ana lives in Rome', 'Ana is a nurse']
    """
    if "," not in sentence and "(" not in sentence:
        return [sentence]
    beside = [found for found in _BESIDE.finditer(sentence) if _goes_on(found["next"])]
    for found in reversed(beside):
        sentence = sentence[: found.end("name")] + sentence[found.end() :]
    return [sentence, *(f"{one['name']} is {one['what'] or one['age']}" for one in beside)]


def _goes_on(word: str) -> bool:
    known = verb(word)
    return word in _HELPERS or bool(known and known[1] & (Form.PRESENT | Form.PAST))
