"""The finder of names that the settings choose."""

from __future__ import annotations

from remanence.config import Settings
from remanence.knowledge.extract.statement import NameFinder


def make_name_finder(settings: Settings) -> NameFinder | None:
    """None for the rules, which need nothing; spaCy's model is loaded by the first text."""
    if settings.name_finder == "rules":
        return None
    from remanence.knowledge.extract.spacy_names import SpacyNames

    return SpacyNames()
