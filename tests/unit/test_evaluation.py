"""Metrics, the regression and the readers of question sets, on data made here."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from remanence.errors import InvalidInput
from remanence.tools.evaluation.datasets import Probe, load_corpora
from remanence.tools.evaluation.logistic import fit
from remanence.tools.evaluation.run import all_at, any_at, ndcg_at, recall_at, reciprocal_rank
from remanence.tools.evaluation.training import Sample, left_out, train

RANKED = ["a", "b", "c", "d"]

LOCOMO = {
    "sample_id": "made-up",
    "conversation": {
        "speaker_a": "Ida",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ida", "dia_id": "D1:1", "text": "I bought a kite."},
            {"speaker": "Uwe", "dia_id": "D1:2", "text": "Look", "blip_caption": "a red kite"},
        ],
    },
    "qa": [
        {"question": "What did Ida buy?", "evidence": ["D:1:01; D1:2"], "category": 4},
        {"question": "Nothing?", "evidence": [], "category": 5},
    ],
}
LONGMEMEVAL = {
    "question_id": "q1",
    "question_type": "single-session-user",
    "question": "What did I buy?",
    "question_date": "2023/05/30 (Tue) 23:40",
    "answer_session_ids": ["s2"],
    "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 02:21"],
    "haystack_session_ids": ["s1", "s2"],
    "haystack_sessions": [
        [{"role": "user", "content": "Hello"}],
        [{"role": "user", "content": "I bought a kite", "has_answer": True}],
    ],
}


def test_metrics() -> None:
    assert recall_at(RANKED, {"b", "z"}, 2) == 0.5
    assert (any_at(RANKED, {"d"}, 3), any_at(RANKED, {"d"}, 4)) == (0, 1)
    assert (all_at(RANKED, {"a", "c"}, 2), all_at(RANKED, {"a", "c"}, 3)) == (0, 1)
    assert ndcg_at(RANKED, {"a", "b"}, 10) == pytest.approx(1)
    assert reciprocal_rank(RANKED, {"c"}) == pytest.approx(1 / 3)
    assert reciprocal_rank(RANKED, {"z"}) == 0


def test_the_regression_finds_the_direction_that_chose_the_gold() -> None:
    rng = np.random.default_rng(11)
    figures = rng.normal(size=(1000, 20, 3)) * [1, 10, 1] + [0, 5, 0]
    worth = 2 * figures[..., 0] - 0.1 * figures[..., 1] + rng.gumbel(size=(1000, 20))
    gold = worth == worth.max(axis=1, keepdims=True)
    starts = np.arange(0, 20_000, 20)
    fitted = fit(
        figures.reshape(-1, 3), gold.ravel(), starts, np.ones(20_000), np.full(3, 0.1), np.zeros(3)
    )
    true = fitted.weight / fitted.scale
    assert true[0] == pytest.approx(2, rel=0.1)
    assert true[1] == pytest.approx(-0.1, rel=0.15)
    assert abs(true[2]) < 0.1
    scores = fitted.score(figures.reshape(-1, 3))
    assert np.median(scores[gold.ravel()]) > 0 > np.median(scores[~gold.ravel()])


def test_what_is_the_same_for_a_whole_pool_teaches_nothing() -> None:
    rng = np.random.default_rng(5)
    figures = rng.normal(size=(200, 10, 2))
    figures[..., 1] = rng.normal(size=(200, 1))
    gold = figures[..., 0] == figures[..., 0].max(axis=1, keepdims=True)
    gold[figures[:, 0, 1] > 0, 0] = True
    rows = figures.reshape(-1, 2)
    fitted = fit(rows, gold.ravel(), np.arange(0, 2000, 10), np.ones(2000), np.ones(2), np.zeros(2))
    assert fitted.weight[0] > 0.5
    assert abs(fitted.weight[1]) < 1e-6


def test_locomo_evidence_is_repaired_and_captions_are_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "set.json").write_text(json.dumps([LOCOMO]))
    [corpus] = load_corpora(tmp_path)
    assert [turn.text for turn in corpus.turns] == ["I bought a kite.", "Look [photo: a red kite]"]
    [probe] = corpus.probes
    assert probe.turns == {"D1:1", "D1:2"}
    assert probe.sessions == {"D1"}
    assert corpus.turns[0].at.isoformat() == "2023-05-08T13:56:00+00:00"


def test_realtalk_is_read_turn_by_turn(tmp_path: Path) -> None:
    entry = {
        "name": {"speaker_1": "Ida Berg", "speaker_2": "Uwe"},
        "session_1_date_time": "29.12.2023, 22:36:55",
        "session_1": [
            {
                "clean_text": "I bought a kite.",
                "speaker": "Ida Berg",
                "date_time": "29.12.2023, 22:37:10",
                "dia_id": "D1:1",
            }
        ],
        "qa": [{"question": "What did Ida buy?", "evidence": ["D1:1"], "category": 2}],
    }
    (tmp_path / "chat.json").write_text(json.dumps(entry))
    [corpus] = load_corpora(tmp_path)
    assert (corpus.dataset, corpus.probes[0].category) == ("realtalk", "temporal")
    assert corpus.turns[0].at.isoformat() == "2023-12-29T22:37:10+00:00"
    assert corpus.turns[0].speaker == "Ida Berg"


def test_longmemeval_gold_and_abstentions(tmp_path: Path) -> None:
    entries = [LONGMEMEVAL, LONGMEMEVAL | {"question_id": "q2_abs"}]
    with gzip.open(tmp_path / "set.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(entry) + "\n" for entry in entries)
    first, second = load_corpora(tmp_path)
    assert first.probes[0].turns == {"1:0"}
    assert first.probes[0].sessions == {"s2"}
    assert second.probes == ()


@pytest.mark.parametrize("content", ["{", "[{}]", '[{"qa": 3}]'])
def test_other_files_are_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "set.json").write_text(content)
    with pytest.raises(InvalidInput, match="set"):
        list(load_corpora(tmp_path))


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="There is no"):
        list(load_corpora(tmp_path))


NAMES = ("vector", "words", "time")


def sample(corpus: str, *, gold: str = "0", seed: int = 3, memories: int = 8) -> Sample:
    figures = np.random.default_rng(seed).normal(size=(memories, len(NAMES))).astype(np.float32)
    figures[0] += 2
    probe = Probe(
        question="?",
        category="made-up",
        now=datetime(2024, 1, 1, tzinfo=UTC),
        turns=frozenset({gold}),
        sessions=frozenset(),
    )
    ids = tuple(map(str, range(memories)))
    return Sample("locomo", corpus, probe, ids, ids, figures)


def test_unknown_figures_leave_the_weights_finite() -> None:
    known, bare = sample("a"), sample("b", seed=4)
    bare.figures[2:, 0] = bare.figures[:, 2] = known.figures[:, 2] = np.nan
    fitted = train([known, bare], NAMES)
    assert np.isfinite([*fitted.weight, *fitted.mean, *fitted.scale, fitted.base]).all()
    assert fitted.mean[2] == 0
    assert np.isfinite(fitted.score(bare.figures)).all()


def test_only_what_can_be_left_out_is() -> None:
    one, two, hopeless = sample("a"), sample("b", seed=4), sample("c", gold="elsewhere")
    assert left_out([one], NAMES) == {}
    assert set(left_out([one, two], NAMES)) == {0, 1}
    assert set(left_out([one, hopeless], NAMES)) == {1}


@pytest.mark.parametrize("samples", [[], [sample("a", gold="z")], [sample("a", memories=1)]])
def test_without_answers_in_reach_there_is_nothing_to_learn(samples: list[Sample]) -> None:
    with pytest.raises(InvalidInput, match="nothing to learn"):
        train(samples, NAMES)
