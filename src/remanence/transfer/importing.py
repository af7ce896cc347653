"""Reading a memory in: checked line by line, written batch by batch, safe to run again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from remanence.clock import SystemClock
from remanence.errors import Conflict, EmbedderError, Forbidden, InvalidInput
from remanence.memory import Memory
from remanence.model.memory import Association, MemoryRecord, Revision
from remanence.model.write import Batch, Insert, Pieces
from remanence.ports.store import Progress
from remanence.remember.embed import embedded
from remanence.transfer.arriving import Arriving
from remanence.transfer.attached import put_links
from remanence.transfer.knowing import Knowing
from remanence.transfer.lines import Line, association_of, check_header, memory_of, revision_of
from remanence.transfer.reading import NumberedLine, read_lines

BATCH = 256
BATCH_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """How much was read in. `skipped` memories and `kept` documents were here already, as were
    `known` entities and claims; claims of memories that are otherwise here count as known.

    A `dangling` association, claim or mention names what the file does not hold.
    """

    memories: int
    skipped: int
    associations: int
    dangling: int
    documents: int
    kept: int
    entities: int
    claims: int
    known: int


def import_memory(
    memory: Memory,
    file: BinaryIO,
    progress: Progress | None = None,
    *,
    admit: Callable[[Line], Line] | None = None,
) -> Imported:
    """Read what `export_memory` wrote into the memory's own tenant; ids, times, history stay.

    A line that cannot be accepted raises `InvalidInput` with its number, and nothing of its batch
    is written. What came before it is here: run the import again and it is passed over. What a
    memory says comes from the file; its text is not read again. `admit` makes of a line what is
    stored, or refuses it.
    """
    return _Importing(memory, progress, admit).run(file)


@dataclass(frozen=True, slots=True)
class _Past:
    """A memory that was read, and its revisions as far as they were."""

    record: MemoryRecord
    history: list[Revision] = field(default_factory=list)

    def add(self, revision: Revision) -> None:
        if self.history and revision.version <= self.history[-1].version:
            raise InvalidInput(f"version {revision.version} comes after a later one.")
        if not 2 <= revision.version <= self.record.version:
            raise InvalidInput(
                f"a change to version {revision.version} of a memory that has version "
                f"{self.record.version}."
            )
        self.history.append(revision)


class _Importing:
    """The state of one import."""

    def __init__(
        self,
        memory: Memory,
        progress: Progress | None,
        admit: Callable[[Line], Line] | None,
    ) -> None:
        self._memory = memory
        self._admit = admit
        self._progress = progress
        self._total = 0
        self._held: dict[str, _Past] = {}
        self._latest: _Past | None = None
        self._held_bytes = 0
        self._links: list[Association] = []
        self._documents = Arriving(memory.parts.store, memory.tenant)
        self._apart: set[str] = set()
        self._knowledge = Knowing(
            memory.parts.store, memory.tenant, memory.settings.max_text, self._apart
        )
        self._memories = self._skipped = self._associations = self._dangling = 0
        self._ended = False

    def run(self, file: BinaryIO) -> Imported:
        """Read all lines."""
        lines = read_lines(file)
        self._begin(next(lines, None))
        for line in lines:
            self._take(line)
        self._write_held()
        self._write_links()
        self._knowledge.write()
        self._documents.write()
        if not self._ended:
            raise InvalidInput(
                f"The file ends early: it was cut off. {self._memories:,} memories are here; "
                "get the whole file and import it again."
            )
        return self._result()

    def _begin(self, line: NumberedLine | None) -> None:
        content = line.content if line else {}
        check_header(content)
        told = content.get("memories")
        self._total = told if isinstance(told, int) else 0

    def _take(self, line: NumberedLine) -> None:
        try:
            if self._admit is not None:
                line = replace(line, content=self._admit(line.content))
            match line.content.get("type"):
                case "memory":
                    self._hold(line)
                case "revision":
                    self._attach(line)
                case "association":
                    self._link(line.content)
                case "entity":
                    self._knowledge.hold_entity(line)
                case "claim":
                    self._write_held_before(self._knowledge.hold_claim, line)
                case "mention":
                    self._write_held_before(self._knowledge.hold_mention, line)
                case "document":
                    self._documents.hold(line)
                case "edition":
                    self._documents.attach(line)
                case "end":
                    self._ended = True
                case other:
                    raise InvalidInput(f"A line of type {str(other)[:40]!r} is not known here.")
        except (Forbidden, InvalidInput) as error:
            raise type(error)(f"Line {line.number}: {error}") from error

    def _hold(self, line: NumberedLine) -> None:
        if len(self._held) >= BATCH or self._held_bytes >= BATCH_BYTES:
            self._write_held()
        limit = self._memory.settings.max_text
        self._latest = _Past(memory_of(line.content, self._memory.tenant, limit))
        if self._latest.record.id in self._held:
            self._skipped += 1
            return
        self._held[self._latest.record.id] = self._latest
        self._held_bytes += line.size

    def _attach(self, line: NumberedLine) -> None:
        id, revision = revision_of(line.content, self._memory.settings.max_text)
        if self._latest is None or self._latest.record.id != id:
            raise InvalidInput(f"The revision of {id} does not follow its memory.")
        self._latest.add(revision)
        self._held_bytes += line.size

    def _write_held(self) -> None:
        held, self._held, self._held_bytes, self._latest = self._held, {}, 0, None
        store = self._memory.parts.store
        known = {record.id: record for record in store.get(self._memory.tenant, list(held))}
        self._apart |= {id for id in known if _differs(known[id], held[id].record)}
        new = [past for id, past in held.items() if id not in known]
        if new:
            self._insert(new)
        self._memories += len(new)
        self._skipped += len(known)
        if self._progress and held:
            done = self._memories + self._skipped
            self._progress(done, max(done, self._total))

    def _insert(self, new: Sequence[_Past]) -> None:
        made = self._pieces([past.record for past in new])
        actions = tuple(
            Insert(record=past.record, pieces=pieces, history=tuple(past.history))
            for past, pieces in zip(new, made, strict=True)
        )
        batch = Batch(tenant=self._memory.tenant, at=SystemClock().now(), actions=actions)
        try:
            self._memory.parts.store.write(batch)
        except Conflict as error:
            raise Conflict(
                "Memories with these ids are in this database already and not in this tenant; "
                "import into a database of its own."
            ) from error

    def _pieces(self, records: Sequence[MemoryRecord]) -> Sequence[Pieces | None]:
        try:
            return embedded(records, self._memory.parts.embedder)
        except EmbedderError:
            return [None] * len(records)

    def _write_held_before(self, hold: Callable[[NumberedLine], None], line: NumberedLine) -> None:
        """What names memories comes after them."""
        if self._held:
            self._write_held()
        hold(line)

    def _link(self, line: Line) -> None:
        if self._held:
            self._write_held()
        self._links.append(association_of(line))
        if len(self._links) >= BATCH:
            self._write_links()

    def _write_links(self) -> None:
        links, self._links = self._links, []
        put = put_links(self._memory.parts.store, self._memory.tenant, links)
        self._associations += put
        self._dangling += len(links) - put

    def _result(self) -> Imported:
        return Imported(
            memories=self._memories,
            skipped=self._skipped,
            associations=self._associations,
            dangling=self._dangling + self._knowledge.dangling,
            documents=self._documents.taken,
            kept=self._documents.skipped,
            entities=self._knowledge.entities,
            claims=self._knowledge.claims,
            known=self._knowledge.known,
        )


def _differs(here: MemoryRecord, told: MemoryRecord) -> bool:
    """Whether a memory went another way here, so that what it says may be another thing."""
    return (here.version, here.updated_at, here.text) != (told.version, told.updated_at, told.text)
