"""The verbs of learning: outcomes noted, an adapter trained, judged and rolled back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from remanence.api import answers
from remanence.api.answers import listed
from remanence.api.parameters import QUERY, ExamplesLimit, UserId
from remanence.api.verb import F, Group, Holds, Layer, Says, Scoping, verb
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


class Learn(Layer[F]):
    """One tenant's learning. Everything is for the memories of one user, or of no user."""

    layer = "learn"
    group = Group.LEARN

    @verb("GET /v1/learn/status", holds=Holds.FIGURES)
    def status(self, user_id: UserId = None) -> LearnStatus:
        """Say how much there is to learn from, and what is in use."""

    @verb("POST /v1/learn/train", writes=True, reports=True, governs=True, holds=Holds.FIGURES)
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

    @verb("POST /v1/learn/rollback", writes=True, governs=True, holds=Holds.FIGURES)
    def rollback(self, user_id: UserId = None) -> LearnStatus:
        """Use the version before again, or none; `NotFound` if none is in use."""

    @verb("GET /v1/learn/versions", answer=AdapterVersions)
    def versions(self, user_id: UserId = None) -> list[AdapterVersion]:
        """List versions of the adapter, rejected ones too, the newest first."""

    @verb("POST /v1/learn/outcome", writes=True, scope=Scoping.TENANT, answer=answers.Count)
    def outcome(
        self, query: OutcomeQuery, *, useful: Useful = (), not_useful: NotUseful = ()
    ) -> int:
        """Say of an answer which memories helped and which misled.

        `NotFound` if one of them is not here: nothing is noted then.
        """

    @verb("GET /v1/learn/replay", answer=Experiences)
    def replay(self, limit: ExamplesLimit = 100, user_id: UserId = None) -> list[Experience]:
        """Show what a training would look at, oldest first, with ranks."""
