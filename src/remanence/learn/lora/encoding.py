"""Examples as tokens: the chat template's prompt, then the answer that the loss is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from remanence.learn.lora.examples import Example

IGNORED = -100  # torch's cross entropy leaves labels of this value out


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """The tokens of an example; the last `answer` of them, its end included, are the answer."""

    tokens: tuple[int, ...]
    answer: int


def encode(example: Example, tokenizer: Any, max_tokens: int) -> Encoded:
    """The tokens as the model will see them in use: default system prompt and all."""
    prompt = tokenizer.apply_chat_template(
        example.messages[:-1], tokenize=False, add_generation_prompt=True
    )
    asked = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    told = tokenizer(example.answer, add_special_tokens=False)["input_ids"]
    room = max(1, max_tokens - len(asked) - 1)
    answer = [*told[:room], tokenizer.eos_token_id]
    return Encoded(tokens=(*asked, *answer), answer=len(answer))


def stack(encoded: Sequence[Encoded], pad: int, device: str) -> tuple[dict[str, Any], Any]:
    """Model inputs and labels, padded on the left, so that all answers end together.

    The labels are of the positions that `logits_to_keep` leaves, one token ahead.
    """
    import torch

    longest = max(len(one.tokens) for one in encoded)
    most = max(one.answer for one in encoded)
    blanks = [longest - len(one.tokens) for one in encoded]
    rows = [[pad] * n + list(one.tokens) for n, one in zip(blanks, encoded, strict=True)]
    mask = [[0] * n + [1] * len(one.tokens) for n, one in zip(blanks, encoded, strict=True)]
    labels = [
        [IGNORED] * (most - one.answer) + list(one.tokens[len(one.tokens) - one.answer :])
        for one in encoded
    ]
    places = [
        [0] * n + list(range(len(one.tokens))) for n, one in zip(blanks, encoded, strict=True)
    ]
    inputs = {
        "input_ids": torch.tensor(rows, device=device),
        "attention_mask": torch.tensor(mask, device=device),
        "position_ids": torch.tensor(places, device=device),
        "logits_to_keep": most + 1,
    }
    return inputs, torch.tensor(labels, device=device)
