"""Writing memories: records in, one transaction out, with or without an embedder at hand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from remanence.clock import Clock
from remanence.errors import EmbedderError
from remanence.model.accept import text_of
from remanence.model.memory import MemoryRecord
from remanence.model.write import Action, Batch, Insert, Pieces, Receipt, Remove, Revise
from remanence.ports.embedder import Embedder
from remanence.ports.store import Progress, Store
from remanence.remember.embed import embedded

CHUNK = 256
INSTALMENT = 16
MAX_RECEIPT = 256


class Writer:
    """Turns records and changes into batches. An embedder that fails delays vectors, not writes."""

    def __init__(self, store: Store, embedder: Embedder, clock: Clock) -> None:
        self._store = store
        self._embedder = embedder
        self._clock = clock
        self._settled: set[str] = set()  # tenants whose every memory has vectors

    def insert(
        self, tenant: str, records: Sequence[MemoryRecord], request: object, key: str | None
    ) -> list[MemoryRecord]:
        """Store new records together. With a key, asking again gives the first answer again."""
        pieces = self._pieces(records)
        actions = [
            Insert(record=record, pieces=made) for record, made in zip(records, pieces, strict=True)
        ]
        receipt = None if key is None else _receipt(key, request)
        written = self._write(tenant, actions, receipt)
        self._pay_some(tenant)
        return written

    def revise(
        self,
        record: MemoryRecord,
        after: MemoryRecord,
        changes: Mapping[str, Any],
        *,
        verb: str,
        actor: str | None,
        reason: str | None,
    ) -> MemoryRecord:
        """Change a record from what it was to `after`; a new text is embedded anew."""
        spoken_anew = "text" in changes or "speaker" in changes
        change = Revise(
            id=record.id,
            changes=changes,
            verb=verb,
            at=self._clock.now(),
            actor=actor,
            reason=reason,
            pieces=self._pieces([after])[0] if spoken_anew else None,
            expected=record.version,
        )
        written = self._write(record.tenant, [change])[0]
        self._pay_some(record.tenant)
        return written

    def change_all(
        self,
        records: Sequence[MemoryRecord],
        changes: Mapping[str, Any],
        *,
        verb: str,
        actor: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Give several records the same new values (not a new text), together."""
        now = self._clock.now()
        actions = [
            Revise(id=r.id, changes=changes, verb=verb, at=now, actor=actor, reason=reason)
            for r in records
        ]
        if actions:
            self._write(records[0].tenant, actions)

    def remove(self, records: Sequence[MemoryRecord]) -> None:
        """Erase records and everything stored with them, together."""
        if records:
            self._write(records[0].tenant, [Remove(id=record.id) for record in records])

    def embed_missing(self, tenant: str, progress: Progress | None = None) -> int:
        """Embed what has no vectors of the present embedder yet; stop and go on at any time."""
        fingerprint = self._embedder.fingerprint
        total = self._store.count_unembedded(tenant, fingerprint)
        done = 0
        for step in self._missing(tenant):
            done += step
            if progress:
                progress(min(done, total), total)
        self._settled.add(tenant)
        return done

    def _missing(self, tenant: str) -> Iterator[int]:
        while found := self._store.unembedded(tenant, self._embedder.fingerprint, CHUNK):
            yield self._embed_stored(tenant, found)

    def _embed_stored(self, tenant: str, found: Sequence[tuple[int, MemoryRecord]]) -> int:
        made = embedded([record for _, record in found], self._embedder)
        self._store.put_pieces(
            tenant,
            [(key, record.text, pieces) for (key, record), pieces in zip(found, made, strict=True)],
        )
        return len(found)

    def _pieces(self, records: Sequence[MemoryRecord]) -> Sequence[Pieces | None]:
        try:
            return embedded(records, self._embedder)
        except EmbedderError:
            self._settled -= {record.tenant for record in records}
            return [None] * len(records)

    def _pay_some(self, tenant: str) -> None:
        """Once the embedder works again, catch up a little with every write."""
        if tenant in self._settled:
            return
        with suppress(EmbedderError):
            found = self._store.unembedded(tenant, self._embedder.fingerprint, INSTALMENT)
            if not found or self._embed_stored(tenant, found) < INSTALMENT:
                self._settled.add(tenant)

    def _write(
        self, tenant: str, actions: Sequence[Action], receipt: Receipt | None = None
    ) -> list[MemoryRecord]:
        batch = Batch(tenant=tenant, at=self._clock.now(), actions=tuple(actions), receipt=receipt)
        return list(self._store.write(batch).records)


def _receipt(key: str, request: object) -> Receipt:
    canonical = json.dumps(request, sort_keys=True, default=_text, ensure_ascii=False)
    digest = hashlib.blake2b(canonical.encode(), digest_size=16).digest()
    return Receipt(key=text_of("idempotency_key", key, MAX_RECEIPT), digest=digest)


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
