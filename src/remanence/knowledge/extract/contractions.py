"""Short forms written out, so that rules see one spelling: "I'm" is "I am"."""

from __future__ import annotations

import re

from remanence.knowledge.extract.tables.listing import words
from remanence.knowledge.extract.tables.tongues import PEOPLES
from remanence.knowledge.extract.tables.verbs import Form, verb

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
_ALWAYS_IS = words("he she it that there here who what where everything everyone this how when")
_AFTER_IS = words(
    """
    a an the not going now from in at so very really also currently just still always already
    been got on out only almost about never no married engaged single divorced allergic vegan
    vegetarian pregnant probably both my our his her one based retired turning called named
    """
)
_NOT_ING = words("wedding building evening morning king ring spring thing string")
_AFTER_HAS = words("been got had never")


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
    has = after in _AFTER_HAS or (participle and word in _ALWAYS_IS)
    going = after.endswith("ing") and after not in _NOT_ING
    people = after in PEOPLES and match.string[match.end() : match.end() + 1] in ("", ".", ",", "!")
    if people:
        return f"{match[1]} is{_tail(match)}"
    if not (word in _ALWAYS_IS or after in _AFTER_IS or going or after.isdigit()):
        return match[0]
    return f"{match[1]} {'has' if has else 'is'}{_tail(match)}"


def _tail(match: re.Match[str]) -> str:
    return f" {match[2]}" if match[2] else ""
