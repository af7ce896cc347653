"""What each of several server processes runs: the app, from the settings it was started with."""

from __future__ import annotations

from fastapi import FastAPI

from remanence.config import load_settings
from remanence.server.app import make_app
from remanence.server.serving import ending_in_time, prepare


def app() -> FastAPI:
    """The app of this process."""
    settings = load_settings()
    prepare(settings)
    return ending_in_time(make_app(settings))
