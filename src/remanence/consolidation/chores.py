"""The chores of sleep: old texts take less room, learning, and upkeep of what the store holds."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from remanence.consolidation.learning.learn import Learn
from remanence.consolidation.steps import Chore, ChoreResult
from remanence.errors import Conflict, EmbedderError, InvalidInput
from remanence.layers.cleanup import days_before
from remanence.model.ports.store import Store
from remanence.model.progress import Progress
from remanence.model.scope import Reach
from remanence.model.sleep import Night, Plan, SleepPolicy, Step
from remanence.model.tier import Packed, Tier

if TYPE_CHECKING:
    from remanence.layers.sessions.sessions import Sessions
    from remanence.layers.working import Working
    from remanence.memories.writer import Writer
    from remanence.model.ports.embedder import Embedder

_AT_ONCE = 5000

EMBEDDED = 5_000  # memories that one run gives vectors to at most
REST_S = 3_600.0  # a store that several tenants share is tended once in this time

_tended: dict[str, float] = {}


class Compressing(Chore):
    """The step that packs. What is not active counts as old; a memory that is used is not.

    `undo` gives texts back as they were. Bits that vectors lost come back when the memories are
    embedded anew, for which they wait (`reembed`); until then they are found by the coarse ones.
    """

    step = Step.COMPRESS

    def __init__(self, store: Store, codec: str = "zstd") -> None:
        self._store = store
        self._codec = codec

    def foresee(self, night: Night) -> Plan:
        """How many memories would move to each tier."""
        found = {
            tier: self._store.tiers.packable(night.reach, tier, before=before)
            for tier, before in _before(night.policy, night.now)
        }
        cold, cool = found[Tier.COLD], max(0, found[Tier.COOL] - found[Tier.COLD])
        return Plan(
            step=self.step,
            looked_at=cold + cool,
            notes=(
                f"{cool} memories would have compressed texts, and vectors in 4 bits.",
                f"{cold} memories would have compressed texts, and vectors in 1 bit.",
            ),
        )

    def run(self, night: Night, progress: Progress | None = None) -> ChoreResult:
        """Pack, the coldest first, a few thousand memories at a time."""
        renewed = self._store.tiers.renew_dictionaries(night.reach.tenant)
        counts = {"cold": 0, "cool": 0, "texts": 0, "pieces": 0, "repacked": renewed}
        wanted = max(self.foresee(night).looked_at, 1)
        for tier, before in _before(night.policy, night.now):
            while (done := self._packed(night, tier, before)).memories:
                counts[tier] += done.memories
                counts["texts"] += done.texts
                counts["pieces"] += done.pieces
                if progress is not None:
                    progress(min(counts["cold"] + counts["cool"], wanted), wanted)
        return ChoreResult(counts=counts)

    def undo(self, night: Night) -> int:
        """Give the texts back, and let vectors that lost bits wait to be made anew."""
        undone = 0
        while done := self._store.tiers.unpack(night.reach, limit=_AT_ONCE).memories:
            undone += done
        return undone

    def _packed(self, night: Night, tier: Tier, before: datetime) -> Packed:
        return self._store.tiers.pack(
            night.reach, tier, before=before, codec=self._codec, limit=_AT_ONCE
        )


def _before(policy: SleepPolicy, now: datetime) -> list[tuple[Tier, datetime]]:
    """Each tier with the time before which a memory belongs to it, the coldest first."""
    days = {Tier.COLD: policy.cold_after_days, Tier.COOL: policy.cool_after_days}
    return [(tier, days_before(now, age)) for tier, age in days.items()]


class LearningStep(Chore):
    """Trains the adapter of every user with enough new experiences since the last training."""

    step = Step.LEARN

    def __init__(self, learn: Learn, store: Store) -> None:
        self._learn = learn
        self._store = store

    def foresee(self, night: Night) -> Plan:
        """Whose adapters would be trained, by how many; what would be learned shows only then."""
        users = list(self._users(night.reach))
        due = sum(self._is_due(user) for user in users)
        told = f"{due} of {len(users)} users with feedback have enough that is new to train on"
        return Plan(step=self.step, looked_at=len(users), notes=(told,))

    def run(self, night: Night, progress: Progress | None = None) -> ChoreResult:
        """Train those that are due. What was trained is not due again."""
        due = [user for user in self._users(night.reach) if self._is_due(user)]
        counts: Counter[str] = Counter()
        for done, user in enumerate(due, start=1):
            with suppress(Conflict):  # somebody else trains it
                trained = self._learn.trained(user, night.now, self._learn.policy, None)
                counts["accepted" if trained.accepted else "rejected"] += 1
            if progress:
                progress(done, len(due))
        if night.reach.all_users:
            counts["feedback_let_go"] = self._learn.trim()
        return ChoreResult(counts=dict(+counts))

    def undo(self, night: Night) -> int:
        """Roll back what that night's training put to use; how many adapters."""
        undone = 0
        for user in self._users(night.reach):
            active = self._learn.status(user).active
            if active is not None and active.at == night.now:
                self._learn.rollback(user)
                undone += 1
        return undone

    def _is_due(self, user: str | None) -> bool:
        return self._learn.status(user).fresh >= self._learn.policy.new

    def _users(self, reach: Reach) -> Iterator[str | None]:
        """Whose memories in reach have feedback."""
        for partition in self._store.recall.partitions(reach):
            first = next(iter(self._store.archive.feedback(reach.tenant, partition)), None)
            found = [] if first is None else self._store.archive.get(reach.tenant, [first.id])
            yield from (record.user_id for record in found)


class _Enough(Exception):
    pass


@dataclass(eq=False)
class UpkeepChore(Chore):
    """A chore: nothing that it does is a memory, so there is nothing to undo."""

    step = Step.UPKEEP

    store: Store
    tenant: str
    _: KW_ONLY
    sessions: Sessions
    working: Working
    writer: Writer
    embedder: Embedder
    embedded: int = EMBEDDED
    rest_s: float = REST_S

    def foresee(self, night: Night) -> Plan:
        """How many memories wait for vectors; the rest is found on the way."""
        notes = ["Sessions and working memory that have run out are removed."]
        with suppress(EmbedderError):
            waiting = self.store.vectors.count_unembedded(self.tenant, self.embedder.fingerprint)
            notes.append(f"{min(waiting, self.embedded)} of {waiting} memories get vectors.")
        if self._rested():
            notes.append("The store is tended: text index, change feed, free space, statistics.")
        return Plan(step=self.step, notes=tuple(notes))

    def run(self, night: Night, progress: Progress | None = None) -> ChoreResult:
        """Do it; each part goes on where it was stopped."""
        counts = Counter[str]()
        cleanups = {"sessions": self.sessions.cleanup, "working": self.working.cleanup}
        for name, cleanup in cleanups.items():
            with suppress(InvalidInput):  # a clock that is doubted removes nothing
                counts[f"{name}_removed"] = cleanup()
        with suppress(EmbedderError):
            counts["embedded"] = self._embed(progress)
            counts["stale_vectors"] = self._forget_stale()
        if self._rested():
            counts.update(self.store.upkeep.tend(progress))
            _tended[self.store.upkeep.identity] = time.monotonic()
        return ChoreResult(counts=dict(+counts))

    def _embed(self, progress: Progress | None) -> int:
        """Some of the memories without vectors of this embedder; how many."""
        seen = 0

        def told(done: int, total: int) -> None:
            nonlocal seen
            seen = done
            if progress is not None:
                progress(done, total)
            if done >= self.embedded:
                raise _Enough

        with suppress(_Enough):
            return self.writer.embed_missing(self.tenant, told)
        return seen

    def _forget_stale(self) -> int:
        """Vectors of former embedders, once nothing waits for this one; how many."""
        wanted = self.embedder.fingerprint
        if self.store.vectors.count_unembedded(self.tenant, wanted):
            return 0
        if all(one == wanted for one in self.store.vectors.embedders()):
            return 0
        return self.store.vectors.forget_embedders(self.tenant, wanted)

    def _rested(self) -> bool:
        last = _tended.get(self.store.upkeep.identity)
        return last is None or time.monotonic() - last >= self.rest_s
