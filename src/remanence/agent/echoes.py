"""Telling an echo: a text that a model wants to remember and that memory just told it."""

from __future__ import annotations

import re
import unicodedata

from remanence.text import marks

MINUS = "\u2212"
# What our lists write before a memory: a bullet, a date. Who spoke is part of the line told.
_STAMP = re.compile(r"^\s*(?:[-*•~]\s|\d+\.\s)?\s*(?:\[\d{4}-\d\d-\d\d[^\]]{0,40}\]\s*)?")
# Signs that change what a word means, as in C++, C#, -5, 3.5 or 5%; alone or at an end, a full
# stop and a dash are only punctuation.
_SIGNS = frozenset("+-#.%/")
_LOOSE = re.compile(r"\.(?!\w)|(?<![\w+#-])[+#-]+(?![\w+#-])")


def normalised(text: str) -> str:
    """The words and what belongs to them, in one case and form, so that spelling hides no echo."""
    plain = marks.normalised("NFKC", _STAMP.sub("", text)).casefold()
    spaced = plain.translate({ord(sign): _plain(sign) for sign in set(plain)})
    return " ".join(_LOOSE.sub(" ", spaced).split())


def is_echo(text: str, known: str) -> bool:
    """Whether a normalised text says nothing beyond a known one: it is that, or wholly in it."""
    return bool(text) and f" {text} " in f" {known} "


def _plain(sign: str) -> str:
    """A character as it counts: letters, digits, marks and most symbols do, punctuation hardly."""
    category = unicodedata.category(sign)
    if category == "Pd" or sign == MINUS:
        return "-"
    if sign in _SIGNS or category[0] in "LNM" or category in ("Sm", "Sc", "So"):
        return sign
    return "" if category == "Cf" else " "
