"""What hangs on memories, associations and feedback: the source's beside the target's.

Neither can be asked for by memory, so the target's are read once per batch of the source's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, islice

from remanence.clock import SystemClock
from remanence.errors import NotFound
from remanence.model.memory import Association, Feedback
from remanence.model.write import Batch
from remanence.ports.store import Store

BATCH = 20_000


def paired_links(
    source: Store, target: Store, tenant: str
) -> Iterator[tuple[Association, Association | None]]:
    """Every link of the source's, and what the target has between the same two of that type."""
    links = source.links(tenant)
    while batch := {_ends(link): link for link in islice(links, BATCH)}:
        theirs = {_ends(link): link for link in target.links(tenant) if _ends(link) in batch}
        for ends, link in batch.items():
            yield link, theirs.get(ends)


def put_links(store: Store, tenant: str, links: Sequence[Association]) -> int:
    """Put links together, or one by one where an end is missing; how many were put."""
    if not links:
        return 0
    batch = Batch(tenant=tenant, at=SystemClock().now(), actions=(), links=tuple(links))
    try:
        store.write(batch)
    except NotFound:
        return sum(put_links(store, tenant, [one]) for one in links) if len(links) > 1 else 0
    return len(links)


def paired_feedback(source: Store, target: Store, tenant: str) -> Iterator[tuple[Feedback, bool]]:
    """Every feedback of the source's, and whether the target has it, as often as the source."""
    for batch in _by_memory(source.feedback(tenant)):
        wanted = set(batch)
        theirs = Counter(one for one in target.feedback(tenant) if one in wanted)
        for one in batch:
            theirs[one] -= 1
            yield one, theirs[one] >= 0


def _by_memory(feedback: Iterator[Feedback]) -> Iterator[list[Feedback]]:
    """Batches that part no memory's feedback, so that what is there twice is counted together."""
    batch: list[Feedback] = []
    for _, of_one in groupby(feedback, key=lambda one: one.id):
        batch += of_one
        if len(batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _ends(link: Association) -> tuple[str, str, str]:
    return link.source, link.type, link.target
