"""The verbs of erasures: the receipts of what was erased, listed and verified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from remanence.errors import InvalidInput
from remanence.model.erasure import Erasure
from remanence.operations.operation import Answer, Group, Operation, Scoping, given, of_layer
from remanence.operations.sleep_responses import Erasures, Verified

if TYPE_CHECKING:
    from remanence.memory import Memory


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

    receipt: tuple[Mapping[str, Any], ...] = given(
        "a file with the receipt, as `rem erasures get ID --json` writes it",
        ...,
        positional=True,
        piped=True,
    )


def _verify(memory: Memory, request: Verify) -> Verified:
    shown = [one["data"] if one.keys() == {"ok", "data"} else one for one in request.receipt]
    if not shown:
        raise InvalidInput("There is no receipt: pass what `rem erasures get ID --json` wrote.")
    return Verified(valid=all(memory.erasures.verify(one) for one in shown))


_operation = partial(of_layer, group=Group.ERASURES, scope=Scoping.TENANT, writes=False)

ERASURES = (
    _operation(
        "erasures.list",
        "List the receipts of erasures, the latest first.",
        request=Listed,
        response=Erasures,
        wrap=lambda found: Erasures(erasures=tuple(found)),
        listing="erasures",
        answers=Answer.FIGURES,
    ),
    _operation(
        "erasures.get",
        "Show the receipt of an erasure.",
        request=ById,
        response=Erasure,
        scope=Scoping.BY_ID,
        answers=Answer.FIGURES,
    ),
    Operation(
        name="erasures.verify",
        summary="Say whether a receipt is this store's, unchanged.",
        group=Group.ERASURES,
        request=Verify,
        response=Verified,
        run=_verify,
        writes=False,
        scope=Scoping.TENANT,
        answers=Answer.FIGURES,
    ),
)
