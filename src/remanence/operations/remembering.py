"""The verbs that write: add, update, pin, forget, clean up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from remanence.layers.cleanup import Cleanup
from remanence.model.memory import MemoryRecord
from remanence.model.purge import Purged
from remanence.operations.operation import (
    Answer,
    Group,
    Operation,
    Scoping,
    arguments,
    changes,
    for_long,
    given,
    where_erasing,
)
from remanence.operations.responses import (
    Forgotten,
    Memories,
    Zone,
    all_untouched,
    ids_only,
    untouched,
)
from remanence.operations.scopes import KINDS, Place

if TYPE_CHECKING:
    from remanence.memory import Memory

RETRY = "the same key again repeats the first answer and writes nothing"
QUARANTINED = "keep it out of all recall until it is let in"
METADATA = "anything else to keep with it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Add(Place):
    """One memory."""

    text: str = given("what to remember", ..., positional=True, piped=True)
    kind: str = given(KINDS, "episodic")
    importance: float | None = given("0 to 1; computed when left out", short="-i")
    happened_at: datetime | None = given("when it happened; now when left out", flag="--at")
    speaker: str | None = given("who said it")
    role: str | None = given("user, assistant, system or tool")
    source: str | None = given("where it comes from")
    actor: str | None = given("who writes it down")
    origin: str | None = given("what it was made from")
    trust: float = given("how far to believe it, 0 to 1", 1.0)
    metadata: Mapping[str, Any] | None = given(METADATA, short="-m")
    pinned: bool = given("no rule may ever forget it", False)
    external_id: str | None = given("your own id for it; comes back on every hit")
    quarantined: bool = given(QUARANTINED, False)
    idempotency_key: str | None = given(RETRY)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddMany(Place):
    """Several memories, together or not at all."""

    memories: tuple[Mapping[str, Any], ...] = given(
        'objects with the fields of `add`: {"text": …, "kind": …}', ..., positional=True, piped=True
    )
    idempotency_key: str | None = given(RETRY)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddMessages(Place):
    """The turns of a conversation, in order, together or not at all."""

    messages: tuple[Mapping[str, Any], ...] = given(
        "objects with role, content and optionally name, at, id, metadata",
        ...,
        positional=True,
        piped=True,
    )
    source: str | None = given("where the conversation comes from")
    actor: str | None = given("who writes it down")
    trust: float = given("how far to believe it, 0 to 1", 1.0)
    quarantined: bool = given(QUARANTINED, False)
    idempotency_key: str | None = given(RETRY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """New values for some fields of a memory; what is left out stays."""

    id: str = given("the memory's id", ..., positional=True)
    text: str | None = given("the new text; `-` reads stdin", short="-t", piped=True)
    kind: str | None = given(KINDS)
    state: str | None = given("active, archived, superseded or quarantined")
    importance: float | None = given("0 to 1", short="-i")
    happened_at: datetime | None = given("when it happened", flag="--at")
    speaker: str | None = given("who said it")
    role: str | None = given("user, assistant, system or tool")
    source: str | None = given("where it comes from")
    origin: str | None = given("what it was made from")
    trust: float | None = given("how far to believe it, 0 to 1")
    metadata: Mapping[str, Any] | None = given("replaces the old metadata as a whole", short="-m")
    pinned: bool | None = given("whether no rule may ever forget it")
    external_id: str | None = given("your own id for it")
    superseded_by: str | None = given("the id of the memory that takes its place")
    actor: str | None = given("who changes it; kept in the history")
    reason: str | None = given("why; kept in the history")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """Pin a memory, or let it go."""

    id: str = given("the memory's id", ..., positional=True)
    pinned: bool = given("pin it, or unpin it", True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget(Place):
    """Memories by id, or those a filter finds in a scope."""

    id: tuple[str, ...] = given("ids of memories", (), positional=True)
    filters: Mapping[str, Any] | None = given(
        "conditions on metadata, or on `field.NAME` of the record", short="-f", flag="--filter"
    )
    all_users: bool = given("every user's memories", False)
    erase: bool = given("remove for good, bytes and all, instead of archiving", False)
    dry_run: bool = given("only say what would be forgotten", False, short="-n")
    actor: str | None = given("who wants it forgotten; kept in the history")
    reason: str | None = given("why; kept in the history")


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanUp:
    """Which memories are old and slight enough to be archived."""

    max_age_days: float = given("older than so many days", 30.0)
    min_importance: float = given("less important than this", 0.3)
    user_id: str | None = given("the user whose memory it is", short="-u")
    all_users: bool = given("every user's memories", False)
    dry_run: bool = given("only say what would be archived", True, short="-n")
    now: datetime | None = given("what age counts from")


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    """Whose doing is taken back, and when it was done; all that is given must hold."""

    source: str | None = given("what came from this source")
    actor: str | None = given("what this actor brought in, changed, forgot or edited")
    origin: str | None = given("what is of this origin")
    since: datetime | None = given("what was learned and done from then on")
    until: datetime | None = given("… and before then")
    user_id: str | None = given("only what is this user's", short="-u")
    all_users: bool = given("every user's; without it, what belongs to no user", True)
    erase: bool = given("remove for good what came in, instead of putting it in quarantine", False)
    dry_run: bool = given("only say what would be taken back", False, short="-n")
    reason: str | None = given("why; kept in the history")


def _add(memory: Memory, request: Add) -> MemoryRecord:
    return memory.add(**arguments(request))


def _add_many(memory: Memory, request: AddMany) -> Memories:
    rest = arguments(request) | {"memories": request.memories}
    return Memories(memories=tuple(memory.add_many(**rest)))


def _add_messages(memory: Memory, request: AddMessages) -> Memories:
    rest = arguments(request) | {"messages": request.messages}
    return Memories(memories=tuple(memory.add_messages(**rest)))


def _update(memory: Memory, request: Update) -> MemoryRecord:
    return memory.update(**changes(request))


def _pin(memory: Memory, request: Pin) -> MemoryRecord:
    return memory.pin(request.id, request.pinned)


def _forget(memory: Memory, request: Forget) -> Forgotten:
    records = memory.forget(**arguments(request))
    return Forgotten(
        dry_run=request.dry_run,
        erased=request.erase,
        memories=tuple(records),
        ids=tuple(record.id for record in records),
        receipt=records.receipt,
    )


def _erases_many(memory: Memory, request: Forget) -> bool:
    return request.erase and not request.dry_run and len(set(request.id)) != 1


def _forgets_many(request: Forget) -> bool:
    return not request.dry_run and not request.id


def _for_real(request: CleanUp) -> bool:
    return not request.dry_run


def _cleanup(memory: Memory, request: CleanUp) -> Cleanup:
    return memory.cleanup(**arguments(request))


def _purge(memory: Memory, request: Purge) -> Purged:
    return memory.purge(**arguments(request))


@dataclass(frozen=True, slots=True, kw_only=True)
class WhoseZone:
    """Whose time zone."""

    user_id: str | None = given("the user; else it is that of the settings", short="-u")


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveZone:
    """A time zone for a user."""

    timezone: str | None = given(
        "such as Europe/Lisbon or +05:45; left out, the user has none of their own",
        positional=True,
    )
    user_id: str = given("the user", ..., short="-u")


def _timezone(memory: Memory, request: WhoseZone) -> Zone:
    return Zone(timezone=memory.timezone(**arguments(request)))


def _set_timezone(memory: Memory, request: GiveZone) -> Zone:
    return Zone(timezone=memory.set_timezone(**arguments(request)))


REMEMBERING = (
    Operation(
        name="add",
        summary="Remember a text.",
        group=Group.REMEMBER,
        request=Add,
        response=MemoryRecord,
        run=_add,
        writes=True,
        scope=Scoping.SCOPED,
        answers=Answer.WRITTEN,
        bare=untouched,
    ),
    Operation(
        name="add_many",
        summary="Remember several texts, together or not at all.",
        group=Group.REMEMBER,
        request=AddMany,
        response=Memories,
        run=_add_many,
        writes=True,
        scope=Scoping.SCOPED,
        listing="memories",
        answers=Answer.WRITTEN,
        bare=all_untouched,
    ),
    Operation(
        name="add_messages",
        summary="Remember the turns of a conversation.",
        group=Group.REMEMBER,
        request=AddMessages,
        response=Memories,
        run=_add_messages,
        writes=True,
        scope=Scoping.SCOPED,
        listing="memories",
        answers=Answer.WRITTEN,
        bare=all_untouched,
    ),
    Operation(
        name="update",
        summary="Change a memory; its old values stay in its history.",
        group=Group.REMEMBER,
        request=Update,
        response=MemoryRecord,
        run=_update,
        writes=True,
        scope=Scoping.BY_ID,
    ),
    Operation(
        name="pin",
        summary="Pin a memory, so that no rule ever forgets it.",
        group=Group.REMEMBER,
        request=Pin,
        response=MemoryRecord,
        run=_pin,
        writes=True,
        scope=Scoping.BY_ID,
    ),
    Operation(
        name="forget",
        summary="Forget memories: archive them, or erase them for good.",
        group=Group.REMEMBER,
        request=Forget,
        response=Forgotten,
        run=_forget,
        writes=True,
        scope=Scoping.SCOPED,
        listing="memories",
        destructive=True,
        erases=_erases_many,
        bare=ids_only,
        lasts=_forgets_many,
    ),
    Operation(
        name="cleanup",
        summary="Archive what is old and unimportant; a dry run unless told otherwise.",
        group=Group.CARE,
        request=CleanUp,
        response=Cleanup,
        run=_cleanup,
        writes=True,
        scope=Scoping.SCOPED,
        listing="memories",
        destructive=True,
        lasts=_for_real,
    ),
    Operation(
        name="purge",
        summary="Take back all that a source, an actor or a span of time brought in.",
        group=Group.CARE,
        request=Purge,
        response=Purged,
        run=_purge,
        writes=True,
        scope=Scoping.SCOPED,
        destructive=True,
        answers=Answer.FIGURES,
        erases=where_erasing,
        lasts=for_long,
    ),
    Operation(
        name="timezone",
        summary="Say in which time zone a user's days are meant.",
        group=Group.CARE,
        request=WhoseZone,
        response=Zone,
        run=_timezone,
        writes=False,
        scope=Scoping.SCOPED,
    ),
    Operation(
        name="set_timezone",
        summary="Give a user a time zone of their own.",
        group=Group.CARE,
        request=GiveZone,
        response=Zone,
        run=_set_timezone,
        writes=True,
        scope=Scoping.SCOPED,
    ),
)
