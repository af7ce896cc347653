"""How well a model knows its examples: mean loss of the answers, and how many it would say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from remanence.learn.lora.encoding import IGNORED, Encoded, stack
from remanence.learn.lora.models import Loaded

BATCH = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """`loss` is the mean over examples of the mean over their answers' tokens.

    `recalled` counts the examples whose answer the model gives word for word when it always takes
    the likeliest token.
    """

    examples: int
    loss: float
    recalled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was known before and after, of the new examples and of the old, if there were any."""

    new_before: Score
    new_after: Score
    old_before: Score | None
    old_after: Score | None

    @property
    def new_change(self) -> float:
        """How the loss on new examples changed: -0.5 is a fall by half."""
        return _change(self.new_before, self.new_after)

    @property
    def old_change(self) -> float | None:
        """How the loss on old examples changed: 0.1 is a rise by a tenth."""
        if self.old_before is None or self.old_after is None:
            return None
        return _change(self.old_before, self.old_after)


def score(loaded: Loaded, encoded: Sequence[Encoded]) -> Score:
    """Measure a model, as it is, on some examples."""
    import torch

    loaded.model.eval()
    loss, recalled = 0.0, 0
    with torch.no_grad():
        for start in range(0, len(encoded), BATCH):
            losses, right = _look(loaded, encoded[start : start + BATCH])
            loss += float(losses.sum())
            recalled += int(right.sum())
    return Score(examples=len(encoded), loss=loss / len(encoded), recalled=recalled)


def answer_losses(logits: Any, labels: Any) -> Any:
    """The mean loss of each example's answer."""
    from torch.nn.functional import cross_entropy

    ahead = logits[:, :-1].float().transpose(1, 2)
    each = cross_entropy(ahead, labels, ignore_index=IGNORED, reduction="none")
    return each.sum(1) / (labels != IGNORED).sum(1)


def _look(loaded: Loaded, encoded: Sequence[Encoded]) -> tuple[Any, Any]:
    """Losses, and whether each answer is what greedy decoding would give.

    It is exactly when every token of it is the likeliest after those before it, so one pass over
    the answers tells, without generating.
    """
    inputs, labels = stack(encoded, loaded.tokenizer.eos_token_id, loaded.device)
    logits = loaded.model(**inputs).logits
    likeliest = logits[:, :-1].argmax(-1)
    right = ((likeliest == labels) | (labels == IGNORED)).all(1)
    return answer_losses(logits, labels), right


def _change(before: Score, after: Score) -> float:
    return after.loss / max(before.loss, 1e-9) - 1
