"""What "my … is …" says, and the same of others: names, birthdays, jobs, how to reach them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from remanence.language.english import lexicon
from remanence.language.english.extraction.areas.acts import action
from remanence.language.english.extraction.areas.being import DATE
from remanence.language.english.extraction.phrases import (
    PERSON,
    known_trade,
    languages,
    organisation,
    person_at,
    phrase,
    place,
    stop_at,
    trade,
)
from remanence.language.english.extraction.rule import Aspect, RuleFinding
from remanence.language.english.extraction.statement import NamedEntity
from remanence.language.english.extraction.subjects import OWNER, People, either
from remanence.language.english.kin import KIN, PETS, kin_of
from remanence.model.knowledge import EntityType

_ATTRIBUTE = re.compile(
    rf"(?:(?P<owner>{OWNER})\s+|(?=(?i:home)\s))(?P<what>(?:[\w'-]+\s+){{0,4}}?[\w'-]+)\s+"
    r"(?P<be>is|are|was|were|has always been|will be)\s+(?P<not>not\s+)?"
    r"(?:(?:still|now|currently|actually|definitely|probably|always|simple:)\s+)*(?P<value>.+)"
)
_MY_FAVOURITE = re.compile(
    r"(?P<value>(?:[\w'-]+\s+){1,5}?)(?:is|are)\s+(?:by far\s+|still\s+|definitely\s+|probably\s+)?"
    r"(?:(?P<owner>my)|(?P<name>[A-Z][\w-]+'s))\s+(?:absolute\s+|all-time\s+|new\s+|guilty\s+)*"
    r"(?P<what>favou?rites?\s+(?P<noun>[a-z]+(?:\s[a-z]+)?)|favou?rites?|weakness|thing|passion"
    r"|pleasure|jam|happy place|comfort food|comfort)\b",
    re.IGNORECASE,
)
_FAVOURITE = re.compile(
    r"(?:[a-z]+ ){0,2}?fav(?:e|ou?rite)? (?P<noun>(?!thing|part|way|time|moment|memory)[a-z -]+)"
)
_ASIDE = re.compile(r" (?:this|for|next|right now|in|at (?:work|school|home|the)\b).*$")
_HIS_THING = re.compile(r"(?P<kin>[a-z-]+)'s (?P<what>.+)")
_MACHINES = frozenset(
    ["car", "bike", "motorcycle", "motorbike", "laptop", "phone", "camera", "boat"]
)
_MODEL = re.compile(r"an?\s+(?:[a-z]+\s+){0,2}(?:\d{4}\s+)?[A-Z]")
_A_WOMAN_CALLED = re.compile(r"^an?\s+(?:\w+\s+){1,2}(?:called|named)\s+")
_LEADS = {"team lead": KIN["boss"], "line manager": KIN["boss"], "head of department": KIN["boss"]}
_WHOSE_NAME = re.compile(r"(?:[a-z-]+ ){0,2}?(?P<whose>[a-z-]+)'s (?:\w+ )?name$")
_AFTER_CHOICE = stop_at("by from at with")
_ALONE = re.compile(r"\s*(?:[|.,!;)]|$|(?:and|now)\b)")
_A_TRADE = re.compile(r"(?:an?|the)\s", re.IGNORECASE)
_ADDRESS_WORDS = 14

Read: TypeAlias = Callable[[str, bool], Iterable[tuple[str, str, Aspect]]]
_ADDRESS = r"[\w.+-]{1,64}@[\w-]{1,60}(?:\.[\w-]{1,30}){1,4}"
_NUMBER = r"\+?\d[\d\s().-]{5,20}\d"
_IS = r"\s*(?:is|:|(?:has\s+)?changed(?:\s+to)?|=|\bby the way\b|,|\bnow\b|\s)*\s*"
_WHOSE = rf"(?P<owner>{OWNER}|(?i:new))\s+(?:\w+\s+){{0,2}}?"
_MAIL = re.compile(rf"{_WHOSE}e-?mail(?:\s+address)?{_IS}(?P<value>{_ADDRESS})")
_PHONE = re.compile(
    rf"{_WHOSE}(?:(?:phone|mobile|cell|telephone)(?:\s+number)?|number){_IS}(?P<value>{_NUMBER})"
)
_REACH = re.compile(
    rf"\b(?:reach|e-?mail|contact|find|write to) me (?:at|on|via)\s+(?P<mail>{_ADDRESS})"
    rf"|\b(?:reach|call|text|contact|ring) me (?:at|on)\s+(?P<phone>{_NUMBER})",
    re.IGNORECASE,
)


def _each(predicate: str, shape: Callable[[str, bool], Iterable[str]], lead: str = "") -> Read:
    def read(value: str, lower: bool) -> Iterable[tuple[str, str, Aspect]]:
        value = re.sub(rf"^{lead}\s+", "", value) if lead else value
        return [(predicate, one, Aspect.STATE) for one in shape(value, lower)]

    return read


def _inside(value: str, lower: bool) -> Iterable[tuple[str, str, Aspect]]:
    towns = place(value[3:], lower) if value.startswith("in ") else ()
    return [("lives in", one, Aspect.STATE) for one in towns]


def _date(value: str, lower: bool) -> Iterable[tuple[str, str, Aspect]]:
    found = DATE.search(value)
    return [("born on", found[0], Aspect.EVER)] if found else []


def _aim(predicate: str) -> Read:
    def read(value: str, lower: bool) -> Iterable[tuple[str, str, Aspect]]:
        plan = action(value[3:]) if value.startswith("to ") else ""
        return [(predicate, plan, Aspect.PLAN)] if plan else []

    return read


_STREET = re.compile(
    r"\d|\b(?:street|st|road|rd|avenue|ave|lane|rua|rue|via|calle|platz|drive|square|court|way)\b"
    r"|(?:stra[sß]s?e|gasse|weg|straat|gatan)\b",
    re.IGNORECASE,
)
_END_OF_ADDRESS = re.compile(r"[;!?…]|\.(?:\s|$)|,?\s(?:and|but|since|from|so|until|as of)\s")


def _address(value: str, lower: bool) -> Iterable[tuple[str, str, Aspect]]:
    text = _END_OF_ADDRESS.split(value, maxsplit=1)[0].strip(" ,.")
    said = _STREET.search(text) and "@" not in text and len(text.split()) <= _ADDRESS_WORDS
    return [("address", text, Aspect.STATE)] if said else []


def _field(value: str, lower: bool) -> list[str]:
    found = phrase(value)
    return [found] if found and len(found.split()) <= 4 else []


def _job(value: str, lower: bool) -> list[str]:
    """ "My job is sales manager"; "my job is boring" names none."""
    return trade(value, lower) if _A_TRADE.match(value) else known_trade(value, lower)


_READS: dict[str, Read] = {
    **dict.fromkeys(("birthday", "birth date", "date of birth", "birthdate"), _date),
    **dict.fromkeys(
        ("job", "profession", "occupation", "new job", "job title", "title", "role", "day job",
         "current job", "trade"), _each("works as", _job),
    ),
    **dict.fromkeys(("employer", "new employer", "company"), _each("works at", organisation)),
    **dict.fromkeys(
        ("hometown", "home town", "home country", "birthplace"), _each("is from", place)
    ),
    **dict.fromkeys(("place", "flat", "house", "apartment", "new flat", "new place"), _inside),
    **dict.fromkeys(("home", "new home"), _each("lives in", place, "in")),
    **dict.fromkeys(
        ("address", "new address", "home address", "postal address", "current address"), _address
    ),
    **dict.fromkeys(
        ("native language", "mother tongue", "first language", "second language", "native tongue"),
        _each("speaks", languages),
    ),
    **dict.fromkeys(("major", "degree", "field"), _each("studies", _field, "in")),
    "diet": _each("diet", _field),
    **dict.fromkeys(("plan", "plan for next year", "resolution"), _aim("plans to")),
    **dict.fromkeys(
        ("dream", "goal", "aim", "ambition", "biggest dream", "main goal", "life goal", "wish"),
        _aim("wants to"),
    ),
}  # fmt: skip


_CALLS_ME = re.compile(
    rf"(?:(?i:everyone|everybody|people|friends|they|family|colleagues|just|please|can|you can"
    rf"|mates)"
    rf"\s+)(?:all\s+|just\s+)?calls?\s+me\s+(?P<name>{PERSON})"
)


_THE_PET = re.compile(
    rf"(?i:the|our|my)\s+(?i:new\s+)?(?P<pet>{either([*PETS])})(?:'s\s+name)?\s+is\s+"
    rf"(?:now\s+)?(?:called\s+|named\s+)?(?P<name>{PERSON})"
)


def attributes(text: str, people: People, lower: bool) -> Iterable[RuleFinding]:
    """What a clause says in the form "my … is …" or "… is my favourite …"."""
    found = _ATTRIBUTE.match(text)
    if found and not found["not"]:
        owner = people.owner(found["owner"]) if found["owner"] else people.speaker
        if owner is not None:
            what = _ASIDE.sub("", found["what"].lower())
            for one in _attribute(what, found["value"], owner, people, lower):
                if found["be"] not in ("was", "were") or one.aspect is Aspect.EVER:
                    yield one
    elif chosen := _MY_FAVOURITE.match(text):
        yield from _chosen(chosen, people)
    elif pet := _THE_PET.match(text):
        yield RuleFinding("has pet", pet["name"], subject=people.speaker)
    elif called := _CALLS_ME.search(text):
        yield RuleFinding("is named", called["name"], subject=people.speaker)


def _attribute(
    what: str, value: str, owner: NamedEntity, people: People, lower: bool
) -> Iterable[RuleFinding]:
    if what.endswith("name"):
        yield from _name_of(what, value, owner, people)
    elif favourite := _FAVOURITE.fullmatch(what):
        chosen = phrase(value, _AFTER_CHOICE)
        if chosen and len(chosen.split()) <= 6:
            yield RuleFinding(f"favourite {favourite['noun']}", chosen, subject=owner)
    elif what in _READS:
        for predicate, one, aspect in _READS[what](value, lower):
            yield RuleFinding(predicate, one, aspect, subject=owner)
    elif (thing := _HIS_THING.match(what)) and thing["kin"] in KIN:
        person = people.kin.get((owner.text, thing["kin"]))
        relative = person or NamedEntity(f"{owner.text}'s {thing['kin']}", EntityType.PERSON)
        yield from _attribute(thing["what"], value, relative, people, lower)
    elif what.removeprefix("new ").removeprefix("old ") in _MACHINES and _MODEL.match(value):
        yield RuleFinding("has", phrase(value), subject=owner)
    elif kin := kin_of(what.split()[-1]) or _LEADS.get(what):
        name = person_at(_A_WOMAN_CALLED.sub("", value))
        value = value[value.find(name) :]
        if name and _ALONE.match(value[len(name) :]):
            people.christen(owner, what.split()[-1], name)
            yield RuleFinding(kin.predicate, name, subject=owner)


def _name_of(what: str, value: str, owner: NamedEntity, people: People) -> Iterable[RuleFinding]:
    name, whose = person_at(value), _WHOSE_NAME.match(what)
    if name and whose is None and what in ("name", "full name", "first name", "real name"):
        kinsman = people.unnamed.get(owner.text)
        if kinsman and (kin := kin_of(kinsman.word)):
            people.christen(kinsman.owner, kinsman.word, name)
            aspect = Aspect.END if kin.over else Aspect.STATE
            yield RuleFinding(kin.predicate, name, aspect, subject=kinsman.owner)
        else:
            yield RuleFinding("is named", name, subject=owner)
    elif name and whose and (word := whose["whose"]) in KIN:
        people.christen(owner, word, name)
        yield RuleFinding(KIN[word].predicate, name, subject=owner)
    elif name and whose and whose["whose"] in PETS:
        yield RuleFinding("has pet", name, subject=owner)


def _chosen(found: re.Match[str], people: People) -> Iterable[RuleFinding]:
    value = phrase(found["value"])
    owner = people.speaker if found["owner"] else people.owner(found["name"])
    if owner is None or not value or value.lower().split()[0] in lexicon.words("no_favourites"):
        return
    if found["noun"]:
        yield RuleFinding(f"favourite {found['noun'].lower()}", value, subject=owner)
    else:
        yield RuleFinding("likes", value, subject=owner)


def contacts(text: str, people: People) -> Iterable[RuleFinding]:
    """The addresses and numbers that a text gives, and whose they are."""
    if "@" not in text and not any(mark.isdigit() for mark in text):
        return
    for predicate, pattern in (("email", _MAIL), ("phone", _PHONE)):
        for found in pattern.finditer(text):
            new = found["owner"].lower() == "new"
            owner = people.speaker if new else people.owner(found["owner"])
            if owner:
                yield RuleFinding(predicate, found["value"].strip(), subject=owner)
    for found in _REACH.finditer(text):
        predicate = "email" if found["mail"] else "phone"
        yield RuleFinding(
            predicate, (found["mail"] or found["phone"]).strip(), subject=people.speaker
        )
