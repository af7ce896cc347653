"""Erasing what was forgotten by rule long ago, where the policy names a number of days."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from remanence.errors import InvalidInput, NotFound
from remanence.layers.cleanup import believed, days_before
from remanence.model.filter import Both, Compare
from remanence.model.memory import MemoryRecord
from remanence.model.scope import Reach
from remanence.model.sleep import Night, Plan, Step
from remanence.ports.store import Progress, Store
from remanence.remember.lineage import derived, standing
from remanence.sleep.forgetting.candidates import ARCHIVED, EXPOSED, allowance, candidates
from remanence.sleep.forgetting.forgetting import ACTOR, VERB
from remanence.sleep.steps import Done

AT_ONCE = 100

Erase = Callable[[Sequence[str]], object]


class Erasing:
    """Erases memories that sleep archived and that nobody has touched since.

    Pinned, user-stated and derived ones stay, and so does what one of those was merged into, and
    whatever a standing summary was made of: erasing it would take them along. A clock that may
    have jumped erases nothing, even where the caller believes it: this cannot be undone.
    """

    step = Step.ERASE

    def __init__(self, store: Store, erase: Erase) -> None:
        """`erase` is given ids, and removes those memories with all that came of them."""
        self._store = store
        self._erase = erase

    def foresee(self, night: Night) -> Plan:
        """How many it would erase."""
        if night.policy.forget.erase_after_days is None:
            return Plan(step=self.step, notes=("the policy erases nothing by itself",))
        if doubt := self._doubt(night):
            return Plan(step=self.step, notes=(doubt,))
        ids = list(islice(self._due(night), self._most(night) + 1))
        due = ids[: self._most(night)]
        return Plan(
            step=self.step,
            looked_at=len(ids),
            notes=(f"{len(due)} memories would be erased for good",),
            alarm="more are due than a run may erase" if len(due) < len(ids) else None,
        )

    def run(self, night: Night, progress: Progress | None = None) -> Done:
        """Erase them, some at a time."""
        if night.policy.forget.erase_after_days is None:
            return Done(counts={"erased": 0})
        if self._doubt(night):
            return Done(counts={"erased": 0, "clock_doubted": 1})
        most = self._most(night)
        ids = list(islice(self._due(night), most + 1))
        due = ids[:most]
        for at in range(0, len(due), AT_ONCE):
            self._erase(due[at : at + AT_ONCE])
            if progress:
                progress(min(at + AT_ONCE, len(due)), len(due))
        return Done(counts={"erased": len(due), "capped": int(len(due) < len(ids))})

    def undo(self, night: Night) -> int:
        """Nothing: what is erased is gone."""
        return 0

    def _most(self, night: Night) -> int:
        """The cap's share of all memories there are, archived ones too."""
        return allowance(night.policy.cap, self._store.count(night.reach))

    def _due(self, night: Night) -> Iterator[str]:
        days = night.policy.forget.erase_after_days
        before = days_before(night.now, 0 if days is None else days)
        rested = Compare("updated_at", "lt", before, field=True)
        for record, _ in candidates(self._store, night, Both((ARCHIVED, EXPOSED, rested))):
            if record.superseded_by is None and self._faded(record) and not self._told(record):
                yield record.id

    def _faded(self, record: MemoryRecord) -> bool:
        try:
            last = self._store.history(record.tenant, record.id)[-1]
        except NotFound:
            return False
        return last.verb == VERB and last.actor == ACTOR

    def _told(self, record: MemoryRecord) -> bool:
        return bool(standing(derived(self._store, record.tenant, [record.id])))

    def _doubt(self, night: Night) -> str | None:
        everywhere = Reach(tenant=night.reach.tenant, all_users=True)
        try:
            believed(night.now, lambda where: self._store.count(everywhere, where))
        except InvalidInput as error:
            return str(error)
        return None
