"""Why a memory was not found: the same search again, watched for the stage that dropped it."""

from __future__ import annotations

import numpy as np

from remanence.model.hit import WhyNot
from remanence.model.memory import State
from remanence.model.ports.store import Store
from remanence.model.query import Query
from remanence.model.validation import missing
from remanence.recall.conditions import conditions
from remanence.recall.confidence import confidence_of
from remanence.recall.ranked import Ranked
from remanence.recall.scene import Scene
from remanence.recall.search import Recall


def why_not(recall: Recall, store: Store, query: Query, id: str) -> WhyNot:
    """Which stage of the search dropped a memory; `NotFound` if it is not this tenant's."""
    place = store.recall.key_of(query.reach.tenant, id)
    if place is None:
        raise missing(id)
    partition, key = place
    if partition not in store.recall.partitions(query.reach):
        return WhyNot(
            stage="scope",
            explanation="It belongs to another user than the search looked at; "
            "pass its user_id, include_shared=True or all_users=True.",
        )
    return _filtered(recall, store, query, partition, key) or _ranked(recall, query, key)


def _filtered(
    recall: Recall, store: Store, query: Query, partition: int, key: int
) -> WhyNot | None:
    past = recall.past_of(query)
    columns = recall.seen(partition, past, 0.0, tuple(State)).columns
    row = int(columns.rows_of(np.array([key]))[0])
    if row < 0 and past is not None:
        return WhyNot(stage="filter", explanation=_unmet("known_at"))
    for name, mask in conditions(query, columns, store.recall if past is None else past, partition):
        if row < 0 or not mask[row]:
            return WhyNot(stage="filter", explanation=_unmet(name))
    return None


def _unmet(condition: str) -> str:
    if condition == "state":
        return (
            "It is not active (archived, superseded or quarantined): search with states=, or bring "
            'it back with update(id, state="active").'
        )
    return f"It does not satisfy {condition!r}."


def _ranked(recall: Recall, query: Query, key: int) -> WhyNot:
    scenes = recall.scenes(query)
    ranked = recall.rank(query, scenes)
    keys = ranked.keys()
    if key not in keys:
        return _not_in_pool(scenes, key)
    place = keys.index(key)
    returned = recall.chosen(query, ranked).keys()
    stage, why = _unsure(query, ranked) or _stage(query, ranked, place, key in returned)
    one = ranked.first(np.array([place]))
    return WhyNot(
        stage=stage,
        explanation=why,
        rank=place + 1,
        score=float(ranked.scores[place]),
        signals=one.signals(recall.ranker)[0],
    )


def _unsure(query: Query, ranked: Ranked) -> tuple[str, str] | None:
    sure = confidence_of(ranked)
    if sure.reaches(query.min_confidence):
        return None
    told = f"The confidence {sure.value:.2f} of the whole search is below min_confidence."
    return "min_confidence", told


def _stage(query: Query, ranked: Ranked, place: int, returned: bool) -> tuple[str, str]:
    score, rank = float(ranked.scores[place]), place + 1
    if returned:
        return "returned", f"It was not dropped: it ranks {rank}."
    if query.min_score is not None and score < query.min_score:
        return "min_score", f"Its score {score:.2f} is below min_score."
    if rank > query.limit:
        return "rank", f"It ranks {rank}, below the limit of {query.limit}."
    return "diversity", f"It ranks {rank}, but is too like a better one for this diversity."


def _not_in_pool(scenes: list[Scene], key: int) -> WhyNot:
    for scene in scenes:
        if key in scene.columns.key[scene.pool.considered]:
            return WhyNot(
                stage="pool",
                explanation="It was a candidate, but others matched vector and words better "
                "before the closer look.",
            )
    return WhyNot(
        stage="candidates",
        explanation="Neither its vector, its words, its time nor a neighbour brought it up.",
    )
