"""Values for hostile calls: names and ids of any tenant, words of none but the caller's own."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

from support.canaries import TAIL
from support.canary_tenants import SHARED_USER, Tenant

UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"
ODD = ("*", "%", "' OR 1=1 --", "../..", "remanence:keys", "default", "\u202e", "a" * 300, "_")
MOMENTS = ("2020-01-01T00:00:00Z", "2026-11-16T05:00:00Z", "2099-01-01T00:00:00+02:00")
STEPS = ("talks", "merge", "distil", "reflect", "forget", "compress", "upkeep")
SHARES = (0.0, 0.3, 0.9)


class UnknownField(AssertionError):
    """A request has a field that nobody taught the canaries to fill."""


@dataclass(frozen=True, slots=True)
class Fill:
    """Fills requests of one caller, who also knows the names that a victim uses."""

    chance: random.Random
    own: Tenant
    victim: Tenant
    theirs: float  # share of names that are the victim's

    def request(self, operation: str, kind: type, skip: Sequence[str] = ()) -> dict[str, Any]:
        """A request: what it needs, and some of what it may have."""
        found = {}
        for each in fields(kind):
            needed = each.default is MISSING and each.default_factory is MISSING
            if each.name in skip or not (needed or self.chance.random() < _share(each.name)):
                continue
            found[each.name] = self.value(operation, each.name)
        return found

    def value(self, operation: str, name: str) -> Any:
        """A value for a field of an operation or a tool."""
        layer = operation.rpartition(".")[0]
        for key in (f"{operation}:{name}", f"{layer}:{name}", name):
            if key in FIELDS:
                return FIELDS[key](self)
        raise UnknownField(f"{operation} has a field {name!r} that canary_values does not know.")

    def name(self, kind: str) -> str:
        """A name: the caller's, the victim's, or an odd one."""
        if self.chance.random() < 0.04:
            return self.chance.choice(ODD)
        owner = self.victim if self.chance.random() < self.theirs else self.own
        return owner.words[kind][self.chance.choice((0, 0, 0, 0, 1, 2))]

    def user(self) -> str:
        if self.chance.random() < 0.3:
            return SHARED_USER
        return self.name("user")

    def id(self, kind: str) -> str:
        """The id of something that somebody has, or nobody."""
        owner = self.victim if self.chance.random() < self.theirs else self.own
        known = list(owner.ids[kind])
        return self.chance.choice(known) if known else UNKNOWN_ID

    def content(self, kind: str) -> str:
        """A word of the caller's own."""
        return self.chance.choice(self.own.words[kind])

    def sentence(self, kind: str) -> str:
        word = self.content(kind)
        return f"My dog is called {word.capitalize()} and sleeps in {self.content(kind)}."

    def question(self) -> str:
        asked = ("what is my dog called?", "where does it sleep?", f"everything about {TAIL}")
        return self.chance.choice((*asked, self.name("entity"), self.content("text")))

    def one(self, *values: Any) -> Any:
        return self.chance.choice(values)

    def filters(self) -> Mapping[str, Any]:
        tried: list[Mapping[str, Any]] = [
            {"text": {"contains": TAIL}},
            {"note": {"exists": True}},
            {"field.user_id": self.user()},
            {"field.tenant": self.victim.name},
            {"tenant": self.victim.name},
            {"or": [{"note": self.content("metadata")}, {"field.trust": {"gte": 0}}]},
            {"not": {"field.session_id": self.name("session")}},
        ]
        return self.chance.choice(tried)

    def message(self) -> dict[str, Any]:
        role = self.one("user", "assistant")
        return {"role": role, "content": self.sentence("said")}

    def memory(self) -> dict[str, Any]:
        return {"text": self.sentence("text"), "metadata": {"note": self.content("metadata")}}

    def relation(self) -> dict[str, str]:
        ends = {"source": self.name("entity"), "target": self.name("entity")}
        return ends | {"relation_type": "guards"}


def _share(name: str) -> float:
    """How often a field that need not be given is given."""
    often = {"user_id": 0.6, "dry_run": 0.3, "model": 0.03, "erase": 0.2, "all_users": 0.4}
    rare = {"as_of": 0.1, "known_at": 0.1, "now": 0.1, "version": 0.1, "idempotency_key": 0.15}
    return (often | rare).get(name, 0.2)


Maker = Callable[[Fill], Any]


def _named(*kinds: str) -> Maker:
    return lambda fill: fill.name(fill.one(*kinds))


def _own(kind: str) -> Maker:
    return lambda fill: fill.content(kind)


def _said(kind: str) -> Maker:
    return lambda fill: fill.sentence(kind)


def _of(*values: Any) -> Maker:
    return lambda fill: fill.one(*values)


def _id(kind: str) -> Maker:
    return lambda fill: fill.id(kind)


def _some(make: Maker) -> Maker:
    return lambda fill: [make(fill) for _ in range(fill.one(1, 1, 2))]


_TRUTH, _MOMENT, _SHARE = _of(True, False), _of(*MOMENTS), _of(*SHARES)

# By the name of a field; where a layer or an operation means something else by it, with that.
FIELDS: Mapping[str, Maker] = {
    "user_id": Fill.user,
    "agent_id": _named("agent"),
    "session_id": _named("session"),
    "id": _id(""),
    "facts:id": _id("facts"),
    "sleep:id": _id("sleep"),
    "erasures:id": _id("erasures"),
    "forget:id": _some(_id("")),
    "memory_id": _id(""),
    "a": _id(""),
    "b": _id(""),
    "graph:a": _named("entity"),
    "graph:b": _named("entity"),
    "superseded_by": _id(""),
    "source_memory": _id(""),
    "before": _id(""),
    "useful": _some(_id("")),
    "not_useful": _some(_id("")),
    "feedback:useful": _TRUTH,
    "text": _said("text"),
    "graph:text": _named("entity"),
    "blocks:text": _said("block"),
    "facts.extract:text": _said("text"),
    "kind": _of("episodic", "semantic", "procedural"),
    "facts:kind": _of("preference", "state"),
    "kinds": _some(_of("episodic", "message", "semantic", "reflection")),
    "states": _some(_of("active", "archived", "superseded", "quarantined")),
    "state": _of("archived", "active"),
    "importance": _SHARE,
    "min_importance": _SHARE,
    "trust": _SHARE,
    "min_trust": _of(0.0, 0.5),
    "min_confidence": _of(0.0),
    "confidence": _SHARE,
    "strength": _SHARE,
    "diversity": _SHARE,
    "threshold": _of(0.8, 0.95),
    "min_score": _of(0.0, 0.1),
    "time_weight": _of(0.0, 1.0),
    "happened_at": _MOMENT,
    "observed_at": _MOMENT,
    "since": _of(MOMENTS[0]),
    "until": _of(MOMENTS[2]),
    "as_of": _MOMENT,
    "known_at": _MOMENT,
    "now": _MOMENT,
    "at": _MOMENT,
    "valid_from": _of("2020", "2024-05"),
    "valid_to": _of("2031", "2030-05-01"),
    "day": _of("2026-11-16", "2026-11-15"),
    "days": _of(7, 30),
    "max_age_days": _of(0.0, 30.0),
    "speaker": _own("speaker"),
    "role": _of("user", "assistant"),
    "source": _own("source"),
    "graph:source": _named("entity"),
    "graph.observe:source": _id(""),
    "facts:source": _id(""),
    "actor": _own("source"),
    "author": _own("source"),
    "origin": _own("source"),
    "external_id": _own("source"),
    "metadata": lambda fill: {"note": fill.content("metadata"), fill.content("metadata"): [1]},
    "pinned": _TRUTH,
    "quarantined": _TRUTH,
    "idempotency_key": _named("once"),
    "memories": _some(Fill.memory),
    "messages": _some(Fill.message),
    "filters": Fill.filters,
    "all_users": _of(True),
    "include_shared": _TRUTH,
    "erase": _TRUTH,
    "dry_run": _of(True),
    "recall": _TRUTH,
    "repair": _TRUTH,
    "refine": _TRUTH,
    "history": _TRUTH,
    "together": _TRUTH,
    "model": _TRUTH,
    "read_only": _of(False),
    "enabled": _TRUTH,
    "newest_first": _TRUTH,
    "reason": _own("reason"),
    "note": _own("note"),
    "title": _own("title"),
    "description": _own("description"),
    "query": Fill.question,
    "limit": _of(1, 10, 30),
    "blocks:limit": _of(4_000, 9_000),
    "offset": _of(0, 0, 1, 50),
    "max_tokens": _of(100, 1_500),
    "max_messages": _of(2, 20),
    "type": _of("related", "same topic"),
    "graph:type": _of("person", "place"),
    "label": _named("label", "label", "label"),
    "blocks.create:label": _named("label"),
    "value": _said("block"),
    "working:value": lambda fill: {"is": [fill.content("working")]},
    "template": _of("{{ 7 * 7 }}"),
    "version": _of(1, 2),
    "old": _own("block"),
    "new": _own("block"),
    "line": _of(0, 1),
    "blocks:before": _of(1, 2),
    "after": _of(1, 2),
    "within": _of("all", "session"),
    "data": lambda fill: {"secret": fill.content("data")},
    "changes": lambda fill: {"more": fill.content("data")},
    "ttl_s": _of(60.0, 3600.0),
    "key": _named("key"),
    "subject": _named("entity"),
    "predicate": _of("lives in", "likes", "works at"),
    "object": _own("object"),
    "subject_type": _of("person"),
    "object_type": _of("place"),
    "entity": _named("entity"),
    "standing": _of("holds", "ended"),
    "name": _named("entity"),
    "snapshots:name": _named("snapshot"),
    "schedules:name": _named("schedule"),
    "other": _named("snapshot"),
    "into": _named("entity"),
    "about": _named("entity"),
    "observations": _some(lambda fill: f"It saw {fill.content('observation')}"),
    "relation": _of("guards", "knows"),
    "relations": _some(_of("guards", "knows")),
    "target": _named("entity"),
    "least": _of(2, 3),
    "graph.alike:least": _of(0.5, 0.9),
    "depth": _of(1, 2),
    "max_length": _of(2, 3),
    "direction": _of("out", "in", "both"),
    "format": _of("json", "dot", "graphml"),
    "steps": _some(_of(*STEPS)),
    "step": _of(*STEPS),
    "status": _of("completed", "failed"),
    "cron": _of("0 3 * * *"),
    "zone": _of("Europe/Berlin", "UTC"),
    "timezone": _of("Europe/Berlin", "+05:45"),
    "after_new": _of(100),
    "after_messages": _of(50),
    "idle_s": _of(60.0),
    "jitter_s": _of(10.0),
    "receipt": lambda fill: [fill.one(fill.own, fill.victim).receipt],
    # the nine tools of the reference memory server
    "create_entities:entities": _some(
        lambda fill: {
            "name": fill.name("entity"),
            "entity_type": "person",
            "observations": [f"It saw {fill.content('observation')}"],
        }
    ),
    "create_relations:relations": _some(Fill.relation),
    "delete_relations:relations": _some(Fill.relation),
    "add_observations:observations": _some(
        lambda fill: {
            "entity_name": fill.name("entity"),
            "contents": [f"It heard {fill.content('observation')}"],
        }
    ),
    "entity_names": _some(_named("entity")),
    "deletions": _some(
        lambda fill: {
            "entity_name": fill.name("entity"),
            "observations": [f"It saw {fill.content('observation')}"],
        }
    ),
    "names": _some(_named("entity")),
}
