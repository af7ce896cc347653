"""Purging: all that a source, an actor or a span of time brought in is taken back."""
