"""Answers as the verbs of `Memory` give them: each operation's wrapping taken off again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from remanence.client.call import Verb
from remanence.knowledge.extract.statement import Reading
from remanence.model.erasure import Forgotten
from remanence.model.hit import Hits
from remanence.model.sleep import Changed, Shown
from remanence.operations import knowledge_responses as knowledge
from remanence.operations import layer_responses as layers
from remanence.operations import responses
from remanence.operations import sleep_responses as sleep

Unwrap = Callable[[Any], Any]


def _list(name: str) -> Unwrap:
    return lambda answer: list(getattr(answer, name))


def _one(name: str) -> Unwrap:
    return lambda answer: getattr(answer, name)


def _reading(answer: knowledge.Read) -> Reading:
    return Reading(statements=answer.statements, names=answer.names, refused=answer.refused)


def _shown(answer: sleep.Told) -> Shown:
    changes = tuple(
        Changed(batch=one.batch, id=one.id, version=one.version, verb=one.verb, stands=one.stands)
        for one in answer.changes
    )
    return Shown(run=answer.run, changes=changes)


# By the type of the answer. One that is not here is what the verb itself gives.
UNWRAP: Mapping[type, Unwrap] = {
    responses.Memories: _list("memories"),
    responses.Found: lambda a: Hits(a.hits, understood=a.understood, degraded=a.degraded),
    responses.Forgotten: lambda a: Forgotten(a.memories, receipt=a.receipt),
    responses.Count: _one("count"),
    responses.Zone: _one("timezone"),
    responses.History: _list("revisions"),
    responses.Similarity: _one("cosine"),
    responses.Neighbours: _list("related"),
    responses.Noted: lambda _: None,
    responses.Examination: _list("findings"),
    responses.Freed: _one("bytes"),
    layers.Wording: _one("text"),
    layers.Done: _one("done"),
    layers.Value: _one("value"),
    layers.Blocks: _list("blocks"),
    layers.BlockHistory: _list("versions"),
    layers.Conversations: _list("conversations"),
    layers.Sessions: _list("sessions"),
    layers.WorkingItems: _list("items"),
    layers.Snapshots: _list("snapshots"),
    knowledge.Facts: _list("facts"),
    knowledge.Conflicts: _list("conflicts"),
    knowledge.Read: _reading,
    knowledge.Refused: lambda a: dict(a.reasons),
    knowledge.Nodes: _list("nodes"),
    knowledge.Paths: _list("paths"),
    knowledge.Moments: _list("moments"),
    knowledge.Mentions: _list("mentions"),
    knowledge.Communities: _list("communities"),
    knowledge.Likenesses: _list("likenesses"),
    sleep.Planned: _list("plans"),
    sleep.Told: _shown,
    sleep.Runs: _list("runs"),
    sleep.Schedules: _list("schedules"),
    sleep.Experiences: _list("experiences"),
    sleep.Versions: _list("versions"),
    sleep.Erasures: _list("erasures"),
    sleep.Verified: _one("valid"),
}
# Verbs that give something else from afar than at home.
INSTEAD: Mapping[str, type] = {"sleep.plan": sleep.Foreseen}


def unwrapped(verb: Verb, answer: Any) -> Any:
    """What the verb gives, from its operation's answer."""
    if verb.__annotations__["return"] in (None, "None"):
        return None
    unwrap = UNWRAP.get(type(answer))
    return answer if unwrap is None else unwrap(answer)
