"""Every verb there is, by name."""

from __future__ import annotations

from functools import cache
from typing import Any

from remanence.api.verb import Layer, Verb
from remanence.api.verbs.blocks import Blocks
from remanence.api.verbs.conversations import Conversations
from remanence.api.verbs.facts import Facts
from remanence.api.verbs.graph import Graph
from remanence.api.verbs.learn import Learn, Tuning
from remanence.api.verbs.memory import OWN, verbs_of
from remanence.api.verbs.sessions import Sessions, Working
from remanence.api.verbs.sleep import Schedules, Sleep
from remanence.api.verbs.snapshots import Erasures, Snapshots

LAYERS: tuple[type[Layer[Any]], ...] = (
    *(Blocks, Conversations, Sessions, Working, Facts, Graph, Snapshots),
    *(Sleep, Schedules, Learn, Tuning, Erasures),
)
VERBS: tuple[Verb[..., Any], ...] = (*OWN, *(one for layer in LAYERS for one in verbs_of(layer)))
_BY_NAME = {each.name: each for each in VERBS}


def verb_of(name: str) -> Verb[..., Any]:
    """The verb of this name."""
    return _BY_NAME[name]


@cache
def served() -> tuple[Verb[..., Any], ...]:
    """The verbs that a server has, paths without a parameter first."""
    there = [each for each in VERBS if each.path]
    return tuple(sorted(there, key=lambda each: each.path.count("{")))
