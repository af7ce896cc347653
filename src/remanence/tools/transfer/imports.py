"""Reading a memory in: checked line by line, written batch by batch, safe to run again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import BinaryIO, Generic, TypeAlias, TypeVar

from remanence.api.memory import Memory
from remanence.errors import Conflict, EmbedderError, Forbidden, InvalidInput, StoreBusy
from remanence.memories.embedding import embedded
from remanence.model.clock import SystemClock
from remanence.model.document import Document, Edition
from remanence.model.knowledge import Claim, Entity, Mention
from remanence.model.memory import Association, MemoryRecord, Revision
from remanence.model.progress import Progress
from remanence.model.scope import Reach
from remanence.model.write import Batch, Insert, Pieces
from remanence.tools.transfer.document_lines import document_of, edition_of
from remanence.tools.transfer.entries import TRIES
from remanence.tools.transfer.lines import (
    ASSOCIATION,
    CLAIM,
    ENTITY,
    MENTION,
    Line,
    NumberedLine,
    check_header,
    memory_of,
    read_lines,
    revision_of,
)
from remanence.tools.transfer.pairs import MANY, Known, know_all, put_links

BATCH = 256
BATCH_BYTES = 16 * 1024 * 1024

R = TypeVar("R", MemoryRecord, Document)
P = TypeVar("P", Revision, Edition)
K = TypeVar("K", Entity, Claim)
T = TypeVar("T")


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
class _Past(Generic[R, P]):
    """A memory or a document that was read, and what came before as far as that was read."""

    now: R
    earlier: list[P] = field(default_factory=list)

    def add(self, one: P, what: str, first: int) -> None:
        last = self.earlier[-1].version if self.earlier else first - 1
        if not last < one.version <= self.now.version:
            raise InvalidInput(
                f"version {one.version} comes after version {last} of a {what} that has version "
                f"{self.now.version}."
            )
        self.earlier.append(one)


_Memory: TypeAlias = _Past[MemoryRecord, Revision]
_Document: TypeAlias = _Past[Document, Edition]


class _Waiting(Generic[T]):
    """Records that wait until there are enough to be written together."""

    def __init__(self, write: Callable[[list[T]], None]) -> None:
        self._write = write
        self._held: list[T] = []
        self._bytes = 0

    def make_room(self) -> None:
        """Write what waits if it is as much as is written together."""
        if len(self._held) >= BATCH or self._bytes >= BATCH_BYTES:
            self.flush()

    def add(self, one: T, size: int) -> None:
        self.make_room()
        self._held.append(one)
        self._bytes += size

    def grow(self, size: int) -> None:
        """Something came that belongs to the last of them."""
        self._bytes += size

    def flush(self) -> None:
        held, self._held, self._bytes = self._held, [], 0
        if held:
            self._write(held)


class _Importing:
    """The state of one import; its counts have the names of `Imported`."""

    def __init__(
        self, memory: Memory, progress: Progress | None, admit: Callable[[Line], Line] | None
    ) -> None:
        self._memory = memory
        self._store = memory.parts.store
        self._tenant = memory.tenant
        self._most = memory.settings.max_text
        self._admit = admit
        self._progress = progress
        self._total = 0
        self._counts: Counter[str] = Counter()
        self._apart: set[str] = set()  # memories that are otherwise here than in the file
        self._memories = _Waiting(self._write_memories)
        self._links = _Waiting(self._write_links)
        self._known = _Waiting(self._write_known)
        self._documents = _Waiting(self._write_documents)
        self._last_memory: _Memory | None = None
        self._last_document: _Document | None = None
        self._ended = False

    def run(self, file: BinaryIO) -> Imported:
        """Read all lines."""
        lines = read_lines(file)
        self._begin(next(lines, None))
        for line in lines:
            self._take(line)
        for waiting in (self._memories, self._links, self._known, self._documents):
            waiting.flush()
        if not self._ended:
            raise InvalidInput(
                f"The file ends early: it was cut off. {self._counts['memories']:,} memories are "
                "here; get the whole file and import it again."
            )
        return Imported(**{each.name: self._counts[each.name] for each in fields(Imported)})

    def _begin(self, line: NumberedLine | None) -> None:
        content = line.content if line else {}
        check_header(content)
        told = content.get("memories")
        self._total = told if isinstance(told, int) else 0

    def _take(self, line: NumberedLine) -> None:
        try:
            content = line.content if self._admit is None else self._admit(line.content)
            self._read(content, line.size)
        except (Forbidden, InvalidInput) as error:
            raise type(error)(f"Line {line.number}: {error}") from error

    def _read(self, line: Line, size: int) -> None:
        kind = line.get("type")
        if kind in (ASSOCIATION.name, CLAIM.name, MENTION.name):
            self._memories.flush()  # what names memories comes after them
        match kind:
            case "memory":
                self._memories.make_room()  # what came before is whole, whatever this line is
                memory: _Memory = _Past(memory_of(line, self._tenant, self._most))
                self._memories.add(memory, size)
                self._last_memory = memory
            case "revision":
                self._attach_revision(line, size)
            case "association":
                self._links.add(ASSOCIATION.read(line), size)
            case "entity":
                self._known.add(ENTITY.read(line, self._most), size)
            case "claim":
                self._hold_found(CLAIM.read(line, self._most), size)
            case "mention":
                self._hold_found(MENTION.read(line), size)
            case "document":
                self._last_document = _Past(document_of(line))
                self._documents.add(self._last_document, size)
            case "edition":
                self._attach_edition(line, size)
            case "end":
                self._ended = True
            case other:
                raise InvalidInput(f"A line of type {str(other)[:40]!r} is not known here.")

    def _attach_revision(self, line: Line, size: int) -> None:
        id, revision = revision_of(line, self._most)
        if self._last_memory is None or self._last_memory.now.id != id:
            raise InvalidInput(f"The revision of {id} does not follow its memory.")
        self._last_memory.add(revision, "memory", 2)
        self._memories.grow(size)

    def _attach_edition(self, line: Line, size: int) -> None:
        if self._last_document is None:
            raise InvalidInput("An edition does not follow its document.")
        edition = edition_of(line, self._last_document.now)
        self._last_document.add(edition, "document", 1)
        self._documents.grow(size)

    def _hold_found(self, one: Claim | Mention, size: int) -> None:
        """What was found in a memory comes only where that memory is as the file has it."""
        if one.memory not in self._apart:
            self._known.add(one, size)
        elif isinstance(one, Claim):
            self._counts["known"] += 1

    def _write_memories(self, held: list[_Memory]) -> None:
        self._last_memory = None
        told = {past.now.id: past for past in reversed(held)}
        known = {record.id: record for record in self._store.archive.get(self._tenant, list(told))}
        self._apart |= {id for id in known if _differs(known[id], told[id].now)}
        new = [past for id, past in reversed(told.items()) if id not in known]
        if new:
            self._insert(new)
        self._counts["memories"] += len(new)
        self._counts["skipped"] += len(held) - len(new)
        if self._progress:
            done = self._counts["memories"] + self._counts["skipped"]
            self._progress(done, max(done, self._total))

    def _insert(self, new: Sequence[_Memory]) -> None:
        made = self._pieces([past.now for past in new])
        actions = tuple(
            Insert(record=past.now, pieces=pieces, history=tuple(past.earlier))
            for past, pieces in zip(new, made, strict=True)
        )
        try:
            self._store.archive.write(
                Batch(tenant=self._tenant, at=SystemClock().now(), actions=actions)
            )
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

    def _write_links(self, links: list[Association]) -> None:
        put = put_links(self._store, self._tenant, links)
        self._counts["associations"] += put
        self._counts["dangling"] += len(links) - put

    def _write_known(self, held: list[Known]) -> None:
        """Add knowledge; what is known already stays as it is."""
        every = Reach(tenant=self._tenant, all_users=True)
        told = [one for one in held if isinstance(one, Entity)]
        said = [one for one in held if isinstance(one, Claim)]
        new = _unlike(told, self._store.knowledge.entities(every, _ids(told), limit=MANY))
        fresh = _unlike(said, self._store.knowledge.claims(every, ids=_ids(said), limit=MANY))
        spoken = [one for one in held if isinstance(one, Mention)]
        lost, silent = know_all(self._store.knowledge, self._tenant, told, fresh, spoken)
        self._counts["entities"] += len(new)
        self._counts["claims"] += len(fresh) - lost
        self._counts["dangling"] += lost + silent
        self._counts["known"] += len(told) - len(new) + len(said) - len(fresh)

    def _write_documents(self, held: list[_Document]) -> None:
        """Take over what is not here; what stands at an address already is kept as it is."""
        told = {past.now.address: past for past in reversed(held)}
        taken = self._adopt(list(reversed(told.values())))
        self._counts["documents"] += taken
        self._counts["kept"] += len(held) - taken

    def _adopt(self, told: Sequence[_Document]) -> int:
        """How many were new. What others put meanwhile is theirs."""
        addresses = [past.now.address for past in told]
        for _ in range(TRIES):
            here = {one.address for one in self._store.documents.get(self._tenant, addresses)}
            new = [(one.now, tuple(one.earlier)) for one in told if one.now.address not in here]
            with suppress(Conflict):
                self._store.documents.adopt(self._tenant, new, {one.address: 0 for one, _ in new})
                return len(new)
        raise StoreBusy("Others put what is being imported all the time; import it again.")


def _ids(some: Sequence[Entity] | Sequence[Claim]) -> list[str]:
    return [one.id for one in some]


def _unlike(given: Sequence[K], here: Sequence[K]) -> list[K]:
    """Those that are not here, each once."""
    known = {(one.user_id, one.id) for one in here}
    new = {(one.user_id, one.id): one for one in given}
    return [one for key, one in new.items() if key not in known]


def _differs(here: MemoryRecord, told: MemoryRecord) -> bool:
    """Whether a memory went another way here, so that what it says may be another thing."""
    return (here.version, here.updated_at, here.text) != (told.version, told.updated_at, told.text)
