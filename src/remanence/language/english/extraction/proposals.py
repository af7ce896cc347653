"""What a model proposes, taken out of its answer, and whether the text bears it out.

Nothing is kept that is invented or vague.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

import msgspec

from remanence.language.english import lexicon
from remanence.language.english.dates import time_ranges
from remanence.language.english.extraction.statement import NamedEntity, Statement
from remanence.language.fences import without_thoughts
from remanence.language.summary.facts import known_words
from remanence.language.timerange import calendar
from remanence.language.words import fold, stop_terms
from remanence.model.knowledge import EntityType, FactKind, Timespan
from remanence.model.ports.language_model import Reply
from remanence.model.predicates import PREDICATES, Predicate, predicate_of

_NOT_AS_ASKED = "not the JSON asked for"
KNOWN, UNKNOWN = 0.85, 0.6  # how sure a statement is, by whether its predicate is one of ours
MAX_VALUE = 200
_SELF = frozenset(["i", "me", "we", "us", "myself", "user", "the user", "speaker", "the speaker"])
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
_TO_COME = re.compile(
    r"\b(?:will|shall|might|may|could|would|should|going to|gonna|about to|hop(?:e|es|ing) to"
    r"|plan(?:s|ning)? to|wants? to|try(?:ing)? to|tries to|thinking (?:of|about)|considering"
    r"|apply(?:ing)?|applied)\b|['’](?:ll|d)\b",
    re.IGNORECASE,
)
_OVER = re.compile(
    r"\b(?:used to|no longer|not any ?more|former(?:ly)?|once was|ex-)", re.IGNORECASE
)
_ISO = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ].*)?)?)?")
_SLACK = timedelta(days=1)


class RefusedProposal(Exception):
    """Something proposed is not kept; the message is the reason that is counted."""


class Proposal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One statement as the model wrote it, of the right form and otherwise unchecked."""

    subject: str
    predicate: str
    object: str
    subject_type: str | None = None
    object_type: str | None = None
    began: str | None = None
    ended: str | None = None


def proposals_in(reply: Reply, tool: str) -> list[Proposal | str]:
    """The statements proposed; for one of the wrong form, the reason.

    `RefusedProposal` if all of it is.
    """
    if reply.finish == "length":
        raise RefusedProposal("the model's answer is cut short")
    called = [call.arguments for call in reply.tool_calls if call.name == tool]
    found = _parsed(called[0] if called else _json_of(reply.text))
    statements = found.get("statements") if isinstance(found, Mapping) else found
    if not isinstance(statements, Sequence) or isinstance(statements, str):
        raise RefusedProposal(_NOT_AS_ASKED)
    return [_proposal(one) for one in statements]


def _proposal(row: object) -> Proposal | str:
    try:
        return msgspec.convert(row, Proposal)
    except msgspec.ValidationError:
        return "not of the form asked for"


def _json_of(text: str) -> str:
    """From the first bracket to the last: models like to say a word before and after."""
    text = without_thoughts(text)
    starts = [place for mark in "{[" if (place := text.find(mark)) >= 0]
    return text[min(starts) : max(text.rfind("}"), text.rfind("]")) + 1] if starts else text


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RefusedProposal(_NOT_AS_ASKED) from error


@dataclass(frozen=True, kw_only=True)
class ProposalContext:
    """The text, who said it when, and who was spoken of just before."""

    text: str
    speaker: NamedEntity
    at: datetime
    recent: tuple[NamedEntity, ...] = ()

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


def checked(proposal: Proposal | str, heard: ProposalContext) -> Statement:
    """The proposal as a statement; `RefusedProposal` with the reason why it is none."""
    if isinstance(proposal, str):
        raise RefusedProposal(proposal)
    predicate = _predicate(proposal.predicate)
    value = _value(proposal, heard, predicate)
    subject = _subject(proposal, heard)
    if fold(subject.text) == fold(value):
        raise RefusedProposal("about itself")
    began, ended = _when(proposal.began, heard), _when(proposal.ended, heard)
    if began and ended and began.start and ended.end and began.start > ended.end:
        raise RefusedProposal("a time that cannot be")
    if not value and ended is None:
        raise RefusedProposal("without an object")
    sentence = _sentence(heard, value or proposal.subject)
    if ended is None and predicate.name != "dislikes":
        _affirmed(sentence, value)
    if ended is None and predicate.kind is FactKind.FACT:
        _present(sentence, value, begun=began is not None)
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
        raise RefusedProposal("no predicate")
    return predicate_of(name)


def _subject(proposal: Proposal, heard: ProposalContext) -> NamedEntity:
    name = _cleaned(proposal.subject)
    if fold(name) in _SELF or fold(name) == fold(heard.speaker.text):
        return heard.speaker
    if fold(name) in lexicon.words("vague") or not name:
        raise RefusedProposal("a vague subject")
    known = [one for one in heard.recent if fold(one.text) == fold(name)]
    if not known and not heard.holds(_less_owner(name, heard.speaker.text)):
        raise RefusedProposal("a subject that is not in the text")
    return (
        known[0] if known else NamedEntity(name, _type(proposal.subject_type) or EntityType.PERSON)
    )


def _value(proposal: Proposal, heard: ProposalContext, predicate: Predicate) -> str:
    value = _cleaned(proposal.object)
    if len(value) > MAX_VALUE:
        raise RefusedProposal("an object that is too long")
    if not value:
        return ""
    if fold(value) in _SELF:
        value = heard.speaker.text
    content = known_words(value) - stop_terms()
    if fold(value) in lexicon.words("vague") or not content:
        raise RefusedProposal("a vague object")
    known = {fold(one.text) for one in (heard.speaker, *heard.recent)}
    whole = predicate.object in _BY_NAME
    said = heard.holds(value) if whole else content <= heard.words
    if not said and fold(value) not in known:
        raise RefusedProposal("an object that is not in the text")
    return value


def _object(
    proposal: Proposal, heard: ProposalContext, predicate: Predicate, value: str
) -> NamedEntity | None:
    """An entity where the predicate's object is one, or where the model says so by a name."""
    if not value:
        return None
    if fold(value) == fold(heard.speaker.text):
        return heard.speaker
    if predicate.object is not None:
        return NamedEntity(value, predicate.object)
    named = predicate.name not in PREDICATES and value[:1].isupper() and heard.holds(value)
    kind = _type(proposal.object_type)
    return NamedEntity(value, kind) if named and kind else None


def _sentence(heard: ProposalContext, about: str) -> str:
    """The first sentence with the words in question; one that asks states nothing."""
    words = known_words(about) - stop_terms()
    said: list[str] = [one.strip() for one in _SENTENCE.findall(heard.text) if one.strip()]
    having = [one for one in said if words & known_words(one)]
    whole = [one for one in having if words <= known_words(one)]
    found = (whole or having or [heard.text.strip()])[0]
    if found.endswith("?"):
        raise RefusedProposal("a question")
    return found


def _affirmed(sentence: str, value: str) -> None:
    """Refuses what is only supposed, and what every clause that has the value's words denies."""
    if _SUPPOSED.search(sentence):
        raise RefusedProposal("a supposition")
    denied = [bool(_DENIED.search(_NO_DENIAL.sub(" ", one))) for one in _about(sentence, value)]
    if denied and all(denied):
        raise RefusedProposal("a denial")


def _present(sentence: str, value: str, *, begun: bool) -> None:
    """Refuses for a state what every clause with the value's words tells as to come or as over."""
    clauses = _about(sentence, value)
    if clauses and not begun and all(map(_TO_COME.search, clauses)):
        raise RefusedProposal("what is to come")
    if clauses and all(map(_OVER.search, clauses)):
        raise RefusedProposal("what is over")


def _about(sentence: str, value: str) -> list[str]:
    words = known_words(value) - stop_terms()
    return [one for one in _CLAUSE.split(sentence) if words & known_words(one)]


def _when(given: str | None, heard: ProposalContext) -> Timespan | None:
    """The time as a range; only one that the text speaks of, or the day it was said."""
    if given is None or not given.strip():
        return None
    when = _range(given.strip(), heard.at)
    if when is None or when.start is None or when.end is None:
        raise RefusedProposal("a time that is not ISO")
    spoken = [(heard.at, heard.at), *_times(heard)]
    if not any(when.start <= end + _SLACK and start - _SLACK <= when.end for start, end in spoken):
        raise RefusedProposal("a time that is not in the text")
    return when


def _times(heard: ProposalContext) -> Iterator[tuple[datetime, datetime]]:
    mentions = time_ranges(heard.text, heard.at)
    for one in [*mentions, *time_ranges(heard.text, heard.at, prefer="future")]:
        yield one.range.start, one.range.end


def _range(given: str, at: datetime) -> Timespan | None:
    found = _ISO.fullmatch(given)
    if found is None:
        return None
    year, month, day = (int(part) if part else None for part in found.groups())
    try:
        if year is not None and day is not None and len(given) > len("2024-01-01"):
            moment = datetime.fromisoformat(given)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=at.tzinfo)
            return Timespan(start=moment, end=moment)
        span = calendar(at, year or 0, month, day)
        return Timespan(start=span.start, end=span.end)
    except (ValueError, OverflowError):
        return None


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
