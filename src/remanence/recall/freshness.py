"""Importance and recency: both fade by the day, and neither outweighs meaning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from remanence.model.embedding import FloatArray
from remanence.recall.columns import Columns
from remanence.recall.postings import Rows
from remanence.recall.question import Question

DAY = 86_400_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """Weights of importance and recency in the score, and how fast each fades.

    importance x `decay`^days, and exp(-`time_weight` x days), as the episodic engine has them.
    """

    importance: float = 0.2
    recency: float = 0.3
    decay: float = 0.95
    time_weight: float = 0.1

    def shares(
        self, question: Question, columns: Columns, rows: Rows, now: int, time_weight: float | None
    ) -> tuple[FloatArray, FloatArray]:
        """What importance and recency add to the score of these rows.

        Recency is silent when the question speaks of a time or of the beginning, so that a new
        memory never buries the old answer to a question about the past.
        """
        days = np.maximum(now - columns.happened[rows], 0) / DAY
        importance = self.importance * columns.importance[rows] * self.decay**days
        rate = self.time_weight if time_weight is None else time_weight
        about_past = question.period is not None or question.recency_cue == "earliest"
        recency = np.zeros(len(rows)) if about_past else self.recency * np.exp(-rate * days)
        return importance.astype(np.float32), recency.astype(np.float32)
