"""What mem0's reads have in common: the question in a body, and how results are shown."""

from __future__ import annotations

from typing import Any

from remanence.errors import InvalidInput
from remanence.model.accept import missing
from remanence.model.memory import State
from remanence.server.mem0 import told
from remanence.server.mem0.desk import Body, Desk
from remanence.server.mem0.filters import Asked, asked_of
from remanence.server.mem0.given import IDENTITIES, listed, truth_of
from remanence.server.mem0.standing import Superseded, superseded_among


def question_in(body: Body, *more: dict[str, Any]) -> Asked:
    """The filters of a body, and the conditions that may stand beside them."""
    beside = {name: body[name] for name in IDENTITIES if body.get(name) is not None}
    if body.get("categories"):
        beside["categories"] = {"in": listed("categories", body["categories"])}
    if body.get("metadata"):
        beside["metadata"] = body["metadata"]
    return asked_of(body.get("filters"), beside, *more)


def flag(body: Body, name: str, usual: bool) -> bool:
    """A switch of a body."""
    given = truth_of(name, body.get(name))
    return usual if given is None else given


def marked(shown: told.Told, over: Superseded) -> told.Told:
    """A memory, with what takes its place if nothing of it holds any more."""
    return told.superseded(shown, over[shown["id"]]) if shown["id"] in over else shown


def only(results: list[told.Told], fields: object) -> list[told.Told]:
    """The results with the fields that are wanted, if some are named; the id is always there."""
    if not fields:
        return results
    wanted = set(listed("fields", fields)) | {"id"}
    if not all(isinstance(name, str) for name in wanted):
        raise InvalidInput("fields must be a list of names.")
    return [{name: one[name] for name in one if name in wanted} for one in results]


def one(desk: Desk, id: str) -> told.Told:
    """A memory by its id; what is archived or in quarantine is not there for mem0."""
    record = desk.do("get", id=id)
    if record.state is not State.ACTIVE:
        raise missing(id)
    return marked(told.memory_of(record), superseded_among(desk.reading(), [record]))


def history(desk: Desk, id: str) -> list[told.Told]:
    """Every change of a memory."""
    record = desk.do("get", id=id)
    return told.history_of(record, desk.do("history", id=id).revisions)
