"""Which tokens of a text carry content: those of words that are no stop words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from remanence.model.embedding import Span
from remanence.text.words import is_stop_word, word_spans

_BETWEEN_APOSTROPHES = re.compile("[^'’]+")
_LONGEST_CLITIC = 2  # "Ana's", "we'll"; but "O'Brien" keeps both parts


def content_tokens(text: str, spans: Sequence[Span]) -> list[int]:
    """Positions in `spans` of the content tokens; of every word when none carries content.

    Emoji and punctuation have none: the model knows them as one and the same token.
    """
    marks = _marks(text)
    found = [at for at, (start, end) in enumerate(spans) if start < end and marks[end - 1]]
    return found or [n for n, (a, b) in enumerate(spans) if any(map(str.isalnum, text[a:b]))]


def _marks(text: str) -> bytearray:
    marks = bytearray(len(text))
    for start, end in word_spans(text):
        word = text[start:end]
        if any(map(str.isalnum, word)) and not is_stop_word(word):
            for part in _BETWEEN_APOSTROPHES.finditer(word):
                if part.start() == 0 or len(part[0]) > _LONGEST_CLITIC:
                    marks[start + part.start() : start + part.end()] = b"\1" * len(part[0])
    return marks
