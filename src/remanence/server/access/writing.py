"""What callers write: with the trust and the name they have, and nothing that is not theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from hashlib import sha256
from typing import Any

from remanence.errors import Forbidden, InvalidInput
from remanence.memory import Memory
from remanence.model.accept import text_of
from remanence.model.memory import MemoryRecord, State, same_json
from remanence.model.origins import ORIGINS, STATED
from remanence.operations.operation import Operation
from remanence.operations.routes import Grant
from remanence.remember.writer import MAX_RECEIPT
from remanence.server.access.caller import Caller
from remanence.server.access.gate import LOCAL

OWN = "remanence."  # how metadata begins that is not the callers'
NAMING = frozenset({"purge"})  # its labels say what is looked for; nothing carries them
CITING: Mapping[str, str] = {"facts.add": "source", "graph.relate": "source_memory"}


def as_theirs(caller: Caller, operation: Operation, request: Any, memory: Memory) -> Any:
    """The request with the caller's trust and name in it; `Forbidden` for what is above them."""
    if operation.name in NAMING:
        return request
    given = {each.name: getattr(request, each.name) for each in fields(request)}
    for one in _written(given):
        _check_origin(one.get("origin"))
        if operation.name != "update":
            _check_metadata(one.get("metadata"), {})
    if operation.name == "update":
        given |= _of_update(given, caller, memory)
    elif caller.trust < 1 and "trust" in given:
        given["trust"] = _no_more(given["trust"], caller.trust)
    if "memories" in given:
        given["memories"] = tuple(_item(one, caller) for one in given["memories"])
    given |= {name: _name(given[name], caller) for name in ("actor", "author") if name in given}
    if given.get("idempotency_key") is not None:
        given["idempotency_key"] = _key(given["idempotency_key"], caller)
    if caller.quarantine and "quarantined" in given:
        given["quarantined"] = True
    _check_standing(caller, operation, given, memory)
    return replace(request, **given)


def _written(given: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A request and the memories or messages in it."""
    yield given
    for name in ("memories", "messages"):
        yield from (one for one in given.get(name, ()) if isinstance(one, Mapping))


def _check_origin(given: Any) -> None:
    if given in ORIGINS:
        raise InvalidInput(
            f"origin cannot be {' or '.join(map(repr, ORIGINS))}: these words are kept for what "
            "the memory makes itself; take another."
        )


def _check_metadata(given: Any, there: Mapping[str, Any]) -> None:
    """Refuse what would look as if the memory had made it itself, unless it is there already."""
    for name, value in given.items() if isinstance(given, Mapping) else ():
        known = name in there and same_json({name: value}, {name: there[name]})
        if str(name).startswith(OWN) and not known:
            raise InvalidInput(
                f"metadata[{str(name)[:128]!r}]: keys that begin with {OWN!r} are kept for what "
                "the memory makes itself; take another name."
            )


def _of_update(given: Mapping[str, Any], caller: Caller, memory: Memory) -> dict[str, Any]:
    """What of an update depends on the memory: trust is not raised, the memory's own stays."""
    changed: dict[str, Any] = {}
    if given["trust"] is not None and caller.trust < 1:
        changed["trust"] = min(given["trust"], caller.trust, memory.get(given["id"]).trust)
    if given["metadata"] is not None:
        there = {n: v for n, v in memory.get(given["id"]).metadata.items() if n.startswith(OWN)}
        _check_metadata(given["metadata"], there)
        changed["metadata"] = {**given["metadata"], **there}
    return changed


def _item(item: Any, caller: Caller) -> Any:
    """One of `add_many`'s memories."""
    if isinstance(item, str):
        item = {"text": item}
    if not isinstance(item, Mapping):
        return item
    told = {**item, "actor": _name(item.get("actor"), caller)}
    if caller.trust < 1:
        told["trust"] = _no_more(item.get("trust", 1.0), caller.trust)
    return told | ({"quarantined": True} if caller.quarantine else {})


def _no_more(trust: Any, most: float) -> Any:
    if trust is None:
        return most
    if isinstance(trust, bool) or not isinstance(trust, int | float):
        raise InvalidInput(f"trust must be a number from 0 to 1; got {str(trust)[:40]!r}.")
    return min(trust, most)


def _name(given: Any, caller: Caller) -> Any:
    """Whose doing it is: only who looks after the tenant may say that it was another's."""
    trusted = caller.may(Grant.ADMIN) and caller.trust >= 1 and not caller.quarantine
    return given if given is not None and trusted else caller.name


def _key(given: str, caller: Caller) -> str:
    """A caller's own idempotency key; the local one's is also that of the library."""
    key = text_of("idempotency_key", given, MAX_RECEIPT)
    if caller.name == LOCAL:
        return key
    return sha256(f"{len(caller.name)} {caller.name} {key}".encode()).hexdigest()


def _check_standing(
    caller: Caller, operation: Operation, given: Mapping[str, Any], memory: Memory
) -> None:
    if operation.name in ("update", "forget"):
        ids = given["id"] if isinstance(given["id"], tuple) else (given["id"],)
        _check_waiting(caller, operation, given, lambda: map(memory.get, ids))
        if caller.trust < 1:
            _check_touched(caller, given, [memory.get(id) for id in ids])
    if caller.trust >= 1:
        return
    for one in _written(given):
        _check_privileges(operation, one)
    cited = given.get(CITING.get(operation.name, ""))
    if cited is not None and memory.get(cited).trust > caller.trust:
        raise Forbidden("A key of limited trust cites no memory that is trusted more.")


def _check_waiting(
    caller: Caller,
    operation: Operation,
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


def _check_privileges(operation: Operation, given: Mapping[str, Any]) -> None:
    """Nothing that no rule may ever forget, or that counts as the user's own word."""
    if given.get("pinned"):
        raise Forbidden("A key of limited trust pins nothing; leave `pinned` out.")
    if given.get("source") == STATED and operation.name not in CITING:
        raise Forbidden(
            f"The source {STATED!r} is for what the user said to be so; a key of limited trust "
            "names another."
        )
