"""The documents of an import: held with their editions, written a batch at a time."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from remanence.errors import Conflict, InvalidInput, StoreBusy
from remanence.model.document import Address, Document, Edition
from remanence.ports.store import Documents
from remanence.transfer.document_lines import document_of, edition_of
from remanence.transfer.entries import TRIES
from remanence.transfer.reading import NumberedLine

BATCH = 256
BATCH_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A document that was read, and its editions as far as they were."""

    document: Document
    editions: list[Edition] = field(default_factory=list)

    def add(self, edition: Edition) -> None:
        last = self.editions[-1].version if self.editions else 0
        if not last < edition.version <= self.document.version:
            raise InvalidInput(
                f"version {edition.version} comes after version {last} of a document that has "
                f"version {self.document.version}."
            )
        self.editions.append(edition)


class Arriving:
    """Takes documents over; what stands at an address already is kept as it is."""

    def __init__(self, store: Documents, tenant: str) -> None:
        self._store = store
        self._tenant = tenant
        self._held: dict[Address, _Arrival] = {}
        self._latest: _Arrival | None = None
        self._held_bytes = 0
        self.taken = self.skipped = 0

    def hold(self, line: NumberedLine) -> None:
        """A document's line."""
        if len(self._held) >= BATCH or self._held_bytes >= BATCH_BYTES:
            self.write()
        self._latest = _Arrival(document_of(line.content))
        address = self._latest.document.address
        if address in self._held:
            self.skipped += 1
            return
        self._held[address] = self._latest
        self._held_bytes += line.size

    def attach(self, line: NumberedLine) -> None:
        """The line of an edition of the document before it."""
        if self._latest is None:
            raise InvalidInput("An edition does not follow its document.")
        self._latest.add(edition_of(line.content, self._latest.document))
        self._held_bytes += line.size

    def write(self) -> None:
        """Write what is held."""
        held, self._held, self._held_bytes, self._latest = self._held, {}, 0, None
        if not held:
            return
        taken = self._adopt(held)
        self.taken += taken
        self.skipped += len(held) - taken

    def _adopt(self, held: Mapping[Address, _Arrival]) -> int:
        """Take over what is not here; how many. What others put meanwhile is theirs."""
        for _ in range(TRIES):
            here = {one.address for one in self._store.documents(self._tenant, list(held))}
            new = [one for address, one in held.items() if address not in here]
            with suppress(Conflict):
                self._store.adopt(
                    self._tenant,
                    [(one.document, tuple(one.editions)) for one in new],
                    {one.document.address: 0 for one in new},
                )
                return len(new)
        raise StoreBusy("Others put what is being imported all the time; import it again.")
