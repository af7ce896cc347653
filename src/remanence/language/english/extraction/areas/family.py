"""Family, friends and partners: "my sister Maria", married, engaged, dating, parted."""

from __future__ import annotations

import re
from collections.abc import Iterable

from remanence.language.english import lexicon
from remanence.language.english.extraction.phrases import UPPER, people_at, person_at
from remanence.language.english.extraction.rule import (
    Aspect,
    ClauseScene,
    Give,
    RuleFinding,
    plain,
    rule,
)
from remanence.language.english.extraction.statement import NamedEntity
from remanence.language.english.extraction.subjects import KIN_PHRASE, OWNER, People, either
from remanence.language.english.extraction.verb_group import Tense
from remanence.language.english.kin import FORMER, KIN, KIN_PLURALS, PET_PLURALS, PETS, kin_of
from remanence.model.knowledge import EntityType

_WORD = rf"[{UPPER}][\w-]+"
_ADJECTIVE = r"(?P<adjective>(?:[a-z-]+\s+){0,2}?)"
_NEAR = re.compile(KIN_PHRASE.replace(r"\b(?!'s),?", r"\b,?"))
_APPOSED = re.compile(
    rf"(?P<named>{_WORD}(?:\s{_WORD})?),\s+(?P<owner>(?i:my|our)|{_WORD}'s)\s+{_ADJECTIVE}"
    rf"(?P<kin>{either([*KIN, *FORMER])})\b(?=\s*[,.!)]|\s+(?:who|from)\b|$)"
)
_MANY = re.compile(
    rf"(?P<owner>{OWNER})\s+(?:[a-z]+\s+){{0,2}}?"
    rf"(?P<kin>{either([*KIN_PLURALS, *PET_PLURALS])}),?\s+"
    rf"(?:are\s+)?(?:named\s+|called\s+)?(?={_WORD}(?:,\s|,?\s+and\s+))"
)
_TITLED = re.compile(
    rf"(?<!['’]s )\b(?P<kin>Aunt|Auntie|Uncle|Cousin|Grandma|Grandpa|Granny)\s(?P<named>{_WORD})\b"
)
_PARTNERS = frozenset(["", "long-term", "life", "new", "longtime"])
_OVER = frozenset(["ex", "late", "former"])
_UNREAL = re.compile(
    r"\b(?:future|imaginary|business|lab|dance|training|sparring|would-be|favou?rite)\b",
    re.IGNORECASE,
)
_CHILDREN = ("eldest", "youngest", "oldest", "firstborn")
_IS = re.compile(
    rf"\s*(?:an?\s+|one of\s+)?(?P<owner>(?i:my|our|his|her)|{_WORD}'s)\s+{_ADJECTIVE}"
    rf"(?P<kin>(?:{either([*KIN, *FORMER])})\b(?!['-])|(?:{either(_CHILDREN)})\b(?!\s+[a-z]))"
)
_WITH_ME = re.compile(r"\s*with me\b")
_NOT_WED = re.compile(
    r"\b(?:basically|practically|virtually|almost|nearly|like|kinda|as good as|pretty much|sort of)"
    r"\s+(?:married|engaged)\b",
    re.IGNORECASE,
)
_NO_SPOUSE = re.compile(
    rf"\s*(?:my|his|her|our|the)\s+(?!(?:[a-z-]+\s+){{0,3}}(?:{either([*KIN])}|man|woman|guy|girl"
    r"|person|one|sweetheart|love)\b)",
    re.IGNORECASE,
)
_LINK = re.compile(r"\s*(?:with|from)?\s+")
_SINCE = r"(?:(?:now|still|currently|happily|newly|recently|officially|once|finally)\s+)*"


def _relation(found: re.Match[str], owner: NamedEntity | None, name: str) -> Iterable[RuleFinding]:
    kin = kin_of(found["kin"].lower())
    if (
        owner is None
        or _UNREAL.search(found["adjective"])
        or name.lower() in lexicon.words("languages", "peoples")
    ):
        return
    if found["kin"] == "partner" and found["adjective"].strip() not in _PARTNERS:
        return
    if kin is None:
        if found["kin"] in PETS:
            yield RuleFinding("has pet", name, subject=owner)
        return
    over = kin.over or not _OVER.isdisjoint(found["adjective"].split())
    yield RuleFinding(kin.predicate, name, Aspect.END if over else Aspect.STATE, subject=owner)


def relations(text: str, people: People) -> Iterable[RuleFinding]:
    """What a text says by the way of who is whose: "my sister Maria came along"."""
    for found in _NEAR.finditer(text):
        if found["named"]:
            owner = people.owner(found["owner"], found["named"])
            people.relative(found)
            yield from _relation(found, owner, found["named"])
    for found in _APPOSED.finditer(text):
        kin = kin_of(found["kin"])
        people.mention(NamedEntity(found["named"], EntityType.PERSON), kin.gender if kin else "")
        yield from _relation(found, people.owner(found["owner"]), found["named"])
    for found in _TITLED.finditer(text):
        predicate = KIN[found["kin"].lower()].predicate
        yield RuleFinding(predicate, found["named"], subject=people.speaker)


def several(text: str, people: People) -> Iterable[RuleFinding]:
    """The same of many at once: "our kids Leo and Mia"."""
    for found in _MANY.finditer(text):
        owner, word = people.owner(found["owner"]), found["kin"]
        predicate = "has pet" if word in PET_PLURALS else KIN[KIN_PLURALS[word]].predicate
        for name in people_at(text[found.end() :]) if owner else ():
            yield RuleFinding(predicate, name, subject=owner)


def _partner(predicate: str, status: str, aspect: Aspect) -> Give:
    """A named partner; without a name only the state is told."""

    def give(scene: ClauseScene, after: str, tail: re.Match[str]) -> Iterable[RuleFinding]:
        joined = tail[0].rstrip().endswith((" to", " with"))
        name = person_at(after) if joined else ""
        if _NOT_WED.search(scene.clause.text) or (joined and _NO_SPOUSE.match(after)):
            return
        if status and scene.group.negated and not name:
            yield RuleFinding(predicate, "", Aspect.END, denied=True, implied=True)
            yield RuleFinding("relationship status", status)
        elif name:
            yield RuleFinding(predicate, name, aspect)
        elif len(scene.who) == 2:
            yield _mutual(predicate, scene, aspect)
        elif status and not _ahead(scene):
            yield RuleFinding("relationship status", status, aspect)

    return give


def _ahead(scene: ClauseScene) -> bool:
    group = scene.group
    return group.tense is Tense.FUTURE or (group.progressive and group.tense is Tense.PRESENT)


def _dates(scene: ClauseScene, after: str, tail: re.Match[str]) -> Iterable[RuleFinding]:
    if scene.group.verb == "see" and not scene.group.progressive:
        return
    name = person_at(after)
    if name or len(scene.who) == 2:
        yield RuleFinding("dating", name) if name else _mutual("dating", scene, Aspect.STATE)


def _mutual(predicate: str, scene: ClauseScene, aspect: Aspect) -> RuleFinding:
    """What two subjects are to each other; of the speaker, if one of them is."""
    first, second = scene.who
    if second == scene.people.speaker:
        first, second = second, first
    return RuleFinding(predicate, second.text, aspect, subject=first)


def _parted(predicate: str, status: str = "") -> Give:
    def give(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
        if _ahead(scene):
            return
        link = _LINK.match(after)
        name = person_at(after[link.end() :]) if link else ""
        if not name and len(scene.who) == 2:
            yield _mutual(predicate, scene, Aspect.END)
        elif _WITH_ME.match(after):
            yield RuleFinding(predicate, "", Aspect.END, subject=scene.people.speaker)
        else:
            yield RuleFinding(predicate, name, Aspect.END)
        if status:
            yield RuleFinding("relationship status", status, Aspect.START)

    return give


def _is_kin(scene: ClauseScene, _after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    """ "Maria is my sister", "I am Tom's boss"."""
    found = _IS.match(scene.rest)
    who = scene.who[0]
    if found is None or "'s " in who.text:
        return
    child = found["kin"] in _CHILDREN
    kin = KIN["child"] if child else kin_of(found["kin"])
    if kin is None:
        return
    owner = scene.people.owner(found["owner"])
    if owner == who:
        return
    scene.people.mention(who, kin.gender)
    if child and owner:
        yield RuleFinding("child", who.text, subject=owner)
    else:
        yield from _relation(found, owner, who.text)


def _no_longer_together(
    scene: ClauseScene, _after: str, _tail: re.Match[str]
) -> Iterable[RuleFinding]:
    if scene.group.no_longer or scene.group.negated:
        if len(scene.who) == 2:
            yield _mutual("dating", scene, Aspect.STATE)
        else:
            yield RuleFinding("dating", "")


def _married(_scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    if name := person_at(after):
        yield RuleFinding("married to", name, Aspect.START)


RULES = (
    rule("be", r"(?=(?:an?\s+|one of\s+)?(?:my|our|his|her|\w+'s)\s)", _is_kin),
    rule("be", rf"{_SINCE}married(?:\s+to)?\b", _partner("married to", "married", Aspect.STATE)),
    rule("be", rf"{_SINCE}engaged(?:\s+to)?\b(?! in)",
         _partner("engaged to", "engaged", Aspect.STATE)),
    rule("date see", r"(?:an?\s+(?:\w+\s+)?(?:guy|girl|man|woman)\s+(?:called|named)\s+)?", _dates),
    rule("get", r"married(?:\s+to)?\b", _partner("married to", "married", Aspect.START)),
    rule("get", r"engaged(?:\s+to)?\b", _partner("engaged to", "engaged", Aspect.START)),
    rule("marry", r"", _married),
    rule("be", rf"{_SINCE}single\b(?!\s+(?!again|now|at)\w)",
         plain("relationship status", "single")),
    rule("be", rf"{_SINCE}divorced\b", plain("relationship status", "divorced")),
    rule("break split", r"up\b", _parted("dating")),
    rule("be", r"(?:broken\s+up|split\s+up)\b", _parted("dating")),
    rule("be", r"together\b(?=\s*(?:$|[|.,!]|any))", _no_longer_together),
    rule("call", r"off\s+(?:the|our|my)\s+(?:engagement|wedding)\b",
         plain("engaged to", "", Aspect.END)),
    rule("get", r"(?:divorced|a divorce)\b", _parted("married to", "divorced")),
    rule("divorce", r"", _parted("married to", "divorced")),
    rule("separate", r"(?=$|\s*[|.!,]|\s*(?:with|from)\s)", _parted("married to", "separated")),
)  # fmt: skip
