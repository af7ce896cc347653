"""A session as a document of the store, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from remanence.errors import StoreCorrupt
from remanence.model.document import Address, Document, Put, Shelf
from remanence.model.session import Session, later
from remanence.ports.session_cache import SessionCopy


def address_of(session_id: str, user_id: str | None) -> Address:
    """Where a session stands; the same id of another user is another session."""
    return Address(shelf=Shelf.SESSION, name=session_id, user_id=user_id)


def copy_of(document: Document, verified: datetime) -> SessionCopy:
    """The session in a document, with what is needed to tell it from older ones."""
    try:
        return _read(document, document.value, verified)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreCorrupt(
            f"The session {document.address.name!r:.60} cannot be read; run `rem doctor`, or "
            "remove it with `erase`."
        ) from error


def put_of(address: Address, copy: SessionCopy, at: datetime, *, verb: str, expected: int) -> Put:
    """Put the session; it is used now, so its time begins anew. Its end never moves back."""
    session = copy.session
    return Put(
        address=address,
        value={
            "agent": session.agent_id,
            "data": dict(session.data),
            "version": session.version,
            "began": session.created_at.isoformat(),
            "ended": None if session.ended_at is None else session.ended_at.isoformat(),
            "run": copy.run,
            "ttl_s": copy.ttl_s,
        },
        at=at,
        verb=verb,
        expected=expected,
        expires_at=max(session.expires_at, later(at, copy.ttl_s)),
    )


def changed(copy: SessionCopy, **changes: Any) -> SessionCopy:
    """The copy with another state of its session."""
    return replace(copy, session=replace(copy.session, **changes))


def _read(document: Document, value: Mapping[str, Any], verified: datetime) -> SessionCopy:
    ended, ttl_s = value["ended"], float(value["ttl_s"])
    session = Session(
        id=document.address.name,
        user_id=document.address.user_id,
        agent_id=value["agent"],
        data=dict(value["data"]),
        version=int(value["version"]),
        created_at=datetime.fromisoformat(value["began"]),
        active_at=document.updated_at,
        expires_at=document.expires_at or later(document.updated_at, ttl_s),
        ended_at=None if ended is None else datetime.fromisoformat(ended),
    )
    run = str(value["run"])
    return SessionCopy(
        session=session, run=run, edition=document.version, ttl_s=ttl_s, verified=verified
    )
