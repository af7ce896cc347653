"""What stands beside a name: "Ana, a nurse, lives in Rome" is two statements."""

from __future__ import annotations

import re

from remanence.knowledge.extract.phrases import PERSON
from remanence.knowledge.extract.tables.verbs import Form, verb

_BESIDE = re.compile(
    rf"(?P<name>{PERSON})(?:,\s(?P<what>(?:an?|my|our|his|her)\s[^,;:()]{{2,50}}|\d{{1,3}}),"
    r"|\s\((?P<age>\d{1,3})\),?)(?=\s(?P<next>[a-z]+))"
)
_HELPERS = frozenset(
    ["is", "was", "has", "had", "will", "does", "did", "can", "just", "also", "now"]
)


def unfolded(sentence: str) -> list[str]:
    """The sentence without what stands beside its names, and that as sentences of their own.

    >>> unfolded("Ana, a nurse, lives in Rome")
    ['Ana lives in Rome', 'Ana is a nurse']
    """
    if "," not in sentence and "(" not in sentence:
        return [sentence]
    beside = [found for found in _BESIDE.finditer(sentence) if _goes_on(found["next"])]
    for found in reversed(beside):
        sentence = sentence[: found.end("name")] + sentence[found.end() :]
    return [sentence, *(f"{one['name']} is {one['what'] or one['age']}" for one in beside)]


def _goes_on(word: str) -> bool:
    known = verb(word)
    return word in _HELPERS or bool(known and known[1] & (Form.PRESENT | Form.PAST))
