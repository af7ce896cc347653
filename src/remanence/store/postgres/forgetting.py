"""Knowledge erased inside one transaction: by id, or all that is in reach."""

from __future__ import annotations

from collections.abc import Sequence

from remanence.store.claims import NO_MEMORY
from remanence.store.conditions import Condition
from remanence.store.postgres.arrays import Array, int8s
from remanence.store.postgres.feed import announce
from remanence.store.postgres.filters import statement
from remanence.store.postgres.session import Session
from remanence.store.postgres.telling import erase_silent, hold, spoken_of


def unknow(session: Session, claims: Array, entities: Array) -> int:
    """Erase claims by id, and entities with all that is said of them; how many rows."""
    found = session.rows("partitions_of_knowledge", claims=claims, entities=entities)
    partitions = sorted(partition for (partition,) in found)
    if not partitions:
        return 0
    hold(session, partitions)
    named = {number for (number,) in session.rows("numbers_of_entities", ids=entities)}
    numbers = int8s(named)
    said = session.rows("erase_claims", ids=claims)
    said += session.rows("erase_claims_about", numbers=numbers)
    gone = len(said) + len(session.rows("erase_mentions_about", numbers=numbers))
    gone += len(session.rows("erase_entities", numbers=numbers))
    gone += erase_silent(session, spoken_of(said) - named)
    announce(session, [(partition, NO_MEMORY) for partition in partitions])
    return gone


def forget(
    session: Session,
    partitions: Sequence[int],
    claims: Condition,
    mentions: Condition | None = None,
) -> int:
    """Erase the claims and mentions of these conditions and what nothing speaks of then.

    Without a condition on mentions, all mentions and entities go. How many claims went.
    """
    hold(session, partitions)
    text = statement("erase_claims_in_reach", claims)
    said = session.execute(text, claims.values).fetchall()
    if mentions is None:
        every = int8s(partitions)
        session.run("erase_mentions_in", partitions=every)
        moved = {partition for (partition,) in session.rows("erase_entities_in", partitions=every)}
    else:
        text = statement("erase_mentions_in_reach", mentions)
        spoken = session.execute(text, mentions.values).fetchall()
        erase_silent(session, spoken_of(said) | {entity for _, entity in spoken})
        moved = {row[0] for row in (*said, *spoken)}
    announce(session, [(partition, NO_MEMORY) for partition in sorted(moved)])
    return len(said)
