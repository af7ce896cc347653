"""Erasure: all that tells of a memory goes, a signed receipt stays, no old copy brings it back."""

from remanence.layers.erasure.eraser import Eraser
from remanence.layers.erasure.receipts import Erasures
from remanence.layers.erasure.tombstones import Tombstones

__all__ = ["Eraser", "Erasures", "Tombstones"]
