"""Names by spaCy's small model, loaded for real."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from remanence.errors import ConfigError
from remanence.language.english.extraction.name_types import MAX_TEXT, SpacyNames
from remanence.language.english.extraction.statement import NamedEntity


@pytest.fixture(scope="module")
def find() -> SpacyNames:
    return SpacyNames()


@pytest.mark.slow
def test_people_and_places_have_their_type(find: SpacyNames) -> None:
    found = find("My sister Lena moved to Graz, and Lena loves Graz.")
    assert found == [NamedEntity("Lena", "person"), NamedEntity("Graz", "place")]


def test_dates_and_numbers_are_no_names(find: SpacyNames) -> None:
    assert find("We met on 3 May 2019 at 5 pm and ate two cakes for 20 euros.") == []


def test_articles_and_possessives_are_left_off(find: SpacyNames) -> None:
    names = [one.text for one in find("I read it in the New York Times. That is Angela's dog.")]
    assert names == ["New York Times", "Angela"]


@pytest.mark.parametrize("text", ["", "  \n ", "🙂🙂", "\0", "ok"])
def test_nothing_is_found_in_nothing(find: SpacyNames, text: str) -> None:
    assert find(text) == []


@pytest.mark.slow
def test_a_long_text_is_read_from_its_start_only(find: SpacyNames) -> None:
    assert find("Lena lives in Graz. " + "x " * MAX_TEXT + "Then Maria met Peter in Paris.") == [
        NamedEntity("Lena", "person"),
        NamedEntity("Graz", "place"),
    ]


@pytest.mark.slow
def test_several_threads_share_one_model() -> None:
    find = SpacyNames()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(find, ["Lena lives in Graz."] * 8))
    assert found == [[NamedEntity("Lena", "person"), NamedEntity("Graz", "place")]] * 8


def test_a_missing_model_says_what_to_install() -> None:
    with pytest.raises(ConfigError, match=r"remanence\[spacy\]"):
        SpacyNames("en_no_such_model")("Lena lives in Graz.")


def test_without_spacy_only_the_first_text_fails() -> None:
    program = (
        "import sys; sys.modules['spacy'] = None\n"
        "from remanence.errors import ConfigError\n"
        "from remanence.language.english.extraction.name_types import SpacyNames\n"
        "find = SpacyNames()\n"
        "try: find('Lena')\n"
        "except ConfigError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "pip install 'remanence[spacy]'" in done.stdout
