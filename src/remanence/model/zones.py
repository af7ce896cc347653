"""Time zones by name: read with errors that help, told from datetimes, and moments moved there."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from remanence.errors import InvalidInput

_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?([0-5]\d))?", re.ASCII | re.IGNORECASE)
_FARTHEST = timedelta(hours=14)
_NO_ZONE = ("UTC", "Z")
_LONGEST = 100


@lru_cache(maxsize=1024)
def zone_of(name: str) -> tzinfo:
    """The zone of a name such as Europe/Lisbon, or an offset such as +05:45; else `InvalidInput`.

    >>> zone_of("+05:45").utcoffset(None)
    datetime.timedelta(seconds=20700)
    """
    if not isinstance(name, str):
        raise InvalidInput(f"A time zone is a name such as Europe/Lisbon, not {str(name)[:60]!r}.")
    if name.upper() in _NO_ZONE:
        return UTC
    if told := _OFFSET.fullmatch(name):
        return _fixed(told, name)
    try:
        return ZoneInfo(name[:_LONGEST])  # each "/" of a longer one is a call within a call
    except (KeyError, ValueError, OSError, TypeError) as error:
        raise InvalidInput(_why_not(name)) from error


def zone_name(moment: datetime) -> str:
    """The name or, where the zone has none, the offset of a moment, as `zone_of` reads it."""
    if says_no_zone(moment):
        return "UTC"
    if name := _called(moment):
        return name
    minutes = round((moment.utcoffset() or timedelta()).total_seconds() / 60)
    sign, size = "-" if minutes < 0 else "+", abs(minutes)
    return f"{sign}{size // 60:02}:{size % 60:02}"


def own_zone(moment: datetime) -> tzinfo:
    """The zone that a moment is in, as one that calendars can be worked out in."""
    if name := _called(moment):
        return zone_of(name)
    return timezone(moment.utcoffset() or timedelta())


def known_zone(name: object) -> tzinfo:
    """The zone of a name that was stored; UTC where this machine does not know it."""
    try:
        return zone_of(name) if isinstance(name, str) else UTC
    except InvalidInput:
        return UTC


def says_no_zone(moment: datetime) -> bool:
    """Whether a moment is in UTC, which tells when something is but not whose calendar counts."""
    return moment.tzinfo is UTC or moment.tzname() == "UTC"


def placed(moment: datetime, zone: tzinfo) -> datetime:
    """A moment on the clocks of its own zone or, if it tells none, of the given one."""
    if not says_no_zone(moment):
        return moment
    try:
        return moment.astimezone(zone)
    except OverflowError:  # on the first or last day there is
        return moment


def _called(moment: datetime) -> str:
    """The name of its zone, if that is one; pytz calls it `zone`."""
    name = getattr(moment.tzinfo, "key", None) or getattr(moment.tzinfo, "zone", None)
    return name if isinstance(name, str) and known_zone(name) is not UTC else ""


def _fixed(told: re.Match[str], name: str) -> tzinfo:
    size = timedelta(hours=int(told[2]), minutes=int(told[3] or 0))
    if size > _FARTHEST:
        raise InvalidInput(f"No clock is {name} from UTC; offsets go from -14:00 to +14:00.")
    return timezone(-size if told[1] == "-" else size) if size else UTC


def _why_not(name: str) -> str:
    if not available_timezones():
        return (
            f"This machine has no database of time zones, so {name[:60]!r} cannot be looked up: "
            "run `pip install tzdata`, or write an offset such as +02:00."
        )
    return (
        f"There is no time zone {name[:60]!r}; write UTC, a name such as Europe/Lisbon, or an "
        "offset such as +02:00."
    )
