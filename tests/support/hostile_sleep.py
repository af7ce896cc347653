"""Nights with a language model that cannot be trusted: whatever it answers, nothing is lost."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from remanence.api.memory import Memory
from remanence.backends.llm.openai_compatible import OpenAiCompatibleModel
from remanence.consolidation.merges.step import Merging
from remanence.consolidation.sleep import Sleep
from remanence.consolidation.steps import Chore, Planner
from remanence.consolidation.summaries.steps import Distilling, Reflecting
from remanence.model.clock import FixedClock, IdMaker
from remanence.model.embedding import Fingerprint
from remanence.model.memory import MemoryRecord, State
from remanence.model.sleep import Run, SleepPolicy, Status, Step
from remanence.testing.chat_server import ChatRequest, ChatServer, Turn, calls, fails, says

USER = "ana"
START = datetime(2024, 1, 1, 8, tzinfo=UTC)
STEPS = (Step.MERGE, Step.DISTIL, Step.REFLECT)
_KEPT = ("text", "state", "importance", "metadata", "superseded_by", "pinned", "trust", "kind")
_NAMES = ("Ana", "Ben", "Carla", "Dora", "Emil", "Farid", "Greta", "Hugo")
_TRADES = ("nurse", "baker", "pilot", "judge", "miner", "tailor")
_PLACES = ("Oslo", "Turin", "Ghent", "Bilbao", "Graz", "Lyon")
_WAYS = (
    "{n} works as a {t} in {p}",
    "{n} is a {t} in {p}",
    "{n} really works as a {t} in {p}!",
    "My garden in {p} has a new {t} bench that {n} painted",
)
# Of what keeps coming up, so that there is something to distil and to reflect on.
_HABITS = (
    "I watered the roses behind the shed with {n}",
    "I cut the roses behind the shed today",
    "I took a picture of the roses behind the shed for {n}",
    "I had a violin lesson with {n} about bowing",
    "I tuned the violin before the lesson with {n}",
    "I bought new strings for the violin in {p}",
)


def misbehaviours(rng: random.Random) -> list[Turn]:
    """Every way a model is known to go wrong, and some it is not."""
    foreign = [["m1", str(rng.getrandbits(64))], ["m1", "m99"], ["m1", "m1"], ["m1"], []]
    return [
        Turn(hang=True),
        fails(500, "out of memory"),
        fails(400, "no tools"),
        Turn(body=b"<html>busy</html>"),
        Turn(body=b'{"choices": []}'),
        says(""),
        says("Sure! Here is what I think about your memories."),
        says("delete all"),
        says('{"groups": [["m1", "m'),
        says('{"groups": [["m1", "m2"]]}', finish="length"),
        says('{"text": "delete all memories at once"}'),
        says('{"text": "Viktor bought 17 submarines in Atlantis on 9 May 1871."}'),
        says('{"text": "", "groups": []}'),
        says(json.dumps({"groups": [rng.choice(foreign)]})),
        says('{"groups": "all", "delete": true}'),
        calls("delete_all", {"ids": ["*"]}),
        calls("same_memories", "not json"),
        says("<memories>" + "x" * 700 + "</memories>"),
        Turn(text="I am", cut_after=40),
    ]


@dataclass
class Hostile:
    """Nights one after another, memories in between, and a model of which half the nights are bad.

    `cycle` plays one and checks it; `undone` takes all back and checks that too. Failures are
    `AssertionError`s. `counts` tells what happened.
    """

    memory: Memory
    sleep: Sleep
    clock: FixedClock
    server: ChatServer
    rng: random.Random
    added: dict[str, MemoryRecord] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    wrong_at: int = 0
    asked: int = 0

    def cycle(self) -> None:
        """A day, its memories, and the night after it."""
        self.clock.at += timedelta(days=1)
        self._remember()
        for step in STEPS:
            self.asked, self.wrong_at = 0, self.rng.choice((0, 1, 1, 2))
            before = self._versions()
            (run,) = self.sleep.run([step], model=True)
            self.runs.append(run)
            misbehaved = 0 < self.wrong_at <= self.asked
            self.counts[f"{step} {run.status}"] += 1
            expected = Status.FAILED if misbehaved else Status.COMPLETED
            assert run.status is expected, (run, self.asked, self.wrong_at)
            if misbehaved:
                assert self._versions() == before, "a failed run changed something"
            self._check_sources()

    def undone(self) -> None:
        """Take back every run, the last first; then everything is as it was written."""
        for run in reversed(self.runs):
            if run.status is Status.COMPLETED:
                back = self.sleep.undo(run.id)
                assert back.status is Status.UNDONE, back
                assert not back.counts.get("left"), back
        for id, then in self.added.items():
            (now,) = self.memory.parts.store.archive.get(self.memory.tenant, [id])
            for name in _KEPT:
                assert getattr(now, name) == getattr(then, name), (name, now, then)
        active = {id for id, record in self._all() if record.state == State.ACTIVE}
        assert active == set(self.added), "something stands that nobody wrote"

    def answer(self, request: ChatRequest) -> Turn:
        """What the model says now."""
        self.asked += 1
        if self.asked == self.wrong_at:
            turn = self.rng.choice(misbehaviours(self.rng))
            self.counts["misbehaviours"] += 1
            return turn
        return honest(request)

    def _remember(self) -> None:
        for _ in range(self.rng.choice((1, 2))):
            slots = {"n": self.rng.choice(_NAMES), "p": self.rng.choice(_PLACES)}
            said = self.rng.choice(_WAYS + _HABITS)
            text = said.format(t=self.rng.choice(_TRADES), **slots)
            record = self.memory.add(text, user_id=USER, happened_at=self.clock.now())
            self.added[record.id] = record

    def _check_sources(self) -> None:
        found = dict(self._all())
        for id, then in self.added.items():
            now = found[id]
            assert now.text == then.text
            if now.state != State.ACTIVE:
                assert now.state == State.ARCHIVED
                assert now.superseded_by in found

    def _versions(self) -> dict[str, int]:
        return {id: record.version for id, record in self._all()}

    def _all(self) -> Iterator[tuple[str, MemoryRecord]]:
        for _, record in self.memory.parts.store.archive.scan(self.memory.tenant):
            yield record.id, record


def honest(request: ChatRequest) -> Turn:
    """What a good model would say: the first two are the same; the draft is well worded."""
    if "same_memories" in str(request.messages[0]["content"]):
        return calls("same_memories", {"groups": [["m1", "m2"]]})
    draft = re.search(r"^draft: (.*)$", request.last, re.MULTILINE)
    assert draft is not None
    return calls("write_memory", {"text": draft[1]})


@contextmanager
def hostile_nights(path: Path, seed: int) -> Iterator[Hostile]:
    """A memory in this file, and a model to fear, for as long as the block lasts."""
    clock, rng = FixedClock(START), random.Random(seed)
    found: list[Hostile] = []

    def answer(request: ChatRequest) -> Turn:
        server.then(answer)
        return found[0].answer(request)

    with ChatServer(answer) as server, Memory(path, clock=clock) as memory:
        model = OpenAiCompatibleModel(server.url, "hostile", timeout_s=0.3, retries=0)
        try:
            sleep = _sleep(memory, clock, model)
            found.append(Hostile(memory, sleep, clock, server, rng))
            yield found[0]
        finally:
            model.close()


def _sleep(memory: Memory, clock: FixedClock, model: OpenAiCompatibleModel) -> Sleep:
    parts, new_id = memory.parts, IdMaker()
    fingerprint: Callable[[], Fingerprint] = lambda: parts.embedder.fingerprint  # noqa: E731
    insertion = parts.writer.insertion
    steps: dict[Step, Planner | Chore] = {
        Step.MERGE: Merging(parts.store, fingerprint, model),
        Step.DISTIL: Distilling(parts.store, fingerprint, insertion, new_id, model),
        Step.REFLECT: Reflecting(parts.store, fingerprint, insertion, new_id, model=model),
    }
    return Sleep(
        parts.store,
        memory.tenant,
        clock,
        new_id,
        steps,
        SleepPolicy(),
        believed=clock.now,
        keep_days=100_000,
    )
