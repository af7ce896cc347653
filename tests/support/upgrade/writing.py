"""A store filled from beginning to end, with the manifest of what it holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from remanence.api.memory import Memory
from remanence.model.clock import FixedClock
from remanence.version import __version__
from support.upgrade import contents, layers, questions
from support.upgrade.contents import ACME, CODECS, GLOBEX, ONLY_WORDS, SETTINGS, Scribe
from support.upgrade.served import append_twice

NOWHERE = "http://127.0.0.1:9/v1"


def write(database: str) -> dict[str, Any]:
    """Fill the database and give its manifest."""
    clock = FixedClock(contents.BEGINNING)
    notes: dict[str, Any] = {}
    with _scribe(database, clock, notes) as scribe:
        _live(scribe)
    for tenant, codec in CODECS.items():
        with _scribe(database, clock, notes, text_codec=codec) as scribe:
            layers.pack(scribe, tenant)
    with _scribe(database, clock, notes, embedder="none", embedder_url=NOWHERE) as scribe:
        scribe.of(ACME).add(ONLY_WORDS, user_id="ana")
    with _scribe(database, clock, notes) as scribe:
        found = questions.searches(scribe.memory)  # these count as uses, so calls come after
    with _scribe(database, clock, notes) as scribe:
        return _manifest(scribe) | {"searches": found}


def _live(scribe: Scribe) -> None:
    clock = scribe.clock
    contents.remember(scribe)
    clock.at = contents.MIDDLE
    scribe.of(GLOBEX).add("Globex hired a second beekeeper.", user_id="ana")
    clock.at = contents.END
    layers.converse(scribe)
    layers.keep_state(scribe)
    layers.know(scribe)
    contents.learn(scribe)
    layers.sleep(scribe)
    layers.erase(scribe)
    layers.let_in(scribe)
    for tenant in (ACME, GLOBEX):
        layers.pack(scribe, tenant)
    scribe.pass_time(minutes=1)
    append_twice(scribe.memory, scribe.notes["keys"]["good"], clock)


def _manifest(scribe: Scribe) -> dict[str, Any]:
    memory = scribe.memory
    recorded = [asdict(one) | {"answer": one.answer(memory)} for one in questions.calls(memory)]
    return {
        "remanence": __version__,
        "at": scribe.clock.now().isoformat(),
        "settings": SETTINGS,
        "notes": scribe.notes,
        "calls": recorded,
    }


@contextmanager
def _scribe(
    database: str, clock: FixedClock, notes: dict[str, Any], **more: Any
) -> Iterator[Scribe]:
    ids = contents.ids_from(clock)
    with Memory(database, tenant=ACME, clock=clock, ids=ids, **(SETTINGS | more)) as memory:
        yield Scribe(memory, clock, notes)
        clock.at += timedelta(seconds=1)
