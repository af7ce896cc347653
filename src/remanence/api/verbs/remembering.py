"""The verbs that write memories: add, change, pin, forget, clean up, take back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, Unpack

from remanence.api import answers
from remanence.api.parameters import (
    KEYS,
    LABEL,
    MOST_ITEMS,
    NAME,
    SHARE,
    TEXT,
    Actor,
    AddKind,
    AllUsers,
    By,
    DryRun,
    Erase,
    Filters,
    Id,
    IdempotencyKey,
    Importance,
    Messages,
    Metadata,
    Now,
    Quarantined,
    Reason,
    ScopeArguments,
    Source,
    Trust,
    UserId,
    choice,
)
from remanence.api.verb import (
    UNSET,
    F,
    Group,
    Holds,
    Layer,
    MemoryHere,
    Says,
    Unset,
    for_long,
    verb,
)
from remanence.layers.cleanup import Cleanup
from remanence.model.erasure import Forgotten, PurgeResult
from remanence.model.memory import Kind, MemoryRecord, State

HappenedAt = Annotated[datetime | None, Says("when it happened; now when left out", flag="--at")]
Pinned = Annotated[bool, Says("no rule may ever forget it")]
ExternalId = Annotated[
    str | None, Says("your own id for it; comes back on every hit", bounds=LABEL)
]
AddManyMemories = Annotated[
    Iterable[str | Mapping[str, Any]],
    Says(
        'objects with the fields of `add`: {"text": …, "kind": …}',
        bounds={"maxItems": MOST_ITEMS},
        wire=tuple[Mapping[str, Any], ...],
        piped=True,
        like="add",
    ),
]
UpdateText = Annotated[
    str | Unset, Says("the new text; `-` reads stdin", "-t", bounds=TEXT, piped=True)
]
UpdateKind = Annotated[
    str | Unset,
    Says("message, episodic, semantic, procedural, reflection or summary", bounds=choice(Kind)),
]
UpdateState = Annotated[
    str | Unset, Says("active, archived, superseded or quarantined", bounds=choice(State))
]
UpdateHappenedAt = Annotated[datetime | Unset | None, Says("when it happened", flag="--at")]
UpdateRole = Annotated[str | Unset | None, Says("user, assistant, system or tool", bounds=LABEL)]
UpdateTrust = Annotated[float | Unset, Says("how far to believe it, 0 to 1", bounds=SHARE)]
UpdateMetadata = Annotated[
    Mapping[str, Any] | Unset | None,
    Says("replaces the old metadata as a whole", "-m", bounds=KEYS),
]
UpdateExternalId = Annotated[str | Unset | None, Says("your own id for it", bounds=LABEL)]
SupersededBy = Annotated[str | Unset | None, Says("the id of the memory that takes its place")]
PinPinned = Annotated[bool, Says("pin it, or unpin it", argument=False)]
ForgetId = Annotated[
    str | Iterable[str] | None, Says("ids of memories", wire=tuple[str, ...] | None)
]
MaxAgeDays = Annotated[float, Says("older than so many days", bounds={"minimum": 0})]
PurgeActor = Annotated[
    str | None, Says("what this actor brought in, changed, forgot or edited", bounds=LABEL)
]
PurgeAllUsers = Annotated[bool, Says("every user's; without it, what belongs to no user")]
PurgeErase = Annotated[
    bool, Says("remove for good what came in, instead of putting it in quarantine")
]
Timezone = Annotated[
    str | None, Says("such as Europe/Lisbon or +05:45; left out, the user has none of their own")
]
SetTimezoneUserId = Annotated[str, Says("the user", "-u", bounds=NAME)]


def _erases_many(memory: MemoryHere, request: Any) -> bool:
    return request.erase and not request.dry_run and len(set(request.id or ())) != 1


class Remembering(Layer[F], group=Group.REMEMBER):
    """The verbs that write memories: add, change, pin, forget, clean up, take back."""

    @verb(
        "POST /v1/memories",
        holds=Holds.WRITTEN,
        bare=answers.untouched,
        example={"text": "Ana moved to Lisbon", "user_id": "alice", "importance": 0.8},
    )
    def add(
        self,
        text: Annotated[str, Says("what to remember", bounds=TEXT, piped=True)],
        *,
        kind: AddKind = Kind.EPISODIC,
        importance: Importance = None,
        happened_at: HappenedAt = None,
        source: Source = None,
        actor: Actor = None,
        origin: Annotated[str | None, Says("what it was made from", bounds=LABEL)] = None,
        trust: Trust = 1.0,
        metadata: Metadata = None,
        pinned: Pinned = False,
        speaker: Annotated[str | None, Says("who said it", bounds=LABEL)] = None,
        role: Annotated[str | None, Says("user, assistant, system or tool", bounds=LABEL)] = None,
        external_id: ExternalId = None,
        quarantined: Quarantined = False,
        idempotency_key: IdempotencyKey = None,
        **where: Unpack[ScopeArguments],
    ) -> MemoryRecord:
        """Remember a text.

        It is durable when this returns.

        Importance is computed when not given; `happened_at` is now when not given. One that is
        `quarantined` is kept out of all recall until `update(id, state="active")` lets it in. With
        an `idempotency_key`, a repeated call gives the first call's record and writes nothing.
        """

    @verb(
        "POST /v1/memories/batch",
        holds=Holds.WRITTEN,
        bare=answers.all_untouched,
        example={
            "memories": [{"text": "Ana plays the cello"}, {"text": "Ana has a sister, Marta"}],
            "user_id": "alice",
        },
    )
    def add_many(
        self,
        memories: AddManyMemories,
        *,
        idempotency_key: IdempotencyKey = None,
        **where: Unpack[ScopeArguments],
    ) -> list[MemoryRecord]:
        """Remember several texts, or mappings of add's arguments, together or not at all."""

    @verb(
        "POST /v1/messages",
        holds=Holds.WRITTEN,
        bare=answers.all_untouched,
        example={
            "messages": [
                {"role": "user", "name": "Alice", "content": "I started at the bakery on Monday."},
                {"role": "assistant", "content": "How was the first day?"},
            ],
            "user_id": "alice",
            "session_id": "monday",
        },
    )
    def add_messages(
        self,
        messages: Messages,
        *,
        source: Source = None,
        actor: Actor = None,
        trust: Trust = 1.0,
        quarantined: Quarantined = False,
        idempotency_key: IdempotencyKey = None,
        **where: Unpack[ScopeArguments],
    ) -> list[MemoryRecord]:
        """Remember the turns of a conversation, in order, together or not at all.

        Each is {"role", "content"} and optionally "name", "at", "id", "metadata". The id is kept
        as `external_id`. Turns without a text, such as bare tool calls, are passed over.
        """

    @verb("PATCH /v1/memories/{id}")
    def update(
        self,
        id: Id,
        *,
        actor: By = None,
        reason: Reason = None,
        text: UpdateText = UNSET,
        kind: UpdateKind = UNSET,
        state: UpdateState = UNSET,
        importance: Annotated[float | Unset, Says("0 to 1", "-i", bounds=SHARE)] = UNSET,
        happened_at: UpdateHappenedAt = UNSET,
        speaker: Annotated[str | Unset | None, Says("who said it", bounds=LABEL)] = UNSET,
        role: UpdateRole = UNSET,
        source: Annotated[str | Unset | None, Says("where it comes from", bounds=LABEL)] = UNSET,
        origin: Annotated[str | Unset | None, Says("what it was made from", bounds=LABEL)] = UNSET,
        trust: UpdateTrust = UNSET,
        metadata: UpdateMetadata = UNSET,
        pinned: Annotated[bool | Unset, Says("whether no rule may ever forget it")] = UNSET,
        external_id: UpdateExternalId = UNSET,
        superseded_by: SupersededBy = UNSET,
    ) -> MemoryRecord:
        """Change a memory; its old values stay in its history.

        `metadata` is replaced as a whole. Changing to what it already is does nothing.
        """

    @verb("PUT /v1/memories/{id}/pin")
    def pin(self, id: Id, pinned: PinPinned = True) -> MemoryRecord:
        """Pin a memory, so that no rule ever forgets it; or unpin it."""

    @verb(
        "POST /v1/memories/forget",
        answer=answers.ForgetResult,
        destructive=True,
        erases=_erases_many,
        bare=answers.ids_only,
        lasts=lambda request: not request.dry_run and request.id is None,
        example={"user_id": "alice", "filters": {"team": "sales"}, "dry_run": True},
    )
    def forget(
        self,
        id: ForgetId = None,
        *,
        filters: Filters = None,
        all_users: AllUsers = False,
        erase: Erase = False,
        dry_run: DryRun = False,
        actor: By = None,
        reason: Reason = None,
        **where: Unpack[ScopeArguments],
    ) -> Forgotten:
        """Forget memories: archive them, or erase them for good.

        Forgotten memories are archived: no search finds them and `update(id, state="active")`
        brings them back. With `erase=True` they are removed for good, with all that was made of
        them; where only a scope is given, its blocks, sessions, working memory, snapshots and
        facts go with them. The `receipt` of what comes back tells of it. What was merged into
        them goes along where ids are given; else it goes only if it is in the scope and satisfies
        the filters itself, and is active again if not.
        Give ids, or else filters, a user, an agent, a session or `all_users=True`.
        """

    @verb(
        "POST /v1/memories/cleanup",
        under=Group.CARE,
        listing="memories",
        destructive=True,
        lasts=lambda request: not request.dry_run,
        example={"user_id": "alice", "max_age_days": 90, "dry_run": True},
    )
    def cleanup(
        self,
        *,
        max_age_days: MaxAgeDays = 30.0,
        min_importance: Annotated[float, Says("less important than this", bounds=SHARE)] = 0.3,
        user_id: UserId = None,
        all_users: AllUsers = False,
        dry_run: DryRun = True,
        now: Now = None,
    ) -> Cleanup:
        """Archive what is old and unimportant; a dry run unless told otherwise.

        Pinned memories stay, those with source "user", what one of these was merged into, and
        what was made of other memories: summaries and all that sleep derived. A clock that stands
        years after the last write is not believed: pass `now` to say that it is right.
        """

    @verb(
        "POST /v1/memories/purge",
        under=Group.CARE,
        destructive=True,
        governs=True,
        holds=Holds.FIGURES,
        lasts=for_long,
    )
    def purge(
        self,
        *,
        source: Annotated[str | None, Says("what came from this source", bounds=LABEL)] = None,
        actor: PurgeActor = None,
        origin: Annotated[str | None, Says("what is of this origin", bounds=LABEL)] = None,
        since: Annotated[datetime | None, Says("what was learned and done from then on")] = None,
        until: Annotated[datetime | None, Says("… and before then")] = None,
        user_id: Annotated[str | None, Says("only what is this user's", "-u", bounds=NAME)] = None,
        all_users: PurgeAllUsers = True,
        erase: PurgeErase = False,
        dry_run: DryRun = False,
        reason: Reason = None,
    ) -> PurgeResult:
        """Take back all that a source, an actor or a span of time brought in.

        Memories learned so go into quarantine, or are erased with a receipt. What the actor (or
        anybody, where only a span is given) changed, forgot or edited in memories and blocks of
        others is as it was before, unless somebody else changed it since: that is `kept`. What
        followed from it, such as merges and summaries, is undone too. After an interruption, call
        it again. Give a source, actor, origin or `since`; all that is given must hold.
        """

    @verb("GET /v1/timezone", under=Group.CARE, answer=answers.Zone)
    def timezone(self, *, user_id: UserId = None) -> str:
        """Say in which time zone a user's days, and words like "yesterday", are meant."""

    @verb("POST /v1/set-timezone", under=Group.CARE, answer=answers.Zone)
    def set_timezone(self, timezone: Timezone = None, *, user_id: SetTimezoneUserId) -> str:
        """Give a user a time zone of their own, or take it away.

        Words like "yesterday" count by it in questions and in what is stored from then on, and so
        do days, weeks and months. A `now` or `happened_at` that carries a zone goes by that.
        """
