"""Where and as what somebody works."""

from __future__ import annotations

import re
from collections.abc import Iterable

from remanence.knowledge.extract.phrases import PERSON, name_at, person_at, phrase
from remanence.knowledge.extract.rule import Aspect, Found, Give, Scene, each, rule
from remanence.knowledge.extract.shapes import known_trade, organisation, stop_at, trade
from remanence.knowledge.extract.statement import Named
from remanence.knowledge.extract.subjects import OWNER, People
from remanence.knowledge.extract.tables.first_names import is_first_name
from remanence.knowledge.extract.tables.kin import KIN
from remanence.knowledge.extract.tables.places import is_place
from remanence.knowledge.extract.tables.trades import STATUSES
from remanence.knowledge.extract.verb_group import Tense
from remanence.model.knowledge import EntityType

_AT = re.compile(r"\b(?:at|for|with|in(?= an? ))\s+", re.IGNORECASE)
_AS = re.compile(r"\bas\s+", re.IGNORECASE)
_FROM = re.compile(r"\b(?:at|with|from)\s+", re.IGNORECASE)
_GONE = re.compile(r"\b(?:quit|left|lost|leav\w+|resign\w*|quitting|losing|hate|old|if)\b", re.I)
_STUDY = re.compile(r"\b(?:stud\w+|universit\w+|college|school|degree|semester|course)\b", re.I)
_WORK = re.compile(r"\b(?:jobs?|works?|working|compan(?:y|ies)|employer|joined|left|quit)\b", re.I)
_NEW = r"(?:(?:an?|the|my|new|first|great|dream|full-time|part-time|summer|temporary|second)\s+)*"
_NEAR = r"(?:.{0,25}?\b)?"
_JOB = r"(?:job|position|role|offer|gig|internship|contract)"
_PUPILS = re.compile(
    r"(?:others|people|kids|them|me|you|him|her|us|my|our|your|someone|how)\b", re.I
)
_FOR_HIRE = "taxi|cab|bus|truck|lorry|tram|train|ambulance"
_CLASSES = r"(?!.*\b(?:year|degree|studies|course|semester|phd)\b)"
_WHOM = rf"(?P<whom>(?P<us>me|us)\b|(?-i:{PERSON}))"
_NO_TRADE = (
    r"(?!(?:an?\s+)?(?:fast|hard|much|long|well|little|quickly|often|soon|late|early|usual|if|joke"
    r"|hobby|kid|child|teen\w*|boy|girl|baby|favou?r|team|couple|family|student|result)\b)"
)
_USUALLY = r"(?:(?:an?|still|now|also|currently)\s+)*"
_TONIGHT = re.compile(r"\b(?:tonight|for the day|this time|this evening)\b", re.IGNORECASE)
_OUT_OF_WORK = frozenset(["unemployed", "retired", "jobless", "between jobs"])
_LESSON = stop_at("at in to for with on")


def _at_and_as(aspect: Aspect) -> Give:
    """An organisation after the tail, and what one does there after "as"."""

    def give(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
        for one in organisation(after, scene.lower):
            if not (is_first_name(one) and " " not in one):
                yield Found("works at", one, aspect)
        role = _AS.search(after)
        for one in trade(after[role.end() :], scene.lower) if role else ():
            yield Found("works as", one, aspect)

    return give


def _as_and_at(aspect: Aspect) -> Give:
    """A trade after the tail, and where after "at" or "for"."""

    def give(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
        for one in trade(after, scene.lower):
            yield Found("works as", one, aspect)
            yield from _where(scene, after, aspect)

    return give


def _where(scene: Scene, after: str, aspect: Aspect) -> Iterable[Found]:
    where = _AT.search(after)
    for one in organisation(after[where.end() :], scene.lower) if where else ():
        yield Found("works at", one, aspect)


def _is_a(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
    if _TONIGHT.search(scene.clause.text):
        return
    for one in known_trade(after, scene.lower):
        yield Found("works as", one)
        yield from _where(scene, after, Aspect.STATE)


def _is_our(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
    """ "Ivan is our accountant"; "our boss" is said of us."""
    for one in known_trade(after, scene.lower):
        if one.split()[-1].lower() not in KIN and scene.who[0] != scene.people.speaker:
            yield Found("works as", one)


def _status(scene: Scene, _after: str, tail: re.Match[str]) -> Iterable[Found]:
    status = tail["status"].lower()
    if status not in _OUT_OF_WORK:
        yield Found("works as", status)
    elif not scene.group.negated:
        if status == "retired":
            yield Found("is", status)
        yield Found("works at", "", Aspect.END)
        yield Found("works as", "", Aspect.END, implied=True)


def _left(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
    name = next(iter(organisation(after, False)), "")
    if not name or is_place(name) or is_first_name(name):
        return
    yield Found("studies at" if _STUDY.search(scene.sentence) else "works at", name, Aspect.END)


def _job_ended(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
    where = _FROM.search(after)
    named = organisation(after[where.end() :], scene.lower) if where else []
    yield Found("works at", named[0] if named else "", Aspect.END)
    role = _AS.search(after)
    for one in trade(after[role.end() :], scene.lower) if role else ():
        yield Found("works as", one, Aspect.END)


def _got_fired(scene: Scene, after: str, tail: re.Match[str]) -> Iterable[Found]:
    yield from _job_ended(scene, after, tail)
    if scene.group.tense is Tense.PAST:
        yield Found("did", f"got {tail['how']}", Aspect.EVENT)


def _by_the_firm(scene: Scene, _after: str, tail: re.Match[str]) -> Iterable[Found]:
    """ "Globex laid me off": the firm is the subject."""
    firm, subject = scene.who[0].text, scene.clause.subject
    named = subject is not None and subject.match is not None and subject.match["name"]
    whom = person_at(tail["whom"]) if not tail["us"] else ""
    if not (tail["us"] or whom) or scene.who[0] == scene.people.speaker:
        return
    worker = Named(whom, EntityType.PERSON) if whom else scene.people.speaker
    where = firm if named and not is_first_name(firm) else ""
    yield Found("works at", where, Aspect.END, subject=worker)


def _gave_up(scene: Scene, _after: str, _tail: re.Match[str]) -> Iterable[Found]:
    """ "I quit": whatever the job was. What is still to come is told as a plan."""
    if scene.group.tense in (Tense.PAST, Tense.PERFECT):
        yield Found("works at", "", Aspect.END)


def _retired(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
    yield from _job_ended(scene, after, _tail)
    if not _AS.search(after):
        yield Found("is", "retired", Aspect.START)
        yield Found("works as", "", Aspect.END, implied=True)


def _teaches(scene: Scene, after: str, _tail: re.Match[str]) -> Iterable[Found]:
    if scene.group.tense not in (Tense.PRESENT, Tense.USED) and not scene.group.progressive:
        return
    what = phrase(after, _LESSON)
    if len(what.split()) <= 2 and not person_at(after) and not _PUPILS.match(after.strip()):
        yield Found("works as", f"{what} teacher".strip())
        yield from _where(scene, after, Aspect.STATE)


def _is_at(scene: Scene, after: str, tail: re.Match[str]) -> Iterable[Found]:
    """ "I have been at Acme for years", "I am not at Acme anymore": a job, not a place to be."""
    group, name = scene.group, name_at(after)
    lasting = group.tense is Tense.PERFECT or group.no_longer or (group.negated and "more" in after)
    job = _WORK.search(scene.sentence) is not None and not _STUDY.search(scene.sentence)
    if name and not is_place(name) and not is_first_name(name) and (lasting or tail["back"] or job):
        yield Found("works at", name, sure=0.9)


def _drives(_scene: Scene, _after: str, tail: re.Match[str]) -> Iterable[Found]:
    yield Found("works as", f"{tail['what']} driver")


def _colleague(scene: Scene, after: str, tail: re.Match[str]) -> Iterable[Found]:
    """ "Zoe works with me", "I work with Zoe"."""
    speaker = scene.people.speaker
    if tail["us"] and scene.who[0] != speaker:
        yield Found("colleague", scene.who[0].text, subject=speaker)
    name = person_at(after) if not tail["us"] else ""
    if name and is_first_name(name):
        yield Found("colleague", name)


def _no_longer_there(scene: Scene, _after: str, _tail: re.Match[str]) -> Iterable[Found]:
    if scene.group.negated or scene.group.no_longer:
        yield Found("works at", "")


RULES = (
    rule("work", r"there\b", _no_longer_there),
    rule("give", r"up\s+(?:my|his|her)\s+(?:\w+\s+)?job\b", _job_ended),
    rule("work", r"(?:together\s+)?with\s+(?:(?P<us>me|us)\b|(?=[a-z]))", _colleague),
    rule("work serve freelance", rf"as\s+{_NO_TRADE}", _as_and_at(Aspect.STATE)),
    rule("work", rf"{_NEAR}(?:at|for)\s+", _at_and_as(Aspect.STATE)),
    rule("work", r"in\s+(?=an?\s|the\s|[a-z]+\s+(?:office|hospital|school))",
         _at_and_as(Aspect.STATE)),
    rule("employ", r"(?:at|by)\s+", _at_and_as(Aspect.STATE), passive=True),
    rule("be", rf"{_USUALLY}(?P<status>{STATUSES})\b(?!\s+[a-z]+er\b)",
         _status),
    rule("be", r"(?:(?:an?|the|now|still|also|both)\s+)+", _is_a),
    rule("be", r"(?:our|my)\s+", _is_our),
    rule("be", r"(?P<back>back\s+)?(?:at|with)\s+(?:the\s+)?", _is_at),
    rule("drive", rf"an?\s+(?P<what>(?:\w+\s+)?(?:{_FOR_HIRE}))\b", _drives),
    rule("teach", r"", _teaches),
    rule("join", r"", _at_and_as(Aspect.START)),
    rule("start begin", rf"{_CLASSES}{_NEAR}(?:at|with)\s+",
         _at_and_as(Aspect.START)),
    rule("start begin", rf"{_NEAR}as\s+{_NO_TRADE}", _as_and_at(Aspect.START)),
    rule("get land find start begin", rf"{_NEW}{_JOB}(?<!offer)\s+(?:at|with|from)\s+",
         _at_and_as(Aspect.START)),
    rule("accept take", rf"{_NEW}{_JOB}\s+(?:at|with|from)\s+",
         _at_and_as(Aspect.START)),
    rule("have", rf"{_NEW}{_JOB}\s+(?:at|with)\s+", _at_and_as(Aspect.STATE)),
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
    rule("lay", r"off\b", _job_ended, passive=True),
    rule("let", r"go\b", _job_ended, passive=True),
    rule("lay", rf"{_WHOM}\s+off\b", _by_the_firm),
    rule("let", rf"{_WHOM}\s+go\b", _by_the_firm),
    rule("fire sack dismiss", rf"{_WHOM}\b", _by_the_firm),
    rule("get", r"(?P<how>fired|laid off|let go|sacked)\b", _got_fired),
)  # fmt: skip


_IN_MY_TRADE = re.compile(r"(?:^|\s)as\s+an?\s+(?P<trade>[a-z -]+?),?\s*$", re.IGNORECASE)


_MADE_ME = re.compile(r"\b(?:made|appointed|named) me (?:(?:the|an?) )?(?P<trade>[a-z][\w -]+)")
_MY_JOB = re.compile(rf"(?P<owner>{OWNER})\s+(?:new\s+)?job\s+at\s+")


_DISMISSED = re.compile(
    r"^(?:\w+,?\s+){0,3}?(?:they|(?:my|the)\s(?:old\s)?(?:company|firm|employer|boss|bank|agency))\s+"
    r"(?:have\s|has\s|just\s){0,2}(?:fired|sacked|dismissed|let|laid)\s+(?:me|us)\b",
    re.IGNORECASE,
)


def by_the_job(text: str, people: People) -> Iterable[Found]:
    """What is said by the way: "they made me head of sales", "my job at Acme is dull"."""
    if _DISMISSED.search(text):
        yield Found("works at", "", Aspect.END, subject=people.speaker)
    for found in _MADE_ME.finditer(text):
        for one in known_trade(found["trade"], False):
            yield Found("works as", one, subject=people.speaker)
    for found in _MY_JOB.finditer(text):
        owner, name = people.owner(found["owner"]), name_at(text[found.end() :])
        if owner and name and not _GONE.search(text[: found.start()]):
            yield Found("works at", name, subject=owner)


def by_trade(head: str, people: People) -> Iterable[Found]:
    """ "As a nurse I see a lot": what stands before the subject."""
    found = _IN_MY_TRADE.search(head) if head else None
    for one in known_trade(found["trade"], False) if found else ():
        yield Found("works as", one, subject=people.speaker)
