"""What is never taught: what is not so any more, and what looks like a secret."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from remanence.model.knowledge import Claim, Fact, Standing, folded_name
from remanence.model.memory import MemoryRecord

_Said: TypeAlias = tuple[str | None, str, str, str]
_COMPARED = re.compile(
    r"(?<![\w'-])['-]*(?P<first>\w[\w'-]*) (?:over|instead of|(?:more|better|rather) than) "
    r"(?P<second>[\w'-]+)",
    re.IGNORECASE,
)


def outdated(claims: Sequence[Claim], facts: Iterable[Fact]) -> frozenset[str]:
    """The memories with a claim that ended, is disputed or doubted, or was taken back.

    `facts` are all that the claims add up to, in any standing. What a memory itself tells as past
    stays true, and so does what holds again.
    """
    weighed = _Weighed(claims, facts)
    known = [one for one in claims if one.rested_at is None and one.retired_at is None]
    return frozenset(one.memory for one in known if one.memory and weighed.fails(one))


def overruled(memories: Iterable[MemoryRecord]) -> frozenset[str]:
    """The memories that put first what a later one of the same subject puts second."""
    latest: dict[tuple[str, frozenset[str]], str] = {}
    lost: set[str] = set()
    for one in sorted(memories, key=lambda one: (one.happened_at, one.id), reverse=True):
        for first, second in _compared(one.text):
            place = folded_name(one.text.split()[0]), frozenset((first, second))
            if latest.setdefault(place, first) != first:
                lost.add(one.id)
    return frozenset(lost)


class _Weighed:
    """The facts by the claims they are made of, and what holds."""

    def __init__(self, claims: Sequence[Claim], facts: Iterable[Fact]) -> None:
        self._facts = {id: fact for fact in facts for id in fact.claims}
        self._holding = {_of_fact(one) for one in self._facts.values() if _holds(one)}
        held = [one for one in claims if one.id in self._facts and _holds(self._facts[one.id])]
        self._held = {_of_claim(one) for one in held}
        self._held |= {(*_of_claim(one)[:3], "") for one in held}

    def fails(self, claim: Claim) -> bool:
        """Whether it is not so, as far as is known now."""
        if claim.denies:
            return claim.began is claim.ended is None and _of_claim(claim) in self._held
        fact = self._facts.get(claim.id)
        if fact is None or _holds(fact) or _of_fact(fact) in self._holding:
            return False
        return fact.standing is not Standing.ENDED or not _told_as_past(claim)


def _holds(fact: Fact) -> bool:
    return fact.standing is Standing.HOLDS


def _of_fact(fact: Fact) -> _Said:
    object = fact.object_id or folded_name(fact.object)
    return fact.user_id, fact.subject_id, fact.predicate, object


def _of_claim(claim: Claim) -> _Said:
    object = claim.object or folded_name(claim.value)
    return claim.user_id, claim.subject, claim.predicate, object


def _told_as_past(claim: Claim) -> bool:
    end = None if claim.ended is None else claim.ended.end or claim.ended.start
    return end is not None and end <= claim.observed_at


def _compared(text: str) -> Iterator[tuple[str, str]]:
    for found in _COMPARED.finditer(text):
        yield folded_name(found["first"]), folded_name(found["second"])


_NAMED = re.compile(
    r"\b(?:pass(?:word|code|phrase|wd)s?|passw[oö]rt|kennwort|wachtwoord|mots? de passe|contraseña"
    r"|senha|pin ?(?:codes?|numbers?)|(?:api|secret|private|access|ssh|encryption|licen[cs]e"
    r"|signing|recovery)[ _-]?(?:keys?|tokens?|codes?)|(?:auth\w*|bearer|refresh|session) tokens?"
    r"|(?:account|card|passport|insurance|social security|routing) (?:numbers?|no\b)|iban"
    r"|cvv2?|cvc|ssn|otp|one-time code|(?:seed|recovery) phrases?|security (?:question|answer)s?"
    r"|(?:door|gate|alarm|entry|entrance|garage|safe|lock(?:er)?|bike|security|verification|unlock"
    r"|wi-?fi|phone)(?:'s)? (?:codes?|pins?|keys?|combinations?))\b"
)
# Words with other uses: a secret only where a value with a digit is told soon after.
_VALUED = re.compile(
    r"\b(?:codes?|pins?|tokens?|keys?|combinations?|logins?|secrets?|credentials)\b(?: #?\d{3}"
    r"|[^.!?\n]{0,40}?(?:\bis\b|\bare\b|[:=?]) ?(?:now )?[\"'“‘]?(?=\S{0,200}\d)[\w#*-]{3,})"
)
_MADE = re.compile(
    r"-----BEGIN|://[^\s/:@]{1,200}:[^\s@]{1,200}@|\beyJ[\w-]{10,}|\b(?:sk|pk|ghp|gho|xox[a-z]|glpat)[-_][\w-]{8,}"
    r"|\bAKIA[A-Z0-9]{12,}|\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,}"
    r"|\b(?=\w{32})(?=\w*\d)[0-9a-fA-F]{32,}\b|(?<![\w/])(?=\w{20})(?=\w*\d)(?=\w*[a-z])\w*[A-Z]"
)
_DATES = re.compile(
    r"\b\d{4}-\d{1,2}-\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2})?)?|\b\d{1,2}([./-])\d{1,2}\1\d{2,4}\b"
    r"|\b(?:1[89]|20)\d{2} ?[-–/] ?(?:1[89]|20)?\d{2}\b"
)
_DIGITS = re.compile(r"\d(?:[ .()/-]{0,2}\d){7,}|\d{7,}")


def holds_secret(text: str) -> bool:
    """Whether it names a password, code, key or account, or shows what looks like one.

    Long numbers count, telephone numbers among them; dates do not. It rather says so once too
    often.
    """
    small = text.lower()
    if _NAMED.search(small) or _VALUED.search(small) or _MADE.search(text):
        return True
    return _DIGITS.search(_DATES.sub(" ", text)) is not None
