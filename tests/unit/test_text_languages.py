"""The language of a text, and its words as that language reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.language.languages import (
    FEW_TERMS,
    MARKS,
    index_terms,
    language_of,
    length_of,
    query_terms,
    readings,
)
from remanence.language.words import MAX_TERM_BYTES, terms


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("german", "Wo ist der Schlüssel für den Keller?"),
        ("french", "Où est-ce que tu as mis l'échelle ?"),
        ("spanish", "¿Dónde están las llaves del coche?"),
        ("italian", "Dov'è la chiave dell'armadio?"),
        ("portuguese", "Onde estão as chaves do carro?"),
        ("dutch", "Waar zijn de sleutels van het huis?"),
        ("russian", "Где мои ключи от машины?"),
        ("english", "Where is the key to the cellar?"),
        ("english", "We met Der Spiegel's man in Las Vegas, and El Paso was on the way"),
        ("english", "I will also die in a war, so what"),
        ("english", "The café was at the end of the Rue de la Paix"),
        ("", "Ana"),
        ("", "VI. A."),
        ("", "Haus Verkauf"),
        ("", "La vie en rose"),
        ("", "我住在里斯本"),
        ("", ""),
    ],
)
def test_the_language_of_a_text(language: str, text: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("Welches Haus ist das?", "Die Häuser sind verkauft"),
        ("Wann war die Reparatur?", "Alle Reparaturen sind in der Liste"),
        ("Où est le cheval ?", "Les chevaux sont dans le pré"),
        ("Qui va manger avec nous ?", "Nous mangerons chez ma tante"),
        ("¿Quién era el hermano?", "Las hermanas de mi abuela"),
        ("¿Dónde vive el niño?", "Los niños están en la escuela"),
        ("Dov'è il quaderno?", "Abbiamo lasciato i quaderni nell'ufficio"),
        ("Che cosa c'è nell'ufficio?", "Le chiavi dell'ufficio sono qui con me"),
        ("De quem é a flor?", "As flores do meu vizinho não estão aqui"),
        ("Onde está o menino?", "As meninas da escola são minhas primas"),
        ("Waar is er een huis?", "De huizen zijn nog te koop"),
        ("Wie heeft er een kat?", "De katten van mijn zus"),
        ("С кем собака?", "Мы оставили собаку у соседей"),
    ],
)
def test_an_inflected_word_is_met_in_its_language(asked: str, told: str) -> None:
    wanted = {term for word in readings(asked).values() for term in word}
    assert wanted & set(index_terms(told))


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("Haus", "Die Häuser sind verkauft"),  # of no known language
        ("Was ist mit der Heizung?", "Heizung gewartet, Druck erhöht"),
        ("Wo wohnt denn diese Ana?", "Ana lives in Lisbon"),
        ("Where does Ana live?", "Ana wohnt jetzt in der Stadt und das ist gut"),
        ("Où est-ce que Ana est allée ?", "Ana wohnt jetzt in der Stadt und das ist gut"),
    ],
)
def test_a_word_is_met_though_the_languages_differ(asked: str, told: str) -> None:
    assert language_of(asked) != language_of(told)
    wanted = {term for word in readings(asked).values() for term in word}
    assert wanted & set(index_terms(told)) & {"haus·de", "heizung", "ana"}


@pytest.mark.parametrize(
    "text", ["The cats were running home", "Cats run", "Les 400 coups", "Мы у соседей", "", "я"]
)
def test_a_text_in_english_or_of_no_known_language_has_its_plain_terms(text: str) -> None:
    assert index_terms(text) == terms(text)


def test_a_text_in_another_language_has_its_stems_besides() -> None:
    text = "Die Häuser am Hafen sind alt, 3.5 km von Łódź"
    found = index_terms(text)
    plain = terms(text)
    assert found[: len(plain)] == plain
    assert found[len(plain) :] == ["haus·de", "haf·de", "alt·de", "km·de", "lodz·de"]
    assert length_of(found) == len(plain)


@given(st.text())
def test_what_an_index_holds_is_short_and_counted_once(text: str) -> None:
    found = index_terms(f"wo sind die {text} und der")
    assert all(len(term.encode()) <= MAX_TERM_BYTES for term in found)
    assert length_of(found) == len(terms(f"wo sind die {text} und der"))


def test_query_terms_leave_out_stop_words_unless_nothing_is_left() -> None:
    assert query_terms("What did Ana say about the kids' trip to Ana?") == [
        "ana",
        "say",
        "kid",
        "trip",
    ]
    assert query_terms("Who are you?") == ["who", "are", "you"]
    assert query_terms("") == []
    assert query_terms("Wann war die Reise nach Rom?") == ["reis", "rom"]
    assert query_terms("Dove sono gli appunti dell'acqua?") == ["appunti", "acqua"]
    assert query_terms("Wer bist du und wo ist sie?") == ["bist"]


def test_a_question_in_english_is_looked_up_as_it_is() -> None:
    asked = "Where did Ana put the keys of the houses?"
    assert readings(asked) == {"put": ("put",), "ana": ("ana",), "key": ("key",), "hous": ("hous",)}


def test_no_reading_is_looked_up_twice() -> None:
    found = readings("Wo ist das Haus und wo sind die Häuser?")
    assert found == {"haus": ("haus", "haus·de"), "hauser": ("hauser",)}


def test_a_short_question_of_no_known_language_is_looked_up_in_all() -> None:
    [haus] = readings("Häuser").values()
    assert haus[0] == "hauser"
    assert sorted(term[-3:] for term in haus[1:]) == sorted(MARKS.values())
    long = " ".join(f"wort{chr(97 + n)}" for n in range(FEW_TERMS + 1))
    assert all(len(one) == 1 for one in readings(long).values())
