"""Purging: all that a source, an actor or a span of time brought in is taken back."""

from remanence.layers.purging.purger import Purger

__all__ = ["Purger"]
