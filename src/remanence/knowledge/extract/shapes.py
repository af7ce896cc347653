"""Shapes of values: a place, an organisation, a person, a trade, a topic, a thing."""

from __future__ import annotations

import re

from remanence.knowledge.extract.phrases import listed, name_at, person_at, phrase
from remanence.knowledge.extract.tables.listing import words
from remanence.knowledge.extract.tables.places import HOMES, PLACES, REGIONS, is_place
from remanence.knowledge.extract.tables.tongues import LANGUAGES, PEOPLES
from remanence.knowledge.extract.tables.trades import is_trade

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


def stop_at(words: str) -> re.Pattern[str]:
    """A pattern for where a value stops: at any of these words."""
    return re.compile(rf"\s(?:{'|'.join(words.split())})\b.*", re.IGNORECASE)


_AFTER = {name: stop_at(words) for name, words in _PREPOSITIONS.items()}
_WORKPLACE = re.compile(
    r"\b(?:company|firm|hospital|school|university|college|bank|startup|start-up|agency|office"
    r"|restaurant|cafe|café|bakery|shop|store|studio|clinic|library|museum|lab|laboratory|factory"
    r"|hotel|bar|pub|ngo|nonprofit|charity|gym|zoo|farm|newspaper|magazine|supermarket|nursery"
    r"|kindergarten|pharmacy|salon|garage|bookstore|bookshop|airport|airline|station|court|church"
    r"|shelter|theatre|theater|institute|organisation|organization|ministry|government|council"
    r"|practice|warehouse|gallery|centre|center|brewery|winery|studio|consultancy|publisher|service"
    r"|team|corporation|foundation|embassy|port|mine|mill|plant|railway|post)\b",
    re.IGNORECASE,
)
_KIND_OF_PLACE = re.compile(
    r"\s(?:shipyard|hospital|school|factory|library|museum|hotel|clinic|brewery|bakery|university"
    r"|airport|station|office|bank|restaurant|theatre|plant|mill|mine|works|shop|studio)\b"
)
_NOT_WORK = words(
    """
    home night nights it that this him her them myself himself herself free fun hours long
    moment time weekend least most present same front back
    """
)
_NO_FIRM = words(
    """
    desk table office house door room
    kitchen garden bed bottom top beginning start end call meeting phone keys bag laptop party
    dinner lunch breakfast gate corner computer money living race fun life change
    scene road country city town conversation
    """
)
_SEATS = frozenset(["table", "desk", "sofa", "couch", "bed"])
_SOMEWHERE = frozenset(["at", "in", "on", "behind", "under", "with"])


# Towns elsewhere bear the names of these, and then tell their state: "Paris, Texas".
_NAMESAKES = words(
    """
    paris london rome athens berlin vienna moscow dublin naples florence venice milan madrid toledo
    cairo alexandria lima geneva warsaw dresden hamburg cambridge oxford manchester birmingham
    bristol plymouth melbourne delhi lisbon sydney perth durham lancaster richmond halifax
    """
)
_STATE = re.compile(r",\s+(?=[A-Z])")
_ABSTRACT = words(
    """
    fear peace hope harmony poverty luxury denial hell heaven limbo sin chaos misery exile hiding
    comfort style pain silence dread agony bliss terror shame solitude isolation darkness squalor
    love faith sorrow grief regret doubt debt trouble freedom safety secrecy secret vain it that
    this there here one mine between interesting constant total
    """
)


def _with_state(name: str, text: str) -> str:
    after = text[text.find(name) + len(name) :]
    comma = _STATE.match(after) if name.lower() in _NAMESAKES else None
    state = name_at(after[comma.end() :]) if comma else ""
    return f"{name}, {state}" if state.lower() in REGIONS else name


def place(text: str, lower: bool) -> list[str]:
    """A place: a name, or a well-known one in small letters."""
    inside = _INSIDE.match(text.lstrip())
    name = name_at(text.lstrip()[inside.end() :] if inside else text)
    if name and name.lower() not in LANGUAGES | PEOPLES:
        return [_with_state(name, text)]
    found = _LOWER_WORD.findall(text[:40].lower())
    found = found[1:] if found[:1] == ["the"] else found
    for count in (3, 2, 1):
        candidate = " ".join(found[:count])
        if len(found) >= count and (candidate in PLACES or candidate in HOMES):
            return [candidate]
    alone = lower and _ALONE.match(text) is not None and _ABSTRACT.isdisjoint(found[:1])
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
    if not words or len(words) > 5 or not _NOT_WORK.isdisjoint((words[0], words[-1])):
        return []
    if not _SOMEWHERE.isdisjoint(words) or found.lower() in _NO_FIRM or words[-1] in _SEATS:
        return []
    definite = text.lstrip().lower().startswith(("the ", "our ")) and len(words) <= 3
    return [found] if definite or lower or _WORKPLACE.search(found) else []


def school(text: str, lower: bool) -> list[str]:
    """Where somebody studies: a name, even a city's, or a school of some sort."""
    name = name_at(text)
    return [name] if name else organisation(text, lower)


def known_school(text: str, lower: bool) -> list[str]:
    """A school, university or the like by its name."""
    return [one for one in school(text, lower) if _SCHOOL.search(one) and one[0].isupper()]


_SCHOOL = re.compile(
    r"\b(?:university|college|school|institute|academy|mit|stanford|harvard|yale|oxford|cambridge"
    r"|princeton|eth|polytechnic|uni|conservatory|kindergarten|ucla|nyu|tu|lse|caltech)\b",
    re.IGNORECASE,
)


def person(text: str, lower: bool) -> list[str]:
    """A person's name."""
    name = person_at(text)
    return [name] if name and not is_place(name) else []


def trade(text: str, lower: bool) -> list[str]:
    """What somebody works as, whatever the word."""
    found = phrase(text, _AFTER["trade"])
    if len(found.split()) > 5:
        found = found.partition(" of ")[0]
    return [found] if found and len(found.split()) <= 5 and not found[0].isdigit() else []


def known_trade(text: str, lower: bool) -> list[str]:
    """What somebody works as, if the word is one for a trade."""
    return [one for one in trade(text, lower) if is_trade(one)]


def topic(text: str, lower: bool) -> list[str]:
    """A topic."""
    found = phrase(text, _AFTER["topic"])
    return [found] if found and len(found.split()) <= 6 else []


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
    if first and first[0].istitle() and first[0].lower() not in LANGUAGES and len(first[0]) > 3:
        return [first[0].strip(",")]
    return [one for one in _LETTERS.findall(text[:120]) if one.lower() in LANGUAGES]
