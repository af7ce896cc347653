"""Writing a block so that two writers never lose an edit."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import NamedTuple

from remanence.clock import Clock
from remanence.errors import Conflict, InvalidInput
from remanence.layers.blocks.edits import check_fits
from remanence.layers.blocks.finding import Target, Whose
from remanence.layers.blocks.stored import Content, stored
from remanence.model import accept
from remanence.model.block import Block
from remanence.model.document import Document, Put
from remanence.ports.store import Documents

TRIES = 200  # each lost race is somebody else's edit that went in, so few are ever lost


class By(NamedTuple):
    """Who does something to a block, and why."""

    author: str | None
    reason: str | None


class Change(NamedTuple):
    """What an edit makes of a block; `shows` is the version that an undo or redo went to."""

    content: Content
    shows: int | None = None


def jittered(lost: int) -> None:
    """Wait a little after so many lost races, in every process another time."""
    time.sleep(random.random() * min(0.001 * 2**lost, 0.05))


class Pen:
    """Finds, changes and puts; when somebody was faster, again on what they made of it."""

    def __init__(
        self, store: Documents, tenant: str, clock: Clock, pause: Callable[[int], None]
    ) -> None:
        self._store = store
        self._tenant = tenant
        self._clock = clock
        self._pause = pause

    def write(
        self,
        find: Callable[[Whose], Target],
        whose: Whose,
        change: Callable[[Target], Change],
        verb: str,
        by: By,
        *,
        frees: bool = False,
    ) -> Block:
        """The block as it then stands; a change that changes nothing writes nothing.

        Who names a user changes only blocks of that user. Only what `frees` a read-only block may
        change one.
        """
        told = By(accept.label_of("author", by.author), accept.label_of("reason", by.reason))
        for lost in range(TRIES):
            target = find(whose)
            check_own(target, whose)
            if not frees:
                check_free(target)
            made = change(target)
            if target.seen and made.shows is None and made.content == target.content:
                return target.block
            try:
                return target._replace(document=self._put(target, made, verb, told)).block
            except Conflict:
                self._pause(lost)
        raise Conflict(f"The block {whose.label!r} is changed by others all the time; try again.")

    def _put(self, target: Target, made: Change, verb: str, by: By) -> Document:
        if not made.content.deleted:
            check_fits(target.address.name, made.content.value, made.content.limit)
        put = Put(
            address=target.address,
            value=stored(made.content, made.shows),
            at=self._clock.now(),
            verb=verb,
            author=by.author,
            reason=by.reason,
            expected=target.version,
            keep=True,
        )
        return self._store.put(self._tenant, [put])[0]


def check_own(target: Target, whose: Whose) -> None:
    """Refuse to change for one user a block that all users share."""
    if target.address.user_id != whose.user_id:
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
