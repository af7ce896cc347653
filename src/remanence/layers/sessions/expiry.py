"""What has run out: when the clock is believed, and when a refresh is worth a durable write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from remanence.errors import InvalidInput
from remanence.layers.cleanup import DOUBTFUL, days_before
from remanence.model.document import Address, Shelf
from remanence.model.ports.store import Documents
from remanence.model.scope import Reach
from remanence.model.session import later
from remanence.model.validation import moment_of

# A refresh that moves the stored end by less than this share of the time to live is not written.
WORTH = 0.01
# So many to one say that the clock was ahead then, and not that it stands behind now.
OUTNUMBERED = 10

PutAt = Callable[[int], datetime | None]


def due(used_at: datetime, expires_at: datetime, ttl_s: float, now: datetime) -> bool:
    """Whether a use now moves the stored end on by more than `WORTH` of the time to live.

    Never back: who uses a session while the clock stands years behind must not end it. After such
    a time the moment of use lies behind the end by more than a life, and is worth a write too.
    """
    worth = timedelta(seconds=WORTH * ttl_s)
    return later(now, ttl_s) - expires_at > worth or now - used_at > worth


def expired(
    store: Documents, tenant: str, shelf: Shelf, now: datetime | None, clock_now: datetime
) -> Iterator[list[Address]]:
    """Erase what has run out, some at a time; `now` is the caller's word, else the clock's.

    The clock's is doubted as in `believed`: see `doubt`.
    """
    if now is None and (used := doubt(clock_now, puts(store, tenant, shelf))):
        raise InvalidInput(f"{_doubted(clock_now, used)} If it is right, say so: give it as now.")
    moment = clock_now if now is None else moment_of("now", now)
    while gone := store.expire(tenant, shelf, moment):
        yield gone


def check_over(
    store: Documents, tenant: str, address: Address, expires_at: datetime, now: datetime
) -> None:
    """Refuse to write over a document that ran out, where probably the clock has jumped ahead."""
    if expires_at > days_before(now, DOUBTFUL.days):
        return
    if used := doubt(now, puts(store, tenant, address.shelf)):
        raise InvalidInput(
            f"{_doubted(now, used)} If it is right, erase {address.name!r:.80} and try again."
        )


def doubt(now: datetime, put_at: PutAt) -> datetime | None:
    """When something was last put before a clock that has probably jumped ahead; None if not.

    Where something was last put more than a year ago, something must also have been put in the
    last year and in the year before it. `put_at(n)` is when the n-th was, the last one first.
    """
    year, two_years = (days_before(now, n * DOUBTFUL.days) for n in (1, 2))
    after_now, after_year = (_count_after(moment, put_at) for moment in (now, year))
    oldest = put_at(after_year)
    if oldest is None or not (after_year == after_now or oldest <= two_years):
        return None
    return oldest


def was_ahead(expires_at: datetime, ttl_s: float, now: datetime, put_at: PutAt) -> bool:
    """Whether an end was probably set by a clock that stood more than a year ahead of `now`.

    It might be this clock that stands behind. So it is believed only where for each thing that was
    put after `now` there are `OUTNUMBERED` that were put before it.
    """
    if expires_at - later(now, ttl_s) <= DOUBTFUL:
        return False
    after_now = max(1, _count_after(now, put_at))
    return put_at(after_now * (1 + OUTNUMBERED) - 1) is not None


def puts(store: Documents, tenant: str, shelf: Shelf) -> PutAt:
    """When the n-th document of a shelf was put, the last one first; None after the first."""
    everyone = Reach(tenant=tenant, all_users=True)

    def put_at(n: int) -> datetime | None:
        found = store.shelved(everyone, shelf, limit=1, offset=n)
        return found[0].updated_at if found else None

    return put_at


def _doubted(now: datetime, used: datetime) -> str:
    return (
        f"The clock says {now:%Y-%m-%d}, and what is there was last used on {used:%Y-%m-%d} with "
        "more than a year of silence since: the clock may be wrong."
    )


def _count_after(moment: datetime, put_at: PutAt) -> int:
    """How many were put after the moment: found by halving, since they are in order."""

    def is_after(n: int) -> bool:
        at = put_at(n)
        return at is not None and at > moment

    most = 1
    while is_after(most - 1):
        most *= 2
    low, high = most // 2, most - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if is_after(middle) else (low, middle)
    return low
