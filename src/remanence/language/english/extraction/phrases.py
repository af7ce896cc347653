"""Values out of what follows a verb: names, noun phrases without articles, lists of them."""

from __future__ import annotations

import re

from remanence.language.english import lexicon
from remanence.language.english.extraction.name_types import is_place

UPPER = "".join(chr(code) for code in range(0x41, 0x530) if chr(code).isupper())
# A word of a name has at most 41 letters, so that a search may begin at each letter of a long one.
_CAPITAL = rf"(?!I\b)[{UPPER}](?:[\w&-]|'(?!s\b)(?=\w)|\.(?=[A-Z])){{0,40}}"
_OF_SHOPS = r"(?:'s(?=\s*(?:$|[.,!|]|\s(?:and|as|in|since|for|on|now|but|is|was)\b)))?"
_SMALL = r"(?:of|de|da|do|dos|del|della|di|la|le|van|von|der|the|and the|for|&)"
_TITLE = r"(?:(?:Dr|Mr|Mrs|Ms|Prof|St)\.?\s)?"
_YEARS = r"(?!\s*(?:years?|months?|weeks?|days?))"
NAME = (
    rf"{_TITLE}{_CAPITAL}(?:\s(?:{_SMALL}\s){{0,2}}(?:{_CAPITAL}|\d{{1,3}}\b{_YEARS}))*{_OF_SHOPS}"
)
PERSON = rf"{_TITLE}{_CAPITAL}(?:\s(?:(?:de|da|do|van|von|der|la|del)\s)?{_CAPITAL}){{0,3}}"
_NAME = re.compile(NAME)
_PERSON = re.compile(PERSON)
CUT = re.compile(
    rf"\s*(?:[|;!?()\[\]…\n—–]|[.:](?!\d)|\s-\s|,?\s(?:{lexicon.either('value_ends')})\b)",
    re.IGNORECASE,
)
_COMMA = re.compile(r",(?!\d{3}\b)")
_LEAD = re.compile(
    r"(?:\s*(?:a|an|the|some|any|my|our|his|her|their|its|this|that|these|those|all|really|very"
    r"|quite|such|lots of|plenty of|a lot of|a bit of|kind of|sort of|one of (?:my|our|the)|brand"
    r"|to|of|about|just|both|own|currently|mostly|especially|also|myself|himself|herself)\b\s*)+",
    re.IGNORECASE,
)
_LIST = re.compile(r"\s*,\s*(?:(?:and|or)\s+)?|\s+(?:and|or|&)\s+", re.IGNORECASE)
_AND = re.compile(r"\s(?:and|or|&)\s", re.IGNORECASE)
_LINK = re.compile(rf"(?:\s*\(?\d+\)?)?\s*(?:,\s*(?:and\s+)?|\s+and\s+|\s*&\s*)(?=[{UPPER}])")
_ARTICLE = re.compile(r"\s*(?:(?:the|a|an|our|my)\s+(?=[A-Z]))?")
_MAX_WORDS = 8
_COUNTED = frozenset(["one", "ones", "two", "three"])
_MOST_LISTED = 6
_LOWER_WORD = re.compile(r"[a-zà-ÿ]+(?:'[a-z]+)?")
_LETTERS = re.compile(r"[^\W\d_]+")
_SENTENCE_END = re.compile(r"[.;!?|]|\sbut\s|\snot\s")
_ALONE = re.compile(r"\s*[a-z]+\s*(?:$|[|,.!])")
_INSIDE = re.compile(r"(?:an?|the|our|my)\s+[a-z' -]{3,50}?\b(?:in|near|outside|of)\s+(?=[A-Z])")
_PREPOSITIONS = {
    "thing": "in at near on from to by called named for with out off up going coming full of",
    "trade": "at in for with on near from by who based up down over out by",
    "work": "as in on with from near doing where to",
    "topic": "at from with on near by through to for",
}
_WORKPLACE = re.compile(rf"\b(?:{lexicon.either('workplaces')})\b", re.IGNORECASE)
_KIND_OF_PLACE = re.compile(rf"\s(?:{lexicon.either('kinds_of_workplace')})\b")
_SEATS = frozenset(["table", "desk", "sofa", "couch", "bed"])
_SOMEWHERE = frozenset(["at", "in", "on", "behind", "under", "with"])
_STATE = re.compile(r",\s+(?=[A-Z])")
_OF_TRADE = re.compile(r" (?:of|for|at|in|with|on) ")
_TRADE_ENDING = re.compile(
    r"[a-z]{2,}(?:ist|ician|keeper|smith|maker|grapher|worker|mason|monger|wright|eer|warden)$"
)


def name_at(text: str) -> str:
    """The name that the text starts with, an article aside; nothing if there is none."""
    start = _ARTICLE.match(text)
    found = _NAME.match(text, start.end() if start else 0)
    return _whole(found[0]) if found else ""


def person_at(text: str) -> str:
    """The person's name that the text starts with."""
    found = _PERSON.match(text.lstrip())
    return _whole(found[0]) if found else ""


def _whole(name: str) -> str:
    return name.rstrip(".,-&' ")


def people_at(text: str) -> list[str]:
    """The persons' names of a list that the text starts with: "Leo, Mia and Tom"."""
    names: list[str] = []
    rest = text.lstrip(" :,(-–")
    while len(names) < 6 and (name := person_at(rest)):
        names.append(name)
        rest = rest.lstrip()[len(name) :]
        link = _LINK.match(rest)
        if not link:
            break
        rest = rest[link.end() :]
    return names


def before_cut(text: str) -> str:
    """The text up to where a value can no longer go on: a time, a reason, another clause."""
    cut = CUT.search(text)
    return text[: cut.start()] if cut else text


def phrase(text: str, stop: re.Pattern[str] | None = None) -> str:
    """The noun phrase that the text starts with: no article, nothing about time or reasons."""
    text = _COMMA.split(before_cut(text.lstrip()), maxsplit=1)[0]
    if stop and (found := stop.search(text)):
        text = text[: found.start()]
    return bare(text)


def bare(text: str) -> str:
    """A phrase without articles before and loose words after it; nothing if nothing is left."""
    lead = _LEAD.match(text)
    words = (text[lead.end() :] if lead and lead.end() < len(text) else text).split()
    if words and words[-1].lower() in lexicon.words("pointing") | _COUNTED:
        return ""
    while words and words[-1].strip(",'\"*_").lower() in lexicon.words("loose_ends"):
        words.pop()
    if len(words) > _MAX_WORDS:
        return ""
    value = " ".join(words).strip(" ,'\"*_")
    return "" if value.lower() in lexicon.words("empty_values") else value


def listed(text: str, stop: re.Pattern[str] | None = None) -> list[str]:
    """The noun phrases of a list that ends in "and …", or the one there is."""
    text = before_cut(text.lstrip())
    if not _AND.search(text):
        text = _COMMA.split(text, maxsplit=1)[0]
    parts = _LIST.split(text)
    found: list[str] = []
    for part in parts[:_MOST_LISTED]:
        at = stop.search(part) if stop else None
        value = bare(part[: at.start()] if at else part)
        if not value or (len(parts) > 1 and len(value.split()) > 5):
            break
        found.append(value)
    return found


def stop_at(words: str) -> re.Pattern[str]:
    """A pattern for where a value stops: at any of these words."""
    return re.compile(rf"\s(?:{'|'.join(words.split())})\b.*", re.IGNORECASE)


_AFTER = {name: stop_at(words) for name, words in _PREPOSITIONS.items()}


def _with_state(name: str, text: str) -> str:
    after = text[text.find(name) + len(name) :]
    comma = _STATE.match(after) if name.lower() in lexicon.words("namesakes") else None
    state = name_at(after[comma.end() :]) if comma else ""
    return f"{name}, {state}" if state.lower() in lexicon.words("regions") else name


def place(text: str, lower: bool) -> list[str]:
    """A place: a name, or a well-known one in small letters."""
    inside = _INSIDE.match(text.lstrip())
    name = name_at(text.lstrip()[inside.end() :] if inside else text)
    if name and name.lower() not in lexicon.words("languages", "peoples"):
        return [_with_state(name, text)]
    found = _LOWER_WORD.findall(text[:40].lower())
    found = found[1:] if found[:1] == ["the"] else found
    for count in (3, 2, 1):
        candidate = " ".join(found[:count])
        if len(found) >= count and (
            candidate in lexicon.words("places", "regions") or candidate in lexicon.words("homes")
        ):
            return [candidate]
    alone = (
        lower
        and _ALONE.match(text) is not None
        and lexicon.words("no_places").isdisjoint(found[:1])
    )
    return found[:1] if alone else []


def known_place(text: str, lower: bool) -> list[str]:
    """A place that everybody knows."""
    return [one for one in place(text, lower) if is_place(one)]


def organisation(text: str, lower: bool) -> list[str]:
    """An organisation: a name, or a noun phrase such as "local bank" or "the railway"."""
    name = name_at(text)
    if text.lstrip()[:1].isdigit():
        return []
    if name:
        more = _KIND_OF_PLACE.match(text.lstrip()[text.lstrip().find(name) + len(name) :])
        name += more[0] if more else ""
        return [] if is_place(name) and not _WORKPLACE.search(name) else [name]
    found = phrase(text, _AFTER["work"])
    words = found.lower().split()
    if (
        not words
        or len(words) > 5
        or not lexicon.words("no_workplaces").isdisjoint((words[0], words[-1]))
    ):
        return []
    if (
        not _SOMEWHERE.isdisjoint(words)
        or found.lower() in lexicon.words("no_firms")
        or words[-1] in _SEATS
    ):
        return []
    definite = text.lstrip().lower().startswith(("the ", "our ")) and len(words) <= 3
    return [found] if definite or lower or _WORKPLACE.search(found) else []


def school(text: str, lower: bool) -> list[str]:
    """Where somebody studies: a name, even a city's, or a school of some sort."""
    name = name_at(text)
    return [name] if name else organisation(text, lower)


def trade(text: str, lower: bool) -> list[str]:
    """What somebody works as, whatever the word."""
    found = phrase(text, _AFTER["trade"])
    if len(found.split()) > 5:
        found = found.partition(" of ")[0]
    return [found] if found and len(found.split()) <= 5 and not found[0].isdigit() else []


def known_trade(text: str, lower: bool) -> list[str]:
    """What somebody works as, if the word is one for a trade."""
    return [one for one in trade(text, lower) if _is_trade(one)]


def _is_trade(phrase: str) -> bool:
    """Whether a noun phrase names a trade: its head does ("senior software engineer")."""
    head = _OF_TRADE.split(phrase.lower(), maxsplit=1)[0].split()
    if not head:
        return False
    word = head[-1]
    if word == "worker" and head[:-1] in ([], ["hard"], ["good"], ["fast"], ["slow"], ["great"]):
        return False
    known = word in lexicon.words("trades")
    return known or (word not in lexicon.words("no_trades") and bool(_TRADE_ENDING.match(word)))


def topics(text: str, lower: bool) -> list[str]:
    """Topics of a list."""
    return [one for one in listed(text, _AFTER["topic"]) if len(one.split()) <= 6]


def thing(text: str, lower: bool) -> list[str]:
    """A thing that somebody can have."""
    found = phrase(text.partition(" and ")[0], _AFTER["thing"])
    return [found] if found and len(found.split()) <= 6 else []


def languages(text: str, lower: bool) -> list[str]:
    """Languages of a list; words that are none are left out."""
    text = _SENTENCE_END.split(text, maxsplit=1)[0]
    first = text.split()[:1]
    if (
        first
        and first[0].istitle()
        and first[0].lower() not in lexicon.words("languages")
        and len(first[0]) > 3
    ):
        return [first[0].strip(",")]
    return [
        one for one in _LETTERS.findall(text[:120]) if one.lower() in lexicon.words("languages")
    ]
