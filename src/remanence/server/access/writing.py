"""What callers write: with the trust and the name they have, and nothing that is not theirs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from hashlib import sha256
from typing import Any

from remanence.api.memory import Memory
from remanence.api.verb import AnyVerb, Grant
from remanence.errors import Conflict, Forbidden, InvalidInput
from remanence.memories.lineage import check_cut, check_link
from remanence.memories.writer import MAX_RECEIPT
from remanence.model.block import block_label
from remanence.model.document import Shelf
from remanence.model.knowledge import entity_id, folded_name
from remanence.model.memory import GUEST, Kind, MemoryRecord, State
from remanence.model.validation import (
    MAX_LABEL,
    OWN,
    STATED,
    check_metadata,
    check_origin,
    id_of,
    text_of,
)
from remanence.server.access.caller import Caller
from remanence.server.access.gate import LOCAL

LINKING = frozenset({"associate", "dissociate"})
NAMING = frozenset({"purge"})  # its labels say what is looked for; nothing carries them
# Who speaks in a chat, as a prompt names them.
ROLES = frozenset({"user", "assistant", "system", "developer", "tool", "function", "human", "ai"})
CALLER = "caller"  # the origin of a claim that somebody stated
CITING: Mapping[str, str] = {"facts.add": "source", "graph.relate": "source_memory"}
_NOTED = (Shelf.BLOCK, Shelf.CONVERSATION, Shelf.SESSION, Shelf.USER, Shelf.WORKING)

Line = Mapping[str, Any]


def as_theirs(caller: Caller, operation: AnyVerb, request: Any, memory: Memory) -> Any:
    """The request with the caller's trust and name in it; `Forbidden` for what is above them."""
    if operation.name in NAMING:
        return request
    given = {each.name: getattr(request, each.name) for each in fields(request)}
    check_claims(operation, given, memory)
    if operation.name == "update":
        given |= _of_update(given, caller, memory)
    elif caller.trust < 1 and "trust" in given:
        given["trust"] = _no_more(given["trust"], caller.trust)
    if "memories" in given:
        given["memories"] = tuple(item_of(one, caller) for one in given["memories"])
    if "messages" in given:
        given["messages"] = tuple(_turn(one, caller) for one in given["messages"])
    if "speaker" in given:
        given |= _voice(given, caller)
    given |= {name: _name(given[name], caller) for name in ("actor", "author") if name in given}
    if given.get("idempotency_key") is not None:
        given["idempotency_key"] = _key(given["idempotency_key"], caller)
    if caller.quarantine and "quarantined" in given:
        given["quarantined"] = True
    _check_standing(caller, operation, given, memory)
    return replace(request, **given)


def check_claims(operation: AnyVerb, given: Mapping[str, Any], memory: Memory) -> None:
    """Refuse what only the memory says of what it makes itself."""
    if operation.name in NAMING:
        return
    if operation.name in LINKING:
        _check_links(operation, given, memory)
    for one in _written(given):
        check_origin(one.get("origin"))
        if operation.name != "update":
            check_metadata(one.get("metadata"))
    if operation.name == "update" and given["metadata"] is not None:
        check_metadata(given["metadata"], memory.get(given["id"]).metadata)


def _check_links(operation: AnyVerb, given: Mapping[str, Any], memory: Memory) -> None:
    """What was made of a memory is found by links that callers neither make nor cut."""
    check_link(given["type"])
    if operation.name == "dissociate" and given["type"] is None:
        source, target = id_of(given["a"]), id_of(given["b"])
        check_cut(memory.parts.store, memory.tenant, source, target)


def _written(given: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A request and the memories or messages in it."""
    yield given
    for name in ("memories", "messages"):
        yield from (one for one in given.get(name, ()) if isinstance(one, Mapping))


def _of_update(given: Mapping[str, Any], caller: Caller, memory: Memory) -> dict[str, Any]:
    """What of an update depends on the memory: trust is not raised, the memory's own stays."""
    changed: dict[str, Any] = {}
    if given["trust"] is not None and caller.trust < 1:
        changed["trust"] = min(given["trust"], caller.trust, memory.get(given["id"]).trust)
    if given["metadata"] is not None:
        there = {n: v for n, v in memory.get(given["id"]).metadata.items() if n.startswith(OWN)}
        changed["metadata"] = {**given["metadata"], **there}
    return changed


def item_of(item: Any, caller: Caller) -> Any:
    """A memory among others, as the caller may have it stored."""
    if isinstance(item, str):
        item = {"text": item}
    if not isinstance(item, Mapping):
        return item
    told = {**item, "actor": _name(item.get("actor"), caller)} | _voice(item, caller)
    if caller.trust < 1:
        told["trust"] = _no_more(item.get("trust", 1.0), caller.trust)
    return told | ({"quarantined": True} if caller.quarantine else {})


def _turn(message: Any, caller: Caller) -> Any:
    """A message of a conversation; who is trusted less calls no tools and answers for none."""
    if caller.trust >= 1 or not isinstance(message, Mapping):
        return message
    if message.get("tool_calls") or message.get("tool_call_id"):
        raise Forbidden(
            "A key of limited trust speaks for no assistant and no tool: leave `tool_calls` and "
            "`tool_call_id` out, or write with a key of full trust."
        )
    told = _voice({"role": GUEST, "speaker": message.get("name")}, caller)
    return {**message, "role": GUEST, "name": told["speaker"]}


def _voice(given: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    """In which role, and as whom; who is trusted less is a guest under the name of the key.

    So nobody is taken for the user, the assistant or the system who is not.
    """
    role, speaker = given.get("role"), given.get("speaker")
    said = role is not None or speaker is not None or given.get("kind") == Kind.MESSAGE
    if caller.trust >= 1 or not said:
        return {}
    name = f"{caller.name} (as {speaker})" if isinstance(speaker, str) and speaker else caller.name
    return {"role": GUEST, "speaker": name[:MAX_LABEL]}


def _no_more(trust: Any, most: float) -> Any:
    if trust is None:
        return most
    if isinstance(trust, bool) or not isinstance(trust, int | float):
        raise InvalidInput(f"trust must be a number from 0 to 1; got {str(trust)[:40]!r}.")
    return min(trust, most)


def _name(given: Any, caller: Caller) -> Any:
    """Whose doing it is: only who looks after the tenant may say that it was another's."""
    return given if given is not None and looks_after(caller) else caller.name


def looks_after(caller: Caller) -> bool:
    """Whether they may say what others did."""
    return caller.may(Grant.ADMIN) and caller.trust >= 1 and not caller.quarantine


def _key(given: str, caller: Caller) -> str:
    """A caller's own idempotency key; the local one's is also that of the library."""
    key = text_of("idempotency_key", given, MAX_RECEIPT)
    if caller.name == LOCAL:
        return key
    return sha256(f"{len(caller.name)} {caller.name} {key}".encode()).hexdigest()


def naming_own_key(error: Conflict, asked: Any, stored: Any) -> Conflict:
    """The conflict by the idempotency key that was asked with, where it names the stored one."""
    own, kept = (getattr(one, "idempotency_key", None) for one in (asked, stored))
    return error if own == kept else Conflict(str(error).replace(repr(kept), repr(own)))


def _check_standing(
    caller: Caller, operation: AnyVerb, given: Mapping[str, Any], memory: Memory
) -> None:
    if operation.name in ("update", "forget"):
        ids = (given["id"],) if isinstance(given["id"], str) else given["id"] or ()
        _check_waiting(caller, operation, given, lambda: map(memory.get, ids))
        if caller.trust < 1:
            _check_touched(caller, given, [memory.get(id) for id in ids])
    if caller.trust >= 1:
        return
    for one in _written(given):
        _check_privileges(operation.name, one)
    cited = given.get(CITING.get(operation.name, ""))
    if cited is not None and memory.get(cited).trust > caller.trust:
        raise Forbidden("A key of limited trust cites no memory that is trusted more.")


def _check_waiting(
    caller: Caller,
    operation: AnyVerb,
    given: Mapping[str, Any],
    touched: Callable[[], Iterator[MemoryRecord]],
) -> None:
    """What waits for an admin's eyes is neither let in nor put where others may bring it back."""
    moved = given.get("state") not in (None, State.QUARANTINED)
    away = operation.name == "forget" and not given["erase"] and not given["dry_run"]
    if caller.may(Grant.ADMIN) or not (moved or away):
        return
    if any(one.state == State.QUARANTINED for one in touched()):
        raise Forbidden("What waits in quarantine is let in or put away by a key with `admin`.")


def _check_touched(caller: Caller, given: Mapping[str, Any], touched: list[MemoryRecord]) -> None:
    """Who is trusted less changes and takes away only what is trusted no more than they are."""
    if not touched:
        raise Forbidden("A key of limited trust forgets by id alone.")
    if given.get("erase") or given.get("state") == State.ACTIVE:
        raise Forbidden("A key of limited trust neither erases nor brings back.")
    if any(one.trust > caller.trust for one in touched):
        raise Forbidden("A key of limited trust changes nothing that is trusted more.")


def _check_privileges(verb: str, given: Mapping[str, Any]) -> None:
    """Nothing that no rule may ever forget, or that counts as the user's own word."""
    if given.get("pinned"):
        raise Forbidden("A key of limited trust pins nothing; leave `pinned` out.")
    source = given.get("source")
    if verb in CITING or not isinstance(source, str):
        return
    if source == STATED:
        raise Forbidden(
            f"The source {STATED!r} is for what the user said to be so; a key of limited trust "
            "names another."
        )
    if folded_name(source) in ROLES:
        raise Forbidden(
            f"The source {source[:40]!r} would pass for who speaks in a prompt; a key of limited "
            "trust names another."
        )


class Intake:
    """Makes of each line of an import what its caller may have stored; None: the store's owner.

    What holds for `add` holds here: the actor is the caller, what the memory makes itself is
    refused, private data is taken out. Who looks after the tenant brings back what others did and
    what the memory made.
    """

    def __init__(self, caller: Caller | None, redact: Redact | None) -> None:
        self._foreign = caller is not None
        self._writer = None if caller is None or looks_after(caller) else caller
        self._redact = redact
        self._entities: dict[str, str] = {}  # by the id that the file has

    def __call__(self, line: Line) -> Line:
        """The line as it is stored; `InvalidInput` or `Forbidden` for what cannot be."""
        if self._foreign and line.get("shelf") == Shelf.BLOCK:
            block_label(line.get("name"))
        if self._redact is not None:
            try:
                line = self._redacted(line, self._redact)
            except RecursionError:
                raise InvalidInput("The line is nested too deeply.") from None
        return line if self._writer is None else _as_written(line, self._writer)

    def _redacted(self, line: Line, redact: Redact) -> Line:
        match line.get("type"):
            case "document" | "edition":
                return _document_redacted(line, redact)
            case "entity":
                return self._renamed(line, redacted("entity", line, redact))
            case "claim":
                told = redacted("claim", line, redact)
                return self._moved(line, told, "subject", "object")
            case "mention":
                return self._moved(line, line, "entity")
            case kind:
                return redacted(str(kind), line, redact)

    def _renamed(self, line: Line, told: Line) -> Line:
        """An entity's id follows from its name."""
        name, id = told.get("name"), line.get("id")
        if name == line.get("name") or not (isinstance(name, str) and isinstance(id, str)):
            return told
        self._entities[id] = entity_id(told.get("user_id"), name)
        return {**told, "id": self._entities[id]}

    def _moved(self, line: Line, told: Line, *ends: str) -> Line:
        moved = {end: self._entities.get(str(line.get(end))) for end in ends}
        return {**told, **{end: id for end, id in moved.items() if id is not None}}


def _document_redacted(line: Line, redact: Redact) -> Line:
    told = redacted("document", {n: v for n, v in line.items() if n != "value"}, redact)
    shelf, value = line.get("shelf"), line.get("value")
    if shelf in _NOTED:
        value = _noted(value, redact)
    elif shelf == Shelf.SNAPSHOT and isinstance(value, Mapping):
        # What else a snapshot holds are ids and versions.
        kept = {n: _noted(v, redact) for n, v in value.items() if n in ("note", "value")}
        value = {**value, **kept}
    if "name" in line:
        told["name"] = _name_redacted(shelf, line["name"], redact)
    return {**told, "value": value} if "value" in line else told


def _name_redacted(shelf: Any, name: Any, redact: Redact) -> Any:
    """A block's label is refused as it is when it is made; sessions and snapshots keep names."""
    if shelf == Shelf.BLOCK:
        redacted("blocks.create", {CALLED["blocks.create"]: name}, redact)
    return words_redacted(name, redact) if shelf == Shelf.WORKING else name


def _noted(value: Any, redact: Redact) -> Any:
    if not isinstance(value, Mapping):
        return words_redacted(value, redact)
    # A file may hold fields that no layer knows, and name them as it likes.
    return {redact(str(n)): v for n, v in redacted("noted", value, redact).items()}


def _as_written(line: Line, caller: Caller) -> Line:
    """What is written by who does not look after the tenant."""
    match line.get("type"):
        case "memory":
            _check_own(line)
            if caller.trust < 1:
                _check_privileges("import", line)
            return {**item_of(line, caller)}
        case "revision":
            before = line.get("before")
            if isinstance(before, Mapping):
                _check_own(before)
            return {**line, "actor": caller.name}
        case "association":
            check_link(line.get("link"))
        case "claim":
            return _stated(line, caller)
        case "document" if line.get("shelf") == Shelf.SNAPSHOT:
            raise Forbidden(
                "A snapshot is brought in by a key with `admin`: it holds what others wrote."
            )
        case "edition":
            return {**line, "author": caller.name}
    return line


def _check_own(line: Line) -> None:
    check_origin(line.get("origin"))
    check_metadata(line.get("metadata"))


def _stated(line: Line, caller: Caller) -> Line:
    """A claim counts as stated by the caller, and a purge finds it by their name."""
    metadata = line.get("metadata")
    check_metadata(metadata)
    if metadata is not None and not isinstance(metadata, Mapping):
        return line
    return {**line, "origin": CALLER, "metadata": {**(metadata or {}), "actor": caller.name}}


Redact = Callable[[str], str]
# Fields of a request, or of a line of an import, that say who or which one, or when.
NAMES = frozenset(
    {
        *("id", "a", "b", "user_id", "agent_id", "session_id", "external_id", "idempotency_key"),
        *("agent", "actor", "author", "label", "key", "state", "shelf", "superseded_by"),
        *("cron", "zone", "steps", "filters", "source_memory", "receipt", "version"),
        *("at", "happened_at", "created_at", "updated_at", "observed_at", "recorded_at"),
        *("used_at", "expires_at", "rested_at", "retired_at", "run", "scope"),
    }
)
# What is there already is looked for as it was written, perhaps before anything was taken out.
SOUGHT: Mapping[str, frozenset[str]] = {
    "graph.erase": frozenset({"name"}),
    "graph.merge": frozenset({"name"}),
    "graph.unmerge": frozenset({"name"}),
    "purge": frozenset({"source", "origin"}),
    "schedules.remove": frozenset({"name"}),
    "schedules.set": frozenset({"name"}),
    "snapshots.delete": frozenset({"name"}),
    "snapshots.restore": frozenset({"name"}),
    "snapshots.take": frozenset({"name"}),
}
# What something new is found by from then on: with private data in it, it is refused.
CALLED: Mapping[str, str] = {
    "blocks.create": "label",
    "snapshots.take": "name",
    "working.set": "key",
}
# Fields that hold what has such fields itself; the words of all else are the callers' own.
HOLDING = frozenset({"before", "function", "memories", "messages", "tool_calls"})
APP = "app_id"  # of metadata: an identity, as mem0 has it
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def redacted(what: str, given: Mapping[str, Any], redact: Redact) -> dict[str, Any]:
    """The fields of a request, by its operation, with every text in them redacted; names aside."""
    called = CALLED.get(what, "")
    name = given.get(called)
    if isinstance(name, str) and redact(name) != name:
        raise InvalidInput(
            f"{called} holds private data, which is taken out here (the setting `redact`), and "
            "would not be found again; choose another."
        )
    sought = SOUGHT.get(what, frozenset())
    return {n: v if n in sought else _field(n, v, redact) for n, v in given.items()}


def words_redacted(value: Any, redact: Redact) -> Any:
    """Any JSON value with every text in it redacted, keys too."""
    match value:
        case str():
            return value if _UUID.fullmatch(value) else redact(value)
        case Mapping():
            return _mapping(value, redact)
        case list() | tuple():
            return type(value)(words_redacted(one, redact) for one in value)
    return value


def _field(name: str, value: Any, redact: Redact) -> Any:
    if name in NAMES:
        return value
    return _held(value, redact) if name in HOLDING else words_redacted(value, redact)


def _held(value: Any, redact: Redact) -> Any:
    match value:
        case Mapping():
            return {name: _field(name, one, redact) for name, one in value.items()}
        case list() | tuple():
            return type(value)(_held(one, redact) for one in value)
    return words_redacted(value, redact)


def _mapping(value: Mapping[Any, Any], redact: Redact) -> dict[Any, Any]:
    """Keys that come to the same are told apart by a number."""
    told: dict[Any, Any] = {}
    alike: dict[str, int] = {}
    for key, one in value.items():
        name = redact(key) if isinstance(key, str) else key
        if name != key:
            alike[name] = count = alike.get(name, 0) + 1
            name = f"{name} {count}" if count > 1 else name
        is_app = key == APP and isinstance(one, str)
        told[name] = one if is_app else words_redacted(one, redact)
    return told
