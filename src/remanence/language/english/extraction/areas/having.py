"""What somebody has: things and animals; tongues, instruments, sports."""

from __future__ import annotations

import re
from collections.abc import Iterable

from remanence.language.english import lexicon
from remanence.language.english.extraction.name_types import is_first_name
from remanence.language.english.extraction.phrases import (
    UPPER,
    before_cut,
    languages,
    name_at,
    people_at,
    thing,
)
from remanence.language.english.extraction.rule import Aspect, ClauseScene, Give, RuleFinding, rule
from remanence.language.english.extraction.subjects import either
from remanence.language.english.extraction.verb_group import Tense
from remanence.language.english.kin import KIN, KIN_PLURALS, PET_PLURALS, PETS

_WORD = re.compile(r"[\w'-]+")
_NAMED = re.compile(
    rf"\s*(?:(?:boy|girl)\b\s*)?(?:(?:named|called|whose names? (?:is|are)|by the name of)\s+"
    rf"|[,:(–-]\s*)(?=[{UPPER}])"
)
_ONE = (
    r"(?:an?|another|two|three|four|five|six|seven|eight|nine|ten|\d{1,2}"
    r"|my first|our first|(?:my|our|his|her) [a-z]+'s|hearing aids|glasses|contact lenses)\b"
)
_ARTICLE = re.compile(rf"\s*(?:(?:myself|himself|herself|ourselves|us|me)\s+)?(?={_ONE})", re.I)
_NEXT = re.compile(rf"(?:,\s+(?:and\s+)?|\s+and\s+)(?={_ONE})", re.IGNORECASE)
# "I got a vase for my mom": it is hers.
_GIVEN = re.compile(
    r"^\s*(?:him|her|them|[A-Z]\w+)\s+an?\s|\sfor\s+(?:my|our|his|her|their|him|them|[A-Z]\w+'s)\b"
    r"(?!\s+(?:own|collection|home|house|apartment|kitchen|garden|car|bike|birthday|trip))"
)
_LINKS = frozenset(["for", "of", "with", "in", "from", "to", "and", "on", "at", "who", "that"])
_PLURAL_PETS = re.compile(rf"\s*(?:some\s+)?(?:{either([*PET_PLURALS])})\b", re.IGNORECASE)


def _has(aspect: Aspect) -> Give:
    def give(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
        if scene.group.tense is Tense.FUTURE or (aspect is Aspect.START and _GIVEN.search(after)):
            return
        for part in _NEXT.split(after):
            near, start = _close_to(part), _ARTICLE.match(part)
            if near is not None:
                yield from _close(*near, part, aspect, scene)
            elif start and not (scene.coming or (aspect is Aspect.STATE and _past(scene))):
                yield from _thing(part[start.end() :], aspect, scene)

    return give


def _past(scene: ClauseScene) -> bool:
    """ "I had a picnic" is no possession."""
    return scene.group.tense in (Tense.PAST, Tense.PERFECT) and scene.group.verb == "have"


# "a bird bath" is no bird.
_ENDS_ANIMAL = re.compile(
    rf"\s*(?:$|[^\w\s-])|\s+(?:[{UPPER}]|(?:{lexicon.either('after_animals')})\b)"
)


def _close_to(text: str) -> tuple[str, str] | None:
    """A family word or an animal that is had, and what follows it."""
    for word in list(_WORD.finditer(text))[:6]:
        low = word[0].lower()
        if low in _LINKS:
            return None
        one = KIN_PLURALS.get(low) or PET_PLURALS.get(low) or low
        if low.endswith("'s"):
            return None
        if one in PETS and not _ENDS_ANIMAL.match(text, word.end()):
            return None
        if one in KIN or one in PETS:
            return one, text[word.end() :]
    return None


def _close(
    word: str, after: str, text: str, aspect: Aspect, scene: ClauseScene
) -> Iterable[RuleFinding]:
    named = _NAMED.match(after)
    names = people_at(after[named.end() :]) if named else []
    if word not in PETS:
        steady = Aspect.STATE if aspect is Aspect.STATE else Aspect.EVER
        for name in names:
            yield RuleFinding(KIN[word].predicate, name, steady)
        return
    for name in names:
        yield RuleFinding("has pet", name, aspect)
    if not names and (_ARTICLE.match(text) or _PLURAL_PETS.match(text)):
        for value in thing(text, scene.lower)[:1]:
            yield RuleFinding("has pet", value, aspect)


def _thing(text: str, aspect: Aspect, scene: ClauseScene) -> Iterable[RuleFinding]:
    for value in thing(text, scene.lower):
        words = value.lower().split()
        if f"{words[-1]} of " in text.lower() and "full of " not in text.lower():
            return
        if lexicon.words("no_possessions").isdisjoint((words[0], words[-1])):
            yield RuleFinding("has", value, aspect, 0.9)


def _gone(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    for value in thing(after, scene.lower):
        if value.split()[-1].lower() not in lexicon.words("no_possessions"):
            yield RuleFinding("has", value, Aspect.END)


def _died(scene: ClauseScene, _after: str, tail: re.Match[str]) -> Iterable[RuleFinding]:
    """ "My hamster Pixel died": it is nobody's any more."""
    found = scene.clause.subject.match if scene.clause.subject else None
    if found and found["kin"] in PETS and (owner := scene.people.owner(found["owner"])):
        yield RuleFinding("has pet", found["named"] or found["kin"], Aspect.END, subject=owner)
    elif found and found["name"] and not (found["also"] or found["other"]):
        yield from _maybe_pet(scene, scene.who[0].text, tail[0])


def _maybe_pet(scene: ClauseScene, name: str, tail: str) -> Iterable[RuleFinding]:
    """ "Rex died": a pet, if the text says so or if hardly anybody is called so."""
    known = name in scene.people.pets
    if known or not (is_first_name(name) or " " in name or scene.people.is_kin(name)):
        yield RuleFinding("has pet", name, Aspect.END, 0.6, scene.people.speaker, implied=not known)
    yield RuleFinding("did", f"{scene.group.word} {tail.strip()}".strip(), Aspect.EVENT, 0.9)


def _put_to_sleep(scene: ClauseScene, _after: str, tail: re.Match[str]) -> Iterable[RuleFinding]:
    if name := name_at(tail["pet"]):
        yield RuleFinding("has pet", name, Aspect.END)


def _speaks(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    if scene.group.tense is not Tense.PAST:
        for value in languages(after, scene.lower):
            yield RuleFinding("speaks", value)


def _plays(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    group = scene.group
    now = group.progressive and group.tense is Tense.PRESENT
    if (now or group.tense in (Tense.PAST, Tense.FUTURE)) and not group.phase:
        return
    for word in _WORD.findall(before_cut(after)[:80].lower()):
        if word in lexicon.words("games"):
            yield RuleFinding("plays", word)
        elif word not in lexicon.words("how_one_plays"):
            return


RULES = (
    rule("have own", r"", _has(Aspect.STATE)),
    rule("get buy adopt purchase inherit rescue", r"", _has(Aspect.START)),
    rule("get", r"rid of\s+(?=my|our|his|her|the)", _gone),
    rule("sell", r"(?=my|our|his|her|the)", _gone),
    rule("drive ride", r"(?=an?\s)", _has(Aspect.STATE)),
    rule("die", r"", _died),
    rule("pass", r"(?:away|over the rainbow bridge)\b", _died),
    rule("put", r"(?:our\s+|my\s+)?(?:\w+\s+)?(?P<pet>\w+)\s+(?:to sleep|down)\b", _put_to_sleep),
    rule("speak", r"", _speaks),
    rule("play", r"", _plays),
)  # fmt: skip
