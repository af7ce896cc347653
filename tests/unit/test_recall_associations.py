"""Names in a question reach memories two steps away, and fade on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from remanence.model.ports.store import Name, Tie
from remanence.recall.associations import DECAY, associations_of, moved


class Known:
    """What a store knows: names by number, and who speaks of whom."""

    def __init__(
        self,
        names: Sequence[str],
        spoken: Sequence[tuple[int, int]] = (),
        ties: Sequence[tuple[int, int, int]] = (),
    ) -> None:
        self.given = list(names)
        self.spoken = list(spoken)
        self.tied = list(ties)
        self.reads = 0

    def names(self, partition: int) -> Iterator[Name]:
        self.reads += 1
        return (Name(n + 1, str(n), name, "thing") for n, name in enumerate(self.given))

    def mentioned(
        self, partition: int, keys: Sequence[int] | None = None
    ) -> Iterator[tuple[int, int]]:
        return (pair for pair in self.spoken if keys is None or pair[0] in keys)

    def ties(self, partition: int) -> Iterator[Tie]:
        return (Tie(a, "knows", b, key) for a, b, key in self.tied)


def reached(known: Known, text: str, memories: int = 100) -> dict[int, float]:
    keys, strength = associations_of(known, 1).reached(text, memories)
    return dict(zip(keys.tolist(), strength.tolist(), strict=True))


def test_nothing_known_reaches_nothing() -> None:
    assert reached(Known([]), "Where is Ana?") == {}


def test_a_question_without_names_reaches_nothing() -> None:
    assert reached(Known(["Ana"], [(10, 1)]), "Where is the dog?") == {}


def test_a_name_reaches_who_speaks_of_it_and_fades_beyond() -> None:
    known = Known(["Ana", "Lisbon", "Porto"], [(10, 1), (10, 2), (11, 2), (12, 3)])
    found = reached(known, "Where did Ana go?")
    assert set(found) == {10, 11}
    assert found[10] > found[11] > 0
    assert found[11] == pytest.approx(DECAY / 2 / np.sqrt(2))


def test_what_is_tied_is_reached_without_a_memory_between() -> None:
    known = Known(["Ana", "Acme"], [(11, 2)], [(1, 2, 0)])
    assert reached(known, "Where does Ana work?") == {11: pytest.approx(DECAY)}


def test_a_memory_that_ties_names_speaks_of_both() -> None:
    known = Known(["Ana", "Acme"], [], [(1, 2, 10)])
    assert set(reached(known, "What of Acme?")) == {10}


def test_a_name_must_be_said_whole() -> None:
    known = Known(["New York", "Will"], [(10, 1), (11, 2)])
    assert reached(known, "What is new?") == {}
    assert reached(known, "What will she do in new york?") == {10: 1.0}


def test_who_is_spoken_of_everywhere_leads_nowhere_but_through_ties() -> None:
    everywhere = [(key, 1) for key in range(1, 51)]
    known = Known(["Ana", "Acme"], [*everywhere, (60, 2)], [(1, 2, 0)])
    assert set(reached(known, "Where does Ana work?", memories=100)) == {60}
    assert len(reached(known, "Where does Ana work?", memories=2000)) == 51


def test_changes_move_it_along_without_reading_all() -> None:
    known = Known(["Ana", "Lisbon"], [(10, 1), (11, 1)])
    held = associations_of(known, 1)
    known.spoken = [(10, 1), (12, 1)]
    now = moved(held, known, 1, [11, 12])
    assert known.reads == 1
    assert now.reached("Ana", 100)[0].tolist() == [10, 12]


def test_a_new_name_or_new_knowledge_is_read() -> None:
    known = Known(["Ana"], [(10, 1)])
    held = associations_of(known, 1)
    known.given.append("Lisbon")
    known.spoken.append((11, 2))
    now = moved(held, known, 1, [11])
    assert now.reached("Lisbon", 100)[0].tolist() == [11]
    known.tied.append((1, 2, 0))
    assert set(moved(now, known, 1, [0]).reached("Ana", 100)[0].tolist()) == {10, 11}
