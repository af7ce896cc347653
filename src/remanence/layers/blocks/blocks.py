"""The verbs of core memory. An edit changes the block that is seen, and no edit is ever lost."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from remanence.clock import Clock
from remanence.errors import Conflict, InvalidInput, NotFound
from remanence.layers.blocks.differing import difference
from remanence.layers.blocks.edits import appended, inserted, replaced
from remanence.layers.blocks.finding import Finder, Target, Whose, content_at
from remanence.layers.blocks.rendering import render
from remanence.layers.blocks.stored import GONE, Content, version_of
from remanence.layers.blocks.timeline import REDO, UNDO, Step, place
from remanence.layers.blocks.writing import By, Change, Pen, check_free, check_own, jittered
from remanence.model import accept
from remanence.model.block import Block, BlockVersion, block_limit
from remanence.model.document import Discard
from remanence.ports.store import Documents


class Blocks:
    """One tenant's blocks: labelled texts that stand in every prompt of a user and an agent.

    A caller sees, of the blocks with a label, the most specific: its user's with its agent, its
    user's, its agent's, the one that all share. Who names a user edits only that user's blocks: one
    that is shared by all users is then refused with `InvalidInput`. `limits` are the labels that
    everybody has.
    """

    def __init__(
        self,
        store: Documents,
        tenant: str,
        clock: Clock,
        limits: Mapping[str, int],
        *,
        pause: Callable[[int], None] = jittered,
    ) -> None:
        self._store = store
        self._tenant = tenant
        self._finder = Finder(store, tenant, limits)
        self._pen = Pen(store, tenant, clock, pause)

    # -- see

    def get(
        self,
        label: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
    ) -> Block:
        """The block that this user and agent see under the label; `NotFound` if there is none.

        With `as_of` or `known_at`, the block as it was written then: it has no other time.
        """
        moment = earlier_of(as_of=as_of, known_at=known_at)
        return self._finder.seen(Whose(label, user_id, agent_id), moment).block

    def list(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
    ) -> builtins.list[Block]:
        """Every block that is seen: those everybody has in their order, then by label."""
        moment = earlier_of(as_of=as_of, known_at=known_at)
        usual = [Whose(label, user_id, agent_id) for label in self._finder.limits]
        seen = {whose.label: self._finder.exact(whose, ()) for whose in usual}
        seen |= {one.address.name: one for one in self._finder.every(user_id, agent_id, moment)}
        others = sorted(seen.keys() - self._finder.limits.keys())
        return [seen[label].block for label in (*self._finder.limits, *others)]

    def render(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        template: str | None = None,
    ) -> str:
        """The blocks for a prompt: fenced as data, always the same for the same blocks.

        A Jinja2 `template` gets `blocks`, each with label, value, characters, limit, description,
        read_only and version.
        """
        moment = earlier_of(as_of=as_of, known_at=known_at)
        return render(self.list(user_id=user_id, agent_id=agent_id, known_at=moment), template)

    # -- edit

    def create(
        self,
        label: str,
        value: str = "",
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        limit: int | None = None,
        description: str = "",
        read_only: bool = False,
        author: str | None = None,
        reason: str | None = None,
    ) -> Block:
        """Make a block that belongs to exactly this user and agent; `Conflict` if it is there."""
        content = Content(
            value=value_of("value", value),
            limit=0 if limit is None else block_limit(limit),
            description=description_of(description),
            read_only=accept.truth_of("read_only", read_only),
        )

        def made(target: Target) -> Change:
            if target.seen:
                raise Conflict(
                    f"There is a block {label!r} already, with version {target.seen}; change it "
                    "with rethink or configure."
                )
            return Change(replace(content, limit=content.limit or target.limit))

        whose, by = Whose(label, user_id, agent_id), By(author, reason)
        return self._pen.write(self._finder.exact, whose, made, "create", by, frees=True)

    def append(
        self,
        label: str,
        text: str,
        *,
        version: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        author: str | None = None,
        reason: str | None = None,
    ) -> Block:
        """Add a text on a line of its own at the end.

        With `version`, here and in every edit: `Conflict` unless the block still is that one.
        """
        more = accept.text_of("text", text)
        whose, by = Whose(label, user_id, agent_id), By(author, reason)
        return self._edit(whose, lambda value: appended(value, more), "append", by, version)

    def replace(
        self,
        label: str,
        old: str,
        new: str,
        *,
        version: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        author: str | None = None,
        reason: str | None = None,
    ) -> Block:
        """Replace a text that occurs exactly once in the block."""
        was, becomes = value_of("old", old), value_of("new", new)
        if not was:
            raise InvalidInput("old is empty; give the text to replace, or use append.")
        whose, by = Whose(label, user_id, agent_id), By(author, reason)
        return self._edit(
            whose, lambda value: replaced(label, value, was, becomes), "replace", by, version
        )

    def insert(
        self,
        label: str,
        text: str,
        *,
        version: int | None = None,
        line: int = -1,
        user_id: str | None = None,
        agent_id: str | None = None,
        author: str | None = None,
        reason: str | None = None,
    ) -> Block:
        """Put a text before the line of that number, counted from 0; -1 is the end."""
        more = value_of("text", text)
        whose, by = Whose(label, user_id, agent_id), By(author, reason)
        return self._edit(
            whose, lambda value: inserted(label, value, more, line), "insert", by, version
        )

    def rethink(
        self,
        label: str,
        value: str,
        *,
        version: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        author: str | None = None,
        reason: str | None = None,
    ) -> Block:
        """Write the whole block anew; with `version`, `Conflict` unless it still is that one."""
        whole = value_of("value", value)

        whose, by = Whose(label, user_id, agent_id), By(author, reason)
        return self._edit(whose, lambda _: whole, "rethink", by, version)

    def configure(
        self,
        label: str,
        *,
        version: int | None = None,
        limit: int | None = None,
        description: str | None = None,
        read_only: bool | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        author: str | None = None,
        reason: str | None = None,
    ) -> Block:
        """Change a block's limit, description or read-only flag; what is left out stays."""
        wanted: dict[str, Any] = {
            "limit": None if limit is None else block_limit(limit),
            "description": None if description is None else description_of(description),
            "read_only": None if read_only is None else accept.truth_of("read_only", read_only),
        }
        given = {name: value for name, value in wanted.items() if value is not None}
        if not given:
            raise InvalidInput("Say what to change: limit, description or read_only.")

        def configured(target: Target) -> Change:
            check_version(target, version)
            return Change(replace(target.content, **given))

        whose, by, frees = Whose(label, user_id, agent_id), By(author, reason), read_only is False
        return self._pen.write(self._finder.seen, whose, configured, "configure", by, frees=frees)

    def delete(
        self,
        label: str,
        *,
        version: int | None = None,
        erase: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        author: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Delete the block that is seen; undo brings it back.

        With `erase`, the block or what deleting left of it goes for good, history and all.
        """
        whose = Whose(label, user_id, agent_id)
        if accept.truth_of("erase", erase):
            target = self._finder.traced(whose)
            check_version(target, version)
            self._erase(target, whose)
            return

        def removed(target: Target) -> Change:
            check_version(target, version)
            return _removed(target)

        self._pen.write(self._finder.seen, whose, removed, "delete", By(author, reason))

    # -- versions
    # A deleted block has a history too. Where one would be seen before a living one, it is meant.

    def history(
        self, label: str, *, user_id: str | None = None, agent_id: str | None = None
    ) -> builtins.list[BlockVersion]:
        """Every change of the block, oldest first."""
        target = self._finder.traced(Whose(label, user_id, agent_id))
        return [version_of(one) for one in self._finder.editions(target)]

    def diff(
        self,
        label: str,
        *,
        before: int | None = None,
        after: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> str:
        """A unified diff of two versions, by default of the newest change; version 0 is nothing."""
        target = self._finder.traced(Whose(label, user_id, agent_id))
        editions = self._finder.editions(target)
        last = target.version if after is None else after
        now = content_at(label, editions, last)
        first = max(last - 1, 0) if before is None else before
        was = content_at(label, editions, first)
        return difference(label, was, now, (f"version {first}", f"version {last}"))

    def restore(
        self,
        label: str,
        version: int,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        author: str | None = None,
        reason: str | None = None,
    ) -> Block:
        """Make the block what it was at a version, as a new version."""

        def restored(target: Target) -> Change:
            content = content_at(label, self._finder.editions(target), version)
            if content.deleted:
                raise InvalidInput(
                    f"At version {version} there was no block {label!r}; use delete instead."
                )
            return Change(content)

        whose, by = Whose(label, user_id, agent_id), By(author, reason)
        return self._pen.write(self._finder.traced, whose, restored, "restore", by)

    def undo(
        self,
        label: str,
        *,
        version: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        author: str | None = None,
        reason: str | None = None,
    ) -> Block:
        """Go back one change, and with every further undo one more.

        Back before its first version there is no block: version 0 comes back then.
        """
        return self._step(UNDO, Whose(label, user_id, agent_id), By(author, reason), version)

    def redo(
        self,
        label: str,
        *,
        version: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        author: str | None = None,
        reason: str | None = None,
    ) -> Block:
        """Take back an undo; an edit in between ends what can be redone."""
        return self._step(REDO, Whose(label, user_id, agent_id), By(author, reason), version)

    # -- inside

    def _edit(
        self, whose: Whose, edit: Callable[[str], str], verb: str, by: By, version: int | None
    ) -> Block:
        def edited(target: Target) -> Change:
            check_version(target, version)
            return Change(replace(target.content, value=edit(target.content.value)))

        return self._pen.write(self._finder.seen, whose, edited, verb, by)

    def _step(self, verb: str, whose: Whose, by: By, wanted: int | None) -> Block:
        def stepped(target: Target) -> Change:
            check_version(target, wanted)
            editions = self._finder.editions(target)
            here = place(Step(one.version, one.verb, one.value.get("shows")) for one in editions)
            version = here.undo if verb == UNDO else here.redo
            if version is None:
                raise InvalidInput(
                    f"There is nothing to {verb} in the block {whose.label!r}; history shows "
                    "its changes."
                )
            return Change(content_at(whose.label, editions, version), version)

        return self._pen.write(self._finder.traced, whose, stepped, verb, by)

    def _erase(self, target: Target, whose: Whose) -> None:
        if not target.version:
            raise _unwritten(target)
        check_own(target, whose)
        check_free(target)
        self._store.put(self._tenant, [Discard(address=target.address)])


def check_version(target: Target, version: int | None) -> None:
    """Refuse to change a block that is not the version the caller saw."""
    if version is not None and version != target.seen:
        raise Conflict(
            f"The block {target.address.name!r} has version {target.seen} now, not "
            f"{str(version)[:20]}; read it again."
        )


def earlier_of(**moments: datetime | None) -> datetime | None:
    """The earlier of these moments, None if none is given."""
    given = (accept.moment_of(name, at) for name, at in moments.items() if at is not None)
    return min(given, default=None)


def value_of(what: str, value: object) -> str:
    """A text that can be stored; it may be empty."""
    blank = isinstance(value, str) and not value.strip()
    return str(value) if blank else accept.text_of(what, value)


def description_of(value: object) -> str:
    """A short text that may be empty."""
    return "" if value == "" else accept.text_of("description", value, accept.MAX_LABEL)


def _removed(target: Target) -> Change:
    if not target.seen:
        raise _unwritten(target)
    return Change(GONE)


def _unwritten(target: Target) -> NotFound:
    return NotFound(f"The block {target.address.name!r} was never written; none is there.")
