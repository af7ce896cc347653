"""The memory: remember, recall, explain. The public face of the library."""

from remanence.memory.facade import LAYERS, Memory

__all__ = ["LAYERS", "Memory"]
