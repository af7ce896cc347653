"""The verbs of core memory. An edit changes the block that is seen, and no edit is ever lost."""

from __future__ import annotations

import builtins
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, TypedDict, Unpack

from remanence.errors import Conflict, InvalidInput, NotFound
from remanence.layers.blocks.documents import (
    GONE,
    REDO,
    UNDO,
    BlockKey,
    Content,
    EditResult,
    EditStep,
    Finder,
    Target,
    appended,
    check_fits,
    content_at,
    difference,
    inserted,
    place,
    replaced,
    stored,
    version_of,
)
from remanence.layers.blocks.templates import render
from remanence.model import validation
from remanence.model.block import Block, BlockVersion, block_limit
from remanence.model.clock import Clock
from remanence.model.document import Discard, Document, Put
from remanence.model.ports.store import Documents

TRIES = 200  # each lost race is somebody else's edit that went in, so few are ever lost


class Owner(TypedDict, total=False):
    """Who asks for a block."""

    user_id: str | None
    agent_id: str | None


class Editor(Owner, total=False):
    """Who edits a block, and why."""

    author: str | None
    reason: str | None


def jittered(lost: int) -> None:
    """Wait a little after so many lost races, in every process another time."""
    time.sleep(random.random() * min(0.001 * 2**lost, 0.05))


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
        self._clock = clock
        self._pause = pause
        self._finder = Finder(store, tenant, limits)

    # -- see

    def get(
        self,
        label: str,
        *,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        **whose: Unpack[Owner],
    ) -> Block:
        """The block that this user and agent see under the label; `NotFound` if there is none."""
        moment = earlier_of(as_of=as_of, known_at=known_at)
        return self._finder.seen(_key(label, whose), moment).block

    def list(
        self,
        *,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        **whose: Unpack[Owner],
    ) -> builtins.list[Block]:
        """Every block that is seen: those everybody has in their order, then by label."""
        moment = earlier_of(as_of=as_of, known_at=known_at)
        usual = self._finder.limits
        seen = {label: self._finder.exact(_key(label, whose), ()) for label in usual}
        seen |= {one.address.name: one for one in self._finder.every(_key("", whose), moment)}
        others = sorted(seen.keys() - usual.keys())
        return [seen[label].block for label in (*usual, *others)]

    def render(
        self,
        *,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        template: str | None = None,
        **whose: Unpack[Owner],
    ) -> str:
        """The blocks for a prompt: fenced as data, always the same for the same blocks."""
        return render(self.list(as_of=as_of, known_at=known_at, **whose), template)

    # -- edit
    # With `version`, in every edit: `Conflict` unless the block still is that one.

    def create(
        self,
        label: str,
        value: str = "",
        *,
        limit: int | None = None,
        description: str = "",
        read_only: bool = False,
        **by: Unpack[Editor],
    ) -> Block:
        """Make a block that belongs to exactly this user and agent; `Conflict` if it is there."""
        content = Content(
            value=value_of("value", value),
            limit=0 if limit is None else block_limit(limit),
            description=description_of(description),
            read_only=validation.truth_of("read_only", read_only),
        )

        def made(target: Target) -> EditResult:
            if target.seen:
                raise Conflict(
                    f"There is a block {label!r} already, with version {target.seen}; change it "
                    "with rethink or configure."
                )
            return EditResult(replace(content, limit=content.limit or target.limit))

        return self._write("create", label, by, made, find=self._finder.exact, frees=True)

    def append(
        self, label: str, text: str, *, version: int | None = None, **by: Unpack[Editor]
    ) -> Block:
        """Add a text on a line of its own at the end."""
        more = validation.text_of("text", text)
        return self._edit("append", label, by, lambda value: appended(value, more), version)

    def replace(
        self, label: str, old: str, new: str, *, version: int | None = None, **by: Unpack[Editor]
    ) -> Block:
        """Replace a text that occurs exactly once in the block."""
        was, becomes = value_of("old", old), value_of("new", new)
        if not was:
            raise InvalidInput("old is empty; give the text to replace, or use append.")
        return self._edit(
            "replace", label, by, lambda value: replaced(label, value, was, becomes), version
        )

    def insert(
        self,
        label: str,
        text: str,
        *,
        version: int | None = None,
        line: int = -1,
        **by: Unpack[Editor],
    ) -> Block:
        """Put a text before the line of that number, counted from 0; -1 is the end."""
        more = value_of("text", text)
        return self._edit(
            "insert", label, by, lambda value: inserted(label, value, more, line), version
        )

    def rethink(
        self, label: str, value: str, *, version: int | None = None, **by: Unpack[Editor]
    ) -> Block:
        """Write the whole block anew."""
        whole = value_of("value", value)
        return self._edit("rethink", label, by, lambda _: whole, version)

    def configure(
        self,
        label: str,
        *,
        version: int | None = None,
        limit: int | None = None,
        description: str | None = None,
        read_only: bool | None = None,
        **by: Unpack[Editor],
    ) -> Block:
        """Change a block's limit, description or read-only flag; what is left out stays."""
        wanted: dict[str, Any] = {
            "limit": None if limit is None else block_limit(limit),
            "description": None if description is None else description_of(description),
            "read_only": None if read_only is None else validation.truth_of("read_only", read_only),
        }
        given = {name: value for name, value in wanted.items() if value is not None}
        if not given:
            raise InvalidInput("Say what to change: limit, description or read_only.")

        def configured(target: Target) -> EditResult:
            return EditResult(replace(target.content, **given))

        frees = read_only is False
        return self._write("configure", label, by, configured, version=version, frees=frees)

    def delete(
        self,
        label: str,
        *,
        version: int | None = None,
        erase: bool = False,
        **by: Unpack[Editor],
    ) -> None:
        """Delete the block that is seen; undo brings it back."""
        if not validation.truth_of("erase", erase):
            self._write("delete", label, by, _removed, version=version)
            return
        key = _key(label, by)
        target = self._finder.traced(key)
        check_version(target, version)
        if not target.version:
            raise _unwritten(target)
        check_own(target, key)
        check_free(target)
        self._store.put(self._tenant, [Discard(address=target.address)])

    # -- versions
    # A deleted block has a history too. Where one would be seen before a living one, it is meant.

    def history(self, label: str, **whose: Unpack[Owner]) -> builtins.list[BlockVersion]:
        """Every change of the block, oldest first."""
        target = self._finder.traced(_key(label, whose))
        return [version_of(one) for one in self._finder.editions(target)]

    def diff(
        self,
        label: str,
        *,
        before: int | None = None,
        after: int | None = None,
        **whose: Unpack[Owner],
    ) -> str:
        """A unified diff of two versions, by default of the newest change; version 0 is nothing."""
        target = self._finder.traced(_key(label, whose))
        editions = self._finder.editions(target)
        last = target.version if after is None else after
        now = content_at(label, editions, last)
        first = max(last - 1, 0) if before is None else before
        was = content_at(label, editions, first)
        return difference(label, was, now, (f"version {first}", f"version {last}"))

    def restore(self, label: str, version: int, **by: Unpack[Editor]) -> Block:
        """Make the block what it was at a version, as a new version."""

        def restored(target: Target) -> EditResult:
            content = content_at(label, self._finder.editions(target), version)
            if content.deleted:
                raise InvalidInput(
                    f"At version {version} there was no block {label!r}; use delete instead."
                )
            return EditResult(content)

        return self._write("restore", label, by, restored, find=self._finder.traced)

    def undo(self, label: str, *, version: int | None = None, **by: Unpack[Editor]) -> Block:
        """Go back one change, and with every further undo one more."""
        return self._step(UNDO, label, by, version)

    def redo(self, label: str, *, version: int | None = None, **by: Unpack[Editor]) -> Block:
        """Take back an undo; an edit in between ends what can be redone."""
        return self._step(REDO, label, by, version)

    # -- inside

    def _edit(
        self, verb: str, label: str, by: Editor, edit: Callable[[str], str], version: int | None
    ) -> Block:
        def edited(target: Target) -> EditResult:
            return EditResult(replace(target.content, value=edit(target.content.value)))

        return self._write(verb, label, by, edited, version=version)

    def _step(self, verb: str, label: str, by: Editor, version: int | None) -> Block:
        def stepped(target: Target) -> EditResult:
            editions = self._finder.editions(target)
            here = place(
                EditStep(one.version, one.verb, one.value.get("shows")) for one in editions
            )
            to = here.undo if verb == UNDO else here.redo
            if to is None:
                raise InvalidInput(
                    f"There is nothing to {verb} in the block {label!r}; history shows its changes."
                )
            return EditResult(content_at(label, editions, to), to)

        return self._write(verb, label, by, stepped, find=self._finder.traced, version=version)

    def _write(
        self,
        verb: str,
        label: str,
        by: Editor,
        change: Callable[[Target], EditResult],
        *,
        find: Callable[[BlockKey], Target] | None = None,
        version: int | None = None,
        frees: bool = False,
    ) -> Block:
        """Find, change and put; when somebody was faster, again on what they made of it.

        The block as it then stands; a change that changes nothing writes nothing. Who names a user
        changes only blocks of that user. Only what `frees` a read-only block may change one.
        """
        key = _key(label, by)
        author = validation.label_of("author", by.get("author"))
        reason = validation.label_of("reason", by.get("reason"))
        for lost in range(TRIES):
            target = (find or self._finder.seen)(key)
            check_own(target, key)
            if not frees:
                check_free(target)
            check_version(target, version)
            made = change(target)
            if target.seen and made.shows is None and made.content == target.content:
                return target.block
            try:
                return target._replace(document=self._put(target, made, verb, author, reason)).block
            except Conflict:
                self._pause(lost)
        raise Conflict(f"The block {label!r} is changed by others all the time; try again.")

    def _put(
        self, target: Target, made: EditResult, verb: str, author: str | None, reason: str | None
    ) -> Document:
        if not made.content.deleted:
            check_fits(target.address.name, made.content.value, made.content.limit)
        put = Put(
            address=target.address,
            value=stored(made.content, made.shows),
            at=self._clock.now(),
            verb=verb,
            author=author,
            reason=reason,
            expected=target.version,
            keep=True,
        )
        return self._store.put(self._tenant, [put])[0]


def _key(label: str, whose: Owner) -> BlockKey:
    return BlockKey(label, whose.get("user_id"), whose.get("agent_id"))


def check_own(target: Target, key: BlockKey) -> None:
    """Refuse to change for one user a block that all users share."""
    if target.address.user_id != key.user_id:
        raise InvalidInput(
            f"The block {target.address.name!r} is shared by all users; name no user to change it "
            "for everybody, or make one of this user's own with create."
        )


def check_free(target: Target) -> None:
    """Refuse to change a block that is read-only."""
    if target.content.read_only:
        raise InvalidInput(
            f"The block {target.address.name!r} is read-only; switch read_only off with configure "
            "first."
        )


def check_version(target: Target, version: int | None) -> None:
    """Refuse to change a block that is not the version the caller saw."""
    if version is not None and version != target.seen:
        raise Conflict(
            f"The block {target.address.name!r} has version {target.seen} now, not "
            f"{str(version)[:20]}; read it again."
        )


def earlier_of(**moments: datetime | None) -> datetime | None:
    """The earlier of these moments, None if none is given."""
    given = (validation.moment_of(name, at) for name, at in moments.items() if at is not None)
    return min(given, default=None)


def value_of(what: str, value: object) -> str:
    """A text that can be stored; it may be empty."""
    blank = isinstance(value, str) and not value.strip()
    return str(value) if blank else validation.text_of(what, value)


def description_of(value: object) -> str:
    """A short text that may be empty."""
    return "" if value == "" else validation.text_of("description", value, validation.MAX_LABEL)


def _removed(target: Target) -> EditResult:
    if not target.seen:
        raise _unwritten(target)
    return EditResult(GONE)


def _unwritten(target: Target) -> NotFound:
    return NotFound(f"The block {target.address.name!r} was never written; none is there.")
