"""Telling an echo: a text that a model wants to remember and that memory just told it."""

from __future__ import annotations

import re
import unicodedata

# How much of the longer text the shorter one must make up to be the same thing said again: room
# for "[2026-05-01] Ana:" before it, none for another fact.
SAME = 0.8

_STAMP = re.compile(r"^\s*(?:[-*•]|\d+\.)?\s*\[\d{4}-\d\d-\d\d[^\]]{0,40}\]\s*")
_MARKS = re.compile(r"[\W_]+")


def normalised(text: str) -> str:
    """The words alone, in one case and form, so that spelling hides no echo."""
    plain = unicodedata.normalize("NFKC", _STAMP.sub("", text)).casefold()
    return _MARKS.sub(" ", plain).strip()


def same_text(one: str, other: str) -> bool:
    """Whether two normalised texts say the same: equal, or one is nearly all of the other."""
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    return bool(short) and len(short) >= SAME * len(long) and f" {short} " in f" {long} "
