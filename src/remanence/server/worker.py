"""What each of several server processes runs: the app, from the settings it was started with."""

from __future__ import annotations

import sys

from fastapi import FastAPI

from remanence.config import load_settings
from remanence.server.app import make_app
from remanence.server.logs import set_up
from remanence.server.serving import SWITCH_S


def app() -> FastAPI:
    """The app of this process."""
    settings = load_settings()
    set_up(settings.log_format)
    sys.setswitchinterval(SWITCH_S)
    return make_app(settings)
