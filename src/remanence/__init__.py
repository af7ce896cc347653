"""Long-term memory for AI agents: one file, no key, no language model, no network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remanence.aio import AsyncMemory
    from remanence.errors import (
        Closed,
        ConfigError,
        Conflict,
        EmbedderError,
        InvalidInput,
        NotFound,
        RemanenceError,
        StoreError,
    )
    from remanence.memory import Memory
    from remanence.model.hit import Hit, Hits, WhyNot
    from remanence.model.memory import (
        Association,
        Kind,
        MemoryRecord,
        Related,
        Revision,
        State,
    )
    from remanence.model.stats import Stats

__all__ = [
    "Association",
    "AsyncMemory",
    "Closed",
    "ConfigError",
    "Conflict",
    "EmbedderError",
    "Hit",
    "Hits",
    "InvalidInput",
    "Kind",
    "Memory",
    "MemoryRecord",
    "NotFound",
    "Related",
    "RemanenceError",
    "Revision",
    "State",
    "Stats",
    "StoreError",
    "WhyNot",
    "__version__",
]
__version__ = "0.1.0"

_ERRORS = (
    *("Closed", "ConfigError", "Conflict", "EmbedderError"),
    *("InvalidInput", "NotFound", "RemanenceError", "StoreError"),
)
_HOMES = {
    "AsyncMemory": "aio",
    "Hit": "model.hit",
    "Hits": "model.hit",
    "Memory": "memory",
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
