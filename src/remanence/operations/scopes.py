"""The parts of requests that many verbs share: where to write, what to see, which memories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from remanence.operations.operation import given

ABOUT_TRUST = "as if nothing trusted less than this had been written; else the setting"
KINDS = "message, episodic, semantic, procedural, reflection or summary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Whose memory, inside the tenant."""

    user_id: str | None = given("the user whose memory it is", short="-u")
    agent_id: str | None = given("the agent it belongs to", short="-a")
    session_id: str | None = given("the conversation it belongs to", short="-s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight(Place):
    """What a read may see; without a user, the memories that belong to no user."""

    include_shared: bool = given("also see what belongs to no user", False)
    all_users: bool = given("see every user's memories", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions(Sight):
    """Which memories, by what is stored about them."""

    kinds: tuple[str, ...] = given(f"only these kinds: {KINDS}", (), flag="--kind")
    states: tuple[str, ...] = given(
        "active (when left out), archived, superseded, quarantined or any", (), flag="--state"
    )
    since: datetime | None = given("happened at or after this moment")
    until: datetime | None = given("happened before this moment")
    filters: Mapping[str, Any] | None = given(
        "conditions on metadata, or on `field.NAME` of the record", short="-f", flag="--filter"
    )
