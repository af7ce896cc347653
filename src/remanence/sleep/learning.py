"""Learning in sleep: trains where enough was experienced, and lets go of what is too much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

from remanence.errors import Conflict
from remanence.learn.learn import Learn
from remanence.model.scope import Reach
from remanence.model.sleep import Night, Plan, Step
from remanence.ports.store import Progress, Store
from remanence.sleep.steps import Done


class Learning:
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

    def run(self, night: Night, progress: Progress | None = None) -> Done:
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
        return Done(counts=dict(+counts))

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
        for partition in self._store.partitions(reach):
            first = next(iter(self._store.feedback(reach.tenant, partition)), None)
            found = [] if first is None else self._store.get(reach.tenant, [first.id])
            yield from (record.user_id for record in found)
