"""Sessions: what an agent keeps of a thread between two calls, with a time to live."""

from remanence.layers.sessions.sessions import Sessions

__all__ = ["Sessions"]
