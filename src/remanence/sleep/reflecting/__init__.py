"""Reflecting: what keeps coming up in a month, and what changed, across conversations."""

from remanence.sleep.reflecting.reflecting import Reflecting

__all__ = ["Reflecting"]
