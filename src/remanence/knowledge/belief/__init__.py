"""Belief: what the claims that were made add up to. Pure: no store, no clock, no model."""

from remanence.knowledge.belief.believing import believe
from remanence.knowledge.belief.holding import holding, newest

__all__ = ["believe", "holding", "newest"]
