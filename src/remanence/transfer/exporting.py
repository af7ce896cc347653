"""Writing a memory out, one JSON line at a time."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO

from remanence.clock import SystemClock
from remanence.errors import NotFound
from remanence.memory import Memory
from remanence.model.document import OF_A_STORE
from remanence.model.knowledge import Claim, Entity, Mention
from remanence.operations.rendering import dumped
from remanence.ports.store import Progress
from remanence.transfer.document_lines import document_line, edition_line
from remanence.transfer.knowledge_lines import claim_line, entity_line, mention_line
from remanence.transfer.lines import FORMAT, VERSION, association_line, memory_line, revision_line
from remanence.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """How much was written."""

    memories: int
    associations: int
    documents: int
    entities: int
    claims: int
    mentions: int


def export_memory(memory: Memory, file: BinaryIO, progress: Progress | None = None) -> Exported:
    """Write everything of the memory's tenant, in any state: histories, links, what is known,
    documents too.

    What is written while the export runs may or may not be in it; what was there before is.
    """
    stats = memory.stats()
    _write(file, _header(memory, stats.memories, stats.associations))
    memories = _memories(memory, file, stats.memories, progress)
    associations = 0
    for link in memory.parts.store.links(memory.tenant):
        _write(file, association_line(link))
        associations += 1
    known = _knowledge(memory, file)
    done = Exported(
        memories=memories,
        associations=associations,
        documents=_documents(memory, file),
        entities=known[Entity],
        claims=known[Claim],
        mentions=known[Mention],
    )
    _write(file, {"type": "end", **asdict(done)})
    file.flush()
    return done


def _header(memory: Memory, memories: int, associations: int) -> dict[str, Any]:
    return {
        "type": FORMAT,
        "version": VERSION,
        "remanence": __version__,
        "exported_at": SystemClock().now(),
        "tenant": memory.tenant,
        "memories": memories,
        "associations": associations,
    }


def _memories(memory: Memory, file: BinaryIO, total: int, progress: Progress | None) -> int:
    done = 0
    for _, record in memory.parts.store.scan(memory.tenant):
        try:
            history = memory.history(record.id)[1:]  # the insertion can be told from the record
        except NotFound:  # erased since the scan read it
            continue
        _write(file, memory_line(record))
        for revision in history:
            _write(file, revision_line(record.id, revision))
        done += 1
        if progress:
            progress(done, max(done, total))
    return done


def _knowledge(memory: Memory, file: BinaryIO) -> Counter[type]:
    done: Counter[type] = Counter()
    for one in memory.parts.store.scan_knowledge(memory.tenant):
        _write(file, _line_of(one))
        done[type(one)] += 1
    return done


def _line_of(one: Entity | Claim | Mention) -> dict[str, Any]:
    match one:
        case Entity():
            return entity_line(one)
        case Claim():
            return claim_line(one)
        case Mention():
            return mention_line(one)


def _documents(memory: Memory, file: BinaryIO) -> int:
    done = 0
    for document, editions in memory.parts.store.scan_documents(memory.tenant):
        if document.address.shelf in OF_A_STORE:
            continue
        _write(file, document_line(document))
        for edition in editions:
            _write(file, edition_line(document.address, edition))
        done += 1
    return done


def _write(file: BinaryIO, line: dict[str, Any]) -> None:
    file.write(f"{dumped(line)}\n".encode())
