"""Whom a clause is about: the speaker, somebody named, or somebody a pronoun stands for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from remanence.language.english import lexicon
from remanence.language.english.extraction.name_types import gender_of, is_first_name, is_place
from remanence.language.english.extraction.phrases import PERSON
from remanence.language.english.extraction.statement import NamedEntity
from remanence.language.english.kin import FORMER, KIN, OTHERS, PETS, kin_of
from remanence.language.english.verbs import verb
from remanence.model.knowledge import EntityType


def either(words: Sequence[str]) -> str:
    """A pattern for any of the words, the longest first."""
    return "|".join(sorted(words, key=len, reverse=True))


OWNER = rf"(?<!\w)(?:(?i:my|our|his|her|their)|(?i:the user's)|{PERSON}(?:'s|(?<=s)'))"
KIN_PHRASE = (
    rf"(?P<owner>{OWNER})\s+(?P<adjective>(?:[a-z-]+\s+){{0,2}}?)"
    rf"(?P<kin>{either([*KIN, *FORMER, *OTHERS, *PETS])})\b(?!-|'s)"
    rf"(?:,?\s+(?P<named>{PERSON})\b(?!'s),?)?"
)
_SPEAKER = r"I|we|(?:my|our)\s+[\w ]{2,30}?\s+and\s+I|me\s+and\s+my\s+\w+|the user|user"
_SUBJECT = re.compile(
    rf"(?:(?P<speaker>(?i:{_SPEAKER})\b)|(?P<pronoun>(?i:he|she)\b)"
    rf"|(?P<nobody>(?i:you|it|they|this|that|there|these|those)\b)"
    rf"|{KIN_PHRASE}|(?P<name>{PERSON})(?!'s))"
    rf"(?:\s+(?:and|&)\s+(?:(?P<also>(?i:I|me)\b)|(?P<other>{PERSON})))?"
)


_TITLES = frozenset(["Uncle", "Aunt", "Auntie", "Cousin", "Grandma", "Grandpa", "Granny"])


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a clause as the text has it, not yet resolved, and where it ends."""

    match: re.Match[str] | None
    end: int = 0


def subject_at(text: str, at: int = 0) -> Subject | None:
    """The subject that stands at that place."""
    found = _SUBJECT.match(text, at)
    if found is None or ((name := found["name"]) and _is_common(name)):
        return None
    return Subject(found, found.end())


def _is_common(name: str) -> bool:
    """Whether a capital is all that makes a name of it: "Sounds", "Pottery"."""
    word = _first_word(name).lower()
    if word in lexicon.words("no_subjects"):
        return True
    if is_first_name(name):
        return False
    return verb(word) is not None or (
        " " not in name and word.endswith(tuple(lexicon.words("abstract_endings")))
    )


def _first_word(name: str) -> str:
    return name.partition(" ")[0].rstrip(".")


def _person(name: str) -> NamedEntity:
    return NamedEntity(name, EntityType.PERSON)


@dataclass(frozen=True, slots=True)
class Kinsman:
    """Somebody who is known by a word only: "Ana's older sister"."""

    owner: NamedEntity
    word: str
    adjective: str = ""

    def called(self, word: str = "") -> NamedEntity:
        """Them by that word, such as "Ana's mom"."""
        return _person(f"{self.owner.text}'s {word or self.word}")


@dataclass(slots=True)
class People:
    """Who was spoken of so far: pronouns and "my wife" are looked up here.

    `things` are names of the text, in small letters, that are no persons; `unnamed` those who are
    known by a word only, `christened` those whose names were told.
    """

    speaker: NamedEntity
    recent: Sequence[NamedEntity] = ()
    things: frozenset[str] = frozenset()
    named: list[NamedEntity] = field(default_factory=list)
    genders: dict[str, str] = field(default_factory=dict)
    kin: dict[tuple[str, str], NamedEntity] = field(default_factory=dict)
    last: NamedEntity | None = None
    unnamed: dict[str, Kinsman] = field(default_factory=dict)
    christened: list[tuple[Kinsman, NamedEntity]] = field(default_factory=list)
    pets: set[str] = field(default_factory=set)

    def mention(self, person: NamedEntity, gender: str = "") -> None:
        """Remember that the text named the person."""
        if person.text == self.speaker.text:
            return
        if person in self.named:
            self.named.remove(person)
        self.named.append(person)
        if gender:
            self.genders[person.text] = gender

    def gender(self, person: NamedEntity) -> str:
        """What is known: from a family word in the text, else from the first name."""
        owner, _, word = person.text.rpartition("'s ")
        kin = kin_of(word) if owner else None
        return self.genders.get(person.text) or (kin.gender if kin else gender_of(person.text))

    def pronoun(self, word: str, but: str | None = None) -> NamedEntity | None:
        """Whom he or she is: the last subject if it fits, else the last named who is known to.

        Of those spoken of before this text, only if no more than one fits. `but` is not meant.
        """
        want = "f" if word.lower() in ("she", "her") else "m"
        fitting = [one for one in self.named if self.gender(one) in ("", want) and one.text != but]
        if self.last in fitting:
            return self.last
        if sure := [one for one in fitting if self.gender(one)]:
            return sure[-1]
        if fitting:
            return (
                fitting[0]
                if all(one.text in (but, fitting[0].text) for one in self.named)
                else None
            )
        around = {
            one.text: one
            for one in self.recent
            if one.type == EntityType.PERSON
            and one.text != self.speaker.text
            and self.gender(one) in ("", want)
        }
        return next(iter(around.values())) if len(around) == 1 else None

    def owner(self, word: str, but: str | None = None) -> NamedEntity | None:
        """Whose: my, our, his, her (not `but`), or a name with 's."""
        plain = word.lower()
        if plain in ("my", "our", "the user's"):
            return self.speaker
        if plain in ("his", "her"):
            return self.pronoun(plain, but)
        if plain == "their":
            return None
        return self._named(word.removesuffix("'s").removesuffix("'"))

    def relative(self, found: re.Match[str]) -> NamedEntity | None:
        """The person of a phrase such as "my sister Maria" or "Ana's brother"."""
        owner = self.owner(found["owner"], found["named"])
        if owner is None:
            return None
        word = found["kin"]
        kin = kin_of(word)
        sort = EntityType.THING if word in PETS else EntityType.PERSON
        kinsman = Kinsman(owner, word, found["adjective"].strip().lower())
        person = self.kin.get((owner.text, word)) or NamedEntity(kinsman.called().text, sort)
        if found["named"]:
            person = self.kin[owner.text, word] = NamedEntity(found["named"], sort)
            self.christened.append((kinsman, person))
        elif person.text == kinsman.called().text:
            self.unnamed.setdefault(person.text, kinsman)
        self.mention(person, kin.gender if kin else "")
        return person

    def is_kin(self, name: str) -> bool:
        """Whether the text says whose relative the one of that name is."""
        return any(one.text == name for one in self.kin.values())

    def christen(self, owner: NamedEntity, word: str, name: str) -> None:
        """Remember what the one is called who was only "my sister" so far."""
        kin, kinsman = kin_of(word), Kinsman(owner, word)
        person = self.kin[owner.text, word] = _person(name)
        self.christened.append((kinsman, person))
        self.mention(person, kin.gender if kin else "")
        if self.last == kinsman.called():
            self.last = person
        self.named = [one for one in self.named if one != kinsman.called()]

    def resolve(self, subject: Subject) -> tuple[NamedEntity, ...]:
        """The persons a subject means; nobody if that is not sure."""
        found = subject.match
        who = self._first(found) if found else None
        if found is None or who is None:
            return ()
        all_of_them = [who]
        if found["also"]:
            all_of_them.append(self.speaker)
        elif found["other"]:
            all_of_them.append(_person(found["other"]))
        for one in all_of_them:
            self.mention(one)
        self.last = who
        return tuple(all_of_them)

    def _first(self, found: re.Match[str]) -> NamedEntity | None:
        if found["speaker"]:
            return self.speaker
        if found["pronoun"]:
            return self.pronoun(found["pronoun"])
        if found["kin"]:
            return self.relative(found)
        return self._named(found["name"]) if found["name"] else None

    def _named(self, name: str) -> NamedEntity | None:
        """Who bears the name; a first name is that of the full name said before."""
        if (title := _first_word(name)) in _TITLES and title != name:
            name = name[len(title) + 1 :]
        if name.lower() in self.things or (is_place(name) and not is_first_name(name)):
            return None
        if name == _first_word(self.speaker.text):
            return self.speaker
        if (word := name.lower()) in KIN:
            kinsman = Kinsman(self.speaker, word)
            known = self.kin.get((self.speaker.text, word))
            self.unnamed.setdefault(kinsman.called().text, kinsman)
            return known or kinsman.called()
        full = [
            one for one in self.named if "'s " not in one.text and _first_word(one.text) == name
        ]
        return full[-1] if full else _person(name)
