"""Cron expressions: read with errors that help, and the moments they name, in UTC."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

from cronsim import CronSim, CronSimError

from remanence.errors import InvalidInput
from remanence.zones import zone_of

SHAPE = "minute hour day-of-month month day-of-week, such as '30 3 * * *' (03:30 every day)"
_FIELDS = 5
_SOME_DAY = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Cron:
    """The moments of one expression on the clocks of one zone; `InvalidInput` if there are none.

    Where clocks change, it is as with Debian's cron: a moment that is skipped comes right after
    the gap, one that is there twice comes the first time.
    """

    expression: str
    zone: str = "UTC"
    _place: tzinfo = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_place", zone_of(self.zone))
        if not isinstance(self.expression, str):
            raise InvalidInput(f"cron must be text: {SHAPE}; got {self.expression!r}.")
        if len(self.expression.split()) != _FIELDS:
            raise InvalidInput(
                f"cron {self.expression[:60]!r} has {len(self.expression.split())} fields and "
                f"needs 5: {SHAPE}."
            )
        try:
            found = self.after(_SOME_DAY)
        except CronSimError as error:
            told = str(error).lower()
            raise InvalidInput(
                f"cron {self.expression[:60]!r} cannot be read: {told}. Write {SHAPE}."
            ) from error
        if found is None:
            raise InvalidInput(f"cron {self.expression[:60]!r} names no moment in 50 years.")

    def after(self, moment: datetime) -> datetime | None:
        """The first moment after this one; None if there is none for 50 years."""
        return _after(self, moment)

    def latest(self, moment: datetime) -> datetime | None:
        """The last moment up to and with this one; None if there is none for 50 years."""
        backwards = CronSim(
            self.expression, (moment + timedelta(seconds=1)).astimezone(self._place), reverse=True
        )
        # Going back may part from going forward where clocks change, so forward has the last word.
        seen = [found for found, _ in zip(backwards, range(2), strict=False)]
        if not seen:
            return None
        newest = None
        for found in self.following(seen[-1].astimezone(UTC) - timedelta(seconds=1)):
            if found > moment:
                break
            newest = found
        return newest

    def following(self, moment: datetime) -> Iterator[datetime]:
        """The moments after this one, in order, each once."""
        last = moment
        for found in CronSim(self.expression, moment.astimezone(self._place)):
            now = found.astimezone(UTC)
            if now > last:
                yield now
                last = now


@lru_cache(maxsize=1024)  # a worker asks for the same ones at every look
def _after(cron: Cron, moment: datetime) -> datetime | None:
    return next(cron.following(moment), None)
