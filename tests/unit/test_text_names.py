from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.language.names import mentions_name, names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did Ana's sister buy in New York on Monday?", ["Ana", "New York"]),
        ("I met Dr. Ana Silva.", ["Dr. Ana Silva"]),
        ("Maria went to Paris with John.", ["Maria", "Paris", "John"]),
        ("We saw the Museum of Modern Art", ["Museum of Modern Art"]),
        ("Thanks Melanie! That's kind", ["Melanie"]),
        ("Hey Tom, I'm off to NASA in May", ["Tom", "NASA"]),
        ("Running is fun. Dinner was great. Wow", []),
        ("I think I'm fine. The end", []),
        ("where does ana live", []),
        ("I THINK ANA IS GREAT", []),
        ("You are SO LUCKY", []),
        ("Ana likes Ana", ["Ana"]),
        ("chez Zoë à Liège", ["Zoë", "Liège"]),
        ("We can't. Don't Ask told me Let's Go", ["Ask", "Go"]),
        ("You'll Love Porto", ["Love Porto"]),
        ("Priya paints. Pottery calms.", ["Priya"]),
        ("", []),
    ],
)
def test_names(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@given(st.text(alphabet=st.sampled_from("ABab .'’!?\nÉ&-"), max_size=60))
def test_names_stand_in_the_text(text: str) -> None:
    found = names(text)
    assert len(set(found)) == len(found)
    assert all(name in text and name.strip() == name for name in found)


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("where is ana's house?", "Ana Silva", True),
        ("banana", "Ana", False),
        ("Café with ZOE", "Zoë", True),
        ("will you come", "Will", False),
        ("Did Will come", "Will", True),
        ("我和小明去了", "小明", True),
        ("the Silva house", "Ana Silva", False),
        ("see dr ana", "Dr. Ana", True),
        ("anything", "", False),
    ],
)
def test_mentions_name(text: str, name: str, expected: bool) -> None:
    assert mentions_name(text, name) is expected


@given(st.text(), st.text())
def test_mentions_name_takes_anything(text: str, name: str) -> None:
    mentions_name(text, name)
