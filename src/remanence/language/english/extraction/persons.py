"""Whose name a name is: a person's, a pet's or nobody's, by cues weighed as judged names taught.

A cue is a word beside the name, a sign in it, or something of the whole text.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from remanence.language.english import lexicon
from remanence.language.english.kin import FORMER, KIN, KIN_PLURALS, OTHERS, PETS
from remanence.language.english.verbs import verb
from remanence.language.names import named
from remanence.model.deadline import unhurried

# For each cue what it adds to the log-odds of a person's name, and of no name.
WEIGHTS: dict[str, tuple[float, float]] = json.loads(
    Path(__file__).with_name("person_weights.json").read_text(encoding="utf-8")
)
AROUND = 60  # characters
MOST_PLACES = 6  # at which a text is looked at for one name
LONG = 800
OF_PET = "of a pet"
_FIRST_NAMES = lexicon.words("men", "women")
_CLOSE = frozenset([*KIN, *KIN_PLURALS, *FORMER, *OTHERS])
_STORY = frozenset(["story", "chapter", "scene", "character", "protagonist", "plot", "episode"])
_TITLES = frozenset(
    ["dr", "mr", "mrs", "ms", "prof", "professor", "sir", "aunt", "uncle", "grandma", "grandpa"]
)
_ENDINGS = ("ing", "tion", "ly", "ed", "s", "al")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_BEFORE = re.compile(rf"({_WORD.pattern}|[^\w\s]|_)(\s*)$")
_AFTER = re.compile(rf"(['’]s\b)?(\s*)({_WORD.pattern}|[^\w\s]|_)?")
_GLUE = frozenset("_./([{'`<>)#@=:-")
_SYMBOLS = re.compile(r"[{}=<>()\[\];`_|#*\\/]")
_INNER_CAPITAL = re.compile(r"[a-z][A-Z]")
_PRONOUN = re.compile(r"\b(?:he|she|him|her|his|hers)\b", re.IGNORECASE)
_WHO = re.compile(r",\s(?:who|whom|whose)\b")
_MY = re.compile(r"\b(?:my|our|your|her|his)\b[^.,;]{0,25}$", re.IGNORECASE)
_MET = re.compile(
    r"\b(?:breakfast|lunch|dinner|coffee|drinks|chatted|talked|spoke|hung out) with $",
    re.IGNORECASE,
)
_CALLED = re.compile(r"\b(?:named|called|name is|name['’]s|I['’]m|I am)\s$", re.IGNORECASE)
_PET = re.compile(rf"\b(?:{'|'.join(sorted(PETS))})\b", re.IGNORECASE)
_PET_BEFORE = re.compile(rf"{_PET.pattern}(?:,|,? (?:named|called))?\s$", re.IGNORECASE)
_PET_AFTER = re.compile(rf",? (?:is )?(?:my|our|an?) (?:\w+ ){{0,2}}{_PET.pattern}", re.IGNORECASE)
_OF_PETS = PETS | {"pet", "pets", "litter", "leash", "paws", "fur", "breed", "treats", "flea"}
_GREETED = re.compile(
    r"(?:^|[.!?\n] ?)(?:hey|hi|hello|dear|thanks|bye|congrats),? $", re.IGNORECASE
)


@dataclass(slots=True)
class Spoken:
    """Where a name first stands, at how many places, and at how many of them with each cue."""

    start: int
    places: int = 0
    cues: Counter[str] = field(default_factory=Counter)

    def shares(self) -> dict[str, float]:
        """Of each cue, at what share of the places it stands."""
        return {cue: count / self.places for cue, count in self.cues.items()}

    def chances(self) -> tuple[float, float]:
        """How probably it is a person's name, and no name of anything."""
        person, none = WEIGHTS["base"]
        for cue, share in self.shares().items():
            weights = WEIGHTS.get(cue, (0.0, 0.0))
            person, none = person + weights[0] * share, none + weights[1] * share
        return 1 / (1 + math.exp(-person)), 1 / (1 + math.exp(-none))


def spoken_names(text: str) -> dict[str, Spoken]:
    """The names of a text in their order, and how it speaks of each."""
    found: dict[str, Spoken] = {}
    fences = [fence.start() for fence in re.finditer("```", text)]
    for name, start in named(text):
        here = found.setdefault(name, Spoken(start))
        if here.places < MOST_PLACES:
            here.places += 1
            here.cues.update(set(_at(text, start, start + len(name))))
            here.cues["fence"] += bisect(fences, start) % 2
    for name, whole in _of_all(text, found):
        found[name].cues.update(dict.fromkeys({*_inside(name), *whole}, found[name].places))
    return found


def _inside(name: str) -> Iterator[str]:
    """What the name itself says."""
    parts = name.split()
    small = [part.rstrip(".").lower() for part in parts]
    count = min(len(parts), 4)
    places = lexicon.words("places", "regions", "place_words")
    signs = {
        f"words {count}": True,
        f"first name {count}": small[0] in _FIRST_NAMES,
        "first name later": not _FIRST_NAMES.isdisjoint(small[1:]),
        "title": count > 1 and small[0] in _TITLES,
        "place": name.lower() in places or not places.isdisjoint(small),
        "digit": any(letter.isdigit() for letter in name),
        "all capitals": any(part.isupper() and len(part) > 1 for part in parts),
        "inner capital": any(map(_INNER_CAPITAL.search, parts)),
        "verb": any(map(verb, small)),
        "verb first": verb(small[0]) is not None,
        "short": len(small[-1]) < 4,
    }
    yield from (sign for sign, is_so in signs.items() if is_so)
    yield from (f"has {mark}" for mark in "-.&" if mark in name)
    yield from (f"-{ending}" for ending in _ENDINGS if small[-1].endswith(ending))


def _at(text: str, start: int, end: int) -> Iterator[str]:
    """What stands around one place of the name."""
    before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
    yield from _before(before, text[start:end].count(" ") + 1)
    yield from _after(after)
    patterns = {"my": _MY, "called": _CALLED, OF_PET: _PET_BEFORE}
    yield from (cue for cue, pattern in patterns.items() if pattern.search(before))
    if _PET_AFTER.match(after):
        yield OF_PET
    symbols = len(_SYMBOLS.findall(before + after))
    signs = {
        "greeted": _GREETED.search(before) and after[:1] in ("!", ",", ".", "?"),
        "met": _MET.search(before),
        "who": _WHO.match(after),
        "pronoun": _PRONOUN.search(after),
        "pet near": _PET.search(before[-40:]) or _PET.search(after[:25]),
        "quoted": before.count('"') % 2 or before.rstrip().endswith(("“", '"')),
        "code": symbols > 2,
        "more code": symbols > 7,
        "capital line": _is_heading(before.rpartition("\n")[2] + after.partition("\n")[0]),
    }
    yield from (sign for sign, is_so in signs.items() if is_so)


def _before(before: str, words: int) -> Iterator[str]:
    found = _BEFORE.search(before)
    if found is None or "\n" in found[2]:
        yield "starts line"
        return
    word = found[1].lower()
    yield f"< {word}"
    if word == "by":
        yield f"by {min(words, 3)}"
    if not found[2] and word in _GLUE:
        yield "glued before"
    if word in ".!?:":
        yield "starts sentence"
    elif found[1][0].isupper():
        yield "< capital"
    ahead = _BEFORE.search(before[: found.start()]) if word in (",", "and") else None
    role = ahead[1].lower() if ahead else word
    roles = (f"{sort} before" for sort, known in _ROLES.items() if role in known)
    yield from (role for role in roles if word != "and" or role == "first name before")
    if verb(word):
        yield "< verb"


_ROLES: Mapping[str, frozenset[str]] = {
    "kin": _CLOSE,
    "trade": lexicon.words("trades"),
    "first name": _FIRST_NAMES,
}


def _after(after: str) -> Iterator[str]:
    found = _AFTER.match(after)
    if found is None or not found[3] or "\n" in found[2]:
        return
    if found[1]:
        yield "'s"
        return
    word = found[3].lower()
    yield "> digit" if word[0].isdigit() else f"> {word}"
    if not found[2] and word in "_([{=`/":
        yield "glued after"
    if found[3][0].isupper():
        yield "> capital"
    if verb(word):
        yield "> verb"
    if word.endswith("ed"):
        yield "> past"


def _is_heading(line: str) -> bool:
    words = line.split()
    return len(words) > 2 and sum(word[0].isupper() for word in words) > 0.6 * len(words)


def _of_all(text: str, found: Mapping[str, Spoken]) -> Iterator[tuple[str, list[str]]]:
    """For each name, what the rest of the text says of it."""
    words = frozenset(_WORD.findall(text))
    parts = {name: name.split() for name in found}
    longer = {
        word
        for one in parts.values()
        if len(one) > 1 and one[0].lower() in _FIRST_NAMES
        for word in one
    }
    pets, story = not _OF_PETS.isdisjoint(words), not _STORY.isdisjoint(words)
    for name, own in unhurried(parts.items()):
        alone = len(own) == 1
        signs = {
            "long text": len(text) > LONG,
            "story": story,
            "lower elsewhere": all(word.lower() in words for word in _WORD.findall(name)),
            "part of a name": alone and name in longer,
            "pets spoken of": alone and pets and name.lower() in _FIRST_NAMES,
        }
        yield name, [sign for sign, is_so in signs.items() if is_so]
