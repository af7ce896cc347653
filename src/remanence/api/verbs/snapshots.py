"""The verbs of snapshots, and of the receipts of erasures."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Unpack

from remanence.api import answers
from remanence.api.answers import listed
from remanence.api.parameters import (
    LABEL,
    TEXT,
    AllUsers,
    By,
    DryRun,
    ExamplesLimit,
    Offset,
    ScopeArguments,
    UserId,
)
from remanence.api.verb import F, Group, Holds, Layer, Says, Scoping, always, for_long, verb
from remanence.model.erasure import Erasure
from remanence.model.snapshot import Restored, Snapshot, SnapshotDiff

Name = Annotated[str, Says("the snapshot's name", bounds=TEXT)]
Other = Annotated[str | None, Says("another snapshot; left out, the present", bounds=TEXT)]

SnapshotList = listed("SnapshotList", "Several snapshots, the newest first.", snapshots=Snapshot)


class Snapshots(Layer[F], layer="snapshots", group=Group.SNAPSHOTS):
    """One tenant's snapshots. Memories and blocks are kept by reference, never copied."""

    @verb(
        "POST /v1/snapshots",
        holds=Holds.WRITTEN,
        lasts=for_long,
        example={"name": "before the trip", "user_id": "alice"},
    )
    def take(
        self,
        name: Name,
        *,
        all_users: AllUsers = False,
        note: Annotated[str | None, Says("what it is for", bounds=LABEL)] = None,
        **where: Unpack[ScopeArguments],
    ) -> Snapshot:
        """Take a snapshot of a user's memory, or of another scope.

        Keep what the scope holds now under a name; `Conflict` when its user has that name.

        What is written while it is taken may be in it or not.
        """

    @verb("GET /v1/snapshots", answer=SnapshotList)
    def list(
        self, *, user_id: UserId = None, all_users: AllUsers = False
    ) -> builtins.list[Snapshot]:
        """List a user's snapshots, or everybody's, the newest first."""

    @verb("GET /v1/snapshots/get")
    def get(self, name: Name, *, user_id: UserId = None) -> Snapshot:
        """Show a snapshot; `NotFound` if there is none."""

    @verb("GET /v1/snapshots/diff")
    def diff(self, name: Name, other: Other = None, *, user_id: UserId = None) -> SnapshotDiff:
        """Compare a snapshot with another, or with the present."""

    @verb("POST /v1/snapshots/restore", destructive=True, governs=True, lasts=for_long)
    def restore(
        self, name: Name, *, user_id: UserId = None, dry_run: DryRun = False, actor: By = None
    ) -> Restored:
        """Go back to a snapshot; this can itself be undone.

        Make the scope what it was, and first take a snapshot that undoes this.

        Memories made since are archived, those that changed get their values back, blocks a new
        version, sessions their values. After an interruption, call it again.
        """

    @verb("DELETE /v1/snapshots", erases=always)
    def delete(self, name: Name, *, user_id: UserId = None) -> None:
        """Drop a snapshot; the memories stay."""


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
class ReceiptCheck(answers.Wrapped, holds=Holds.FIGURES):
    """Whether a receipt is one of this store's, unchanged."""

    valid: bool

    @property
    def healthy(self) -> bool:
        """The same, for the exit code of a command."""
        return self.valid


class Erasures(Layer[F], layer="erasures", group=Group.ERASURES):
    """The receipts of a tenant's erasures: listed, read, verified."""

    @verb("GET /v1/erasures", scope=Scoping.TENANT, answer=ErasureList)
    def list(self, *, limit: ExamplesLimit = 100, offset: Offset = 0) -> builtins.list[Erasure]:
        """List the receipts of erasures, the latest first; those cut off come before all."""

    @verb("GET /v1/erasures/{id}", holds=Holds.FIGURES)
    def get(self, id: Id) -> Erasure:
        """Show the receipt of an erasure; `NotFound` if there is none."""

    @verb("POST /v1/erasures/verify", writes=False, scope=Scoping.TENANT, answer=ReceiptCheck)
    def verify(self, receipt: Receipt) -> bool:
        """Say whether this store, or one it was restored from, gave exactly this receipt."""
