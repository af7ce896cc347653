"""Where and as what somebody works."""

from __future__ import annotations

import re
from collections.abc import Iterable

from remanence.language.english.extraction.clauses import Clause
from remanence.language.english.extraction.name_types import is_first_name, is_place
from remanence.language.english.extraction.phrases import (
    PERSON,
    known_trade,
    name_at,
    organisation,
    person_at,
    trade,
)
from remanence.language.english.extraction.rule import (
    Aspect,
    ClauseScene,
    Give,
    RuleFinding,
    each,
    rule,
)
from remanence.language.english.extraction.statement import NamedEntity
from remanence.language.english.extraction.subjects import OWNER, People
from remanence.language.english.extraction.verb_group import Tense
from remanence.model.knowledge import EntityType

_AT = re.compile(r"\b(?:at|for|with|in(?= an? ))\s+", re.IGNORECASE)
_AS = re.compile(r"\bas\s+", re.IGNORECASE)
_FROM = re.compile(r"\b(?:at|with|from)\s+", re.IGNORECASE)
_GONE = re.compile(r"\b(?:quit|left|lost|leav\w+|resign\w*|quitting|losing|hate|old|if)\b", re.I)
_STUDY = re.compile(r"\b(?:stud\w+|universit\w+|college|school|degree|semester|course)\b", re.I)
_MINE = re.compile(r"\s*(?:my|our|an?)\s", re.IGNORECASE)
_NEW = r"(?:(?:an?|the|my|new|first|great|dream|full-time|part-time|summer|temporary|second)\s+)*"
_NEAR = r"(?:.{0,25}?\b)?"
_JOB = r"(?:job|position|role|offer|gig|internship|contract)"
_CLASSES = r"(?!.*\b(?:year|degree|studies|course|semester|phd)\b)"
_WHOM = rf"(?P<whom>(?P<us>me|us)\b|(?-i:{PERSON}))"
_NO_TRADE = (
    r"(?!(?:an?\s+)?(?:fast|hard|much|long|well|little|quickly|often|soon|late|early|usual|if|joke"
    r"|hobby|kid|child|teen\w*|boy|girl|baby|favou?r|team|couple|family|student|result)\b)"
)
_USUALLY = r"(?:(?:an?|still|now|also|currently)\s+)*"
_TONIGHT = re.compile(r"\b(?:tonight|for the day|this time|this evening)\b", re.IGNORECASE)
# "My mom is an excellent baker": she bakes well.
_PRAISED = re.compile(
    r"\s*(?:(?:so|such|very|really|pretty|an?)\s+)*(?:excellent|great|good|amazing|awesome|wonderful"
    r"|fantastic|brilliant|terrible|bad|awful|natural|decent|better|best|gifted|incredible|keen|avid"
    r"|\w+(?:ous|ful|able|ible|less|ish))\b"
)
_OUT_OF_WORK = frozenset(["unemployed", "retired", "jobless", "between jobs"])
_STATUSES = (
    r"self-employed|self employed|unemployed|retired|jobless|between jobs|freelance|a freelancer"
    r"|a stay-at-home (?:mom|mum|dad|mother|father|parent)|a housewife"
)


def _at_and_as(aspect: Aspect) -> Give:
    """An organisation after the tail, and what one does there after "as"."""

    def give(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
        for one in organisation(after, scene.lower):
            if not (is_first_name(one) and " " not in one):
                yield RuleFinding("works at", one, aspect)
        role = _AS.search(after)
        for one in trade(after[role.end() :], scene.lower) if role else ():
            yield RuleFinding("works as", one, aspect)

    return give


def _as_and_at(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    """A trade after the tail, and where after "at" or "for"."""
    for one in trade(after, scene.lower):
        yield RuleFinding("works as", one)
        yield from _where(scene, after)


def _hired(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    for one in trade(after, scene.lower):
        yield RuleFinding("works as", one, Aspect.START)
    where = _AT.search(after)
    for one in organisation(after[where.end() :], scene.lower) if where else ():
        yield RuleFinding("works at", one, Aspect.START)


def _where(scene: ClauseScene, after: str) -> Iterable[RuleFinding]:
    where = _AT.search(after)
    for one in organisation(after[where.end() :], scene.lower) if where else ():
        yield RuleFinding("works at", one)


def _is_a(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    if _TONIGHT.search(scene.clause.text) or _PRAISED.match(after):
        return
    for one in known_trade(after, scene.lower):
        yield RuleFinding("works as", one)
        yield from _where(scene, after)


def _status(scene: ClauseScene, _after: str, tail: re.Match[str]) -> Iterable[RuleFinding]:
    status = tail["status"].lower()
    if status not in _OUT_OF_WORK:
        yield RuleFinding("works as", status)
    elif not scene.group.negated:
        if status == "retired":
            yield RuleFinding("is", status)
        yield RuleFinding("works at", "", Aspect.END)
        yield RuleFinding("works as", "", Aspect.END, implied=True)


def _left(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    """ "I left Acme", and not "I left my Camry", "I left the house"."""
    name = name_at(after)
    if not name or is_place(name) or is_first_name(name) or _MINE.match(after):
        return
    yield RuleFinding(
        "studies at" if _STUDY.search(scene.sentence) else "works at", name, Aspect.END
    )


def _job_ended(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    where = _FROM.search(after)
    named = organisation(after[where.end() :], scene.lower) if where else []
    yield RuleFinding("works at", named[0] if named else "", Aspect.END)
    role = _AS.search(after)
    for one in trade(after[role.end() :], scene.lower) if role else ():
        yield RuleFinding("works as", one, Aspect.END)


def _got_fired(scene: ClauseScene, after: str, tail: re.Match[str]) -> Iterable[RuleFinding]:
    yield from _job_ended(scene, after, tail)
    if scene.group.tense is Tense.PAST:
        yield RuleFinding("did", f"got {tail['how']}", Aspect.EVENT)


def _by_the_firm(scene: ClauseScene, _after: str, tail: re.Match[str]) -> Iterable[RuleFinding]:
    """ "Globex laid me off": the firm is the subject."""
    firm, subject = scene.who[0].text, scene.clause.subject
    named = subject is not None and subject.match is not None and subject.match["name"]
    whom = person_at(tail["whom"]) if not tail["us"] else ""
    if not (tail["us"] or whom) or scene.who[0] == scene.people.speaker:
        return
    worker = NamedEntity(whom, EntityType.PERSON) if whom else scene.people.speaker
    where = firm if named and not is_first_name(firm) else ""
    yield RuleFinding("works at", where, Aspect.END, subject=worker)


def _hired_by(scene: ClauseScene, after: str, tail: re.Match[str]) -> Iterable[RuleFinding]:
    """ "Acme hired me as a cook": the firm is the subject."""
    if tail["us"] and not scene.group.negated and scene.group.tense is not Tense.FUTURE:
        speaker = scene.people.speaker
        role = _AS.match(after.lstrip())
        for one in trade(after.lstrip()[role.end() :], scene.lower) if role else ():
            yield RuleFinding("works as", one, Aspect.START, subject=speaker)
        if scene.who[0] != speaker and not is_first_name(scene.who[0].text):
            yield RuleFinding("works at", scene.who[0].text, Aspect.START, subject=speaker)


def _gave_up(scene: ClauseScene, _after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    """ "I quit": whatever the job was. What is still to come is told as a plan."""
    if scene.group.tense in (Tense.PAST, Tense.PERFECT):
        yield RuleFinding("works at", "", Aspect.END)


def _retired(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    yield from _job_ended(scene, after, _tail)
    if not _AS.search(after):
        yield RuleFinding("is", "retired", Aspect.START)
        yield RuleFinding("works as", "", Aspect.END, implied=True)


def _is_at(scene: ClauseScene, after: str, _tail: re.Match[str]) -> Iterable[RuleFinding]:
    """ "I have been at Acme for years", "I am not at Acme anymore": a job, not a place to be."""
    group, name = scene.group, name_at(after)
    lasting = group.tense is Tense.PERFECT or group.no_longer or (group.negated and "more" in after)
    if name and lasting and not is_place(name) and not is_first_name(name):
        yield RuleFinding("works at", name, sure=0.9)


def _no_longer_there(
    scene: ClauseScene, _after: str, _tail: re.Match[str]
) -> Iterable[RuleFinding]:
    if scene.group.negated or scene.group.no_longer:
        yield RuleFinding("works at", "")


RULES = (
    rule("work", r"there\b", _no_longer_there),
    rule("give", r"up\s+(?:my|his|her)\s+(?:\w+\s+)?job\b", _job_ended),
    rule("work freelance", rf"as\s+{_NO_TRADE}", _as_and_at),
    rule("work", rf"{_NEAR}(?:at|for)\s+", _at_and_as(Aspect.STATE)),
    rule("be", rf"{_USUALLY}(?P<status>{_STATUSES})\b(?!\s+[a-z]+er\b)",
         _status),
    rule("be", r"(?:(?:an?|the|now|still|also|both)\s+)+", _is_a),
    rule("be", r"(?:at|with)\s+(?:the\s+)?", _is_at),
    rule("work", rf"{_NEAR}as\s+an?\s+", _as_and_at),
    rule("hire", r"(?:as\s+)(?:an?\s+|the\s+)?", _hired, passive=True),
    rule("hire", r"(?:at|by)\s+", _at_and_as(Aspect.START), passive=True),
    rule("hire", rf"{_WHOM}\b", _hired_by),
    rule("promote", r"to\s+(?:be\s+)?(?:an?\s+|the\s+)?", each("works as", trade, Aspect.START),
         passive=True),
    rule("join", r"(?=(?:the\s+)?(?-i:[A-Z]))", _at_and_as(Aspect.START)),
    rule("start begin", rf"{_CLASSES}{_NEAR}at\s+",
         _at_and_as(Aspect.START)),
    rule("get land find", rf"{_NEW}{_JOB}(?<!offer)\s+(?:at|with|from)\s+",
         _at_and_as(Aspect.START)),
    rule("accept take", rf"{_NEW}{_JOB}\s+(?:at|with|from)\s+", _at_and_as(Aspect.START)),
    rule("get", r"promoted\s+to\s+", each("works as", trade, Aspect.START)),
    rule("become", r"(?:an?|the)\s+", each("works as", known_trade, Aspect.START)),
    rule("leave quit lose resign",
         r"(?:from\s+)?(?:(?:my|his|her|the|our|old|last|current)\s+)*(?:job|position|role|post)\b",
         _job_ended),
    rule("leave quit", r"(?=\s*\S)", _left),
    rule("quit resign", r"(?:$|[|.!,])", _gave_up),
    rule("resign", r"(?:from\s+)", _left),
    rule("retire", r"", _retired),
    rule("fire", r"(?:from|by)?\s*", _job_ended, passive=True),
    rule("lay let", r"(?:off|go)\b", _job_ended, passive=True),
    rule("lay let", rf"{_WHOM}\s+(?:off|go)\b", _by_the_firm),
    rule("fire sack dismiss", rf"{_WHOM}\b", _by_the_firm),
    rule("get", r"(?P<how>fired|laid off|let go|sacked)\b", _got_fired),
)  # fmt: skip


_IN_MY_TRADE = re.compile(r"(?:^|\s)as\s+an?\s+(?P<trade>[a-z -]+?),?\s*$", re.IGNORECASE)


_OWN = re.compile(r"(?:I|[Ww]e|[Mm]y|[Oo]ur)\b")
_MACHINE = re.compile(r"\b(?:ai|language model|chatbot|assistant)\b", re.IGNORECASE)
_FIRST_DAY = re.compile(
    r"(?:(?:today|yesterday|it)(?:'s| is| was)\s+)?"
    r"(?:(?:just|so|well|my|had|finished|survived)\s+)*"
    r"(?:first|second|third|1st|2nd|3rd)\s+(?:day|week|month)\s+(?:at|with)\s+",
    re.IGNORECASE,
)
_AS_MY_TRADE = re.compile(
    r"\bmy\s+(?:\w+\s+){0,3}?(?:job|role|work|position|progress|career|days|weeks|months|years)\s+as\s+"
    r"(?:an?\s+|the\s+)?(?P<trade>[a-z][\w -]+)"
)
_MADE_ME = re.compile(r"\b(?:made|appointed|named) me (?:(?:the|an?) )?(?P<trade>[a-z][\w -]+)")
_NEVER = re.compile(r"\b(?:never|not|nobody|hardly)\b", re.IGNORECASE)
_MY_JOB = re.compile(rf"(?P<owner>{OWNER})\s+(?:new\s+)?job\s+at\s+")


_DISMISSED = re.compile(
    r"^(?:\w+,?\s+){0,3}?(?:they|(?:my|the)\s(?:old\s)?(?:company|firm|employer|boss|bank|agency))\s+"
    r"(?:have\s|has\s|just\s){0,2}(?:(?:fired|sacked|dismissed)\s+(?:me|us)|let\s+(?:me|us)\s+go|laid\s+(?:me|us)\s+off)\b",
    re.IGNORECASE,
)


def by_the_job(text: str, people: People) -> Iterable[RuleFinding]:
    """What is said by the way: "they made me head of sales", "my job at Acme is dull"."""
    if _DISMISSED.search(text):
        yield RuleFinding("works at", "", Aspect.END, subject=people.speaker)
    for found in _MADE_ME.finditer(text):
        if _NEVER.search(text[: found.start()]):
            continue
        for one in known_trade(found["trade"], False):
            yield RuleFinding("works as", one, subject=people.speaker)
    for found in _AS_MY_TRADE.finditer(text):
        if _GONE.search(text[: found.start()]):
            continue
        for one in known_trade(found["trade"], False):
            yield RuleFinding("works as", one, subject=people.speaker)
            where = _AT.search(text, found.start("trade"))
            name = name_at(text[where.end() :]) if where else ""
            if name and not is_place(name):
                yield RuleFinding("works at", name, subject=people.speaker)
    for found in _MY_JOB.finditer(text):
        owner, name = people.owner(found["owner"]), name_at(text[found.end() :])
        if owner and name and not _GONE.search(text[: found.start()]):
            yield RuleFinding("works at", name, subject=owner)


def by_trade(clause: Clause, people: People) -> Iterable[RuleFinding]:
    """ "As a nurse I see a lot", "as a nurse, my days are long": what stands before the subject."""
    head = clause.lead + clause.head
    own = _OWN.match(clause.text, len(clause.head))
    found = _IN_MY_TRADE.search(head) if head and own else None
    for one in known_trade(found["trade"], False) if found else ():
        if not _MACHINE.search(one):
            yield RuleFinding("works as", one, subject=people.speaker)


def first_day(sentence: str, people: People) -> Iterable[RuleFinding]:
    """ "Second day at Acme": a job that has just begun."""
    found = _FIRST_DAY.match(sentence)
    name = name_at(sentence[found.end() :]) if found else ""
    if name and not is_place(name) and not is_first_name(name):
        yield RuleFinding("works at", name, Aspect.START, subject=people.speaker)
