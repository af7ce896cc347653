"""What each of several server processes runs: the app, from the settings it was started with."""

from __future__ import annotations

from remanence.config import load_settings
from remanence.server.serving import opened_app, prepare
from remanence.server.waiting import Waiting


def app() -> Waiting:
    """The app of this process, as soon as its store answers."""
    settings = load_settings()
    prepare(settings)
    return Waiting(lambda: opened_app(settings), settings)
