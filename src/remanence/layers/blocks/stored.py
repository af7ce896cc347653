"""Blocks as documents: whose block a caller sees, and what a document's value says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from remanence.model.block import Block, BlockVersion, block_label
from remanence.model.document import Address, Document, Edition, Shelf
from remanence.model.memory import Metadata
from remanence.model.scope import check_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What one version of a block says, whoever owns it."""

    value: str = ""
    limit: int = 0
    description: str = ""
    read_only: bool = False
    deleted: bool = False


GONE = Content(deleted=True)


def addresses(label: str, user_id: str | None, agent_id: str | None) -> list[Address]:
    """Where a caller's block of that label may be, the most specific place first."""
    name = block_label(label)
    check_name("user_id", user_id)
    check_name("agent_id", agent_id)
    places = [(user_id, agent_id), (user_id, None), (None, agent_id), (None, None)]
    return [
        Address(shelf=Shelf.BLOCK, name=name, user_id=user, agent_id=agent)
        for user, agent in dict.fromkeys(places)
    ]


def stored(content: Content, shows: int | None = None) -> dict[str, Any]:
    """The content as a document's value."""
    shown = {} if shows is None else {"shows": shows}
    if content.deleted:
        return {"deleted": True, **shown}
    return {
        "value": content.value,
        "limit": content.limit,
        "description": content.description,
        "read_only": content.read_only,
        **shown,
    }


def content_of(value: Metadata) -> Content:
    """What a document's or an edition's value says."""
    if value.get("deleted"):
        return GONE
    return Content(
        value=value["value"],
        limit=value["limit"],
        description=value["description"],
        read_only=value["read_only"],
    )


def block_of(address: Address, content: Content, document: Document | None) -> Block:
    """The block at an address, as callers see it; without a document nobody wrote it yet."""
    return Block(
        label=address.name,
        value=content.value,
        limit=content.limit,
        description=content.description,
        read_only=content.read_only,
        version=0 if document is None else document.version,
        user_id=address.user_id,
        agent_id=address.agent_id,
        updated_at=None if document is None else document.updated_at,
    )


def version_of(edition: Edition) -> BlockVersion:
    """An edition as an entry of a block's history."""
    content = content_of(edition.value)
    return BlockVersion(
        version=edition.version,
        verb=edition.verb,
        at=edition.at,
        author=edition.author,
        reason=edition.reason,
        value=content.value,
        limit=content.limit,
        description=content.description,
        read_only=content.read_only,
        deleted=content.deleted,
        shows=edition.value.get("shows"),
    )


def deleted(document: Document) -> bool:
    """Whether all that is left is a history that undo can bring back."""
    return bool(document.value.get("deleted"))


def rank(address: Address) -> tuple[bool, bool]:
    """Sorts the most specific owner first."""
    return address.user_id is None, address.agent_id is None
