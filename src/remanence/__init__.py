"""Long-term memory for AI agents: one file, no key, no language model, no network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remanence.version import __version__

if TYPE_CHECKING:
    from remanence.api.memory import AsyncMemory, Memory
    from remanence.api.remote import AsyncRemoteMemory, RemoteMemory
    from remanence.errors import (
        Closed,
        ConfigError,
        Conflict,
        EmbedderError,
        InvalidInput,
        LanguageModelError,
        NotFound,
        RemanenceError,
        StoreError,
    )
    from remanence.model.block import Block
    from remanence.model.context import Context
    from remanence.model.conversation import Conversation
    from remanence.model.hit import Hit, Hits, WhyNot
    from remanence.model.memory import Association, Kind, MemoryRecord, Related, Revision, State
    from remanence.model.session import Session
    from remanence.model.snapshot import Snapshot
    from remanence.model.stats import Stats

__all__ = [
    "Association",
    "AsyncMemory",
    "AsyncRemoteMemory",
    "Block",
    "Closed",
    "ConfigError",
    "Conflict",
    "Context",
    "Conversation",
    "EmbedderError",
    "Hit",
    "Hits",
    "InvalidInput",
    "Kind",
    "LanguageModelError",
    "Memory",
    "MemoryRecord",
    "NotFound",
    "Related",
    "RemanenceError",
    "RemoteMemory",
    "Revision",
    "Session",
    "Snapshot",
    "State",
    "Stats",
    "StoreError",
    "WhyNot",
    "__version__",
]

_ERRORS = (
    *("Closed", "ConfigError", "Conflict", "EmbedderError"),
    *("InvalidInput", "LanguageModelError", "NotFound", "RemanenceError", "StoreError"),
)
_HOMES = {
    "AsyncMemory": "api.memory",
    "AsyncRemoteMemory": "api.remote",
    "Block": "model.block",
    "Context": "model.context",
    "Conversation": "model.conversation",
    "Hit": "model.hit",
    "Hits": "model.hit",
    "Memory": "api.memory",
    "RemoteMemory": "api.remote",
    "Session": "model.session",
    "Snapshot": "model.snapshot",
    "Stats": "model.stats",
    "WhyNot": "model.hit",
    **dict.fromkeys(_ERRORS, "errors"),
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that importing the package costs nothing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f"{__name__}.{_HOMES.get(name, 'model.memory')}")
    return getattr(module, name)


def __dir__() -> list[str]:
    return __all__
