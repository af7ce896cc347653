"""The verbs of learning: an adapter trained and judged, a language model taught what is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Self

from remanence.api import answers
from remanence.api.answers import listed
from remanence.api.parameters import QUERY, ExamplesLimit, Overwrite, UserId
from remanence.api.verb import F, Group, Holds, Layer, MemoryHere, Says, Scoping, verb
from remanence.consolidation.learning.lora.examples import TrainingExample
from remanence.consolidation.learning.lora.jobs import Finetuned
from remanence.consolidation.learning.lora.manifest import TunedAdapter
from remanence.consolidation.learning.lora.models import BeforeAndAfter
from remanence.consolidation.learning.lora.tuning import PARTS
from remanence.model.learning import (
    AdapterVersion,
    Experience,
    LearnPolicy,
    LearnStatus,
    TrainingResult,
)
from remanence.model.progress import Progress

OutcomeQuery = Annotated[str, Says("the question", bounds=QUERY)]
Useful = Annotated[Iterable[str], Says("ids of memories that helped", wire=tuple[str, ...])]
NotUseful = Annotated[Iterable[str], Says("ids of memories that misled", wire=tuple[str, ...])]

Experiences = listed(
    "Experiences", "Feedback that a training would look at.", experiences=Experience
)
AdapterVersions = listed(
    "AdapterVersions",
    "Versions of the adapter, the newest first.",
    Holds.FIGURES,
    versions=AdapterVersion,
)


class Learn(Layer[F], layer="learn", group=Group.LEARN):
    """One tenant's learning. Everything is for the memories of one user, or of no user."""

    @verb("GET /v1/learn/status", holds=Holds.FIGURES)
    def status(self, user_id: UserId = None) -> LearnStatus:
        """Say how much there is to learn from, and what is in use."""

    @verb("POST /v1/learn/train", governs=True, holds=Holds.FIGURES)
    def train(
        self,
        user_id: UserId = None,
        *,
        policy: LearnPolicy | None = None,
        progress: Progress | None = None,
    ) -> TrainingResult:
        """Train the retrieval adapter on feedback; used only if it wins on feedback kept back.

        A rejected one is kept with its figures alone. `Conflict` if another training of the same
        user ended meanwhile.
        """

    @verb("POST /v1/learn/rollback", governs=True, holds=Holds.FIGURES)
    def rollback(self, user_id: UserId = None) -> LearnStatus:
        """Use the version before again, or none; `NotFound` if none is in use."""

    @verb("GET /v1/learn/versions", answer=AdapterVersions)
    def versions(self, user_id: UserId = None) -> list[AdapterVersion]:
        """List versions of the adapter, rejected ones too, the newest first."""

    @verb("POST /v1/learn/outcome", scope=Scoping.TENANT)
    def outcome(
        self, query: OutcomeQuery, *, useful: Useful = (), not_useful: NotUseful = ()
    ) -> int:
        """Say of an answer which memories helped and which misled.

        `NotFound` if one of them is not here: nothing is noted then.
        """

    @verb("GET /v1/learn/replay", answer=Experiences)
    def replay(self, limit: ExamplesLimit = 100, user_id: UserId = None) -> list[Experience]:
        """Show what a training would look at, oldest first, with ranks."""


ExamplesParts = Annotated[
    Sequence[str],
    Says("what to learn from: facts, feedback, memories", flag="--part", wire=tuple[str, ...]),
]
Base = Annotated[
    str | PathLike[str], Says("a GGUF file, or a folder with a model of transformers", wire=str)
]
Steps = Annotated[int | None, Says("so many steps; as many as the examples need when left out")]

Examples = listed("Examples", "What a model would be taught.", examples=TrainingExample)


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
class Adapters(answers.Wrapped, listing="adapters", holds=Holds.FIGURES):
    """The adapters of a user, the one last changed first."""

    adapters: tuple[Tuned, ...]

    @classmethod
    def of(cls, value: Sequence[TunedAdapter], request: Any, memory: MemoryHere) -> Self:
        def tuned(one: TunedAdapter) -> Tuned:
            sizes = {"memories": len(one.memories), "examples": len(one.learnt)}
            return answers.picked(Tuned, one, state=one.state.value, **sizes)

        return cls(adapters=tuple(map(tuned, value)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Taught(answers.Wrapped, holds=Holds.FIGURES):
    """An adapter that is ready, and how well it knows what it was taught."""

    folder: Path
    resumed_at: int
    figures: BeforeAndAfter


class Tuning(Layer[F], layer="tuning", group=Group.LEARN):
    """Fine-tuning for one tenant. An adapter is taught one user's memories, or nobody's: never"""

    @verb(local="it feeds a training run on the machine", answer=Examples)
    def examples(
        self, *, user_id: UserId = None, parts: ExamplesParts = PARTS, limit: ExamplesLimit = 1000
    ) -> list[TrainingExample]:
        """Show what a language model would be taught.

        What can be taught: facts that hold, questions with the memory that helped, memories.

        Only what is active, trusted and still so, and nothing that looks like a secret. Facts
        come before feedback and memories, memories newest first; a question is asked once.
        """

    @verb(local="it writes a file")
    def export_chat(
        self,
        path: Annotated[str | PathLike[str], Says("a file of JSON lines", wire=Path)],
        *,
        user_id: UserId = None,
        parts: ExamplesParts = PARTS,
        overwrite: Overwrite = False,
    ) -> int:
        """Write the examples as JSON lines of chats, for any trainer.

        The file is its owner's alone. One that is there is kept (`InvalidInput`) unless
        `overwrite`.
        """

    @verb(local="it trains for minutes and writes a folder", writes=True, answer=Taught)
    def finetune(
        self,
        out: Annotated[str | PathLike[str], Says("the folder of the adapter", wire=Path)],
        *,
        base: Base,
        user_id: UserId = None,
        parts: ExamplesParts = PARTS,
        limit: ExamplesLimit = 500,
        rank: Annotated[int, Says("the rank of the adapter")] = 8,
        steps: Steps = None,
        replay: Annotated[float, Says("the share of old examples in every step, 0 to 1")] = 0.5,
        seed: Annotated[int, Says("the same seed gives the same adapter")] = 0,
        device: Annotated[str, Says("cpu, cuda or auto")] = "auto",
        resume: Annotated[bool, Says("go on with a training that was cut off")] = True,
        progress: Progress | None = None,
    ) -> Finetuned:
        """Teach a language model a LoRA adapter (the `train` extra).

        Teach a language model what it was not taught yet, going on from the last adapter.

        What earlier adapters of the same user and model were shown is replayed. At most `limit`
        new examples are taken, and as many old ones. A memory that is erased meanwhile ends the
        training with `Conflict`, and nothing of it is left.
        """

    @verb(local="adapters of a language model lie in folders of the machine", answer=Adapters)
    def adapters(self, user_id: UserId = None) -> list[TunedAdapter]:
        """List the adapters that were made for a user, the one last changed first."""
