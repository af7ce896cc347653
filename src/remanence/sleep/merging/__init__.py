"""Merging: near-duplicates and paraphrases become one memory that stands for all of them."""

from remanence.sleep.merging.merging import Merging

__all__ = ["Merging"]
