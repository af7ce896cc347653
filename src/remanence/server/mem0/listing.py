"""mem0's lists: memories newest first, page by page, with how many there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from remanence.model.memory import MemoryRecord
from remanence.model.query import MAX_LIMIT
from remanence.server.mem0 import told
from remanence.server.mem0.asking import flag, marked, only, question_in
from remanence.server.mem0.desk import Body, Desk
from remanence.server.mem0.filters import Asked, Part
from remanence.server.mem0.given import OWN, number_of
from remanence.server.mem0.standing import superseded_in

PAGE = 100
DEEPEST = 100_000  # pages
EXPIRY = f"{OWN}.expiration_date"


def page(desk: Desk, body: Body, number: object, size: object, url: str = "") -> dict[str, Any]:
    """A page. What no longer holds is neither shown nor counted, unless `latest_only: false`."""
    at, length = number_of("page", number, 1, DEEPEST), number_of("page_size", size, PAGE)
    asked = question_in(body, _dated(body))
    if not flag(body, "show_expired", False):
        asked = _unexpired(asked, desk.now().date().isoformat())
    over = _superseded(desk, asked)
    hidden = _among(desk, asked, over) if flag(body, "latest_only", True) else set()
    count = _count(desk, asked) - len(hidden)
    records = _slice(desk, asked, hidden, (at - 1) * length, length)
    results = [marked(told.memory_of(one), over) for one in records]
    return {
        "count": count,
        "next": f"{url}?page={at + 1}&page_size={length}" if at * length < count else None,
        "previous": f"{url}?page={at - 1}&page_size={length}" if at > 1 else None,
        "results": only(results, body.get("fields")),
    }


def _dated(body: Body) -> dict[str, Any]:
    """The days between which it is to have happened."""
    given = {"gte": body.get("start_date"), "lte": body.get("end_date")}
    bounds = {name: value for name, value in given.items() if value is not None}
    return {"created_at": bounds} if bounds else {}


def _unexpired(asked: Asked, today: str) -> Asked:
    lasting = {"or": [{EXPIRY: {"exists": False}}, {EXPIRY: {"gte": today}}]}
    narrowed = [
        replace(part, filters={"and": [part.filters, lasting]} if part.filters else lasting)
        for part in asked.parts
    ]
    split = len(asked.users)
    return Asked(tuple(narrowed[:split]), None if asked.everybody is None else narrowed[-1])


def _superseded(desk: Desk, asked: Asked) -> dict[str, str | None]:
    """All that is superseded in the rooms that are asked, whatever the filters say."""
    memory = desk.reading()
    users = [None] if asked.everybody else [part.user_id for part in asked.users]
    return {id: by for user in users for id, by in superseded_in(memory, user).items()}


def _among(desk: Desk, asked: Asked, over: dict[str, str | None]) -> set[str]:
    """Those of the superseded that the filters would show."""
    memory, found = desk.reading(), set()
    records = memory.parts.store.get(memory.tenant, list(over))
    if records:
        moments = {"field.happened_at": {"in": sorted({one.happened_at for one in records})}}
        for part in asked.parts:
            filters = {"and": [part.filters, moments]} if part.filters else moments
            found |= {one.id for one in _records(desk, replace(part, filters=filters), MAX_LIMIT)}
    return found & over.keys()


def _count(desk: Desk, asked: Asked) -> int:
    """How many memories there are in all parts; what everybody is asked, the users are too."""
    count: int = sum(desk.do("count", **part.sight()).count for part in asked.parts)
    if asked.everybody is not None:
        for part in asked.users:
            both = replace(asked.everybody, user_id=part.user_id)
            count -= desk.do("count", **both.sight()).count
    return count


def _slice(
    desk: Desk, asked: Asked, hidden: set[str], start: int, length: int
) -> list[MemoryRecord]:
    parts = asked.parts
    if len(parts) == 1 and not hidden:
        return list(desk.do("find", limit=length, offset=start, **parts[0].sight()).memories)
    most = start + length + len(hidden)
    found = {one.id: one for part in parts for one in _records(desk, part, most)}
    shown = [one for one in found.values() if one.id not in hidden]
    shown.sort(key=lambda one: (one.happened_at, one.id), reverse=True)
    return shown[start : start + length]


def _records(desk: Desk, part: Part, most: int) -> Iterator[MemoryRecord]:
    """The newest memories of a part."""
    for offset in range(0, most, MAX_LIMIT):
        limit = min(MAX_LIMIT, most - offset)
        found = desk.do("find", limit=limit, offset=offset, **part.sight()).memories
        yield from found
        if len(found) < limit:
            return
