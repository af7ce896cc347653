"""The times a text speaks of, as a hit tells them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from remanence import Memory
from remanence.language.traits import said_times

# A Monday.
AT = datetime(2023, 6, 12, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Last week was wild.", {"Last week": "the week of 2023-06-05"}),
        ("I took a workshop about a month ago.", {"about a month ago": "about 2023-05-12"}),
        ("I have been a member since May 15.", {"since May 15": "since 2023-05-15"}),
        ("I've had them for 3 years now.", {"for 3 years now": "since about 2020"}),
        ("I'm going to Porto on Friday.", {"Friday": "2023-06-16"}),
        ("I went to Porto on Friday.", {"Friday": "2023-06-09"}),
        ("Porto on Friday?", {}),
        ("We checked in and explored the city the next day.", {}),
        ("I met April.", {}),
        ("I talk to 2 people.", {}),
    ],
)
def test_the_times_a_text_speaks_of(text: str, told: dict[str, str]) -> None:
    assert {one.text: one.when for one in said_times(text, AT)} == told


def test_a_hit_tells_the_times_its_text_speaks_of() -> None:
    with Memory(":memory:") as memory:
        memory.add("We camped by the lake around 2016.", happened_at=AT)
        [hit] = memory.search("the lake")
    assert [(one.text, one.when) for one in hit.times] == [("around 2016", "about 2016")]
