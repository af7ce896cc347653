"""What sort of thing a name names, from the words around it and from tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from remanence.knowledge.extract.statement import Named
from remanence.knowledge.extract.tables.first_names import is_first_name
from remanence.knowledge.extract.tables.kin import FORMER, KIN, KIN_PLURALS, OTHERS
from remanence.knowledge.extract.tables.listing import words
from remanence.knowledge.extract.tables.places import is_place
from remanence.knowledge.extract.tables.tongues import LANGUAGES, PEOPLES
from remanence.model.knowledge import EntityType
from remanence.text.names import names

_ORGANISATION = re.compile(
    r"\b(?:Inc|Ltd|LLC|Corp|GmbH|University|College|Hospital|School|Institute|Bank|Company"
    r"|Foundation"
    r"|Museum|Club|Group|Labs?|Studios?|Agency|Association|Airlines|Academy|Ministry|Church|Library"
    r"|Clinic|Society|Team|Systems|Technologies|Consulting|Partners|Bakery|Restaurant|Media"
    r"|Press)\b"
)
_FIRMS = words(
    """
    google apple microsoft amazon facebook meta netflix tesla samsung sony nasa ibm intel oracle sap
    siemens bosch bmw volkswagen toyota honda volvo ikea nokia ericsson spotify uber airbnb twitter
    youtube instagram linkedin openai adobe nvidia starbucks walmart nestlé unilever philips
    shell bp
    unicef unesco nato eu un bbc cnn disney pixar nike adidas lego
    """
)
_TITLE = re.compile(r"(?:Dr|Mr|Mrs|Ms|Prof|Sir|Aunt|Uncle|Grandma|Grandpa)\b")
_PERSON_BEFORE = re.compile(
    r"\b(?:with|and|mentioned|know|remember|met|meet|called|call|told|tell|asked|ask|named|saw|see"
    r"|visit|visited|thanks"
    r"|hey|hi|hello|dear|by"
    r"|miss|love|loves|married|dating|invited|invite|from|to)\s$",
    re.IGNORECASE,
)
_PERSON_AFTER = re.compile(
    r"(?:'s)?\s+(?:(?:just|also|really|still|always|never|recently)\s+)?(?:is|was|has|had|said"
    r"|says|told|tells|asked|went|goes"
    r"|loves|likes|hates|enjoys|wants|needs|got|gets|works|worked|lives|lived|moved|plays|thinks"
    r"|thought"
    r"|knows|started|bought|came|comes|called|and I\b|will|studies|plans|speaks|turned|married"
    r"|graduated"
    r"|mom|dad|mother|father|sister|brother|wife|husband|friend|birthday|house)\b"
)
_PLACE_BEFORE = re.compile(
    r"\b(?:in|near|around|outside|across|visiting|visit|visited)\s(?:the\s)?$", re.I
)
_ORG_BEFORE = re.compile(r"\b(?:at|joined|joining|join|quit|left|for)\s(?:the\s)?$", re.IGNORECASE)
_KIN_BEFORE = re.compile(r"\b([a-z-]+),?\s$", re.IGNORECASE)
_MONTHS = words(
    """
    monday tuesday wednesday thursday friday saturday sunday january february march june july
    september october november december christmas easter halloween english
    """
)


def typed_names(text: str, speaker: Named, recent: Sequence[Named]) -> list[Named]:
    """The names of a text as capital letters show them, each with its type."""
    known = {one.text.lower(): one.type for one in (*recent, speaker)}
    return [Named(name, _type(text, name, known)) for name in names(text)]


def _type(text: str, name: str, known: dict[str, str]) -> str:
    low = name.lower()
    if low in known:
        return known[low]
    if low in LANGUAGES or low in PEOPLES or low in _MONTHS:
        return EntityType.TOPIC
    if _ORGANISATION.search(name) or low in _FIRMS:
        return EntityType.ORGANISATION
    at = max(text.find(name), 0)
    before, after = text[max(at - 24, 0) : at], text[at + len(name) : at + len(name) + 24]
    kin = _KIN_BEFORE.search(before)
    if _TITLE.match(name) or (kin and _is_kin(kin[1].lower())):
        return EntityType.PERSON
    if is_place(name) and (not is_first_name(name) or _PLACE_BEFORE.search(before)):
        return EntityType.PLACE
    return _by_cues(name, before, after)


def _is_kin(word: str) -> bool:
    return word in KIN or word in KIN_PLURALS or word in FORMER or word in OTHERS


def _by_cues(name: str, before: str, after: str) -> str:
    if is_first_name(name):
        return EntityType.PERSON
    if _PLACE_BEFORE.search(before):
        return EntityType.PLACE
    if _ORG_BEFORE.search(before):
        return EntityType.ORGANISATION
    if _PERSON_AFTER.match(after) or _PERSON_BEFORE.search(before):
        return EntityType.PERSON
    return EntityType.THING


def with_types(found: Iterable[Named], said: Iterable[Named]) -> tuple[Named, ...]:
    """The names, each once; what a statement says of a name's type goes before the cues."""
    table = {one.text.lower(): one for one in found}
    for one in said:
        table[one.text.lower()] = one
    return tuple(table.values())
