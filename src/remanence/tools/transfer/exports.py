"""Writing a memory out, one JSON line at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO

from remanence.api.memory import Memory
from remanence.api.values import dumped
from remanence.errors import NotFound
from remanence.model import deadline
from remanence.model.clock import SystemClock
from remanence.model.document import OF_A_STORE
from remanence.model.knowledge import Claim, Entity, Mention
from remanence.model.progress import Progress
from remanence.tools.transfer import lines
from remanence.tools.transfer.document_lines import DOCUMENT, EDITION
from remanence.version import __version__

_KNOWN: Mapping[type, lines.LineType[Any]] = {
    Entity: lines.ENTITY,
    Claim: lines.CLAIM,
    Mention: lines.MENTION,
}


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
    for link in memory.parts.store.links.scan(memory.tenant):
        _write(file, lines.ASSOCIATION.told(link))
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
        "type": lines.FORMAT,
        "version": lines.VERSION,
        "remanence": __version__,
        "exported_at": SystemClock().now(),
        "tenant": memory.tenant,
        "memories": memories,
        "associations": associations,
    }


def _memories(memory: Memory, file: BinaryIO, total: int, progress: Progress | None) -> int:
    done = 0
    for _, record in memory.parts.store.archive.scan(memory.tenant):
        try:
            history = memory.history(record.id)[1:]  # the insertion can be told from the record
        except NotFound:  # erased since the scan read it
            continue
        _write(file, lines.MEMORY.told(record))
        for revision in history:
            _write(file, lines.REVISION.told(revision, id=record.id))
        done += 1
        if progress:
            progress(done, max(done, total))
    return done


def _knowledge(memory: Memory, file: BinaryIO) -> Counter[type]:
    done: Counter[type] = Counter()
    for one in memory.parts.store.knowledge.scan(memory.tenant):
        _write(file, _KNOWN[type(one)].told(one))
        done[type(one)] += 1
    return done


def _documents(memory: Memory, file: BinaryIO) -> int:
    done = 0
    for document, editions in memory.parts.store.documents.scan(memory.tenant):
        at = document.address
        if at.shelf in OF_A_STORE:
            continue
        _write(file, DOCUMENT.told(document, **asdict(at)))
        for edition in editions:
            _write(file, EDITION.told(edition, shelf=at.shelf, name=at.name))
        done += 1
    return done


def _write(file: BinaryIO, line: dict[str, Any]) -> None:
    deadline.breathe()
    file.write(f"{dumped(line)}\n".encode())
