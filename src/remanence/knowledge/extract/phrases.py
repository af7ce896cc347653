"""Values out of what follows a verb: names, noun phrases without articles, lists of them."""

from __future__ import annotations

import re

from remanence.knowledge.extract.tables.listing import words

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
_NUMBERS = r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d+"
_SPAN = r"(?:few |past |last |while|long|couple|year|month|week|decade|day)"
CUT = re.compile(
    r"\s*(?:[|.;:!?()\[\]…\n—–]|\s-\s|,?\s(?:because|cause|but|so|which|who|whom|when|while|where"
    r"|if|unless|although|though|until|till|than|after|before|whenever|anymore|any more|any longer"
    r"|sometimes|usually|occasionally|regularly"
    r"|now|too|also|as well|these days|nowadays|lately|recently|currently|again|already|right now"
    r"|at the moment|at present|so much|a lot|a bit|very much|more than|most of all|the most|for "
    r"good|lol|haha|tbh|honestly|every"
    r"|each|everyday|forever|since|as|that|thanks to|due to|despite|instead|together|anyway|just"
    r"|eventually|soon|rather|not|even|actually|apparently|obviously|either|anyways|whom|without"
    rf"|for (?:now|years|months|ages|life|about|over|almost|nearly|(?:a|the|many|several) {_SPAN}"
    rf"|(?:{_NUMBERS}) (?:years?|months?|weeks?|days?))"
    r"|on (?:weekends|weekdays|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|my way|the side)"
    r"|at the end of|at (?:the )?(?:night|weekends?|moment|dawn)|in (?:the|my) (?:morning|evening"
    r"|afternoon|spare"
    r"|free|meantime|future|past|summer|winter)|in (?:it|general|particular|total|fact|my)"
    r"|all the time|to (?:be|say|help|get|make|have)\b.*|by the way|by far|after all|no matter"
    r"|with (?:my|our|his|her|him|them|it|me|us|you|a passion|all))\b)",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"(?:\s*(?:a|an|the|some|any|my|our|his|her|their|its|this|that|these|those|all|really|very"
    r"|quite|such|lots of|plenty of|a lot of|a bit of|kind of|sort of|one of (?:my|our|the)|brand"
    r"|to|of|about|just|both|own|currently|mostly|especially|also|myself|himself|herself)\b\s*)+",
    re.IGNORECASE,
)
_LOOSE_END = words(
    """
    and or of to in at on with for from the a an my very really just by is are into out up right
    yet still here there it them him me us you her so back around over like
    """
)
_POINTING = words("it them him her me us you this that these those")
_LIST = re.compile(r"\s*,\s*(?:(?:and|or)\s+)?|\s+(?:and|or|&)\s+", re.IGNORECASE)
_AND = re.compile(r"\s(?:and|or|&)\s", re.IGNORECASE)
_LINK = re.compile(rf"(?:\s*\(?\d+\)?)?\s*(?:,\s*(?:and\s+)?|\s+and\s+|\s*&\s*)(?=[{UPPER}])")
_ARTICLE = re.compile(r"\s*(?:(?:the|a|an|our|my)\s+(?=[A-Z]))?")
_EMPTY = words(
    """
    it that this them him her me us you they one ones some any lot lots much many more most all
    everything something nothing anything everyone someone anyone people thing things way bit
    there here what how why kind sort same other others another time fun idea no none
    """
)
_MAX_WORDS = 8


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
    text = before_cut(text.lstrip()).partition(",")[0]
    if stop and (found := stop.search(text)):
        text = text[: found.start()]
    return bare(text)


def bare(text: str) -> str:
    """A phrase without articles before and loose words after it; nothing if nothing is left."""
    lead = _LEAD.match(text)
    words = (text[lead.end() :] if lead and lead.end() < len(text) else text).split()
    if words and words[-1].lower() in _POINTING:
        return ""
    while words and words[-1].strip(",'\"*_").lower() in _LOOSE_END:
        words.pop()
    if len(words) > _MAX_WORDS:
        return ""
    value = " ".join(words).strip(" ,'\"*_")
    return "" if value.lower() in _EMPTY else value


def listed(text: str, stop: re.Pattern[str] | None = None, most: int = 6) -> list[str]:
    """The noun phrases of a list that ends in "and …", or the one there is."""
    text = before_cut(text.lstrip())
    if not _AND.search(text):
        text = text.partition(",")[0]
    parts = _LIST.split(text)
    found: list[str] = []
    for part in parts[:most]:
        at = stop.search(part) if stop else None
        value = bare(part[: at.start()] if at else part)
        if not value or (len(parts) > 1 and len(value.split()) > 5):
            break
        found.append(value)
    return found
