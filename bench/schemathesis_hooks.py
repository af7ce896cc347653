"""What the run over the OpenAPI document needs: a sender of JSON lines, and its own key spared."""

from __future__ import annotations

from typing import Any

import schemathesis

NOBODYS = "aaaaaaaa"
NOWHERE = "none"


@schemathesis.serializer("application/x-ndjson")
def lines(context: schemathesis.SerializationContext, value: Any) -> bytes:
    """An export as it is: bytes."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: Any, kwargs: Any) -> None:
    """Let no call take away the key that the run itself comes in with.

    Nor hand on a null: a receipt of no session would be asked for its session's messages, and what
    is null is left out of an address.
    """
    shown = str((case.headers or {}).get("Authorization", ""))
    prefix = (case.path_parameters or {}).get("prefix")
    if prefix and f"rem_{prefix}_" in shown:
        case.path_parameters["prefix"] = NOBODYS
    for name, value in (case.query or {}).items():
        if value is None:
            case.query[name] = NOWHERE
