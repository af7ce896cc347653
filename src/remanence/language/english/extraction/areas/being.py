"""What somebody is: a name, an age, a people, a creed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from remanence.language.english import lexicon
from remanence.language.english.extraction.clauses import is_anchor
from remanence.language.english.extraction.name_types import is_first_name, is_place
from remanence.language.english.extraction.phrases import UPPER, person_at
from remanence.language.english.extraction.rule import Aspect, ClauseScene, RuleFinding, rule
from remanence.language.english.extraction.statement import NamedEntity
from remanence.language.english.extraction.verb_group import Tense
from remanence.language.english.kin import PETS, kin_of
from remanence.language.english.spelling import BELOW_TWENTY, TENS, value_of
from remanence.model.knowledge import EntityType

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_NAMED_MONTH = r"(?P<month>[A-Za-z]{3,9})\.?"
_NTH = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_OF_YEAR = r"(?:,?\s+(?P<year>\d{4}))?"
_DATES = (
    re.compile(rf"(?:the\s+)?{_NTH}\s+(?:of\s+)?{_NAMED_MONTH}{_OF_YEAR}"),
    re.compile(rf"{_NAMED_MONTH}\s+(?:the\s+)?{_NTH}{_OF_YEAR}"),
)
_ISO = re.compile(r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})")
_YEARS = rf"\d{{1,3}}|{BELOW_TWENTY}|(?:{TENS})(?:-\w+)?"
_AGE = re.compile(
    rf"\s*({_YEARS})"
    r"(?:\s*(?:-|\s)?years?(?:-|\s)?old|\s*yo|\s*y/o)?\s*(?:[|.,!;)](?!\d)|$"
    r"|\s?(?:and(?! \d)|now|today|already|but)\b)",
    re.IGNORECASE,
)
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|Jan"
    r"|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.?"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
DATE = re.compile(
    rf"{_MONTH}\s+\d{{4}}|{_MONTH}\s+(?:the\s+)?{_DAY}(?:,?\s+\d{{4}})?"
    rf"|(?:the\s+)?{_DAY}\s+(?:of\s+)?{_MONTH}"
    r"(?:,?\s+\d{4})?|\d{1,4}[-/.]\d{1,2}(?:[-/.]\d{2,4})"
)
_YEAR = re.compile(r"\bin\s+((?:19|20)\d\d)\b")
_GREETING = re.compile(r"(?:hi|hello|hey|good (?:morning|evening))\b", re.IGNORECASE)
_ALONE = re.compile(r"\s*(?:[|.,!;)]|$|(?:and|but|from|by the way|here)\b)")
_SORTS = re.compile(
    rf"(?P<sort>(?:[A-Z][a-z]+ )?(?:{lexicon.either('sorts_of_people')}))\b", re.IGNORECASE
)


def dated_value(text: str) -> str:
    """A day in one form, "4 May 1990" or "4 May"; other text as it is, without its full stop.

    >>> dated_value("May 4th, 1990"), dated_value("4 May."), dated_value("1990-05-04")
    ('4 May 1990', '4 May', '4 May 1990')
    """
    text = text.strip().rstrip(".,")
    if iso := _ISO.fullmatch(text):
        month = int(iso["month"])
        name = _MONTHS[month - 1] if 0 < month <= len(_MONTHS) else ""
        return f"{int(iso['day'])} {name} {iso['year']}" if name else text
    found = next((match for one in _DATES if (match := one.fullmatch(text))), None)
    name = _month(found["month"]) if found else ""
    if found is None or not name:
        return text
    return f"{int(found['day'])} {name}" + (f" {found['year']}" if found["year"] else "")


def _month(word: str) -> str:
    return next((name for name in _MONTHS if name.lower().startswith(word.lower())), "")


def years(text: str) -> str:
    """An age in figures; nothing if it is none."""
    if text.isdigit():
        return text if 0 < int(text) < 120 else ""
    value = value_of(text.lower())
    return str(value) if value else ""


def _age(scene: ClauseScene, _after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    found = _AGE.match(scene.rest)
    age = years(found[1]) if found else ""
    if age and not scene.group.negated and scene.group.tense is Tense.PRESENT and not scene.coming:
        yield RuleFinding("age", age)


def _turned(scene: ClauseScene, _after: str, tail: re.Match[str]) -> Iterable[RuleFinding]:
    """ "I turned 30", and not "when I turned ten we moved"."""
    age = years(tail[1])
    if age and not is_anchor(scene.clause):
        yield RuleFinding("age", age, Aspect.START)


def _is(scene: ClauseScene, _after: str, tail: re.Match[str]) -> Iterable[RuleFinding]:
    word = tail["word"]
    known = word.lower() in lexicon.words("peoples", "languages", "creeds")
    if known and scene.group.tense in (Tense.PRESENT, Tense.PERFECT):
        yield RuleFinding("is", word)


def _sort(_scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    if found := _SORTS.match(after):
        yield RuleFinding("is", found["sort"])


def _named(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    """ "I am Tom", if Tom is a name that people bear."""
    name = person_at(after)
    likely = is_first_name(name) or _GREETING.match(scene.sentence) is not None
    own = scene.who[0] == scene.people.speaker and name and likely
    if name.lower() in lexicon.words("peoples", "languages", "creeds"):
        return
    if not own or is_place(name) or not _ALONE.match(after.strip()[len(name) :]):
        return
    if scene.group.tense is Tense.PRESENT and not scene.group.negated:
        yield RuleFinding("is named", name)


def _called(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    """ "My brother is called Duarte", "I am called Bo"."""
    name = person_at(after)
    who = scene.who[0]
    owner, _, word = who.text.rpartition("'s ")
    if not name:
        return
    if owner and (kin := kin_of(word)):
        holder = NamedEntity(owner, EntityType.PERSON)
        holder = scene.people.speaker if owner == scene.people.speaker.text else holder
        scene.people.christen(holder, word, name)
        yield RuleFinding(kin.predicate, name, subject=holder)
    elif owner and word in PETS:
        yield RuleFinding("has pet", name, subject=NamedEntity(owner, EntityType.PERSON))
    elif not owner and len(scene.who) == 1 and scene.clause.subject:
        said = scene.clause.subject.match
        if said is None or (said["speaker"] or "I").lower() != "we":
            yield RuleFinding("is named", name)


def _born(scene: ClauseScene, _after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    found = DATE.search(scene.clause.rest) or _YEAR.search(scene.clause.rest)
    if found:
        yield RuleFinding("born on", found[found.lastindex or 0], Aspect.EVER)


RULES = (
    rule("be", r"(?=[\dtfseno])", _age),
    rule("turn", rf"({_YEARS})\b",
         _turned),
    rule("be", r"(?:half\s+)?(?P<word>[\w-]+)(?=\s*(?:[|.,!;)]|$|\s(?:and|but|too|so|like)\b))",
         _is),
    rule("be", r"(?:(?:an?|now|the)\s+)+", _sort),
    rule("be", rf"(?=[{UPPER}])", _named),
    rule("call name", r"(?!me\b)", _called, passive=True),
    rule("go", r"by\s+", _called),
    rule("bear", r"", _born, passive=True),
)  # fmt: skip
