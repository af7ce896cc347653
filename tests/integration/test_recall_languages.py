"""Notes in several languages in one memory, found by their words alone, inflected ones too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from remanence import Memory

NOTES = {
    "english": "The houses by the river were sold before the war",
    "german": "Die Häuser am Hafen sind schon verkauft",
    "french": "Les chevaux de ma tante sont dans le pré",
    "spanish": "Las hermanas de mi abuela eran muy altas",
    "italian": "Abbiamo lasciato i quaderni nell'armadio della zia",
    "portuguese": "As flores do meu vizinho não são para a festa",
    "dutch": "De huizen aan de gracht zijn nog te koop",
    "russian": "Мы оставили собаку у соседей до пятницы",
}
QUESTIONS = [
    ("german", "Wem gehört denn das Haus jetzt?"),
    ("german", "Haus Verkauf"),  # of no known language
    ("french", "Où est-ce que le cheval se trouve ?"),
    ("spanish", "¿Quién era el hermano más alto?"),
    ("italian", "Dov'è il quaderno?"),
    ("italian", "Che cosa c'era nell'armadio?"),
    ("portuguese", "De quem é a flor que está aqui?"),
    ("dutch", "Waar is er een huis voor ons?"),
    ("russian", "С кем сейчас собака и её миска?"),
    ("english", "Was the house sold?"),
    ("german", "What is it about the Hafen?"),
    ("french", "Wo wohnt denn die tante?"),
]


@pytest.fixture
def polyglot(kept_in: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Memory]:
    """A memory that has no model."""
    file = str(tmp_path / "memory.db")
    where = file if kept_in == "sqlite" else request.getfixturevalue("postgres_url")
    with Memory(where, tenant=str(uuid4()), embedder="none") as memory:
        memory.add_many(list(NOTES.values()))
        yield memory


@pytest.mark.parametrize(("language", "question"), QUESTIONS)
def test_a_note_is_found_by_an_inflected_question(
    polyglot: Memory, language: str, question: str
) -> None:
    [first, *_] = polyglot.search(question)
    assert first.memory.text == NOTES[language]


def test_an_update_changes_the_language_a_note_is_found_in(polyglot: Memory) -> None:
    note = polyglot.add("The kiosk is closed")
    polyglot.update(note.id, text="Die Bäume vor dem Kiosk sind krank")
    [first, *_] = polyglot.search("Was hat der Baum?")
    assert first.memory.id == note.id
    [index] = [one for one in polyglot.doctor() if one.check == "text index"]
    assert index.problems == 0
