"""A sentence in clauses: each with its subject, its verb, what follows, and how sure it is."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from remanence.language.english import lexicon
from remanence.language.english.extraction.phrases import PERSON, UPPER
from remanence.language.english.extraction.subjects import Subject, either, subject_at
from remanence.language.english.extraction.verb_group import Tense, VerbGroup, verb_group
from remanence.language.english.kin import KIN, OTHERS
from remanence.language.english.verbs import Form, verb

_SAYS = f"(?:{lexicon.either('reporting')})"
_THAT = r"(?:\s*,?\s+that)?\s*,?\s+"
_VERY = r"(?:(?:so|very|really|pretty|fairly|quite|absolutely|super|just|also) )*"
_HEDGE = re.compile(
    rf"(?:(?i:I) (?:would {_VERY}say|{_VERY}(?:think|believe|guess|suppose|assume|reckon|suspect))"
    rf"|(?i:I) am {_VERY}(?:sure"
    rf"|certain|convinced)|(?i:it) (?:seems|looks like|appears|sounds like)(?: like)?"
    rf"|(?i:apparently)|(?i:as far as I "
    rf"(?:know|remember))|(?i:if I remember (?:right|correctly))|(?i:from what I (?:know"
    rf"|remember)))"
    rf"{_THAT}(?=\S)"
)
_PLAIN = re.compile(
    rf"(?:(?i:I) (?:(?:just|also|should|must|can|have to|want to|wanted to|did|forgot to|already"
    rf"|do|will|"
    rf"would like to) )*(?:say|tell you|told you|mention|mentioned|remember|know|realised|realized"
    rf"|found out|meant|let you know|confirm|admit|announce|share|noticed|swear|promise|add)(?: "
    rf"you)?"
    rf"|(?i:I) am {_VERY}(?:happy|glad|proud|excited|sad|sorry|thrilled|pleased|grateful|relieved"
    rf"|lucky"
    rf"|afraid|delighted)(?: to (?:say|announce|report|share))?|(?i:the )?(?:(?i:good|bad|big|great"
    rf"|exciting|sad|happy) )?(?i:news|truth|thing|point|problem|fact)(?: is)|(?i:it turns out)"
    rf"|(?i:turns out)|(?i:you know)(?: what)?|(?i:(?:please )?(?:note|remember|keep in mind))"
    rf"|(?i:(?:just )?so you know)|(?i:for your information)|(?i:for the record)"
    rf"|(?i:in case you (?:forgot|missed it)))(?:{_THAT}|[:!]\s+)(?=\S)"
)
_REPORT = re.compile(
    rf"(?P<source>(?i:he|she)|{PERSON}|(?i:my|our) (?!horoscope|dream|fortune|stars)[a-z]+(?: "
    rf"{PERSON})?) (?:just |also |always )?"
    rf"{_SAYS}{_THAT}(?=\S)|(?i:according to) (?P<by>{PERSON}|my [a-z]+),\s+"
)
_ACCORDING = re.compile(rf"\s*(?i:according to) (?P<by>{PERSON}|(?i:my|our) [a-z]+)\s*$")
HEARD = 0.6  # how sure it is what somebody else said
_RUMOUR = re.compile(rf"(?:{lexicon.either('rumours')})\b", re.IGNORECASE)
_WISH = re.compile(f"(?:{lexicon.either('wishes')})", re.IGNORECASE)
_OPENER = re.compile(
    rf"(?:{lexicon.either('clause_openers')})(?:\s*[,:!.…-]+\s*|\s+)", re.IGNORECASE
)
_VOCATIVE = re.compile(rf"{PERSON}\s*[,!]\s+(?=(?:I|my|we|our)\b)", re.IGNORECASE)
_HEAD = re.compile(
    r"(?:in|on|last|next|this|since|during|yesterday|tomorrow|today|tonight|two|three|four|five"
    r"|six|a|an|about|around|back|at|by|for|until|from|after|before|every|earlier|later|some|many"
    r"|several|once|starting|as|one|\d{1,4}|come|over|the)\b[^,;|]{0,50}?,?\s+"
    r"(?=(?:I|we|he|she|my|our)\b)",
    re.IGNORECASE,
)
_NAMED_HEAD = re.compile(
    r"(?:in|on|last|next|this|yesterday|two|three|a|back|according)\b[^,;|]{0,40},\s+(?=[A-ZÀ-Þ])",
    re.IGNORECASE,
)
WHO = "who"
DROPPED = "dropped"
_CONNECTOR = re.compile(
    rf"\s*(?:;|—|–|\s-+\s|:\s|\.\.\.|…)\s*|,?\s+(?:{lexicon.either('connectors')})\s+|[,!]\s+",
    re.IGNORECASE,
)
_ADVERB = re.compile(rf"(?:(?:{lexicon.either('clause_adverbs')})\s+)*", re.IGNORECASE)
_OTHER = re.compile(
    r"(?:the|a|an|this|that|these|those|some|most|all|everything|everyone|nothing|something|nobody"
    r"|each|our|my|his|her|their|its|your|[a-z]+)\s+(?:[\w'-]+\s+){0,3}?(?:is|are|was|were|has|will"
    r"|would|can|could|makes|made|gets|got|seems|feels|looks|keeps|helps|went|came)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w'-]+")
_WHEN_WORDS = frozenset(["when", "once", "until", "till", "before", "after", "whenever"])
_WHEN = re.compile(rf"(?:{'|'.join(_WHEN_WORDS)})\b", re.IGNORECASE)
_MORE = re.compile(r"\s+[\w$€£]")
_MORE_HERE = re.compile(r"\s+(?:at|for|in|as|with|an?|the|to)\s")
_NAMED = re.compile(rf"(?:[{UPPER}][\w'-]+|(?<![\w-])(?:{either([*KIN, *OTHERS])})),?\s+who\s+$")
_FINITE = re.compile(
    r"\b(?:is|was|are|were|has|would|can|will|makes?|made|gives?|gave|helps?|helped|feels?|felt"
    r"|sounds?|have|I|we|it)\b"
)
_PLANNING = frozenset(["want", "plan", "hope", "intend", "decide", "need", "aim", "try"])
_HELPERS = {Tense.PAST: "was", Tense.FUTURE: "will be", Tense.PERFECT: "have been"}
_ACTED = re.compile(r"[A-Za-z]{3,}ed (?:in |up |out |off )?(?:my|our|the|an?)\b")
_LEFT_OUT = {"born": "was", "been": "have"}


@dataclass(frozen=True, slots=True)
class Prefix:
    """How far the statement itself is, how sure it is, who says so, or why it is none."""

    end: int
    sure: float = 1.0
    source: str = ""
    refusal: str = ""


def source_of(text: str) -> str:
    """Whose words follow "according to Ana"; nothing if the text is something else."""
    found = _ACCORDING.match(text)
    return found["by"] if found else ""


def prefix_at(text: str, at: int) -> Prefix:
    """Read past what stands before a statement."""
    sure, source = 1.0, ""
    for _ in range(3):
        if _RUMOUR.match(text, at):
            return Prefix(at, refusal="reported")
        if plain := _PLAIN.match(text, at):
            at = plain.end()
        elif hedge := _HEDGE.match(text, at):
            at, sure = hedge.end(), 0.7
        elif report := _REPORT.match(text, at):
            at, sure = report.end(), HEARD
            source = report["source"] or report["by"]
        elif _WISH.match(text, at):
            return Prefix(at, refusal="hypothetical")
        else:
            break
    return Prefix(at, sure, source)


def after_openers(text: str, at: int = 0) -> int:
    """Where the clause itself starts."""
    for _ in range(4):
        further = past(_VOCATIVE, text, past(_OPENER, text, at))
        if further == at:
            break
        at = further
    return at


def head_at(text: str, at: int) -> int | None:
    """Where the subject starts, if a time or a place stands before it."""
    found = _HEAD.match(text, at) or _NAMED_HEAD.match(text, at)
    return found.end() if found else None


def past(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where what the pattern matches ends; `at` if it does not."""
    found = pattern.match(text, at)
    return found.end() if found else at


@dataclass(slots=True)
class Clause:
    """A clause: `head` stands before its subject, `rest` follows its verb.

    `lead` is what was said before the head, `connector` the word that joins it to the one
    before, `source` who is said to have said so.
    """

    text: str
    start: int
    connector: str = ""
    subject: Subject | None = None
    group: VerbGroup | None = None
    lead: str = ""
    head: str = ""
    sure: float = 1.0
    source: str = ""
    refusal: str = ""
    since: bool = False

    @property
    def rest(self) -> str:
        """What follows the verb."""
        return self.text[self.group.end :] if self.group else ""


def clauses(sentence: str) -> list[Clause]:
    """The clauses of a sentence whose short forms are written out, in order."""
    found: list[Clause] = []
    for connector, start, end in _segments(sentence):
        text = sentence[start:end]
        before = found[-1] if found else None
        if connector == WHO and not _NAMED.search(sentence, max(start - 60, 0), start):
            clause: Clause | None = Clause(text, start, connector)
        else:
            clause = _opened(text, start, connector)
            clause = clause or _continued(text, start, connector, before)
        if clause is not None:
            if before is not None and connector == "since":
                before.since = True
            if before is not None and before.subject is None and not before.refusal:
                clause.lead = f"{before.text}, "
                if by := source_of(before.text):
                    clause.source, clause.sure = by, HEARD
            found.append(clause)
        elif before is not None:
            found[-1] = _longer(before, sentence[before.start : end])
        else:
            found.append(Clause(text, start))
    return found


def _longer(clause: Clause, text: str) -> Clause:
    """The clause with more of the sentence, in which it may only now find its verb."""
    if clause.group is None and clause.subject is not None:
        again = _opened(text, clause.start, clause.connector)
        if again is not None and again.group is not None:
            return replace(again, lead=clause.lead)
    clause.text = text
    return clause


def _segments(sentence: str) -> list[tuple[str, int, int]]:
    cuts, ends = [("", 0)], []
    for match in _CONNECTOR.finditer(sentence):
        connector = match[0].strip(" ,!").lower()
        if connector == "and" and _is_pair(sentence, cuts[-1][1], match.end()):
            continue
        if _may_open(sentence, match.end(), connector):
            ends.append(match.start())
            cuts.append((connector, match.end()))
    ends.append(len(sentence))
    return [(word, start, end) for (word, start), end in zip(cuts, ends, strict=True)]


def _is_pair(sentence: str, start: int, at: int) -> bool:
    """Whether "and" stands inside a subject: "Tom and Ana moved"."""
    subject = subject_at(sentence, after_openers(sentence, start))
    return subject is not None and subject.end > at


def _may_open(sentence: str, at: int, connector: str) -> bool:
    at = past(_ADVERB, sentence, at)
    word = _WORD.match(sentence, at)
    if word is None:
        return False
    low = word[0].lower()
    if connector in (WHO, "which") or low in ("i", "we", "he", "she"):
        return True
    if low in ("raised", "bred", "like"):
        return False
    if low in lexicon.words("auxiliaries") or verb(low):
        return True
    if _OTHER.match(sentence, at) or head_at(sentence, at) is not None:
        return True
    subject = subject_at(sentence, at)
    return subject is not None and _verb_follows(sentence, subject)


def _verb_follows(text: str, subject: Subject) -> bool:
    at = past(_ADVERB, text, past(re.compile(r"\s*"), text, subject.end))
    word = _WORD.match(text, at)
    if word is None:
        return False
    low = word[0].lower()
    known = verb(low)
    if known:
        return known[1] != Form.ING
    person = bool(subject.match and (subject.match["kin"] or subject.match["name"]))
    return (
        low in lexicon.words("auxiliaries")
        or low.endswith("ed")
        or (person and low.endswith("s") and len(low) > 3)
    )


def is_anchor(clause: Clause) -> bool:
    """Whether the clause only says when something else was: "when I turned ten"."""
    return clause.connector in _WHEN_WORDS or _WHEN.match(clause.text) is not None


def _opened(text: str, start: int, connector: str) -> Clause | None:
    """The clause that the text opens with a subject of its own."""
    at = after_openers(text)
    prefix = prefix_at(text, at)
    if prefix.refusal:
        return Clause(text, start, connector, refusal=prefix.refusal)
    at = after_openers(text, prefix.end)
    if connector == WHO:
        group = verb_group(text, at)
        return Clause(text, start, WHO, Subject(None, at), group) if group else None
    head = head_at(text, at)
    subject = subject_at(text, head) if head is not None else None
    subject = subject or subject_at(text, at)
    if subject is None or subject.match is None:
        other = prefix.end > after_openers(text) or _OTHER.match(text, at)
        return Clause(text, start, connector, head=text[:at], sure=prefix.sure) if other else None
    group = verb_group(text, subject.end)
    if group is not None and not _agrees(subject, group):
        return Clause(text, start, connector)
    if group is None and connector and not _verb_follows(text, subject):
        return None
    when = _WHEN.match(text) or connector in _WHEN_WORDS
    if when and group is not None and group.tense in (Tense.PRESENT, Tense.FUTURE):
        return Clause(text, start, connector, refusal="hypothetical")
    head_text = text[: subject.match.start()]
    return Clause(
        text, start, connector, subject, group,
        head=head_text, sure=prefix.sure, source=prefix.source,
    )  # fmt: skip


def _agrees(subject: Subject, group: VerbGroup) -> bool:
    """Whether one person does it: "themes like love" is not about somebody called Themes."""
    found = subject.match
    single = found and (found["name"] or found["kin"]) and not (found["also"] or found["other"])
    bare = group.tense is Tense.PRESENT and group.form == Form.BASE and not group.able
    return not (single and bare) or group.supposed


def _continued(text: str, start: int, connector: str, before: Clause | None) -> Clause | None:
    """A clause that shares the subject of the one before: "… and work at Acme"."""
    if before is None:
        return _dropped(text, start)
    if before.group is None or before.subject is None or connector in ("or", "as", "which"):
        return None
    if before.group.verb in _PLANNING and " to " in before.text:
        return None
    at = past(_ADVERB, text, 0)
    word = _WORD.match(text, at)
    low = word[0].lower() if word else ""
    known = verb(low)
    fits = bool(known and word and _fits(before.group, known[1], text, word.end()))
    if not fits and low not in lexicon.words("auxiliaries"):
        return None
    helper = _HELPERS.get(before.group.tense, "am") if before.group.progressive else ""
    group = _helped(helper, text, at) if helper else verb_group(text)
    if group is None and fits:
        return None
    connector = before.connector if before.connector in (WHO, DROPPED) else connector
    return Clause(
        text, start, connector, before.subject, group, sure=before.sure, source=before.source
    )


def _fits(before: VerbGroup, form: Form, text: str, end: int) -> bool:
    """Whether a verb form can go on after the group, and is not a noun in a list."""
    more, more_here = _MORE.match(text, end) is not None, _MORE_HERE.match(text, end) is not None
    if before.progressive:
        return Form.ING in form
    if more_here and form == Form.PRESENT:
        return True
    if before.tense in (Tense.PAST, Tense.PERFECT):
        return bool(form & (Form.PAST | Form.PARTICIPLE)) and (Form.BASE not in form or more)
    if before.form & Form.PRESENT and not before.form & Form.BASE:
        return Form.PRESENT in form and more
    return Form.BASE in form and more


def _helped(helper: str, text: str, at: int) -> VerbGroup | None:
    """The group of a verb whose helper was left out or stands before: "… and working"."""
    group = verb_group(f"{helper} {text[at:]}")
    before = len(helper) + 1
    if group is None or group.end <= before:
        return None
    return replace(group, end=group.end - before + at)


def _dropped(text: str, start: int) -> Clause | None:
    """A message that leaves "I" out: "Just moved to Lisbon", "Flying to Rome on Friday"."""
    at = after_openers(text)
    word = _WORD.match(text, at)
    low = word[0].lower() if word else ""
    form = known[1] if (known := verb(low)) else Form(0)
    past = (Form.PAST in form and Form.BASE not in form) or _ACTED.match(text, at) is not None
    group = None
    if low in _LEFT_OUT:
        group = _helped(_LEFT_OUT[low], text, at)
    elif form == Form.ING and not _FINITE.search(text):
        group = _helped("am", text, at)
    elif past or low in ("love", "hate", "adore", "quit", "split"):
        group = verb_group(text, at)
    return Clause(text, start, DROPPED, Subject(None, at), group, sure=0.9) if group else None
