"""The verbs of core memory: blocks that are read, edited, compared and brought back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial

from remanence.model.block import Block
from remanence.operations.layer_responses import BlockHistory, Blocks, Done, Wording
from remanence.operations.operation import Answer, Group, Scoping, given, of_layer, where_erasing


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Whose block; without an owner it is shared by all."""

    user_id: str | None = given("the user whose block it is", short="-u")
    agent_id: str | None = given("the agent whose block it is", short="-a")


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled(Owner):
    """One block."""

    label: str = given("the block's label, such as persona or human", ..., positional=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed(Owner):
    """Which blocks, now or as they were."""

    as_of: datetime | None = given("as it was then")
    known_at: datetime | None = given("as it was then: a block has no other time")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen(Listed):
    """One block, now or as it was."""

    label: str = given("the block's label, such as persona or human", ..., positional=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit(Labelled):
    """A change, with what the history shall say of it."""

    author: str | None = given("who changes it; kept in the history")
    reason: str | None = given("why; kept in the history")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Edit):
    """A change of what is there."""

    version: int | None = given("only if it still has this version")


@dataclass(frozen=True, slots=True, kw_only=True)
class Create(Edit):
    """A new block."""

    value: str = given("what it says at first", "", positional=True)
    limit: int | None = given("how many characters it may hold")
    description: str = given("what it is for; the model reads it", "")
    read_only: bool = given("nobody may edit it", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Append(Change):
    """A line at the end."""

    text: str = given("what to add", ..., positional=True, piped=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replace(Change):
    """One passage for another."""

    old: str = given("the passage, exactly; it must occur once", ..., positional=True)
    new: str = given("what takes its place", ..., positional=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert(Change):
    """A line between others."""

    text: str = given("what to add", ..., positional=True, piped=True)
    line: int = given("before which line, from 0; -1 is the end", -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rethink(Change):
    """The whole block anew."""

    value: str = given("what it says from now on", ..., positional=True, piped=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Configure(Change):
    """What holds for the block; what is left out stays."""

    limit: int | None = given("how many characters it may hold")
    description: str | None = given("what it is for; the model reads it")
    read_only: bool | None = given("whether nobody may edit it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete(Change):
    """A block to take away."""

    erase: bool = given("with its whole history, for good", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare(Labelled):
    """Two versions; left out, the newest change."""

    before: int | None = given("the older version")
    after: int | None = given("the newer version")


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore(Edit):
    """A version to go back to."""

    version: int = given("the version to bring back", ..., positional=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Render(Listed):
    """All blocks as a prompt has them."""

    template: str | None = given("a Jinja2 template; it gets `blocks`")


_reads = partial(of_layer, scope=Scoping.SCOPED, group=Group.BLOCKS, writes=False)
_edits = partial(of_layer, scope=Scoping.SCOPED, group=Group.BLOCKS, response=Block, writes=True)


BLOCKS = (
    _reads(
        "blocks.list",
        "List the blocks that a user and an agent see.",
        request=Listed,
        response=Blocks,
        wrap=lambda found: Blocks(blocks=tuple(found)),
        listing="blocks",
    ),
    _reads("blocks.get", "Show a block, as it is or as it was.", request=Seen, response=Block),
    _edits("blocks.create", "Make a block.", request=Create, answers=Answer.WRITTEN),
    _edits("blocks.append", "Add a line to a block.", request=Append),
    _edits("blocks.replace", "Replace a passage of a block.", request=Replace),
    _edits("blocks.insert", "Insert a line into a block.", request=Insert),
    _edits("blocks.rethink", "Write a block anew.", request=Rethink),
    _edits(
        "blocks.configure", "Change a block's limit, description or protection.", request=Configure
    ),
    of_layer(
        "blocks.delete",
        "Take a block away; undo brings it back unless it is erased.",
        Group.BLOCKS,
        Delete,
        Done,
        writes=True,
        scope=Scoping.SCOPED,
        wrap=lambda _: Done(done=True),
        destructive=True,
        answers=Answer.FIGURES,
        erases=where_erasing,
    ),
    _reads(
        "blocks.history",
        "Show every version of a block.",
        request=Labelled,
        response=BlockHistory,
        wrap=lambda found: BlockHistory(versions=tuple(found)),
        listing="versions",
        command="log",
    ),
    _reads(
        "blocks.diff",
        "Show what the last change of a block changed, or compare two versions.",
        request=Compare,
        response=Wording,
        wrap=lambda text: Wording(text=text),
    ),
    _edits("blocks.restore", "Bring back a version of a block.", request=Restore),
    _edits("blocks.undo", "Take back the last change of a block.", request=Change),
    _edits("blocks.redo", "Do again what was taken back.", request=Change),
    _reads(
        "blocks.render",
        "Show the blocks as a prompt has them.",
        request=Render,
        response=Wording,
        wrap=lambda text: Wording(text=text),
    ),
)
