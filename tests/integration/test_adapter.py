"""The retrieval adapter on real stores: trained, used, noticed, rolled back, unlearned, apart."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remanence import Memory
from remanence.consolidation.chores import LearningStep
from remanence.consolidation.learning.learn import Learn
from remanence.consolidation.learning.trainer import Taught, Versions, ndcg
from remanence.errors import Conflict, InvalidInput, NotFound
from remanence.model.clock import FixedClock
from remanence.model.document import Discard, Put
from remanence.model.learning import LearnPolicy, TrainingScores
from remanence.model.memory import State
from remanence.model.scope import Reach
from remanence.model.sleep import Night, SleepPolicy, Step
from remanence.model.write import Batch, Revise
from remanence.recall.adapters import Adapters, head_of, version_of
from support.program import Program

NOW = datetime(2026, 5, 4, 9, tzinfo=UTC)
ME, OTHER = "ana", "bruno"
THINGS = {
    "Harbour Logistics": "birdie",
    "Kestrel Analytics": "mudpie",
    "Orchard Health": "snowball",
    "Mirabel Ceramics": "the whale",
    "Solvane Energy": "the applecart",
    "Nordwind Transport": "sunbeam",
}
TOLD = (
    (
        "The budget of {} is {} thousand euros",
        "how large is the budget of {}",
        "40 65 90 120 210 75",
    ),
    ("{} leads the work for {}", "who leads {}", "Ingrid Samuel Noor Pavel Greta Olu"),
    (
        "The call with {} is on {}",
        "when is the call with {}",
        "Monday Tuesday Friday May June July",
    ),
    ("Reports for {} are made with {}", "what makes the reports of {}", "Perl Ruby Qlik R Go Lua"),
    (
        "Invoices of {} go to {}",
        "who gets the invoices of {}",
        "Quist Farrow Dunne Ilves Prado Kroll",
    ),
    (
        "The worst thing about {} was {}",
        "what was worst about {}",
        "rain rust dust noise mould frost",
    ),
)
LEARNED, KEPT_BACK = (0, 1, 3, 4), (2, 5)
POLICY = LearnPolicy(least=16, new=20)
EVERY_S = 2.0


class Seconds:
    """A stopwatch that is moved by hand."""

    at = 0.0

    def __call__(self) -> float:
        return self.at


def texts() -> dict[tuple[str, int], str]:
    found = {}
    for number, thing in enumerate(THINGS):
        for intent, (told, _, values) in enumerate(TOLD):
            value = values.split()[number]
            given = (value, thing) if told.startswith("{} leads") else (thing, value)
            found[thing, intent] = told.format(*given)
    return found


def asked(intents: tuple[int, ...]) -> list[tuple[str, str]]:
    """Questions in private words, and the texts that answer them."""
    answers = texts()
    return [
        (f"{TOLD[intent][1].format(nickname)}?", answers[thing, intent])
        for thing, nickname in THINGS.items()
        for intent in intents
    ]


def fill(memory: Memory, user_id: str | None = ME) -> None:
    memory.add_many(list(texts().values()), user_id=user_id)


def experience(memory: Memory, user_id: str | None = ME, *, noise: bool = False) -> None:
    """Feedback on what searches return, an hour apart."""
    ids = {record.text: record.id for record in memory.find(user_id=user_id, limit=100)}
    chance, learn = random.Random(3), learner(memory)
    questions = asked(LEARNED)
    chance.shuffle(questions)
    for question, answer in questions:
        clock_of(memory).at += timedelta(hours=1)
        meant = chance.choice(sorted(ids.values())) if noise else ids[answer]
        first = memory.search(question, user_id=user_id, limit=1)[0].memory.id
        learn.outcome(question, useful=[meant], not_useful=[first] if first != meant else [])


def clock_of(memory: Memory) -> FixedClock:
    clock = memory.service._clock
    assert isinstance(clock, FixedClock)
    return clock


def learner(memory: Memory, policy: LearnPolicy = POLICY) -> Learn:
    parts = memory.parts
    return Learn(parts.store, parts.recall, parts.embedder, memory.tenant, clock_of(memory), policy)


def open_at(database: Path | str, **settings: Any) -> Memory:
    return Memory(database, clock=FixedClock(NOW), **settings)


def figure(memory: Memory, user_id: str | None = ME) -> float:
    """Mean nDCG@10 of questions in private words that nobody gave feedback on."""
    places = {record.text: n for n, record in enumerate(memory.find(user_id=user_id, limit=100))}
    found = []
    for question, answer in asked(KEPT_BACK):
        hits = memory.search(question, user_id=user_id, limit=10)
        found.append(ndcg([places[hit.memory.text] for hit in hits], {places[answer]}))
    return sum(found) / len(found)


def shown(memory: Memory, user_id: str | None = ME, **more: Any) -> list[tuple[str, float]]:
    question = asked(KEPT_BACK)[0][0]
    hits = memory.search(question, user_id=user_id, limit=10, **more)
    return [(hit.memory.id, hit.score) for hit in hits]


@pytest.fixture(scope="module")
def untrained_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user with feedback, a second user and a second tenant with the same memories."""
    path = tmp_path_factory.mktemp("untrained") / "memory.db"
    with open_at(path) as memory:
        fill(memory)
        fill(memory, OTHER)
        experience(memory)
    with open_at(path, tenant="elsewhere") as theirs:
        fill(theirs)
    return path


@pytest.fixture(scope="module")
def trained_file(untrained_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trained") / "memory.db"
    shutil.copy(untrained_file, path)
    with open_at(path) as memory:
        assert learner(memory).train(ME).accepted
    return path


@pytest.fixture
def untrained(untrained_file: Path, tmp_path: Path) -> Iterator[Memory]:
    with open_at(shutil.copy(untrained_file, tmp_path / "memory.db")) as memory:
        yield memory


@pytest.fixture
def trained(trained_file: Path, tmp_path: Path) -> Iterator[Memory]:
    with open_at(shutil.copy(trained_file, tmp_path / "memory.db")) as memory:
        yield memory


def test_a_life_on_postgres(postgres_url: str) -> None:
    with open_at(postgres_url) as memory, open_at(postgres_url, tenant="elsewhere") as theirs:
        for one, user in ((memory, ME), (memory, OTHER), (theirs, ME)):
            fill(one, user)
        experience(memory)
        live(memory, theirs)


def test_a_life_on_sqlite(untrained: Memory, tmp_path: Path) -> None:
    with open_at(tmp_path / "memory.db", tenant="elsewhere") as theirs:
        live(untrained, theirs)


def live(memory: Memory, theirs: Memory) -> None:
    """Train, win, change nobody else's ranking, roll back, train anew, unlearn."""
    learn = learner(memory)
    before, plain = figure(memory), shown(memory)
    others = [shown(memory, OTHER), shown(theirs), shown(memory, None, all_users=True)]
    trained = learn.train(ME)
    assert trained.accepted, trained.why
    assert trained.judged.gain > POLICY.margin
    assert figure(memory) > before + 0.05
    assert shown(memory) != plain
    assert others == [shown(memory, OTHER), shown(theirs), shown(memory, None, all_users=True)]
    status = learn.status(ME)
    assert status.active is not None
    assert (status.active.number, status.fresh, status.versions) == (1, 0, 1)
    assert learn.status(OTHER).active is None
    assert learner(theirs).versions(ME) == []

    assert learn.rollback(ME).active is None
    assert shown(memory) == plain
    with pytest.raises(NotFound):
        learn.rollback(ME)
    assert [(one.number, one.accepted, one.active) for one in learn.versions(ME)] == [
        (1, True, False)
    ]

    assert learn.train(ME).accepted
    assert [one.number for one in learn.versions(ME)] == [2, 1]
    lesson = next(iter(memory.parts.store.archive.feedback(memory.tenant)))
    assert learn.unlearn([lesson.id]) == {"adapters": 2}
    assert learn.versions(ME) == []
    assert shown(memory) == plain
    kept = [document.value for document, _ in memory.parts.store.documents.scan(memory.tenant)]
    assert lesson.id not in str(kept)
    assert "harbour" not in str(kept)


def test_the_shares_add_up_and_name_what_was_learned(trained: Memory) -> None:
    question = asked(KEPT_BACK)[0][0]
    hits = trained.search(question, user_id=ME, limit=36)
    assert any(hit.signals["learned"] for hit in hits)
    for hit in hits:
        assert sum(hit.signals.values()) == pytest.approx(hit.score, abs=1e-4)
        assert sum(hit.details.values()) == pytest.approx(hit.score, abs=1e-4)
    assert hits.degraded == ()
    plain = trained.search(question, user_id=OTHER)
    assert "learned" not in plain[0].signals
    both = trained.search(question, user_id=ME, include_shared=True)
    assert "learned" in both[0].signals
    why = trained.why_not(question, hits[-1].memory.id, user_id=ME)
    assert why.signals is not None
    assert "learned" in why.signals


def test_the_result_cache_knows_the_adapter(trained_file: Path, tmp_path: Path) -> None:
    path = shutil.copy(trained_file, tmp_path / "memory.db")
    with open_at(path, cache_url="local") as memory:
        learned = shown(memory)
        assert shown(memory) == learned
        again = memory.search(asked(KEPT_BACK)[0][0], user_id=ME, limit=10)
        assert "learned" in again[0].signals
        learner(memory).rollback(ME)
        assert shown(memory) != learned


def test_another_process_is_noticed(untrained: Memory) -> None:
    parts, seconds = untrained.parts, Seconds()
    recall = parts.recall
    recall.adapters = Adapters(
        parts.store, parts.embedder, recall.ranker, every_s=EVERY_S, seconds=seconds
    )
    plain = shown(untrained)
    script = (
        "import sys\n"
        "from remanence import Memory\n"
        "from remanence.model.clock import SystemClock\n"
        "from remanence.consolidation.learning.learn import Learn\n"
        "from remanence.model.learning import LearnPolicy\n"
        "with Memory(sys.argv[1]) as m:\n"
        "    p = m.parts\n"
        "    learn = Learn(p.store, p.recall, p.embedder, m.tenant, SystemClock(),\n"
        "                  LearnPolicy(least=16))\n"
        "    assert learn.train('ana').accepted\n"
    )
    assert Program(script, untrained.settings.database).ended() == 0
    seconds.at += EVERY_S / 2
    assert shown(untrained) == plain
    seconds.at += EVERY_S
    assert shown(untrained) != plain
    learner(untrained).rollback(ME)
    assert shown(untrained) == plain


def test_noise_is_rejected_and_leaves_figures_alone(tmp_path: Path) -> None:
    with open_at(tmp_path / "memory.db") as memory:
        fill(memory)
        experience(memory, noise=True)
        learn, plain = learner(memory), shown(memory)
        trained = learn.train(ME)
        assert not trained.accepted
        assert trained.version is not None
        assert (trained.version.words, trained.version.learned_from) == (0, 0)
        assert learn.status(ME).active is None
        assert shown(memory) == plain
        [document] = memory.parts.store.documents.get(memory.tenant, [version_of(ME, 1)])
        assert document.value["adapter"] is None


def test_too_little_to_learn_from_makes_no_version(memory: Memory) -> None:
    record = memory.add("Ana lives in Lisbon")
    clock = FixedClock(NOW)
    parts = memory.parts
    learn = Learn(parts.store, parts.recall, parts.embedder, memory.tenant, clock)
    assert learn.outcome("where is home?", useful=[record.id]) == 1
    trained = learn.train()
    assert (trained.accepted, trained.version) == (False, None)
    assert "1 questions" in trained.why
    assert learn.status().experiences == 1
    assert learn.versions() == []


def test_a_memory_erased_while_the_training_runs_is_not_learned(untrained: Memory) -> None:
    learn, store = learner(untrained), untrained.parts.store
    told = list(store.archive.feedback(untrained.tenant))

    def erase(done: int, _: int) -> None:
        if done == 1:
            untrained.forget(told[0].id, erase=True)

    trained = learn.train(ME, progress=erase)
    assert (trained.accepted, trained.version) == (False, None)
    kept = [document.value for document, _ in store.documents.scan(untrained.tenant)]
    assert told[0].id not in str([value for value in kept if "learned_from" in value])
    assert learn.train(ME).accepted


def test_of_two_trainings_at_once_one_is_a_conflict(untrained: Memory) -> None:
    parts = untrained.parts
    versions, head = (
        Versions(parts.store.documents, untrained.tenant),
        Versions(parts.store.documents, untrained.tenant).head(ME),
    )
    nothing = Taught(
        adapter=None, why="", judged=TrainingScores(), questions=0, learned_from=frozenset()
    )
    given = {"plain": parts.recall.ranker, "by": parts.embedder.fingerprint}
    assert versions.shelve(ME, head, nothing, NOW, **given) == 1
    with pytest.raises(Conflict):
        versions.shelve(ME, head, nothing, NOW, **given)
    for number in range(2, 16):
        assert versions.shelve(ME, versions.head(ME), nothing, NOW, **given) == number
    assert [one.number for one in versions.listed(ME)] == list(range(15, 5, -1))


@pytest.mark.parametrize(
    "broken",
    [
        {"adapter": None},
        {"adapter": "text"},
        {"adapter": {}},
        {"adapter": {"format": 1, "embedder": "another", "ranker": ""}},
        {},
        None,
    ],
)
def test_a_broken_version_is_named_and_never_an_error(
    trained: Memory, broken: dict[str, Any] | None
) -> None:
    address, store = version_of(ME, 1), trained.parts.store
    if broken is None:
        store.documents.put(trained.tenant, [Discard(address=address)])
    else:
        store.documents.put(trained.tenant, [Put(address=address, value=broken, at=NOW)])
    hits = trained.search(asked(KEPT_BACK)[0][0], user_id=ME)
    assert hits
    assert "learned" not in hits[0].signals
    assert any(told.startswith("adapter: version 1 is not used") for told in hits.degraded)
    status = learner(trained).status(ME)
    assert "not used" in str(status.trouble)
    learner(trained).rollback(ME)
    assert trained.search(asked(KEPT_BACK)[0][0], user_id=ME).degraded == ()


@pytest.mark.parametrize(
    "head", [{}, {"used": "x"}, {"used": [True]}, {"used": [-1]}, {"used": [None], "known": 4}]
)
def test_a_broken_head_means_no_adapter(trained: Memory, head: dict[str, Any]) -> None:
    trained.parts.store.documents.put(
        trained.tenant, [Put(address=head_of(ME), value=head, at=NOW)]
    )
    hits = trained.search(asked(KEPT_BACK)[0][0], user_id=ME)
    assert "learned" not in hits[0].signals
    assert learner(trained).status(ME).active is None
    assert learner(trained).versions(ME) == []


def test_an_outcome_is_noted_whole_or_not_at_all(memory: Memory) -> None:
    one, two = (memory.add(text) for text in ("Ana lives in Lisbon", "Bruno plays the cello"))
    told: list[str] = []
    parts = memory.parts
    learn = Learn(
        parts.store,
        parts.recall,
        parts.embedder,
        memory.tenant,
        FixedClock(NOW),
        noted=lambda useful, query, at: told.append(f"{useful} {query}"),
    )
    gone = "00000000-0000-7000-8000-000000000000"
    with pytest.raises(NotFound):
        learn.outcome("where?", useful=[one.id, gone])
    with pytest.raises(InvalidInput):
        learn.outcome("where?", useful=[one.id], not_useful=[one.id])
    assert list(parts.store.archive.feedback(memory.tenant)) == []
    assert learn.outcome("where?", useful=[one.id, one.id], not_useful=[two.id]) == 2
    assert told == [f"{one.id} where?"]
    replayed = learn.replay(10)
    assert {(e.id, e.useful, e.rank is None) for e in replayed} == {
        (one.id, True, False),
        (two.id, False, False),
    }
    assert len(learn.replay(1)) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda learn: learn.train(""),
        lambda learn: learn.train(7),
        lambda learn: learn.status("x" * 300),
        lambda learn: learn.versions("\x00"),
        lambda learn: learn.rollback(["ana"]),
        lambda learn: learn.replay(0),
        lambda learn: learn.replay(True),
        lambda learn: learn.outcome("", useful=[]),
        lambda learn: learn.outcome(7, useful=[]),
        lambda learn: learn.outcome("q\x00", useful=[]),
        lambda learn: learn.outcome("q", useful="abc"),
        lambda learn: learn.outcome("q", useful=7),
        lambda learn: learn.unlearn("abc"),
    ],
)
def test_values_that_cannot_be_accepted(memory: Memory, call: Any) -> None:
    parts = memory.parts
    learn = Learn(parts.store, parts.recall, parts.embedder, memory.tenant, FixedClock(NOW))
    with pytest.raises(InvalidInput):
        call(learn)


@pytest.mark.parametrize("id", ["", "not an id", "' OR 1=1 --", None, 5])
def test_ids_that_are_no_ids_are_not_here(memory: Memory, id: Any) -> None:
    parts = memory.parts
    learn = Learn(parts.store, parts.recall, parts.embedder, memory.tenant, FixedClock(NOW))
    with pytest.raises(NotFound):
        learn.outcome("q", useful=[id])


def test_sleep_trains_what_is_due_and_takes_back_only_that(untrained: Memory) -> None:
    learn = learner(untrained, LearnPolicy(least=16, new=20, kept=30))
    chore = LearningStep(learn, untrained.parts.store)
    plain = shown(untrained)

    def night(day: int, user_id: str | None = None) -> Night:
        reach = Reach(tenant=untrained.tenant, user_id=user_id, all_users=user_id is None)
        return Night(reach=reach, now=NOW + timedelta(days=day), policy=SleepPolicy())

    assert chore.step is Step.LEARN
    assert chore.foresee(night(1)).notes == (
        "1 of 1 users with feedback have enough that is new to train on",
    )
    assert chore.run(night(1, OTHER)).counts == {}
    told: list[tuple[int, int]] = []
    experiences = len(list(untrained.parts.store.archive.feedback(untrained.tenant)))
    done = chore.run(night(1), lambda *step: told.append(step))
    assert done.counts == {"accepted": 1, "feedback_let_go": experiences - 30}
    assert told == [(1, 1)]
    assert chore.run(night(2)).counts == {}
    assert chore.undo(night(2)) == 0
    assert shown(untrained) != plain
    assert chore.undo(night(1)) == 1
    assert shown(untrained) == plain
    assert chore.undo(night(1)) == 0


def test_what_was_merged_is_learned_from_by_its_survivor(untrained: Memory) -> None:
    learn = learner(untrained)
    merged = next(
        one for one in untrained.parts.store.archive.feedback(untrained.tenant) if one.useful
    )
    first = untrained.get(merged.id)
    survivor = untrained.add(first.text, user_id=ME)
    changes = {"state": State.ARCHIVED, "superseded_by": survivor.id}
    action = Revise(id=first.id, changes=changes, verb="merged", at=NOW)
    untrained.parts.store.archive.write(Batch(tenant=untrained.tenant, at=NOW, actions=(action,)))
    trained = learn.train(ME)
    assert trained.accepted
    [document] = untrained.parts.store.documents.get(untrained.tenant, [version_of(ME, 1)])
    assert {first.id, survivor.id} <= set(document.value["learned_from"])
    assert learn.unlearn([first.id], [ME]) == {"adapters": 1}
