"""Settings (arguments › environment › file › defaults), and the assembly by which they are met."""

from remanence.config.loading import (
    CONFIG_FILES,
    ENVIRONMENT_ALIASES,
    FILE_ALIASES,
    FILE_IGNORED,
    PREFIX,
    hand_over,
    load_settings,
    origins,
    shown,
)
from remanence.config.settings import HELP, Settings

__all__ = [
    "CONFIG_FILES",
    "ENVIRONMENT_ALIASES",
    "FILE_ALIASES",
    "FILE_IGNORED",
    "HELP",
    "PREFIX",
    "Settings",
    "hand_over",
    "load_settings",
    "origins",
    "shown",
]
