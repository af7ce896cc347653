"""Distilling: themes of somebody's days become semantic memories, with links to their sources."""

from remanence.sleep.distilling.distilling import Distilling

__all__ = ["Distilling"]
