"""The verbs of snapshots: taken, compared, restored."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from remanence.model.snapshot import Restored, Snapshot, SnapshotDiff
from remanence.operations.layer_responses import Done, Snapshots
from remanence.operations.operation import Answer, Group, Scoping, always, for_long, given, of_layer


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """One snapshot."""

    name: str = given("the snapshot's name", ..., positional=True)
    user_id: str | None = given("the user whose memory it is of", short="-u")


@dataclass(frozen=True, slots=True, kw_only=True)
class Take(Named):
    """What to hold fast."""

    agent_id: str | None = given("only what belongs to this agent", short="-a")
    session_id: str | None = given("only this conversation", short="-s")
    all_users: bool = given("every user's memory", False)
    note: str | None = given("what it is for")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Whose snapshots."""

    user_id: str | None = given("the user whose snapshots they are", short="-u")
    all_users: bool = given("every user's snapshots", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare(Named):
    """What to compare it with."""

    other: str | None = given("another snapshot; left out, the present", positional=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore(Named):
    """A snapshot to go back to."""

    dry_run: bool = given("only say what would change", False, short="-n")
    actor: str | None = given("who wants it; kept in the history")


_operation = partial(of_layer, scope=Scoping.SCOPED, group=Group.SNAPSHOTS)

SNAPSHOTS = (
    _operation(
        "snapshots.take",
        "Take a snapshot of a user's memory, or of another scope.",
        request=Take,
        response=Snapshot,
        writes=True,
        answers=Answer.WRITTEN,
        lasts=for_long,
    ),
    _operation(
        "snapshots.list",
        "List snapshots.",
        request=Listed,
        response=Snapshots,
        writes=False,
        wrap=lambda found: Snapshots(snapshots=tuple(found)),
        listing="snapshots",
    ),
    _operation("snapshots.get", "Show a snapshot.", request=Named, response=Snapshot, writes=False),
    _operation(
        "snapshots.diff",
        "Compare a snapshot with another, or with the present.",
        request=Compare,
        response=SnapshotDiff,
        writes=False,
    ),
    _operation(
        "snapshots.restore",
        "Go back to a snapshot; this can itself be undone.",
        request=Restore,
        response=Restored,
        writes=True,
        destructive=True,
        lasts=for_long,
    ),
    _operation(
        "snapshots.delete",
        "Drop a snapshot; the memories stay.",
        request=Named,
        response=Done,
        writes=True,
        wrap=lambda _: Done(done=True),
        answers=Answer.FIGURES,
        erases=always,
    ),
)
