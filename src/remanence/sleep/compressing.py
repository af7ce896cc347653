"""What is old takes less room: texts compressed, vectors in fewer bits; nothing is lost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from remanence.model.sleep import Night, Plan, SleepPolicy, Step
from remanence.model.tier import Packed, Tier
from remanence.ports.store import Progress, Store
from remanence.sleep.steps import Done

_AT_ONCE = 5000


class Compressing:
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
            tier: self._store.packable(night.reach, tier, before=before)
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

    def run(self, night: Night, progress: Progress | None = None) -> Done:
        """Pack, the coldest first, a few thousand memories at a time."""
        renewed = self._store.renew_dictionaries(night.reach.tenant)
        moved: dict[Tier, Packed] = {}
        wanted = max(self.foresee(night).looked_at, 1)
        for tier, before in _before(night.policy, night.now):
            total = Packed()
            while (done := self._packed(night, tier, before)).memories:
                total += done
                if progress is not None:
                    seen = total.memories + sum(one.memories for one in moved.values())
                    progress(min(seen, wanted), wanted)
            moved[tier] = total
        return Done(counts=_counts(moved, renewed))

    def undo(self, night: Night) -> int:
        """Give the texts back, and let vectors that lost bits wait to be made anew."""
        undone = 0
        while done := self._store.unpack(night.reach, limit=_AT_ONCE).memories:
            undone += done
        return undone

    def _packed(self, night: Night, tier: Tier, before: datetime) -> Packed:
        return self._store.pack(night.reach, tier, before=before, codec=self._codec, limit=_AT_ONCE)


def _before(policy: SleepPolicy, now: datetime) -> list[tuple[Tier, datetime]]:
    """Each tier with the time before which a memory belongs to it, the coldest first."""
    days = {Tier.COLD: policy.cold_after_days, Tier.COOL: policy.cool_after_days}
    return [(tier, _ago(now, age)) for tier, age in days.items()]


def _ago(now: datetime, days: float) -> datetime:
    try:
        return now - timedelta(days=days)
    except OverflowError:  # longer ago than there are years
        return datetime.min.replace(tzinfo=UTC)


def _counts(moved: dict[Tier, Packed], renewed: int) -> dict[str, int]:
    return {
        "cold": moved[Tier.COLD].memories,
        "cool": moved[Tier.COOL].memories,
        "texts": sum(one.texts for one in moved.values()),
        "pieces": sum(one.pieces for one in moved.values()),
        "repacked": renewed,
    }
