"""A Rich console that leaves a closed pipe to the caller."""

from __future__ import annotations

from rich.console import Console


class PlainSpoken(Console):
    """Prints texts as they are: no markup, no emoji codes, no guessing at what to highlight."""

    def __init__(self, *, stderr: bool) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def on_broken_pipe(self) -> None:
        """Let the error through; Rich's own way is to exit with 1."""
        raise BrokenPipeError
