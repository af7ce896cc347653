"""Forms of the verbs that rules know: which verb a word is, and in which forms."""

from __future__ import annotations

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
