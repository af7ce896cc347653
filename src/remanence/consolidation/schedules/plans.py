"""Schedules as people set them: cron expressions, which steps, what else may start them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

from cronsim import CronSim, CronSimError

from remanence.errors import InvalidInput
from remanence.model.scope import check_name
from remanence.model.sleep import CONSOLIDATE, Step
from remanence.model.validation import truth_of
from remanence.model.zones import zone_of

SHAPE = "minute hour day-of-month month day-of-week, such as '30 3 * * *' (03:30 every day)"
_FIELDS = 5
_SOME_DAY = datetime(2000, 1, 1, tzinfo=UTC)

COUNTED = ("after_new", "after_messages")
_MOST_S = 366 * 86_400


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


def _check_count(what: str, value: object) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidInput(f"{what} must be a whole number from 1, or None; got {value!r}.")


def _check_seconds(what: str, value: object) -> None:
    if value is None and what == "idle_s":
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_S:
        raise InvalidInput(f"{what} must be 0 to {_MOST_S} seconds; got {value!r:.40}.")


@lru_cache(maxsize=256)
def _cron(expression: str, zone: str) -> Cron:
    return Cron(expression, zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Steps that run when `cron` says so in `zone`, or after so many new memories or messages.

    A run waits until nobody has used the memory for `idle_s` (the worker's, if None), though never
    longer than until the next moment of `cron`. `jitter_s` spreads many stores over that time, each
    always by the same.
    """

    name: str
    cron: str
    steps: tuple[Step, ...]
    enabled: bool = True
    zone: str = "UTC"
    after_new: int | None = None
    after_messages: int | None = None
    idle_s: float | None = None
    jitter_s: float = 0.0

    def __post_init__(self) -> None:
        if self.name is None:
            raise InvalidInput("A schedule needs a name.")
        check_name("name", self.name)
        if not isinstance(self.zone, str) or not isinstance(self.cron, str):
            raise InvalidInput("cron and zone must be text, such as '30 3 * * *' and 'UTC'.")
        _cron(self.cron, self.zone)
        truth_of("enabled", self.enabled)
        if not self.steps or not all(isinstance(step, Step) for step in self.steps):
            raise InvalidInput(f"steps must be some of: {', '.join(Step)}; got {self.steps!r}.")
        for what in COUNTED:
            _check_count(what, getattr(self, what))
        for what in ("idle_s", "jitter_s"):
            _check_seconds(what, getattr(self, what))

    @property
    def moments(self) -> Cron:
        """When it is due by the clock."""
        return _cron(self.cron, self.zone)


DEFAULTS: Mapping[str, Schedule] = {
    one.name: one
    for one in (
        Schedule(
            name="hourly",
            cron="0 * * * *",
            steps=(Step.TALKS,),
            after_messages=1_000,
            jitter_s=60,
        ),
        Schedule(
            name="daily",
            cron="30 3 * * *",
            steps=(*CONSOLIDATE, Step.FORGET, Step.LEARN),
            after_new=100,
            jitter_s=600,
        ),
        Schedule(
            name="weekly",
            cron="0 4 * * 0",
            steps=(Step.COMPRESS, Step.ERASE, Step.UPKEEP),
            jitter_s=600,
        ),
    )
}
SETTABLE = tuple(each.name for each in fields(Schedule) if each.name != "name")
