"""Whose a document is: some name their agent inside, some are named by their session."""

from __future__ import annotations

from remanence.model.document import Address, Document, Shelf
from remanence.model.scope import Reach

NAMED_BY_SESSION = (Shelf.SESSION, Shelf.CONVERSATION)


def session_of(address: Address) -> str | None:
    """The session that a document belongs to, by its address or by its name."""
    return address.name if address.shelf in NAMED_BY_SESSION else address.session_id


def agent_of(document: Document) -> str | None:
    """The agent that a document belongs to, by its address or by what its value says."""
    name = "agent_id" if document.address.shelf is Shelf.CONVERSATION else "agent"
    agent = document.address.agent_id or document.value.get(name)
    return agent if isinstance(agent, str) else None


def within(document: Document, reach: Reach) -> bool:
    """Whether it is of the reach's agent and session; its user is not asked about."""
    of_session = reach.session_id in (None, session_of(document.address))
    return of_session and reach.agent_id in (None, agent_of(document))
