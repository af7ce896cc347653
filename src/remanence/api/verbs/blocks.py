"""The verbs of core memory: blocks that are read, edited, compared and brought back."""

from __future__ import annotations

import builtins
from datetime import datetime
from typing import Annotated, TypedDict, Unpack

from remanence.api.answers import listed
from remanence.api.parameters import MOST_CHARACTERS, TEXT, AgentId, By, Reason, UserId, Version
from remanence.api.verb import F, Group, Holds, Layer, Says, verb
from remanence.model.block import Block, BlockVersion

Label = Annotated[str, Says("the block's label, such as persona or human")]
Limit = Annotated[int | None, Says("how many characters it may hold", bounds=MOST_CHARACTERS)]
Text = Annotated[str, Says("what to add", bounds=TEXT, piped=True)]
Old = Annotated[str, Says("the passage, exactly; it must occur once")]
New = Annotated[str, Says("what takes its place")]
Line = Annotated[int, Says("before which line, from 0; -1 is the end")]
RethinkValue = Annotated[str, Says("what it says from now on", piped=True)]
Erase = Annotated[bool, Says("with its whole history, for good")]
Before = Annotated[int | None, Says("the older version")]
After = Annotated[int | None, Says("the newer version")]
RestoreVersion = Annotated[int, Says("the version to bring back")]
Template = Annotated[str | None, Says("a Jinja2 template; it gets `blocks`", local=True)]

BlockList = listed("BlockList", "Several blocks.", blocks=Block)
BlockHistory = listed(
    "BlockHistory", "Every version of a block, oldest first.", versions=BlockVersion
)


class Owner(TypedDict, total=False):
    """Whose block it is."""

    user_id: UserId
    agent_id: AgentId


class Then(Owner, total=False):
    """Whose block is looked at, and as of when."""

    as_of: Annotated[datetime | None, Says("as it was then")]
    known_at: Annotated[datetime | None, Says("as it was then: a block has no other time")]


class Editor(Owner, total=False):
    """Whose block is changed, by whom and why."""

    author: By
    reason: Reason


class Edit(Editor, total=False):
    """The same, held to a version."""

    version: Version


class Blocks(Layer[F], layer="blocks", group=Group.BLOCKS):
    """One tenant's blocks: labelled texts that stand in every prompt of a user and an agent."""

    @verb("GET /v1/blocks", answer=BlockList)
    def list(self, **where: Unpack[Then]) -> builtins.list[Block]:
        """List the blocks that a user and an agent see: those everybody has, then by label."""

    @verb("GET /v1/blocks/{label}")
    def get(self, label: Label, **where: Unpack[Then]) -> Block:
        """Show a block, as it is or as it was.

        The block that this user and agent see under the label; `NotFound` if there is none.

        With `as_of` or `known_at`, the block as it was written then: it has no other time.
        """

    @verb(
        "POST /v1/blocks",
        holds=Holds.WRITTEN,
        example={"label": "tone", "value": "Short and friendly.", "user_id": "alice"},
    )
    def create(
        self,
        label: Label,
        value: Annotated[str, Says("what it says at first")] = "",
        *,
        limit: Limit = None,
        description: Annotated[str, Says("what it is for; the model reads it")] = "",
        read_only: Annotated[bool, Says("nobody may edit it")] = False,
        **where: Unpack[Editor],
    ) -> Block:
        """Make a block of exactly this user and agent; `Conflict` if it is there."""

    @verb("POST /v1/blocks/{label}/append")
    def append(self, label: Label, text: Text, **where: Unpack[Edit]) -> Block:
        """Add a text to a block, on a line of its own at the end.

        With `version`, here and in every edit: `Conflict` unless the block still is that one.
        """

    @verb("POST /v1/blocks/{label}/replace")
    def replace(self, label: Label, old: Old, new: New, **where: Unpack[Edit]) -> Block:
        """Replace a passage that occurs exactly once in a block."""

    @verb("POST /v1/blocks/{label}/insert")
    def insert(self, label: Label, text: Text, *, line: Line = -1, **where: Unpack[Edit]) -> Block:
        """Insert a line into a block."""

    @verb("PUT /v1/blocks/{label}")
    def rethink(self, label: Label, value: RethinkValue, **where: Unpack[Edit]) -> Block:
        """Write a block anew."""

    @verb("PATCH /v1/blocks/{label}")
    def configure(
        self,
        label: Label,
        *,
        limit: Limit = None,
        description: Annotated[str | None, Says("what it is for; the model reads it")] = None,
        read_only: Annotated[bool | None, Says("whether nobody may edit it")] = None,
        **where: Unpack[Edit],
    ) -> Block:
        """Change a block's limit, description or protection; what is left out stays."""

    @verb("DELETE /v1/blocks/{label}", destructive=True)
    def delete(self, label: Label, *, erase: Erase = False, **where: Unpack[Edit]) -> None:
        """Take a block away; undo brings it back unless it is erased.

        With `erase`, the block or what deleting left of it goes for good, history and all.
        """

    @verb("GET /v1/blocks/{label}/history", answer=BlockHistory, command="log")
    def history(self, label: Label, **where: Unpack[Owner]) -> builtins.list[BlockVersion]:
        """Show every version of a block, oldest first."""

    @verb("GET /v1/blocks/{label}/diff")
    def diff(
        self, label: Label, *, before: Before = None, after: After = None, **where: Unpack[Owner]
    ) -> str:
        """Show what the last change of a block changed, or compare two versions.

        A unified diff of two versions, by default of the newest change; version 0 is nothing.
        """

    @verb("POST /v1/blocks/{label}/restore")
    def restore(self, label: Label, version: RestoreVersion, **where: Unpack[Editor]) -> Block:
        """Bring back a version of a block, as a new version."""

    @verb("POST /v1/blocks/{label}/undo")
    def undo(self, label: Label, **where: Unpack[Edit]) -> Block:
        """Take back the last change of a block, and with every further undo one more.

        Back before its first version there is no block: version 0 comes back then.
        """

    @verb("POST /v1/blocks/{label}/redo")
    def redo(self, label: Label, **where: Unpack[Edit]) -> Block:
        """Do again what was taken back; an edit in between ends what can be redone."""

    @verb("GET /v1/prompts/blocks")
    def render(self, *, template: Template = None, **where: Unpack[Then]) -> str:
        """Show the blocks as a prompt has them.

        The blocks for a prompt: fenced as data, always the same for the same blocks.

        A Jinja2 `template` gets `blocks`, each with label, value, characters, limit, description,
        read_only and version.
        """
