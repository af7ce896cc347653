"""A memory at work: what its verbs do, on the parts that were assembled for it."""

from remanence.api.service.memory import MemoryService

__all__ = ["MemoryService"]
