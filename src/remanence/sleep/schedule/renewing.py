"""A lease kept from another thread while a run is under way, and the run ended when it is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from remanence.errors import Closed, StoreError
from remanence.ports.store import Progress
from remanence.sleep.schedule.leases import Leases


class Interrupted(BaseException):
    """The worker is to stop, or lost its lease: the step ends as if the process had died there."""


@contextmanager
def renewing(
    leases: Leases, name: str, every_s: float, stop: threading.Event
) -> Iterator[Progress]:
    """Gives a callback for the run that raises `Interrupted` once it is to end."""
    over, lost = threading.Event(), threading.Event()

    def renew() -> None:
        while not over.wait(every_s):
            try:
                if leases.renew(name):
                    continue
            except Closed:
                pass
            except StoreError:  # there is time for another try before the lease runs out
                continue
            lost.set()
            return

    thread = threading.Thread(target=renew, name="remanence-lease", daemon=True)
    thread.start()
    try:
        yield heeding(stop, lost)
    finally:
        over.set()
        thread.join()


def heeding(*ends: threading.Event) -> Progress:
    """A callback that raises `Interrupted` once one of these has come."""

    def progress(_done: int, _total: int) -> None:
        if any(end.is_set() for end in ends):
            raise Interrupted

    return progress
