"""The verbs of erasures: the receipts of what was erased, listed and verified."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from remanence.api import answers
from remanence.api.answers import listed
from remanence.api.parameters import ExamplesLimit, Offset
from remanence.api.verb import F, Group, Holds, Layer, Says, Scoping, verb
from remanence.model.erasure import Erasure

Id = Annotated[str, Says("the receipt's id")]
Receipt = Annotated[
    Erasure | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    Says(
        "a file with the receipt, as `rem erasures get ID --json` writes it",
        wire=tuple[Mapping[str, Any], ...],
        piped=True,
    ),
]

ErasureList = listed(
    "ErasureList", "Receipts of erasures, the latest first.", Holds.FIGURES, erasures=Erasure
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptCheck(answers.Wrapped):
    """Whether a receipt is one of this store's, unchanged."""

    holds = Holds.FIGURES
    valid: bool

    @property
    def healthy(self) -> bool:
        """The same, for the exit code of a command."""
        return self.valid


class Erasures(Layer[F]):
    """The receipts of a tenant's erasures: listed, read, verified."""

    layer = "erasures"
    group = Group.ERASURES

    @verb("GET /v1/erasures", scope=Scoping.TENANT, answer=ErasureList)
    def list(self, *, limit: ExamplesLimit = 100, offset: Offset = 0) -> builtins.list[Erasure]:
        """List the receipts of erasures, the latest first; those cut off come before all."""

    @verb("GET /v1/erasures/{id}", scope=Scoping.BY_ID, holds=Holds.FIGURES)
    def get(self, id: Id) -> Erasure:
        """Show the receipt of an erasure; `NotFound` if there is none."""

    @verb("POST /v1/erasures/verify", scope=Scoping.TENANT, answer=ReceiptCheck)
    def verify(self, receipt: Receipt) -> bool:
        """Say whether this store, or one it was restored from, gave exactly this receipt."""
