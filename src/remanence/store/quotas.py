"""How much a tenant may have: checked inside the transaction that would add to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import orjson

from remanence.errors import QuotaExceeded
from remanence.model.document import PORTABLE, Document, Edition, Put, Shelving
from remanence.model.write import Batch, Insert, Revise

COUNTED = tuple(str(shelf) for shelf in PORTABLE)  # the others are the server's own
FRESH_S = 10.0  # a figure that is older is taken anew
HELD = 4_096  # tenants whose figures stay at hand


class Use(NamedTuple):
    """How many memories, and how many bytes of texts, metadata, histories and documents."""

    memories: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class _Known:
    mark: object
    at: float
    use: Use


class Quotas:
    """Holds every tenant to the same limits; 0 is no limit. Thread-safe.

    What a tenant has is read from its rows, which takes as long as it has many. So it is known as
    an upper bound as long as `mark` says that nobody else has written; near the limit it is read.
    """

    def __init__(self, memories: int = 0, bytes: int = 0) -> None:
        self._most = Use(memories, bytes)
        self._lock = Lock()
        self._known: dict[str, _Known] = {}

    def concern(self, more: Callable[[], Use]) -> Use | None:
        """What is added, if it has to be looked at."""
        added = more() if any(self._most) else Use()
        return added if any(m and a for m, a in zip(self._most, added, strict=True)) else None

    def check(
        self, tenant: str, more: Use, marks: tuple[object, object], measure: Callable[[], Use]
    ) -> None:
        """Refuse what a transaction has added, if it is too much; called at its end.

        `marks` are those of before and after; a writer of the same tenant waits meanwhile.
        """
        before, after = marks
        now = time.monotonic()
        with self._lock:
            known = self._known.get(tenant)
        if known is not None and known.mark == before and now - known.at < FRESH_S:
            bound = Use(known.use.memories + more.memories, known.use.bytes + more.bytes)
            if self._too_much(bound) is None:
                self._keep(tenant, _Known(after, known.at, bound))
                return
        use = measure()
        if (told := self._too_much(use)) is not None:
            raise QuotaExceeded(told)
        self._keep(tenant, _Known(after, now, use))

    def _too_much(self, use: Use) -> str | None:
        for name, what, has, most in zip(
            ("max_memories", "max_bytes"), ("memories", "bytes"), use, self._most, strict=True
        ):
            if most and has > most:
                return (
                    f"This would make {has:,} {what} of the {most:,} that the tenant may have; "
                    "nothing of it was written. Erase what is not needed (archived memories count "
                    f"too), or have the setting `{name}` raised."
                )
        return None

    def _keep(self, tenant: str, known: _Known) -> None:
        with self._lock:
            if len(self._known) >= HELD:
                self._known.clear()
            self._known[tenant] = known


def added_by(batch: Batch) -> Use:
    """What a batch adds at most."""
    inserted = [one for one in batch.actions if isinstance(one, Insert)]
    size = sum(_inserted(one) for one in inserted)
    size += sum(_revised(one) for one in batch.actions if isinstance(one, Revise))
    return Use(len(inserted), size + added_by_documents(batch.documents).bytes)


def added_by_documents(asked: Iterable[Shelving]) -> Use:
    """What documents add at most; those of a server are not counted."""
    puts = (one for one in asked if isinstance(one, Put) and str(one.address.shelf) in COUNTED)
    return Use(0, sum(_json(one.value) * (1 + one.keep) for one in puts))


def added_by_standing(asked: Iterable[tuple[Document, tuple[Edition, ...]]]) -> Use:
    """What documents that are taken over with their editions add at most."""
    counted = ((doc, past) for doc, past in asked if str(doc.address.shelf) in COUNTED)
    return Use(
        0, sum(_json(doc.value) + sum(_json(e.value) for e in past) for doc, past in counted)
    )


def _inserted(action: Insert) -> int:
    text, past = action.record.text.encode("utf-8", "replace"), action.history
    return len(text) + _json(action.record.metadata) + sum(_json(one.before) for one in past)


def _revised(action: Revise) -> int:
    """A new text stays in the history when the next one comes."""
    grown = {name: action.changes[name] for name in ("text", "metadata") if name in action.changes}
    return 2 * _json(grown) if grown else 0


def _json(value: object) -> int:
    return len(orjson.dumps(value, default=str)) if value else 0
