"""What somebody is: a name, an age, a people, a creed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from remanence.knowledge.extract.phrases import UPPER, person_at
from remanence.knowledge.extract.rule import Aspect, Found, Scene, rule
from remanence.knowledge.extract.statement import Named
from remanence.knowledge.extract.tables.first_names import is_first_name
from remanence.knowledge.extract.tables.kin import PETS, kin_of
from remanence.knowledge.extract.tables.listing import words
from remanence.knowledge.extract.tables.places import is_place
from remanence.knowledge.extract.tables.tongues import LANGUAGES, PEOPLES
from remanence.knowledge.extract.verb_group import Tense
from remanence.model.knowledge import EntityType

_SMALL = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
    "|sixteen"
    "|seventeen|eighteen|nineteen"
)
_YEARS = rf"\d{{1,3}}|{_SMALL}|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-\w+)?"
_AGE = re.compile(
    rf"\s*({_YEARS})"
    r"(?:\s*(?:-|\s)?years?(?:-|\s)?old|\s*yo|\s*y/o)?\s*(?:[|.,!;)]|$|\s?(?:and|now|today|already"
    r"|but)\b)",
    re.IGNORECASE,
)
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70,
         "eighty": 80, "ninety": 90}  # fmt: skip
_ONES = {word: number for number, word in enumerate(_SMALL.split("|"), start=1)}
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|Jan"
    r"|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.?"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
DATE = re.compile(
    rf"{_MONTH}\s+(?:the\s+)?{_DAY}(?:,?\s+\d{{4}})?|(?:the\s+)?{_DAY}\s+(?:of\s+)?{_MONTH}"
    r"(?:,?\s+\d{4})?|\d{1,4}[-/.]\d{1,2}(?:[-/.]\d{2,4})"
)
_YEAR = re.compile(r"\bin\s+((?:19|20)\d\d)\b")
_GREETING = re.compile(r"(?:hi|hello|hey|good (?:morning|evening))\b", re.IGNORECASE)
_ALONE = re.compile(r"\s*(?:[|.,!;)]|$|(?:and|but|from|by the way|here)\b)")
_CREEDS = words(
    """
    catholic christian muslim jewish buddhist hindu atheist agnostic protestant orthodox sikh
    left-handed right-handed ambidextrous bilingual colourblind introverted extroverted gay
    lesbian bisexual queer trans transgender non-binary straight deaf blind
    """
)
_SORTS = re.compile(
    r"(?P<sort>(?:[A-Z][a-z]+ )?(?:citizen|introvert|extrovert|feminist|twin|only child|night owl"
    r"|early bird|morning person|perfectionist|minimalist|Christian|Catholic|Muslim|Buddhist"
    r"|atheist"
    r"|veteran|only child|vegetarian|cancer survivor|pacifist|Virgo|Leo|Gemini|Pisces|Aries|Libra"
    r"|Scorpio|Taurus|Capricorn|Aquarius|Sagittarius))\b",
    re.IGNORECASE,
)


def years(text: str) -> str:
    """An age in figures; nothing if it is none."""
    if text.isdigit():
        return text if 0 < int(text) < 120 else ""
    if text.lower() in _ONES:
        return str(_ONES[text.lower()])
    tens, _, ones = text.lower().partition("-")
    return str(_TENS[tens] + _ONES.get(ones, 0)) if tens in _TENS else ""


def _age(scene: Scene, _after: str, _tail: re.Match[str]) -> Iterable[Found]:
    found = _AGE.match(scene.rest)
    age = years(found[1]) if found else ""
    if age and not scene.group.negated and scene.group.tense is Tense.PRESENT and not scene.coming:
        yield Found("age", age)


def _turned(_scene: Scene, _after: str, tail: re.Match[str]) -> Iterable[Found]:
    if age := years(tail[1]):
        yield Found("age", age, Aspect.START)


def _is(scene: Scene, _after: str, tail: re.Match[str]) -> Iterable[Found]:
    word = tail["word"]
    known = word.lower() in PEOPLES | LANGUAGES | _CREEDS
    if known and scene.group.tense in (Tense.PRESENT, Tense.PERFECT):
        yield Found("is", word)


def _sort(_scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
    if found := _SORTS.match(after):
        yield Found("is", found["sort"])


def _named(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
    """ "I am Tom", if Tom is a name that people bear."""
    name = person_at(after)
    likely = is_first_name(name) or _GREETING.match(scene.sentence) is not None
    own = scene.who[0] == scene.people.speaker and name and likely
    if name.lower() in PEOPLES | LANGUAGES | _CREEDS:
        return
    if not own or is_place(name) or not _ALONE.match(after.strip()[len(name) :]):
        return
    if scene.group.tense is Tense.PRESENT and not scene.group.negated:
        yield Found("is named", name)


def _called(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
    """ "My brother is called Duarte", "I am called Bo"."""
    name = person_at(after)
    who = scene.who[0]
    owner, _, word = who.text.rpartition("'s ")
    if not name:
        return
    if owner and (kin := kin_of(word)):
        holder = Named(owner, EntityType.PERSON)
        holder = scene.people.speaker if owner == scene.people.speaker.text else holder
        scene.people.christen(holder, word, name)
        yield Found(kin.predicate, name, subject=holder)
    elif owner and word in PETS:
        yield Found("has pet", name, subject=Named(owner, EntityType.PERSON))
    elif not owner and len(scene.who) == 1 and scene.clause.subject:
        said = scene.clause.subject.match
        if said is None or (said["speaker"] or "I").lower() != "we":
            yield Found("is named", name)


def _calls_me(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
    if name := person_at(after):
        new = scene.group.verb == "change"
        yield Found(
            "is named", name, Aspect.START if new else Aspect.STATE, subject=scene.people.speaker
        )


def _born(scene: Scene, _after: str, _tail: re.Match[str]) -> Iterable[Found]:
    found = DATE.search(scene.clause.rest) or _YEAR.search(scene.clause.rest)
    if found:
        yield Found("born on", found[found.lastindex or 0], Aspect.EVER)


RULES = (
    rule("be", r"(?=[\dtfseno])", _age),
    rule("turn", rf"({_YEARS})\b",
         _turned),
    rule("be", r"(?:half\s+)?(?P<word>[\w-]+)(?=\s*(?:[|.,!;)]|$|\s(?:and|but|too|so|like)\b))",
         _is),
    rule("be", r"(?:(?:an?|now|the)\s+)+", _sort),
    rule("be", rf"(?=[{UPPER}])", _named),
    rule("call name", r"(?!me\b)", _called, passive=True),
    rule("call", r"me\s+", _calls_me),
    rule("go", r"by\s+", _called),
    rule("bear", r"", _born, passive=True),
)  # fmt: skip
