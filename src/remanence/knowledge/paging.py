"""Reading claims page by page, to the last one."""

from __future__ import annotations

from collections.abc import Sequence

from remanence.model.knowledge import Claim
from remanence.model.scope import Reach
from remanence.ports.store import Knowledge

PAGE = 5_000


def every_claim(
    store: Knowledge,
    reach: Reach,
    *,
    about: Sequence[str] | None = None,
    ids: Sequence[str] | None = None,
) -> list[Claim]:
    """All claims in reach that satisfy the conditions, each once, in order of recording."""
    found: dict[str, Claim] = {}
    seen = 0
    while page := store.claims(reach, about=about, ids=ids, limit=PAGE, offset=seen):
        found |= {one.id: one for one in page}  # others may write between the pages
        seen += len(page)
        if len(page) < PAGE:
            break
    return list(found.values())
