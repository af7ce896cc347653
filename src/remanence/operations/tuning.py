"""The verbs of tuning: a language model taught what the memory knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from remanence.learn.lora.evaluating import Figures
from remanence.learn.lora.examples import Example
from remanence.learn.lora.finetuning import Finetuned
from remanence.learn.lora.registry import TunedAdapter
from remanence.learn.lora.tuning import PARTS
from remanence.operations.operation import Answer, Group, Scoping, given, of_layer
from remanence.operations.responses import Count

ABOUT_PARTS = "what to learn from: facts, feedback, memories"


@dataclass(frozen=True, slots=True, kw_only=True)
class Whose:
    """Whose memories."""

    user_id: str | None = given("the user whose memory it is", short="-u")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Whose):
    """What of them."""

    parts: tuple[str, ...] = given(ABOUT_PARTS, PARTS, flag="--part")


@dataclass(frozen=True, slots=True, kw_only=True)
class Show(Asked):
    """How many of them."""

    limit: int = given("so many at most", 1000, short="-n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Export(Asked):
    """Where the examples go."""

    path: Path = given("a file of JSON lines", ..., positional=True)
    overwrite: bool = given("replace a file that is there already", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finetune(Asked):
    """Which model, and how."""

    out: Path = given("the folder of the adapter", ..., positional=True)
    base: str = given("a GGUF file, or a folder with a model of transformers", ...)
    limit: int = given("so many new examples at most", 500, short="-n")
    rank: int = given("the rank of the adapter", 8)
    steps: int | None = given("so many steps; as many as the examples need when left out")
    replay: float = given("the share of old examples in every step, 0 to 1", 0.5)
    seed: int = given("the same seed gives the same adapter", 0)
    device: str = given("cpu, cuda or auto", "auto")
    resume: bool = given("go on with a training that was cut off", True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """What a model would be taught."""

    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """An adapter that was made here, with how many memories it learnt from."""

    folder: Path
    state: str
    base: str
    memories: int
    examples: int
    user_id: str | None
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapters:
    """The adapters of a user, the one last changed first."""

    adapters: tuple[Tuned, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taught:
    """An adapter that is ready, and how well it knows what it was taught."""

    folder: Path
    resumed_at: int
    figures: Figures


def _tuned(found: Sequence[TunedAdapter]) -> Adapters:
    return Adapters(
        adapters=tuple(
            Tuned(
                folder=one.folder,
                state=one.state.value,
                base=one.base,
                memories=len(one.memories),
                examples=len(one.learnt),
                user_id=one.user_id,
                updated_at=one.updated_at,
            )
            for one in found
        )
    )


def _taught(made: Finetuned) -> Taught:
    return Taught(folder=made.folder, resumed_at=made.resumed_at, figures=made.figures)


_operation = partial(of_layer, scope=Scoping.SCOPED, group=Group.LEARN)

TUNING = (
    _operation(
        "tuning.examples",
        "Show what a language model would be taught.",
        request=Show,
        response=Examples,
        writes=False,
        wrap=lambda found: Examples(examples=tuple(found)),
        listing="examples",
    ),
    _operation(
        "tuning.export_chat",
        "Write the examples as chats, for any trainer.",
        request=Export,
        response=Count,
        writes=False,
        wrap=lambda count: Count(count=count),
        answers=Answer.FIGURES,
    ),
    _operation(
        "tuning.finetune",
        "Teach a language model a LoRA adapter (the `train` extra).",
        request=Finetune,
        response=Taught,
        writes=True,
        wrap=_taught,
        reports=True,
        answers=Answer.FIGURES,
    ),
    _operation(
        "tuning.adapters",
        "List the adapters that were made.",
        request=Whose,
        response=Adapters,
        writes=False,
        wrap=_tuned,
        listing="adapters",
        answers=Answer.FIGURES,
    ),
)
