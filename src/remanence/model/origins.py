"""Where memories come from, as far as rules ask for it."""

from __future__ import annotations

ORIGIN = "summary"  # the origin of a conversation's or a period's summary
SLEEP = "sleep"  # … of what sleep derives
ORIGINS = (ORIGIN, SLEEP)
STATED = "user"  # the source of what the user said to be so
