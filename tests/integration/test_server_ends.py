"""A server that has ended leaves nothing behind in its process."""

from __future__ import annotations

import threading

from remanence.testing.patience import until
from remanence.testing.serving import serving
from support import http

POOLS = ("gate", "tokens")


def _checking() -> set[threading.Thread]:
    """The threads at which servers of this process look keys and tokens up."""
    return {one for one in threading.enumerate() if one.name.startswith(POOLS)}


def test_the_threads_that_look_keys_up_end_with_it() -> None:
    before = _checking()
    with serving() as served:
        for shown in (served.key(), "an.unknown.token"):
            http.get(f"{served.url}/v1/memories", headers={"authorization": f"Bearer {shown}"})
        during = _checking() - before
        app = served.app  # what is kept of it keeps no thread
    until(lambda: _checking() <= before)
    assert app.state.closing
    assert {one.name.partition("_")[0] for one in during} == set(POOLS)
