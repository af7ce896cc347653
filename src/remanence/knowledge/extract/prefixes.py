"""What stands before a statement and says how sure it is: "I think that", "Tom says"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from remanence.knowledge.extract.phrases import PERSON

_SAYS = (
    r"(?:says|said|tells (?:me|us|everyone)|told (?:me|us|everyone|my \w+|[A-Z]\w+)|mentioned"
    r"|claims"
    r"|claimed|thinks|believes|swears|insists|reckons|texted me|wrote me|announced|confirmed|wrote"
    r"|texted|replied|warned me|reminded me)"
)
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
_RUMOUR = re.compile(
    r"(?:my horoscope says|the (?:internet|papers?|news) says?|(?:I|we) (?:have )?(?:just "
    r")?(?:heard(?! (?:from|back|of|about)\b)"
    r"|(?:read|saw)(?: somewhere| online)? that|overheard|gather|was told|were told|am told)"
    r"|(?:people|they|some|everyone|someone|somebody|folks) (?:say|says|said|claim|think)|rumou?r "
    r"has it"
    r"|(?:the )?(?:word|rumou?r|gossip) is|it is (?:said|rumou?red)|supposedly|allegedly|reportedly"
    r"|legend has it)\b",
    re.IGNORECASE,
)
_WISH = re.compile(
    r"(?:(?:I|we|he|she|they|[A-Z]\w+) (?:(?:really|just|do|sometimes|often|always|only|had) "
    r")*(?:hope"
    r"|hopes|hoped|wish|wishes|doubt|doubts|imagine|imagined|fantasi[sz]e|pretend|thought|dreamt"
    r"|dreamed)\b(?! to\b)"
    r"|(?:I|we|he|she|they|[A-Z]\w+) (?:am|is|are|was|were|have been|has been) (?:\w+ )?(?:thinking"
    r"|considering|wondering(?! if)|debating|tempted|contemplating|hoping(?! to))\b"
    r"|(?:maybe|perhaps|possibly|hopefully|ideally|let us|let me)\b|(?:what|how) (?:about|a|an)\b"
    r"|(?:I|we) (?:feel|felt) like\b)",
    re.IGNORECASE,
)


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
