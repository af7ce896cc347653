"""The digests that guard entities and claims: which are damaged, and mending what can be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from remanence.store.claims import NO_MEMORY, is_whole_claim, is_whole_entity, mended_entity
from remanence.store.postgres.arrays import int8s
from remanence.store.postgres.columns import arrays
from remanence.store.postgres.database import Database
from remanence.store.postgres.feed import announce
from remanence.store.postgres.session import Session
from remanence.store.postgres.telling import ENTITY_KINDS, erase_silent, hold, spoken_of
from remanence.store.rows import Owner, Row

_CHUNK = 500


def damaged_entities(database: Database, session: Session) -> list[Row]:
    """The tenant's rows of entities that are not what was signed."""
    owner_of, key = _owners(database, session), database.digest_key
    rows = _rows(session, "guarded_entities")
    return [row for row in rows if not is_whole_entity(row, owner_of(row), key)]


def damaged_claims(database: Database, session: Session) -> list[Row]:
    """The tenant's rows of claims that are not what was signed."""
    owner_of, key = _owners(database, session), database.digest_key
    rows = _rows(session, "guarded_claims")
    return [row for row in rows if not is_whole_claim(row, owner_of(row), key)]


def mend_entities(database: Database, session: Session) -> None:
    """Sign damaged entities anew under the names that their ids stand for, where one does."""
    owner_of = _owners(database, session)
    for row in damaged_entities(database, session):
        values = mended_entity(row, owner_of(row), database.digest_key)
        if values is not None:
            mended = arrays(ENTITY_KINDS, [(row[1], *values)])
            session.run("rewrite_entity", number=row[0], **mended)


def remove_claims(database: Database, session: Session) -> None:
    """Give up claims that cannot be read as they were made; their memories can be read again."""
    rows = damaged_claims(database, session)
    partitions = sorted({row[1] for row in rows})
    hold(session, partitions)
    gone = session.rows("erase_claims_by_key", keys=int8s(row[0] for row in rows))
    erase_silent(session, spoken_of(gone))
    announce(session, [(partition, NO_MEMORY) for partition in partitions])


def _owners(database: Database, session: Session) -> Callable[[Row], Owner]:
    """Whose a row is, from its partition; one that is not the tenant's is nobody's."""
    tenant = database.tenant_name(session)
    users = dict(session.rows("partitions_of_tenant"))

    def owner(row: Row) -> Owner:
        return (tenant, users[row[1]] or None) if row[1] in users else ("", None)

    return owner


def _rows(session: Session, name: str) -> Iterator[tuple[Any, ...]]:
    after = 0
    while rows := session.rows(name, after=after, most=_CHUNK):
        yield from rows
        after = rows[-1][0]
