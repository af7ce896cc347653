"""Ways to reach somebody: an address of mail, a telephone number."""

from __future__ import annotations

import re
from collections.abc import Iterable

from remanence.knowledge.extract.rule import Found
from remanence.knowledge.extract.subjects import OWNER, People

_ADDRESS = r"[\w.+-]{1,64}@[\w-]{1,60}(?:\.[\w-]{1,30}){1,4}"
_NUMBER = r"\+?\d[\d\s().-]{5,20}\d"
_IS = r"\s*(?:is|:|(?:has\s+)?changed(?:\s+to)?|=|\bby the way\b|,|\bnow\b|\s)*\s*"
_WHOSE = rf"(?P<owner>{OWNER}|(?i:new))\s+(?:\w+\s+){{0,2}}?"
_MAIL = re.compile(rf"{_WHOSE}e-?mail(?:\s+address)?{_IS}(?P<value>{_ADDRESS})")
_PHONE = re.compile(
    rf"{_WHOSE}(?:(?:phone|mobile|cell|telephone)(?:\s+number)?|number){_IS}(?P<value>{_NUMBER})"
)
_REACH = re.compile(
    rf"\b(?:reach|e-?mail|contact|find|write to) me (?:at|on|via)\s+(?P<mail>{_ADDRESS})"
    rf"|\b(?:reach|call|text|contact|ring) me (?:at|on)\s+(?P<phone>{_NUMBER})",
    re.IGNORECASE,
)


def contacts(text: str, people: People) -> Iterable[Found]:
    """The addresses and numbers that a text gives, and whose they are."""
    if "@" not in text and not any(mark.isdigit() for mark in text):
        return
    for predicate, pattern in (("email", _MAIL), ("phone", _PHONE)):
        for found in pattern.finditer(text):
            new = found["owner"].lower() == "new"
            owner = people.speaker if new else people.owner(found["owner"])
            if owner:
                yield Found(predicate, found["value"].strip(), subject=owner)
    for found in _REACH.finditer(text):
        predicate = "email" if found["mail"] else "phone"
        yield Found(predicate, (found["mail"] or found["phone"]).strip(), subject=people.speaker)
