"""What `make soak` tries, and how often: the figures that docs/reliability.md promises."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path

import httpx
import psycopg
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import get_state_machine_test

from campaign import Campaign, Seen, Work
from remanence import Memory
from remanence.backends.embedding.models import DEFAULT_MODEL, find_model
from remanence.backends.embedding.onnx import OnnxEmbedder
from remanence.config import load_settings
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.sleep import Status
from remanence.store.postgres import PostgresStore
from remanence.store.sqlite import SqliteStore
from remanence.testing.patience import HANG_S
from remanence.testing.store import StoreMachine
from remanence.testing.store_suites.making import FINGERPRINT, add, memory
from support import server_kills, writers
from support.canary_calls import Canaries, canaries, canaries_in_processes
from support.drills import drills
from support.erased_bytes import erase_and_look, files_in
from support.hostile_sleep import hostile_nights
from support.power_loss import fast_folder, simulate, without_syncs
from support.races import (
    RACERS,
    erased_while_another_adds,
    erased_while_another_erases,
    together,
    written_once,
    written_together,
)
from support.server_process import ENDS_WITH_ITS_STARTER, server_process
from support.services.database_pool import DatabasePool
from support.services.postgres import Databases, Postgres
from support.services.shared import short_folder

BATCHES = 150  # writes of a run whose losses are simulated
TENANTS = 20
PLAIN = 40  # writes after the races
SHOWN = 20


def power_loss(work: Work) -> Seen:
    """Losses of power at moments of one recorded run."""
    with fast_folder(work.folder) as folder:
        return Seen(simulate(folder, work.seed, BATCHES, work.count))


def unsynced(work: Work) -> Seen:
    """The same on a store that never syncs: if nothing is found, the detector is blind."""
    with fast_folder(work.folder) as folder, without_syncs():
        counts = simulate(folder, work.seed, BATCHES, work.count)
    found = counts["lost"] + counts["corrupt"]
    blind = [] if found > work.count / 4 else [f"only {found} of {work.count} losses were noticed"]
    return Seen(counts, blind)


def kill_writers(work: Work) -> Seen:
    """Writers of one file, killed one after the other."""
    counts = Counter[str]()
    for found in writers.kill_often(work.folder / "memory.db", work.count, work.seed):
        counts.update(found)
        work.tell(1)
    return Seen(dict(counts))


class Look:
    """Looks into a store after a kill: what was acknowledged is there, once, and sound."""

    def __init__(self, database: str | Path, work: Work) -> None:
        self._database, self._work = database, work
        self._wrong: dict[str, set[str]] = {"lost": set(), "doubled": set()}

    def __call__(self, tally: server_kills.Tally) -> None:
        lost, doubled = server_kills.lost_and_doubled(self._database, tally)
        self._wrong["lost"].update(lost)
        self._wrong["doubled"].update(doubled)
        self._work.tell(1)

    def seen(self, tally: server_kills.Tally) -> Seen:
        lost, doubled = server_kills.lost_and_doubled(self._database, tally)
        self._wrong["lost"].update(lost)
        self._wrong["doubled"].update(doubled)
        found = {name: len(texts) for name, texts in self._wrong.items()}
        told = {"acknowledged": len(tally.acknowledged), "repeated": tally.repeated, **found}
        shown = [f"{name}: {sorted(texts)[:SHOWN]}" for name, texts in self._wrong.items() if texts]
        return Seen(told, [*tally.odd[:SHOWN], *shown])


def kill_server(work: Work) -> Seen:
    """A server, killed while four writers and a reader call it."""
    database, chance = work.folder / "memory.db", random.Random(work.seed)
    with loaded_model():
        look = Look(database, work)
        tally = server_kills.kill_often(
            database, work.count, chance, look, before=ENDS_WITH_ITS_STARTER
        )
        return look.seen(tally)


def kill_postgres(work: Work) -> Seen:
    """PostgreSQL, killed under a server of two workers that is written to."""
    with loaded_model(), private_postgres(durable=True) as server:
        database, chance = server.database(), random.Random(work.seed)

        def crash() -> None:
            server.kill()
            server.restart()

        look = Look(database, work)
        tally = server_kills.kill_database_often(
            database, crash, work.count, chance, look, before=ENDS_WITH_ITS_STARTER
        )
        return look.seen(tally)


def canaries_on_file(work: Work) -> Seen:
    """Calls through every way into a server on one file."""
    database = str(work.folder / "memory.db")
    with canaries(database, count=TENANTS, seed=work.seed, durability="normal") as made:
        return _called(made, work)


def canaries_on_postgres(work: Work) -> Seen:
    """The same on PostgreSQL, behind servers of two workers each."""
    with (
        database_of(work) as database,
        canaries_in_processes(
            database, count=TENANTS, seed=work.seed, workers=2, before=ENDS_WITH_ITS_STARTER
        ) as made,
    ):
        return _called(made, work)


def _called(made: Canaries, work: Work) -> Seen:
    report = made.run(work.count, 4, work.tell)
    ways = sum(1 for count in report.good.values() if count)
    counts = {"calls": report.calls, "log_lines": report.lines, "foreign": len(report.leaks)}
    counts |= {"changed": len(report.changed), "failures": len(report.failures)}
    found = [*report.leaks[:SHOWN], *report.changed[:SHOWN], *report.failures[:SHOWN]]
    if report.calls < work.count - len(report.failures) or not ways:
        found.append(f"only {report.calls} calls were answered, {ways} ways let somebody in")
    return Seen(counts, found)


def erasure_races(work: Work, database: str) -> Seen:
    """A whole user erased while another handle erases, then while one adds."""
    counts = Counter[str](left=0, signed_early=0)
    with (
        Memory(database, embedder="none", durability="normal") as mine,
        Memory(database, embedder="none", durability="normal") as other,
    ):
        for _ in range(work.count):
            for race in (erased_while_another_erases, erased_while_another_adds):
                found = race(mine, other)
                counts.update(left=found.left, signed_early=found.signed_early)
            work.tell(1)
    return Seen(dict(counts))


def erasure_races_on_file(work: Work) -> Seen:
    return erasure_races(work, str(work.folder / "memory.db"))


def erasure_races_on_postgres(work: Work) -> Seen:
    with database_of(work) as database:
        return erasure_races(work, database)


def erased_bytes_on_file(work: Work) -> Seen:
    """Bytes of erased users in the files of a store."""
    store = work.folder / "store"
    store.mkdir()
    database, copy = str(store / "memory.db"), work.folder / "copy"
    look = partial(files_in, store)
    return Seen(dict(erase_and_look(database, look, copy, seed=work.seed, erasures=work.count)))


def erased_bytes_on_postgres(work: Work) -> Seen:
    """The same in the files of a server, its write-ahead log aside."""
    with (
        private_postgres(durable=False) as server,
        psycopg.connect(server.url, autocommit=True) as admin,
    ):

        def look() -> list[Path]:
            admin.execute("CHECKPOINT")
            return files_in(server.socket_folder / "data")

        database, copy = server.database(), work.folder / "copy"
        return Seen(dict(erase_and_look(database, look, copy, seed=work.seed, erasures=work.count)))


def raced_keys(work: Work) -> Seen:
    """Idempotency keys raced on a store, then plain writes."""
    with (
        database_of(work) as database,
        closing(PostgresStore(database)) as store,
        ThreadPoolExecutor(RACERS) as pool,
    ):
        not_once = failed = 0
        for number in range(work.count):
            not_once += not written_once(written_together(store, pool, f"key {number}"))
            work.tell(1)
        for made in pool.map(lambda n: add(store, memory(f"plain {n}")), range(PLAIN)):
            failed += len(made) != 1
        wrong = store.archive.count(Reach(tenant="t")) - work.count - PLAIN
        found = store.upkeep.doctor(repair=False, fingerprint=FINGERPRINT)
        unsound = sum(bool(one.problems) for one in found)
    counts = {"raced_writes": work.count * RACERS, "not_once": not_once, "failed": failed}
    return Seen(counts | {"too_many_or_few": abs(wrong), "unsound": unsound})


def raced_calls(work: Work) -> Seen:
    """Idempotency keys raced over HTTP against two workers, then plain writes."""
    with (
        database_of(work) as database,
        server_process(
            database, "--workers", "2", before=ENDS_WITH_ITS_STARTER, rate_limit="0"
        ) as server,
        httpx.Client(base_url=server.url, timeout=HANG_S) as client,
        ThreadPoolExecutor(RACERS) as pool,
    ):

        def written(text: str, key: str = "") -> int:
            headers = {"idempotency-key": key} if key else {}
            return client.post("/v1/memories", json={"text": text}, headers=headers).status_code

        answers = Counter[int]()
        for number in range(work.count):
            answers.update(together(pool, partial(written, f"raced {number}", f"key-{number}")))
            work.tell(1)
        plain = Counter(pool.map(lambda n: written(f"plain {n}"), range(PLAIN)))
        texts = Counter[str]()
        with Memory(database, embedder="none") as looking:
            for _, record in looking.parts.store.archive.scan(looking.tenant):
                texts[record.text] += 1
    # 409: the first call with the key is still at work.
    odd = {code: n for code, n in answers.items() if code not in (200, 201, 409)}
    failed = sum(n for code, n in plain.items() if code not in (200, 201))
    not_once = sum(texts[f"raced {number}"] != 1 for number in range(work.count))
    counts = {"raced_writes": answers.total(), "not_once": not_once, "failed": failed}
    return Seen(counts, [f"answers: {odd}"] if odd else [])


def hostile_sleeps(work: Work) -> Seen:
    """Nights with a model that times out, talks junk or deletes; then all of it taken back."""
    with hostile_nights(work.folder / "memory.db", work.seed) as nights:
        for _ in range(work.count):
            nights.cycle()
            work.tell(1)
        nights.undone()
        undone = sum(run.status is Status.COMPLETED for run in nights.runs)
        counts = {"memories": len(nights.added), "misbehaviours": nights.counts["misbehaviours"]}
        return Seen(counts | {"runs_taken_back": undone, "lost": 0})


class SqliteMachine(StoreMachine):
    def open_store(self) -> Store:
        return SqliteStore(":memory:")


def machine_on_file(work: Work) -> Seen:
    """A store and a dictionary side by side, by random actions."""
    return _machine(SqliteMachine, work)


def machine_on_postgres(work: Work) -> Seen:
    """The same on PostgreSQL."""
    with closing(DatabasePool(Databases(work.postgres))) as pool:

        class PostgresMachine(StoreMachine):
            def open_store(self) -> Store:
                self.lent = ExitStack()
                return PostgresStore(self.lent.enter_context(pool.lent()))

            def teardown(self) -> None:
                with self.lent:
                    super().teardown()

        return _machine(PostgresMachine, work)


def _machine(kind: type[StoreMachine], work: Work) -> Seen:
    ran = 0

    class Counted(kind):  # type: ignore[valid-type,misc]
        def __init__(self) -> None:
            nonlocal ran
            super().__init__()
            ran += 1
            work.tell(ran <= work.count)

    how = settings(
        max_examples=work.count,
        stateful_step_count=50,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    test = get_state_machine_test(Counted, settings=how)
    seed(work.seed)(test)()
    return Seen({"examples": ran})


def backup_drills(work: Work) -> Seen:
    """Copies made under load, put back and examined."""
    wrong = []
    for found in drills(work.folder, work.count):
        wrong += [found] if found else []
        work.tell(1)
    return Seen({"restored": work.count - len(wrong), "wrong": len(wrong)}, wrong)


@contextmanager
def loaded_model() -> Iterator[None]:
    """Keep the model open: memories of one process share it."""
    folder = find_model(DEFAULT_MODEL, load_settings().cache_folder)
    with closing(OnnxEmbedder(folder)):
        yield


@contextmanager
def database_of(work: Work) -> Iterator[str]:
    """A database on the run's server."""
    with closing(DatabasePool(Databases(work.postgres))) as pool, pool.lent() as url:
        yield url


@contextmanager
def private_postgres(*, durable: bool) -> Iterator[Postgres]:
    """A server for one batch."""
    home = short_folder()
    try:
        server = Postgres.start(home, durable=durable)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)


KILLED = "Whatever is killed, nothing acknowledged is lost or doubled, and the store is sound"
ERASED = "Erased bytes are in no file, and an older backup brings nothing back"
RACED = "An erasure beside other writers leaves nothing, and is not signed before"
ONCE = "A write that comes several times at once is done once, and later writes go on"
FOREIGN = "No way into a server tells or changes what is another tenant's"
MODEL = "A store answers like a dictionary, whatever is done to it"

CAMPAIGNS = [
    Campaign(
        name="canaries-postgres",
        promise=FOREIGN,
        unit="calls",
        total=50_000,
        size=12_500,
        run=canaries_on_postgres,
        never=("foreign", "changed", "failures"),
        postgres=True,
        each_s=0.025,
    ),
    Campaign(
        name="canaries-sqlite",
        promise=FOREIGN,
        unit="calls",
        total=50_000,
        size=12_500,
        run=canaries_on_file,
        never=("foreign", "changed", "failures"),
        each_s=0.008,
    ),
    Campaign(
        name="hostile-sleeps",
        promise="A language model that lies, hangs or orders deletions costs no memory",
        unit="cycles",
        total=730,
        size=365,
        run=hostile_sleeps,
        never=("lost",),
        each_s=0.3,
    ),
    Campaign(
        name="kill-postgres",
        promise=KILLED,
        unit="kills",
        total=100,
        size=10,
        run=kill_postgres,
        never=("lost", "doubled"),
        each_s=4,
    ),
    Campaign(
        name="kill-server",
        promise=KILLED,
        unit="kills",
        total=200,
        size=20,
        run=kill_server,
        never=("lost", "doubled"),
        each_s=3.5,
    ),
    Campaign(
        name="kill-writer",
        promise=KILLED,
        unit="kills",
        total=700,
        size=50,
        run=kill_writers,
        never=("lost", "half_done", "unsound"),
        each_s=0.2,
    ),
    Campaign(
        name="power-loss",
        promise="With synchronous=FULL, a loss of power takes nothing that was acknowledged",
        unit="points",
        total=50_000,
        size=1_000,
        run=power_loss,
        never=("lost", "corrupt"),
        each_s=0.008,
    ),
    Campaign(
        name="unsynced",
        promise="The same simulation finds the losses of a store that never syncs",
        unit="points",
        total=2_000,
        size=500,
        run=unsynced,
        each_s=0.01,
    ),
    Campaign(
        name="erased-bytes-sqlite",
        promise=ERASED,
        unit="erasures",
        total=500,
        size=100,
        run=erased_bytes_on_file,
        never=("left", "back", "gone", "unsigned"),
        each_s=0.15,
    ),
    Campaign(
        name="erased-bytes-postgres",
        promise=ERASED,
        unit="erasures",
        total=500,
        size=100,
        run=erased_bytes_on_postgres,
        never=("left", "back", "gone", "unsigned"),
        each_s=0.4,
    ),
    Campaign(
        name="erasure-races-sqlite",
        promise=RACED,
        unit="races",
        total=100,
        size=10,
        run=erasure_races_on_file,
        never=("left", "signed_early"),
        each_s=3,
    ),
    Campaign(
        name="erasure-races-postgres",
        promise=RACED,
        unit="races",
        total=100,
        size=10,
        run=erasure_races_on_postgres,
        never=("left", "signed_early"),
        postgres=True,
        each_s=4,
    ),
    Campaign(
        name="raced-keys",
        promise=ONCE,
        unit="keys",
        total=1_000,
        size=250,
        run=raced_keys,
        never=("not_once", "failed", "too_many_or_few", "unsound"),
        postgres=True,
        each_s=0.06,
    ),
    Campaign(
        name="raced-calls",
        promise=ONCE,
        unit="keys",
        total=1_000,
        size=250,
        run=raced_calls,
        never=("not_once", "failed"),
        postgres=True,
        each_s=0.1,
    ),
    Campaign(
        name="machine-sqlite",
        promise=MODEL,
        unit="examples",
        total=1_000,
        size=250,
        run=machine_on_file,
        each_s=0.1,
    ),
    Campaign(
        name="machine-postgres",
        promise=MODEL,
        unit="examples",
        total=1_000,
        size=125,
        run=machine_on_postgres,
        postgres=True,
        each_s=0.6,
    ),
    Campaign(
        name="backup-drills",
        promise="A backup made under load can be put back, whole",
        unit="drills",
        total=100,
        size=25,
        run=backup_drills,
        never=("wrong",),
        each_s=0.5,
    ),
]
