"""Processes that are killed at any moment of their work."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from itertools import count

from support.program import Program

MORE = 50  # rounds; each that came too late halves the time, so a few are enough


class Kills:
    """Runs of a program that says "go" when its work begins and "done" when it ends.

    The moment of a kill is drawn from the time a whole run took. A run that came to its end
    before its kill halves that time: a machine may be slower during the one run than the others.
    """

    def __init__(self, program: str) -> None:
        self._program = program
        seed = random.randrange(2**32)
        print(f"seed {seed}")
        self.chance = random.Random(seed)
        self._span_s = 0.0
        self.cut_off = 0

    def rounds(self, usual: int, *, cut_off: int = 1) -> Iterator[int]:
        """Numbers from 1: the usual rounds, and on until so many runs were cut off."""
        for number in count(1):
            if number > usual and self.cut_off >= cut_off:
                return
            assert number <= usual + MORE, "the runs end before they can be killed"
            yield number

    def whole(self, *given: object) -> None:
        """Let one run end by itself, and remember how long that takes."""
        program = self._started(*given)
        begun = time.monotonic()
        assert program.hear() == "done"
        self._span_s = time.monotonic() - begun
        assert program.ended() == 0

    def kill(self, *given: object) -> None:
        """Start a run and kill it somewhere; `cut_off` counts those that had not ended."""
        program = self._started(*given)
        time.sleep(self.chance.random() * self._span_s)
        program.kill()
        if program.rest() == "done\n":
            self._span_s /= 2
        else:
            self.cut_off += 1
        assert program.returncode in (0, -signal.SIGKILL)

    def _started(self, *given: object) -> Program:
        program = Program(self._program, *given)
        assert program.hear() == "go"
        return program
