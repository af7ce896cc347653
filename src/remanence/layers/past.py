"""The past: what a search found, told as the memory had it at a moment."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from datetime import datetime

from remanence.model.hit import Hit, Hits
from remanence.model.memory import State
from remanence.ports.store import Archive
from remanence.remember.past import as_known

# What changed since was in another state or said something else: so many more are looked at.
MORE = 3


def as_it_was(
    store: Archive, hits: Hits, known_at: datetime, states: Container[State], limit: int
) -> Hits:
    """The hits with the texts and states they had then, `limit` at most.

    What was erased since is gone, and what is found is found by its present text.
    """
    then = (_then(store, hit, known_at) for hit in hits)
    fitting = [hit for hit in then if hit is not None and hit.memory.state in states]
    return Hits(fitting[:limit], understood=hits.understood, degraded=hits.degraded)


def _then(store: Archive, hit: Hit, moment: datetime) -> Hit | None:
    record = hit.memory
    if record.updated_at <= moment:
        return hit
    before = as_known(record, store.history(record.tenant, record.id), moment)
    if before is None:
        return None
    passage = hit.passage if before.text == record.text else before.text
    return replace(hit, memory=before, passage=passage)
