"""The change feed: entries in the order of commits, partition by partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from remanence.store.postgres.arrays import int8s
from remanence.store.postgres.session import Session


def announce(
    session: Session, changed: Sequence[tuple[int, int]], more: Mapping[int, int] | None = None
) -> None:
    """Enter (partition, key) pairs, as the last act of a transaction.

    `more` says by how much the memories of a partition have grown.
    """
    if not changed:
        return
    counts: Counter[int] = Counter()
    nths = []
    for partition, _ in changed:
        counts[partition] += 1
        nths.append(counts[partition])
    if len(counts) > 1:
        # In one order everywhere, or two writers would wait for each other.
        session.run("lock_positions", partitions=int8s(sorted(counts)))
    session.run(
        "announce",
        partitions=int8s(counts),
        counts=int8s(counts.values()),
        more=int8s((more or {}).get(partition, 0) for partition in counts),
        places=int8s(partition for partition, _ in changed),
        nths=int8s(nths),
        keys=int8s(key for _, key in changed),
    )
    session.touched |= counts.keys()
