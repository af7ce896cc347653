"""mem0's search: the memories that answer, best first, without what no longer holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from remanence.model.accept import text_of
from remanence.model.hit import Hit
from remanence.model.query import MAX_LIMIT, MAX_QUERY
from remanence.server.mem0 import told
from remanence.server.mem0.asking import flag, marked, only, question_in
from remanence.server.mem0.desk import Body, Desk
from remanence.server.mem0.filters import Asked
from remanence.server.mem0.given import moment_of, number_of, share_of
from remanence.server.mem0.standing import Followed, Superseded, standing_of

TOP_K, THRESHOLD = 10, 0.1
ANSWERS = 0.35  # what scores less mostly speaks of something else
SPARE = 10  # asked for beyond what is wanted, in the place of what is not shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A search as mem0 asks for it."""

    query: str
    asked: Asked
    wanted: int
    least: float
    now: datetime | None
    latest: bool
    expired: bool


def searched(desk: Desk, body: Body) -> dict[str, Any]:
    """The memories that answer. What no longer holds comes only with `latest_only: false`, last.

    Where something in a memory has ended, the one that tells what holds instead comes before it.
    """
    search = _search_in(body)
    hits, over, followed = _shown(desk, search)
    hits.sort(key=lambda hit: hit.memory.id in over)
    results = [
        marked(told.hit_of(hit), over) | {"score": score}
        for hit, score in newest_first(hits, followed)[: search.wanted]
    ]
    return {"results": only(results, body.get("fields"))}


def newest_first(hits: Sequence[Hit], followed: Followed) -> list[tuple[Hit, float]]:
    """The hits with their scores: what follows on another goes before it, with its score.

    Only what answers by itself does: to "Where do I work?" a new home is none.
    """
    placed: list[tuple[Hit, float]] = []
    for hit in hits:
        score = told.score_of(hit)
        after = (
            place
            for place, (other, _) in enumerate(placed)
            if hit.memory.id in followed.get(other.memory.id, ())
        )
        place = next(after, None) if score >= ANSWERS else None
        if place is None:
            placed.append((hit, score))
        else:
            placed.insert(place, (hit, placed[place][1]))
    return placed


def _search_in(body: Body) -> Search:
    at = body.get("reference_date")
    return Search(
        query=text_of("query", body.get("query"), MAX_QUERY),
        asked=question_in(body),
        wanted=number_of("top_k", body.get("top_k", body.get("limit")), TOP_K),
        least=share_of("threshold", body.get("threshold"), THRESHOLD),
        now=None if at is None else moment_of("reference_date", at),
        latest=flag(body, "latest_only", True),
        expired=flag(body, "show_expired", False),
    )


def _shown(desk: Desk, search: Search) -> tuple[list[Hit], Superseded, Followed]:
    """As many as are wanted if there are so many: where some are hidden, more are asked for."""
    limit, today = min(search.wanted + SPARE, MAX_LIMIT), desk.now().date()
    while True:
        found = [
            desk.do("search", query=search.query, limit=limit, now=search.now, **part.sight()).hits
            for part in search.asked.parts
        ]
        hits = _best(found, search.least)
        over, followed = standing_of(desk.reading(), [hit.memory for hit in hits])
        shown = [
            hit
            for hit in hits
            if (search.expired or not told.is_over(hit.memory, today))
            and not (search.latest and hit.memory.id in over)
        ]
        exhausted = all(len(one) < limit or told.score_of(one[-1]) < search.least for one in found)
        if len(shown) >= search.wanted or exhausted or limit == MAX_LIMIT:
            return shown, over, followed
        limit = min(limit * 4, MAX_LIMIT)


def _best(found: Iterable[Sequence[Hit]], least: float) -> list[Hit]:
    """The hits of all parts, best first, each once."""
    hits = sorted((hit for part in found for hit in part), key=lambda hit: -hit.score)
    once = {hit.memory.id: hit for hit in reversed(hits)}
    return [hit for hit in hits if once[hit.memory.id] is hit and told.score_of(hit) >= least]
