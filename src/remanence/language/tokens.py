"""How many tokens a text takes in a prompt, estimated without any model's vocabulary."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

CountTokens: TypeAlias = Callable[[str], int]

# Every match is a token. Tokenisers split words of more than about seven letters, many take digits
# one by one, and runs of blanks are merged up to a length.
_PIECE = re.compile(r"[A-Za-z]{1,7}|[0-9]|[!-/:-@\[-`{-~]|\n|\t| {16}|[\x00-\x08\x0b-\x1f\x7f]")
_ACCENT = re.compile(r"[À-ɏḀ-ỿ]")
_LONG = re.compile(r"(?<=[A-Za-z]{4})[A-Za-z]{1,3}")
# A line with an accent among so many characters is hardly English, and takes more tokens a word.
_FOREIGN = 80


def count_tokens(text: str) -> int:
    """An estimate that leans upwards: real tokenisers rarely need more.

    >>> count_tokens("Ana moved to Lisbon.")
    5
    """
    plain = len(_PIECE.findall(text))
    return plain if text.isascii() else plain + _beyond_ascii(text)


def _beyond_ascii(text: str) -> int:
    """Two bytes of UTF-8 to a token: a letter of most alphabets, or two thirds of a Chinese one."""
    wide = len(text.encode("utf-8", "surrogatepass")) - len(text.encode("ascii", "ignore"))
    more = 0 if _ACCENT.search(text) is None else sum(map(_split_more, text.split("\n")))
    return -(-wide // 2) + more


def _split_more(line: str) -> int:
    """What words of other languages take beyond what English words of their length do."""
    accents = 0 if line.isascii() else len(_ACCENT.findall(line))
    return len(_LONG.findall(line)) if 0 < len(line) <= accents * _FOREIGN else 0
