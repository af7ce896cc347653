"""The adapter by itself: identity at zero, what fitting finds, packing, and values not to trust."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from remanence.consolidation.learning.adapter import (
    HEAVIEST,
    Ballot,
    Studied,
    anchor_questions,
    as_it_is,
    fit_bridges,
    fit_map,
    helped,
    mean_direction,
    weigh,
)
from remanence.model.embedding import Fingerprint, FloatArray
from remanence.recall.adapter import (
    MOST_BRIDGES,
    MOST_RANK,
    Adapter,
    Learned,
    Unusable,
    packed,
    units,
    unpacked,
)
from remanence.recall.ranker import Ranker

DIMENSION = 24
BY = Fingerprint("test", "0" * 32, DIMENSION, "mean")
PLAIN = Ranker.from_table({"words": (0.1, 0.2, 0.5), "form.length": (0.0, 1.0, -0.1)}, -1.0)


def unit(values: FloatArray) -> FloatArray:
    return np.asarray(values / np.linalg.norm(values, axis=-1, keepdims=True), np.float32)


def vectors(count: int, seed: int) -> FloatArray:
    return unit(np.random.default_rng(seed).normal(size=(count, DIMENSION)).astype(np.float32))


def adapter(**more: Any) -> Adapter:
    none = np.zeros((DIMENSION, 0), np.float32)
    given: dict[str, Any] = {"out": none, "into": none, "bridges": {}, "weights": (0.0, 0.0)}
    return Adapter(**{"version": 1, "ranker": PLAIN, **given, **more})


def studied(
    terms: str, words: str, others: str = "", vector: int = 0, target: int | None = None
) -> Studied:
    return Studied(
        query=terms,
        vector=vectors(1, vector)[0],
        target=None if target is None else vectors(1, target)[0],
        terms=tuple(terms.split()),
        words=frozenset(words.split()),
        others=frozenset(others.split()),
    )


def test_an_adapter_that_learned_nothing_changes_nothing() -> None:
    asked = vectors(1, 1)[0]
    zero = np.zeros((DIMENSION, 4), np.float32)
    assert adapter().moved(asked) is asked
    assert np.allclose(adapter(out=zero, into=zero).moved(asked), asked)
    assert adapter().meant(["anything"]) == {}
    nothing = Learned(adapter(), asked, np.zeros(0, np.float32))
    pool = vectors(5, 2)
    assert not nothing.figures(pool, pool @ asked, np.arange(5)).any()


def test_the_map_brings_questions_to_what_helped_and_holds_the_anchors() -> None:
    asked, wanted, others = vectors(4, 1), vectors(4, 2), vectors(40, 3)
    told = [
        Studied(
            query=f"{n}",
            vector=asked[n],
            target=wanted[n],
            terms=(),
            words=frozenset(),
            others=frozenset(),
        )
        for n in (0, 1, 2, 3) * 5
    ]
    out, into = fit_map(told, others)
    assert out.shape == into.shape == (DIMENSION, MOST_RANK)
    made = adapter(out=out, into=into)
    for one, target in zip(asked, wanted, strict=True):
        assert made.moved(one) @ target > one @ target + 0.2
        assert np.isclose(np.linalg.norm(made.moved(one)), 1, atol=1e-5)
    assert np.mean([made.moved(one) @ one for one in others]) > 0.95


def test_a_map_without_examples_is_none() -> None:
    out, into = fit_map([studied("a", "b")], vectors(3, 1))
    assert out.shape == into.shape == (DIMENSION, 0)


def test_bridges_lead_from_private_words_to_what_marks_their_memories() -> None:
    told = [
        *(studied(f"whale {n}", f"harbour logist {n}x") for n in ("price", "call", "due")),
        *(studied(f"viking {n}", f"tobia {n}x") for n in ("price", "call", "due")),
        *(studied(f"big bear {n}", f"emeka {n}x") for n in ("price", "call", "due")),
    ]
    bridges = fit_bridges(told, {"price": 9, "call": 9, "due": 9, "big": 2})
    assert set(bridges["whale"]) == {"harbour", "logist"}
    assert set(bridges["viking"]) == {"tobia"}
    assert set(bridges["big bear"]) == {"emeka"}
    assert "big" not in bridges
    assert "bear" not in bridges
    found = adapter(bridges=bridges).meant(["whale", "price"])
    assert set(found) >= {"harbour", "logist"}
    assert all(0 < strength <= 1 for strength in found.values())


def test_a_word_that_stands_in_what_helped_needs_no_bridge() -> None:
    told = [studied(f"ana {n}", f"ana lisbon {n}x") for n in ("price", "call", "due")]
    assert "ana" not in fit_bridges(told, {"ana": 3})


def test_one_question_is_enough_only_for_a_word_nobody_else_uses() -> None:
    told = [studied("whale due", "harbour"), *(studied(f"{n}", f"{n}x") for n in "abcdef")]
    assert "whale" in fit_bridges(told, {"due": 4})
    assert "whale" not in fit_bridges(told, {"due": 4, "whale": 1})


def test_what_was_called_useless_weakens_a_bridge() -> None:
    for_it = [studied(f"whale {n}", "harbour boat") for n in "abc"]
    against = [
        replace(one, words=frozenset({"harbour"}), others=frozenset({"boat"})) for one in for_it
    ]
    rest = [studied(f"{n}", f"{n}x") for n in "def"]
    led = fit_bridges([*for_it, *against, *rest], {})["whale"]
    assert "harbour" in led
    assert "boat" not in led


def ballots(helping: bool, count: int = 40) -> list[Ballot]:
    random = np.random.default_rng(5)
    found = []
    for _ in range(count):
        scores = random.normal(size=20).astype(np.float32)
        useful = np.zeros(20, bool)
        useful[random.integers(20)] = True
        learned = random.uniform(0, 0.2, size=(20, 2)).astype(np.float32)
        if helping:
            learned[useful] += np.float32(0.6)
        raised, wanted = helped(scores, useful, np.zeros(20, bool))
        signals = random.normal(size=(20, 3)).astype(np.float32)
        found.append(Ballot(raised, learned, signals, wanted))
    return found


def test_weights_follow_what_helps_and_never_turn_against_a_memory() -> None:
    weights = weigh(ballots(helping=True))
    assert max(weights.learned) > 1
    assert (np.array(weights.learned) <= HEAVIEST).all()
    for found in (weigh(ballots(helping=False)), weigh([])):
        assert min(found.learned) >= 0
    against = [replace(one, learned=-one.learned) for one in ballots(helping=True)]
    assert weigh(against).learned == (0.0, 0.0)
    assert np.abs(weights.change).max() < 0.5


def test_questions_that_are_to_stay_hold_the_weights() -> None:
    free = weigh(ballots(helping=True, count=4))
    still = []
    for one in ballots(helping=False, count=60):
        scores, wanted = as_it_is(one.scores * 3)
        still.append(replace(one, scores=scores, wanted=wanted, learned=one.learned * 5))
    held = weigh([*ballots(helping=True, count=4), *still])
    assert sum(held.learned) < sum(free.learned)


def test_a_mean_direction_is_a_unit_vector_or_none() -> None:
    found = mean_direction(vectors(3, 1))
    assert found is not None
    assert np.isclose(np.linalg.norm(found), 1)
    assert mean_direction([]) is None
    assert mean_direction([np.zeros(3, np.float32)]) is None


def test_units_are_words_and_neighbours() -> None:
    assert list(units(["a", "b", "c"])) == ["a", "b", "c", "a b", "b c"]
    assert list(units([])) == []


def test_anchors_are_many_and_different() -> None:
    assert len(set(anchor_questions())) == len(anchor_questions()) >= 60


def full() -> Adapter:
    parts = vectors(DIMENSION, 7)[:, :3]
    changed = PLAIN.changed({"form.length": 0.25})
    bridges = {"whale": {"harbour": 0.9}}
    return adapter(out=parts, into=parts, bridges=bridges, weights=(2.0, 3.0), ranker=changed)


def test_packing_and_back() -> None:
    made = full()
    back = unpacked(packed(made, PLAIN, BY), 7, PLAIN, BY)
    assert (back.version, back.weights, dict(back.bridges)) == (7, (2.0, 3.0), dict(made.bridges))
    assert np.allclose(back.out, made.out, atol=1e-3)
    assert np.allclose(back.ranker.weight, made.ranker.weight)


def test_another_embedder_or_ranker_is_told_apart() -> None:
    value = packed(full(), PLAIN, BY)
    with pytest.raises(Unusable, match="embedder"):
        unpacked(value, 1, PLAIN, replace(BY, dimension=25))
    with pytest.raises(Unusable, match="ranker"):
        unpacked(value, 1, PLAIN.changed({"words": 0.1}), BY)


@pytest.mark.parametrize(
    "wrong",
    [
        {"format": 2},
        {"rank": -1},
        {"rank": 17},
        {"rank": "3"},
        {"rank": 2},
        {"out": None},
        {"out": "&&&"},
        {"out": ""},
        {"into": "AAAA"},
        {"bridges": None},
        {"bridges": {"a": 3}},
        {"bridges": {"a": {"b": float("nan")}}},
        {"bridges": {f"{n}": {} for n in range(MOST_BRIDGES + 1)}},
        {"bridges": {"a": {f"{n}": 0.1 for n in range(99)}}},
        {"weights": {}},
        {"weights": {"learned.vector": 1e9, "learned.words": 0}},
        {"weights": {"learned.vector": True, "learned.words": 0}},
        {"change": [1]},
        {"change": {"words": float("inf")}},
    ],
)
def test_a_damaged_value_is_never_used(wrong: dict[str, Any]) -> None:
    with pytest.raises(Unusable):
        unpacked(packed(full(), PLAIN, BY) | wrong, 1, PLAIN, BY)


def test_an_infinite_map_is_never_used() -> None:
    broken = replace(full(), out=np.full((DIMENSION, 3), np.inf, np.float32))
    with pytest.raises(Unusable):
        unpacked(packed(broken, PLAIN, BY), 1, PLAIN, BY)
