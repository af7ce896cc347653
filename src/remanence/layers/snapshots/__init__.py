"""Snapshots: what a scope held at a moment, to compare with and to go back to."""

from remanence.layers.snapshots.snapshots import Snapshots

__all__ = ["Snapshots"]
