"""Facts: stated, confirmed, corrected, taken back, and asked for at any time."""

from remanence.knowledge.facts.facts import Facts

__all__ = ["Facts"]
