"""A model's answer as sleep takes it: JSON of the form asked for, or an error and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from remanence.errors import LanguageModelError
from remanence.ports.language_model import ChatMessage, LanguageModel
from remanence.text.fences import Fence, fenced
from remanence.text.thoughts import without_thoughts


def refused(why: str) -> LanguageModelError:
    """Why an answer is not used, in words that quote none of it."""
    return LanguageModelError(
        f"The model's answer for sleep was refused: {why}. Nothing was changed; run the step "
        "without the model, or use a more capable one."
    )


def asked(
    model: LanguageModel, ask: str, data: str, tool: str, schema: Mapping[str, Any], most: int
) -> Mapping[str, Any]:
    """What the model gives for `data`, which it is shown as data; else `LanguageModelError`."""
    messages: Sequence[ChatMessage] = (
        {"role": "system", "content": ask},
        {"role": "user", "content": fenced(Fence.MEMORIES, data)},
    )
    described = {"name": tool, "description": "Give the answer.", "parameters": schema}
    tools = ({"type": "function", "function": described},)
    reply = model.reply(messages, tools=tools, max_tokens=most, temperature=0.0)
    if reply.finish == "length":
        raise refused("it is cut short")
    if [call for call in reply.tool_calls if call.name != tool] or len(reply.tool_calls) > 1:
        raise refused("it calls what was not offered")
    found = _parsed(reply.tool_calls[0].arguments if reply.tool_calls else _json_of(reply.text))
    if not isinstance(found, Mapping) or set(found) != set(schema["properties"]):
        raise refused("it is not of the form asked for")
    return found


def _json_of(text: str) -> str:
    """From the first brace to the last: models like to say a word before and after."""
    text = without_thoughts(text)
    return text[text.find("{") : text.rfind("}") + 1]


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refused("it is not JSON") from error
