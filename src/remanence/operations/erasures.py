"""The verbs of erasures: the receipts of what was erased, listed and verified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from remanence.model.erasure import Erasure
from remanence.operations.operation import Group, Scoping, given, of_layer
from remanence.operations.sleep_responses import Erasures, Verified


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Which receipts."""

    limit: int = given("so many at most", 100, short="-n")
    offset: int = given("leave out so many of the latest", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ById:
    """One receipt."""

    id: str = given("the receipt's id", ..., positional=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verify:
    """A receipt that somebody shows."""

    receipt: Mapping[str, Any] = given(
        "the receipt as JSON, as `erasures get --json` gives it", ..., positional=True, piped=True
    )


_operation = partial(of_layer, group=Group.ERASURES, scope=Scoping.TENANT, writes=False)

ERASURES = (
    _operation(
        "erasures.list",
        "List the receipts of erasures, the latest first.",
        request=Listed,
        response=Erasures,
        wrap=lambda found: Erasures(erasures=tuple(found)),
        listing="erasures",
    ),
    _operation(
        "erasures.get",
        "Show the receipt of an erasure.",
        request=ById,
        response=Erasure,
        scope=Scoping.BY_ID,
    ),
    _operation(
        "erasures.verify",
        "Say whether a receipt is this store's, unchanged.",
        request=Verify,
        response=Verified,
        wrap=lambda valid: Verified(valid=valid),
    ),
)
