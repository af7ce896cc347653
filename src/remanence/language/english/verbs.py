"""Forms of the verbs that rules know, and which sentences report what their speaker did."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Flag, auto
from functools import cache

from remanence.language.english import lexicon


class Form(Flag):
    """The forms a word may be: work, works, worked, (have) worked, working."""

    BASE = auto()
    PRESENT = auto()
    PAST = auto()
    PARTICIPLE = auto()
    ING = auto()


@cache
def forms() -> Mapping[str, Mapping[str, Form]]:
    """Every form of every verb: the verbs it is of, and which of their forms it may be."""
    table: dict[str, dict[str, Form]] = {}
    rows = [entry.split() for entry in lexicon.entries("irregular_verbs")]
    entries = [(base, _regular(base)[0], *rest) for base, *rest in rows]
    entries += [(base, *_regular(base)) for base in lexicon.entries("regular_verbs")]
    for entry in entries:
        for form, word in zip(Form, entry, strict=True):
            readings = table.setdefault(word, {})
            readings[entry[0]] = readings.get(entry[0], Form(0)) | form
    table["has"] = {"have": Form.PRESENT}
    table.pop("haves", None)
    return table


def _regular(base: str) -> tuple[str, str, str, str]:
    if base.endswith("e"):
        return base + "s", base + "d", base + "d", base[:-1] + "ing"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies", base[:-1] + "ied", base[:-1] + "ied", base + "ing"
    plural = "es" if base.endswith(("s", "sh", "ch", "x", "o")) else "s"
    return base + plural, base + "ed", base + "ed", base + "ing"


def verb(word: str) -> tuple[str, Form] | None:
    """The verb that a word in small letters is a form of, and which forms it may be."""
    readings = forms().get(word)
    return next(iter(readings.items())) if readings else None


def guessed(word: str, form: Form) -> bool:
    """Whether a word that no table knows may be that form of a verb."""
    if len(word) < 3 or not word.replace("-", "").isalpha() or word in lexicon.words("no_verbs"):
        return False
    if form is Form.ING:
        return len(word) > 4 and word.endswith("ing")
    if form in (Form.PAST, Form.PARTICIPLE):
        return len(word) > 4 and (word.endswith("ed") or "ed-" in word)
    return form is Form.BASE


def base_of(word: str) -> str:
    """The plain form of a verb in the table; other words as they are."""
    known = verb(word)
    return known[0] if known else word


_TOKEN = re.compile(r"[\w'’]+")
_YOU = re.compile(r"\b(?:you|your|yours|you['’]\w+)\b", re.IGNORECASE)
_HAVING = frozenset(["i've", "we've"])
_WE = frozenset(["i", "we"]) | _HAVING
_LIGHT = frozenset(["did", "had"])
_USED_TO = ["used", "to"]
# What goes on in a head is no deed; nor is what is only wanted, tried or passed on.
_IN_MIND = frozenset(
    ["ask", "decide", "feel", "figure", "forget", "hear", "know", "like", "look", "love", "mean",
     "mention", "notice", "realise", "realize", "say", "tell", "wonder"]
)  # fmt: skip


def reported(sentence: str) -> bool:
    """Whether it says what its speaker did, without a word to the other.

    >>> reported("Last Friday I went to the pottery class."), reported("Baked two loaves.")
    (True, True)
    >>> reported("I want to go there."), reported("I'll bake."), reported("I made your cake.")
    (False, False, False)
    """
    if _YOU.search(sentence):
        return False
    words = [word.lower().replace("’", "'") for word in _TOKEN.findall(sentence)]
    for place, word in enumerate(words):
        if word in lexicon.words("possible"):
            return False
        if word in _WE and _is_deed(words, place + 1, word in _HAVING):
            return True
    known = verb(words[0]) if words else None
    bare = known is not None and not known[1] & Form.BASE
    return bare and _is_deed(words, 0, perfect=False)


def _is_deed(words: list[str], at: int, perfect: bool) -> bool:
    """Whether a past verb stands there, or behind adverbs; `perfect`: "have" came before."""
    before = ""
    while at < len(words) and (words[at] in lexicon.words("verb_adverbs") or words[at] == "been"):
        before, at = words[at], at + 1
    if at >= len(words):
        return False
    if words[at] == "have":
        return _is_deed(words, at + 1, perfect=True)
    base, form = verb(words[at]) or (words[at], _guessed_form(words[at]))
    if base in _IN_MIND or base in lexicon.words("possible") or words[at : at + 2] == _USED_TO:
        return False
    wanted = Form.PAST
    if perfect:
        wanted = Form.ING if before == "been" else Form.PARTICIPLE
    return words[at] in _LIGHT or (base not in ("be", "have", "do") and bool(form & wanted))


def _guessed_form(word: str) -> Form:
    likely = (one for one in (Form.PAST, Form.ING) if guessed(word, one))
    found = next(likely, Form(0))
    return found | Form.PARTICIPLE if found is Form.PAST else found
