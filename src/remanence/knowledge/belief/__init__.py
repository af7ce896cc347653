"""Belief: what the claims that were made add up to. Pure: no store, no clock, no model."""

from remanence.knowledge.belief.belief import believe, holding, newest

__all__ = ["believe", "holding", "newest"]
