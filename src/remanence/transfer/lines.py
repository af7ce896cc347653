"""The lines of an export: a header, memories, each before its revisions, associations, an end.

Documents come before the end, each before its editions (`document_lines`), since format 2;
knowledge before them (`knowledge_lines`), since format 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from remanence.errors import InvalidInput
from remanence.model import accept
from remanence.model.memory import Association, MemoryRecord, Revision, unit_interval
from remanence.model.scope import Scope
from remanence.operations.rendering import plain
from remanence.remember.draft import changes_of
from remanence.version import __version__

FORMAT = "remanence-export"
VERSION = 3
READABLE = (1, 2, 3)

Line = Mapping[str, Any]


def memory_line(record: MemoryRecord) -> dict[str, Any]:
    """A memory with all its fields; the tenant is the importer's own affair."""
    told = {name: value for name, value in _plain(record).items() if name != "tenant"}
    return {"type": "memory", **told}


def revision_line(id: str, revision: Revision) -> dict[str, Any]:
    """One change in the history of the memory with this id; it follows the memory's own line."""
    return {"type": "revision", "id": id, **_plain(revision)}


def association_line(link: Association) -> dict[str, Any]:
    """An association; what kind of link it is stands under `link`."""
    told = _plain(link)
    return {"type": "association", "link": told.pop("type"), **told}


def check_header(line: Line) -> None:
    """Refuse what is not an export of ours, or one of a later format."""
    if line.get("type") != FORMAT:
        raise InvalidInput(
            "This is not a file that `rem export` made; chats are read by `rem import chat FILE`."
        )
    if line.get("version") not in READABLE:
        raise InvalidInput(
            f"The file has format {str(line.get('version'))[:20]!r}, written by Remanence "
            f"{str(line.get('remanence'))[:20]}, and Remanence {__version__} reads up to "
            f"{VERSION}; nothing was read in. Upgrade Remanence, and import again."
        )


def memory_of(line: Line, tenant: str, max_text: int) -> MemoryRecord:
    """The memory of a line under the given tenant."""
    values = {n: v for n, v in line.items() if n != "type"}
    check_names(values, MemoryRecord, apart=("tenant",))
    values["text"] = accept.text_of("text", values["text"], max_text)
    read = {name: READERS.get(name, accept.label_of)(name, v) for name, v in values.items()}
    Scope(tenant=tenant, **{n: read.get(n) for n in ("user_id", "agent_id", "session_id")})
    return MemoryRecord(tenant=tenant, **read)


def revision_of(line: Line, max_text: int) -> tuple[str, Revision]:
    """The revision of a line, after the id of its memory."""
    values = {n: v for n, v in line.items() if n not in ("type", "id")}
    check_names(values, Revision)
    before = values.get("before") or {}
    if not isinstance(before, Mapping):
        raise InvalidInput("before must be an object.")
    revision = Revision(
        version=whole("version", values["version"]),
        verb=accept.text_of("verb", values["verb"], 128),
        at=accept.moment_of("at", values["at"]),
        actor=accept.label_of("actor", values.get("actor")),
        reason=accept.label_of("reason", values.get("reason")),
        before=changes_of(before, max_text) if before else {},
    )
    return uuid_of("id", line.get("id")), revision


def association_of(line: Line) -> Association:
    """The association of a line."""
    values = {n: v for n, v in line.items() if n not in ("type", "link")}
    check_names(values | {"type": line.get("link")}, Association)
    return Association(
        source=accept.id_of(values["source"]),
        target=accept.id_of(values["target"]),
        type=accept.text_of("link", line.get("link"), 128),
        strength=unit_interval("strength", values["strength"]),
        created_at=accept.moment_of("created_at", values["created_at"]),
    )


def check_names(values: Line, model: type, apart: tuple[str, ...] = ()) -> None:
    """Refuse a line with a field that the model does not have, or without one it needs."""
    known = {each.name: each for each in fields(model) if each.name not in apart}
    if unknown := sorted(set(values) - set(known)):
        raise InvalidInput(f"Unknown field {unknown[0]!r}; update Remanence to read it.")
    needed = {n for n, f in known.items() if f.default is f.default_factory is MISSING}
    if missing := sorted(needed - set(values)):
        raise InvalidInput(f"The field {missing[0]!r} is missing.")


def whole(what: str, value: Any) -> int:
    """A whole number that a store can keep."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise InvalidInput(f"{what} must be a whole number, 0 or more; got {value!r}.")
    return value


def _truth(what: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"{what} must be true or false; got {value!r}.")
    return value


def _plain(value: Any) -> dict[str, Any]:
    told = plain(value)
    assert isinstance(told, dict)
    return told


def uuid_of(what: str, value: Any) -> str:
    """An id in its canonical form."""
    try:
        return accept.id_of(value)
    except LookupError:
        raise InvalidInput(f"{what} must be a UUID; got {str(value)[:60]!r}.") from None


READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "id": uuid_of,
    "superseded_by": lambda what, value: None if value is None else uuid_of(what, value),
    "text": lambda what, value: value,
    "kind": lambda what, value: accept.kind_of(value),
    "state": lambda what, value: accept.state_of(value),
    "happened_at": accept.moment_of,
    "created_at": accept.moment_of,
    "updated_at": accept.moment_of,
    "used_at": lambda what, value: None if value is None else accept.moment_of(what, value),
    "importance": unit_interval,
    "trust": unit_interval,
    "pinned": _truth,
    "metadata": lambda what, value: accept.metadata_of(value),
    "version": whole,
    "uses": whole,
}
