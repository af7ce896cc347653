"""The verbs of learning: outcomes noted, an adapter trained, judged and rolled back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from remanence.model.learning import LearnStatus, Trained
from remanence.operations.operation import Answer, Group, Scoping, given, of_layer
from remanence.operations.responses import Count
from remanence.operations.sleep_responses import Experiences, Versions


@dataclass(frozen=True, slots=True, kw_only=True)
class Whose:
    """Whose memories."""

    user_id: str | None = given("the user whose memory it is", short="-u")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an answer rested on."""

    query: str = given("the question", ..., positional=True)
    useful: tuple[str, ...] = given("ids of memories that helped", ())
    not_useful: tuple[str, ...] = given("ids of memories that misled", ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay(Whose):
    """How much of it."""

    limit: int = given("so many at most", 100, short="-n")


_operation = partial(of_layer, scope=Scoping.SCOPED, group=Group.LEARN)

LEARN = (
    _operation(
        "learn.status",
        "Say how much there is to learn from, and what is in use.",
        request=Whose,
        response=LearnStatus,
        writes=False,
        answers=Answer.FIGURES,
    ),
    _operation(
        "learn.train",
        "Train the retrieval adapter on feedback; it is used only if it wins.",
        request=Whose,
        response=Trained,
        writes=True,
        reports=True,
        answers=Answer.FIGURES,
    ),
    _operation(
        "learn.rollback",
        "Use the version before again, or none.",
        request=Whose,
        response=LearnStatus,
        writes=True,
        answers=Answer.FIGURES,
    ),
    _operation(
        "learn.versions",
        "List versions of the adapter, rejected ones too.",
        request=Whose,
        response=Versions,
        writes=False,
        wrap=lambda found: Versions(versions=tuple(found)),
        listing="versions",
        answers=Answer.FIGURES,
    ),
    _operation(
        "learn.outcome",
        "Say of an answer which memories helped and which misled.",
        request=Outcome,
        response=Count,
        writes=True,
        wrap=lambda count: Count(count=count),
        scope=Scoping.TENANT,
        answers=Answer.FIGURES,
    ),
    _operation(
        "learn.replay",
        "Show what a training would look at.",
        request=Replay,
        response=Experiences,
        writes=False,
        wrap=lambda found: Experiences(experiences=tuple(found)),
        listing="experiences",
    ),
)
