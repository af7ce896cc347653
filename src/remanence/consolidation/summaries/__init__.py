"""Distilling: themes of somebody's days become semantic memories, with links to their sources."""
