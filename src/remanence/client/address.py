"""Where a server is and how it is spoken to; the key is in no text that this gives."""

from __future__ import annotations

import ipaddress
import math
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from remanence.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A server's URL, without a trailing slash or `/v1`, and the key it is shown."""

    url: str
    key: str | None = field(default=None, repr=False)
    timeout_s: float = 30.0

    def settings(self) -> dict[str, Any]:
        """As httpx takes it. No proxy lies on the way to one's own machine."""
        shown = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        local = _is_loopback(urlsplit(self.url).hostname or "")
        return {
            "base_url": self.url,
            "timeout": self.timeout_s,
            "headers": shown,
            "trust_env": not local,
        }


def address_of(url: object, key: object, timeout_s: object) -> Address:
    """The address, or `InvalidInput`."""
    return Address(url=_url(url), key=_key(key), timeout_s=_seconds(timeout_s))


def _url(url: object) -> str:
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        known = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
    except ValueError:
        known = False
    if not known:
        raise InvalidInput("url must be a server's address, such as http://127.0.0.1:8005.")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise InvalidInput("url must be an address alone; a key is passed as key=….")
    return str(url).rstrip("/").removesuffix("/v1").rstrip("/")


def _key(key: object) -> str | None:
    if key is None:
        return None
    if not isinstance(key, str) or not key or not key.isascii() or not key.isprintable():
        raise InvalidInput("key must be a key as `rem keys create` shows it, or None.")
    return key


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise InvalidInput(f"timeout_s must be a number of seconds; got {str(value)[:40]!r}.")
    return float(value)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
