"""Tenants that are not anybody's: where the server keeps its own books."""

from __future__ import annotations

RESERVED = "remanence:"
KEYS = f"{RESERVED}keys"


def is_reserved(tenant: str) -> bool:
    """Whether no key may open this tenant."""
    return tenant.startswith(RESERVED)
