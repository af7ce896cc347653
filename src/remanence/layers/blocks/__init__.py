"""Core memory: labelled blocks that an agent edits itself; every change is a version."""

from remanence.layers.blocks.blocks import Blocks

__all__ = ["Blocks"]
