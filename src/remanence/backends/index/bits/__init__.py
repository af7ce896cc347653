"""The embedded vector index: sign bits scanned in memory, exact scores from the store."""

from remanence.backends.index.bits.shelf import BitsIndex

__all__ = ["BitsIndex"]
