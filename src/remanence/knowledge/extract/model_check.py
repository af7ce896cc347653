"""Whether a model's proposal holds against the text: nothing invented, nothing vague."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from remanence.knowledge.extract.model_answer import Proposal, Refused
from remanence.knowledge.extract.statement import Named, Statement
from remanence.model.knowledge import EntityType, When
from remanence.model.predicates import PREDICATES, Predicate, predicate_of
from remanence.text.dates import time_ranges
from remanence.text.summary.facts import known_words
from remanence.text.words import fold, stop_terms

KNOWN, UNKNOWN = 0.85, 0.6  # how sure a statement is, by whether its predicate is one of ours
MAX_VALUE = 200
_SELF = frozenset(["i", "me", "we", "us", "myself", "user", "the user", "speaker", "the speaker"])
_VAGUE_WORDS = """
it this that these those he she they him her them you something someone somebody anything nothing
everything everyone one thing things stuff unknown none null n/a
"""
_VAGUE = frozenset(_VAGUE_WORDS.split())
_BY_NAME = frozenset({EntityType.PERSON, EntityType.PLACE, EntityType.ORGANISATION})
_PREDICATE = re.compile(r"[a-z][a-z' -]{1,39}")
_MAX_PREDICATE_WORDS = 5
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_CLAUSE = re.compile(r"[,;:()–—]|\b(?:but|and|so|because)\b", re.IGNORECASE)
_DENIED = re.compile(r"\b(?:not|never|neither|nor|no|without|cannot)\b|n['’]t\b", re.IGNORECASE)
_NO_DENIAL = re.compile(r"can(?:['’]t|not) wait|not only|no doubt|why not", re.IGNORECASE)
_SUPPOSED = re.compile(
    r"\b(?:if|unless|imagine|suppose|supposing|wish|pretend|hypothetically)\b", re.IGNORECASE
)
_ISO = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ].*)?)?)?")
_SLACK = timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class Heard:
    """The text, who said it when, and who was spoken of just before."""

    text: str
    speaker: Named
    at: datetime
    recent: tuple[Named, ...] = ()

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word of the text and of the speaker's name, as an index term."""
        return known_words(f"{self.text} {self.speaker.text}")

    @cached_property
    def folded(self) -> str:
        """The text's words between single blanks."""
        return f" {_plain(self.text)} "

    def holds(self, name: str) -> bool:
        """Whether the text has these words, one after another."""
        plain = _plain(name)
        return bool(plain) and f" {plain} " in self.folded


def checked(proposal: Proposal | str, heard: Heard) -> Statement:
    """The proposal as a statement; `Refused` with the reason why it is none."""
    if isinstance(proposal, str):
        raise Refused(proposal)
    predicate = _predicate(proposal.predicate)
    value = _value(proposal, heard, predicate)
    subject = _subject(proposal, heard)
    if fold(subject.text) == fold(value):
        raise Refused("about itself")
    began, ended = _when(proposal.began, heard), _when(proposal.ended, heard)
    if began and ended and began.start and ended.end and began.start > ended.end:
        raise Refused("a time that cannot be")
    if not value and ended is None:
        raise Refused("without an object")
    sentence = _sentence(heard, value or proposal.subject)
    if ended is None and predicate.name != "dislikes":
        _affirmed(sentence, value)
    return Statement(
        subject=subject,
        predicate=predicate.name,
        value=value,
        sentence=sentence,
        object=_object(proposal, heard, predicate, value),
        kind=predicate.kind,
        confidence=KNOWN if predicate.name in PREDICATES else UNKNOWN,
        began=began,
        ended=ended,
    )


def _predicate(given: str) -> Predicate:
    name = " ".join(given.replace("_", " ").casefold().split()).strip(" .:;'-")
    name = name.replace("favorite ", "favourite ")
    if not _PREDICATE.fullmatch(name) or len(name.split()) > _MAX_PREDICATE_WORDS:
        raise Refused("no predicate")
    return predicate_of(name)


def _subject(proposal: Proposal, heard: Heard) -> Named:
    name = _cleaned(proposal.subject)
    if fold(name) in _SELF or fold(name) == fold(heard.speaker.text):
        return heard.speaker
    if fold(name) in _VAGUE or not name:
        raise Refused("a vague subject")
    known = [one for one in heard.recent if fold(one.text) == fold(name)]
    if not known and not heard.holds(_less_owner(name, heard.speaker.text)):
        raise Refused("a subject that is not in the text")
    return known[0] if known else Named(name, _type(proposal.subject_type) or EntityType.PERSON)


def _value(proposal: Proposal, heard: Heard, predicate: Predicate) -> str:
    value = _cleaned(proposal.object)
    if len(value) > MAX_VALUE:
        raise Refused("an object that is too long")
    if not value:
        return ""
    if fold(value) in _SELF:
        value = heard.speaker.text
    content = known_words(value) - stop_terms()
    if fold(value) in _VAGUE or not content:
        raise Refused("a vague object")
    known = {fold(one.text) for one in (heard.speaker, *heard.recent)}
    whole = predicate.object in _BY_NAME
    said = heard.holds(value) if whole else content <= heard.words
    if not said and fold(value) not in known:
        raise Refused("an object that is not in the text")
    return value


def _object(proposal: Proposal, heard: Heard, predicate: Predicate, value: str) -> Named | None:
    """An entity where the predicate's object is one, or where the model says so by a name."""
    if not value:
        return None
    if fold(value) == fold(heard.speaker.text):
        return heard.speaker
    if predicate.object is not None:
        return Named(value, predicate.object)
    named = predicate.name not in PREDICATES and value[:1].isupper() and heard.holds(value)
    kind = _type(proposal.object_type)
    return Named(value, kind) if named and kind else None


def _sentence(heard: Heard, about: str) -> str:
    """The first sentence with the words in question; one that asks states nothing."""
    words = known_words(about) - stop_terms()
    said: list[str] = [one.strip() for one in _SENTENCE.findall(heard.text) if one.strip()]
    having = [one for one in said if words & known_words(one)]
    whole = [one for one in having if words <= known_words(one)]
    found = (whole or having or [heard.text.strip()])[0]
    if found.endswith("?"):
        raise Refused("a question")
    return found


def _affirmed(sentence: str, value: str) -> None:
    """Refuses what is only supposed, and what every clause that has the value's words denies."""
    if _SUPPOSED.search(sentence):
        raise Refused("a supposition")
    words = known_words(value) - stop_terms()
    clauses = [one for one in _CLAUSE.split(sentence) if words & known_words(one)]
    denied = [bool(_DENIED.search(_NO_DENIAL.sub(" ", one))) for one in clauses]
    if denied and all(denied):
        raise Refused("a denial")


def _when(given: str | None, heard: Heard) -> When | None:
    """The time as a range; only one that the text speaks of, or the day it was said."""
    if given is None or not given.strip():
        return None
    when = _range(given.strip(), heard.at)
    if when is None or when.start is None or when.end is None:
        raise Refused("a time that is not ISO")
    spoken = [(heard.at, heard.at), *_times(heard)]
    if not any(when.start <= end + _SLACK and start - _SLACK <= when.end for start, end in spoken):
        raise Refused("a time that is not in the text")
    return when


def _times(heard: Heard) -> Iterator[tuple[datetime, datetime]]:
    for mention in time_ranges(heard.text, heard.at):
        yield mention.range.start, mention.range.end
    for mention in time_ranges(heard.text, heard.at, prefer="future"):
        yield mention.range.start, mention.range.end


def _range(given: str, at: datetime) -> When | None:
    found = _ISO.fullmatch(given)
    if found is None:
        return None
    year, month, day = (int(part) if part else None for part in found.groups())
    try:
        if year is not None and day is not None and len(given) > len("2024-01-01"):
            moment = datetime.fromisoformat(given)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=at.tzinfo)
            return When(start=moment, end=moment)
        start = datetime(year or 0, month or 1, day or 1, tzinfo=at.tzinfo)
        return When(start=start, end=_end(start, month, day))
    except (ValueError, OverflowError):
        return None


def _end(start: datetime, month: int | None, day: int | None) -> datetime:
    if day is not None:
        return start + timedelta(days=1)
    if month is None or month == 12:
        return start.replace(year=start.year + 1, month=1)
    return start.replace(month=month + 1)


def _less_owner(name: str, speaker: str) -> str:
    """ "Ana's sister", said by Ana, stands in her text as "my sister"."""
    owner = re.match(rf"{re.escape(speaker)}['’]s?\s+", name, re.IGNORECASE)
    return name[owner.end() :] if owner else name


def _type(given: str | None) -> EntityType | None:
    return EntityType(given) if given in {one.value for one in EntityType} else None


def _cleaned(text: str) -> str:
    return " ".join(text.split()).strip(' .,;:!?"“”`*')


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", fold(text.replace("’s", "").replace("'s", ""))))
