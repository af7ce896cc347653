"""Whose memory: the tenant is the wall, user, agent and session are rooms behind it."""

from __future__ import annotations

from dataclasses import dataclass

from remanence.errors import InvalidInput
from remanence.model.memory import unit_interval

MAX_NAME = 256
RESERVED = "remanence:"  # what begins so is a tenant of Remanence's own
_NAMES = ("tenant", "user_id", "agent_id", "session_id")
# Names in Persian, Sinhala or emoji hold these two, though Python calls them unprintable.
JOINERS = dict.fromkeys((0x200C, 0x200D))


def check_name(what: str, value: str | None) -> None:
    """Refuse a scope name that could not be stored alike everywhere."""
    if value is None:
        return
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be text, not {type(value).__name__}.")
    seen = value.translate(JOINERS)
    if not seen or len(value) > MAX_NAME or not seen.isprintable():
        raise InvalidInput(
            f"{what} must be 1 to {MAX_NAME} printable characters; got {value[:40]!r}."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Where a memory is written. What is left out is *none*."""

    tenant: str
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None

    def __post_init__(self) -> None:
        for name in _NAMES:
            check_name(name, getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a read may see, inside one tenant. Agent and session left out mean *any*.

    `user_id` left out means the memories that belong to no user; `include_shared` adds those to a
    user's own; `all_users` means every user of the tenant. What is trusted less than `min_trust`
    is not there.
    """

    tenant: str
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    include_shared: bool = False
    all_users: bool = False
    min_trust: float = 0.0

    def __post_init__(self) -> None:
        for name in _NAMES:
            check_name(name, getattr(self, name))
        unit_interval("min_trust", self.min_trust)
        for name in ("include_shared", "all_users"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInput(f"{name} must be True or False.")
        if self.all_users and self.user_id is not None:
            raise InvalidInput("Give either user_id or all_users=True, not both.")
