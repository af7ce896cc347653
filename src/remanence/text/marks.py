"""Normal forms of a text in linear time, however many accents stand on one letter.

Putting a run of combining marks into order takes quadratic time, so a run is cut first. No
language puts more than a handful of marks on a letter; Unicode's stream-safe format (UAX 15)
allows 30.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache
from typing import Literal, TypeAlias

Form: TypeAlias = Literal["NFC", "NFD", "NFKC", "NFKD"]

MOST = 30

# What might be a run of marks: no letters, digits or blanks, but for the two that decompose to one.
_MAYBE_RUN = re.compile(rf"(?:[^\w\s\x00-\u02ff]|[\uff9e\uff9f]){{{MOST + 1}}}")


def normalised(form: Form, text: str) -> str:
    """The text in that form, with no more than `MOST` marks on any letter."""
    return unicodedata.normalize(form, bounded(text))


def bounded(text: str) -> str:
    """The text without the marks of a letter beyond the first `MOST`."""
    if text.isascii() or _MAYBE_RUN.search(text) is None:
        return text
    return _runs().sub(r"\1", text)


@cache
def _runs() -> re.Pattern[str]:
    every = map(chr, range(0x300, sys.maxunicode + 1))
    marks = "".join(one for one in every if unicodedata.combining(_first(one)))
    return re.compile(f"([{marks}]{{{MOST}}})[{marks}]+")


def _first(character: str) -> str:
    return unicodedata.normalize("NFKD", character)[0]
