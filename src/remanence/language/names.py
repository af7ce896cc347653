"""Names in running text: people, places, products, as capital letters show them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache

from remanence.language.english import lexicon
from remanence.language.english.dates.tokens import meanings
from remanence.language.words import fold, is_stop_word
from remanence.model.deadline import unhurried

_WORD = re.compile(r"[^\W_]+(?:['’.&-][^\W_]+)*")
_FOLDED_WORD = re.compile(r"[^\W_]+")
_TITLES = frozenset(["dr", "mr", "mrs", "ms", "prof", "sir", "saint", "st"])
_LINKS = frozenset(
    ["of", "de", "da", "do", "dos", "del", "della", "di", "la", "le", "van", "von", "der", "the"]
)
_NOT_NAME_ENDINGS = ("ing", "ly", "tion", "ness", "ment", "ful", "less", "ous", "ed")
_CALENDAR = frozenset("MmkWwVHh")
_SHORT = frozenset(["t", "ll", "re", "ve", "m", "d"])  # don't, we'll: short forms are no names
_POSSESSIVE = re.compile(r"['’]s?$")


def names(text: str) -> list[str]:
    """The distinct names of a text, in order; words that belong together are joined.

    >>> names("Yesterday I met Dr. Ana Silva in New York. Ana's dog came too.")
    ['Dr. Ana Silva', 'New York', 'Ana']
    """
    return list(dict.fromkeys(name for name, _ in named(text)))


def named(text: str) -> Iterator[tuple[str, int]]:
    """Each name of a text as often as it stands there, and where it begins."""
    if text.islower() or text.isupper():
        return
    for group in unhurried(_groups(text)):
        start, end = _trimmed(text, group)
        if name := _POSSESSIVE.sub("", text[start:end]):
            yield name, start


def mentions_name(text: str, name: str) -> bool:
    """Whether the text says the name, or the first name of a full one; case and accents ignored.

    A name that is also a stop word ("Will") counts only with a capital.
    """
    return SearchedText(text).mentions(name)


class SearchedText:
    """A text in which many names are looked for; it is read once for all of them."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _folded(self) -> str:
        return fold(self._text)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(_FOLDED_WORD.findall(self._folded))

    def mentions(self, name: str) -> bool:
        """As `mentions_name`."""
        forms = _name_forms(name)
        if not forms:
            return False
        if is_stop_word(forms[-1]) and forms[-1].capitalize() not in self._text:
            return False
        return any(self._says(form) for form in forms)

    def _says(self, form: str) -> bool:
        if not form.isascii() and not (form[0].isupper() or form[0].islower()):
            return form in self._folded
        if " " not in form:
            return form in self._words
        return form in self._folded and _stands_alone(self._folded, form)


@lru_cache(maxsize=1024)
def _name_forms(name: str) -> tuple[str, ...]:
    parts = [part for part in _FOLDED_WORD.findall(fold(name)) if part not in _TITLES]
    if not parts:
        return ()
    first = parts[0]
    return (first,) if len(first) > 1 or len(parts) == 1 else (" ".join(parts),)


def _stands_alone(text: str, form: str) -> bool:
    return re.search(rf"(?<![^\W_]){re.escape(form)}(?![^\W_])", text) is not None


def _groups(text: str) -> Iterator[list[re.Match[str]]]:
    group: list[re.Match[str]] = []
    links: list[re.Match[str]] = []
    for word in _WORD.finditer(text):
        joined = bool(group) and _adjoin(text, (links or group)[-1], word)
        if joined and word[0].lower() in _LINKS and len(links) < 2:
            links.append(word)
            continue
        if not word[0][0].isupper() or not joined:
            if group:
                yield group
            group = []
        if word[0][0].isupper():
            group += [*links, word] if group else [word]
        links = []
    if group:
        yield group


def _adjoin(text: str, before: re.Match[str], after: re.Match[str]) -> bool:
    between = text[before.end() : after.start()]
    if between.startswith("."):
        return before[0].lower() in _TITLES and between.strip() == "."
    return between == " " and not before[0].lower().endswith(("'s", "’s"))


def _trimmed(text: str, group: list[re.Match[str]]) -> tuple[int, int]:
    if _is_shouted([word[0] for word in group]):
        return 0, 0
    initial = _opens_sentence(text, group[0].start())
    first, end = 0, len(group)
    while first < end and (
        _is_ordinary(group[first][0]) or (initial and _is_opener(group[first][0]))
    ):
        first, initial = first + 1, False
    while end > first and (_is_ordinary(group[end - 1][0]) or group[end - 1][0] in _LINKS):
        end -= 1
    alone = end - first == 1
    if first == end or (initial and alone and not _is_person_here(text, group[first])):
        return 0, 0
    return group[first].start(), group[end - 1].end()


def _is_shouted(words: list[str]) -> bool:
    """Capitals for emphasis rather than for a name or an acronym."""
    loud = [word for word in words if word.isupper() and len(word) > 1]
    return any(len(word) > 5 for word in loud) or len(loud) == len(words) > 1


def _is_ordinary(word: str) -> bool:
    bare, _, rest = word.replace("’", "'").partition("'")
    if rest in _SHORT or bare.lower() == "let" or len(bare) < 2 or is_stop_word(bare):
        return bare != "US"
    return meanings().get(bare.lower(), ".")[0] in _CALENDAR


def _is_opener(word: str) -> bool:
    bare = re.split("['’]", word.lower())[0]
    return bare in lexicon.words("sentence_openers") or bare.endswith(_NOT_NAME_ENDINGS)


def _is_person_here(text: str, word: re.Match[str]) -> bool:
    if word[0].lower() in lexicon.words("men", "women"):
        return True
    after = _WORD.search(text, word.end(), word.end() + 40)
    if after is None:
        return False
    if word[0].endswith(("'s", "’s")):
        return not is_stop_word(after[0]) and not after[0].endswith("ing")
    return (
        after[0].lower() in lexicon.words("after_persons")
        and text[word.end() : after.start()] == " "
    )


def _opens_sentence(text: str, start: int) -> bool:
    before = text[max(start - 4, 0) : start].rstrip(" \"'“‘(*-")
    return not before or before[-1] in ".!?:\n…" or ord(before[-1]) > 0x2600
