"""The key of an encrypted database: read from its file, and refused where it would not protect."""

from __future__ import annotations

import os

from remanence.errors import ConfigError
from remanence.system.files import RIGHTS_ARE_MODES

SHORTEST_KEY = 16
_MOST_BYTES = 4096
_HOW = "make one with `openssl rand -base64 32`"


def accepted_key(key: str, where: str = "encryption_key") -> str:
    """The key, if it is long enough and one line."""
    if len(key) < SHORTEST_KEY or not key.isprintable():
        raise ConfigError(
            f"{where} must hold {SHORTEST_KEY} characters or more, on one line; {_HOW}."
        )
    return key


def key_in(file: str) -> str:
    """The first line of a file that only its owner may read."""
    path = os.path.expanduser(file)
    try:
        with open(path, "rb") as opened:
            if RIGHTS_ARE_MODES and os.fstat(opened.fileno()).st_mode & 0o077:
                raise ConfigError(f"Others may read the key file {path}: run `chmod 600 {path}`.")
            line = opened.readline(_MOST_BYTES).decode().strip()
    except FileNotFoundError:
        raise ConfigError(f"There is no key file at {path}; {_HOW} > {path}.") from None
    except OSError as error:
        raise ConfigError(f"The key file {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"The key file {path} is not text; {_HOW} > {path}.") from None
    return accepted_key(line, f"The key file {path}")
