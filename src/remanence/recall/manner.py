"""How a question is put: whether it wants several things, and whose words would answer it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from remanence.text.words import fold, is_stop_word

_AUXILIARY = "has|have|had|did|does|do|is|are|was|were|will|would|can|could|should|might"
_WHAT = re.compile(r"\b(?:what|which)\b", re.IGNORECASE)
_DOES = re.compile(rf"\b(?:{_AUXILIARY})\b", re.IGNORECASE)
_KIND_OF = re.compile(r"\b(?:kind|type|sort)s? of\b", re.IGNORECASE)
_KINDS_OF = re.compile(r"\b(?:kinds|types|sorts) of\b", re.IGNORECASE)
_AFTER_THE_NOUN = re.compile(r"\b(?:of|in|for|from|to|with|about|at|on)\b", re.IGNORECASE)
_PLURAL = re.compile(r"[^\W\d_]{2,}(?<![siu'’])s|people|children|men|women", re.IGNORECASE)
_WHAT_ARE = re.compile(r"\b(?:what|which|who)(?: all)? (?:are|were)\b", re.IGNORECASE)
_WHO = re.compile(r"\b(?:what|which|where|who|whom)\b", re.IGNORECASE)
_HAS = re.compile(r"\b(?:has|have) \w", re.IGNORECASE)
_NOT_SO_FAR = re.compile(r"\b(?:do|does|did|to|will|would|can|could|should|might)\b", re.IGNORECASE)
_COUNTED = re.compile(r"\bhow (?:many|often)\b|\bboth\b|\bin common\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_OWN = re.compile(r"['’]s?(?![^\W_])")
_BETWEEN = re.compile(r"\.? ")


def wants_several(text: str) -> bool:
    """Whether the answer is likely a list or a count, its parts said at different times (English).

    >>> wants_several("What books has Ana read?"), wants_several("What book is on the desk?")
    (True, False)
    """
    if _COUNTED.search(text) or _WHAT_ARE.search(text) or _asks_for_plural(text):
        return True
    so_far = _between(_WHO, _HAS, text)
    return so_far is not None and _NOT_SO_FAR.search(so_far) is None


def _asks_for_plural(text: str) -> bool:
    """What books, which of the books, what kinds of books."""
    asked = _between(_WHAT, _DOES, text)
    if asked is None:
        return False
    noun = _AFTER_THE_NOUN.split(_KIND_OF.sub("", asked))[0].split()
    return _KINDS_OF.search(asked) is not None or (
        bool(noun) and _PLURAL.fullmatch(noun[-1]) is not None
    )


def _between(first: re.Pattern[str], last: re.Pattern[str], text: str) -> str | None:
    """What stands between the two in the first line that has both; each line is read once."""
    for line in text.split("\n"):
        start = first.search(line)
        end = last.search(line, start.end()) if start else None
        if start and end:
            return line[start.end() : end.start()]
    return None


def in_first_person(text: str, people: Iterable[Sequence[str]]) -> str:
    """The question as these people would put it themselves, since what they said says "I".

    Each is given by the folded words of their name, the first name first. The text comes back as
    it is if nothing would be left to ask about.

    >>> in_first_person("Where does Ana's dog sleep?", [["ana"]])
    'Where does my dog sleep?'
    """
    names = {name[0]: frozenset(name[1:]) for name in people if name}
    words = list(_WORD.finditer(text))
    said: list[str] = []
    done = 0
    for number, word in enumerate(words):
        rest = names.get(fold(word[0]))
        if rest is None or word.start() < done or not _is_name(word[0]):
            continue
        end = _end_of_name(text, words, number, rest)
        own = _OWN.match(text, end)
        said += [text[done : word.start()], "my" if own else "I"]
        done = own.end() if own else end
    asked = "".join([*said, text[done:]])
    return asked if any(not is_stop_word(word) for word in _WORD.findall(asked)) else text


def _is_name(word: str) -> bool:
    return word[0].isupper() or not is_stop_word(word)


def _end_of_name(
    text: str, words: Sequence[re.Match[str]], number: int, rest: frozenset[str]
) -> int:
    """Where a name ends that begins with that one of these words."""
    end = words[number].end()
    for at in range(number + 1, len(words)):
        word = words[at]
        if fold(word[0]) not in rest or not _BETWEEN.fullmatch(text, end, word.start()):
            break
        end = word.end()
    return end
