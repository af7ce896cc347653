"""The step that reflects: themes of a month and changed circumstances, across conversations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from uuid import UUID

from remanence.clock import FixedClock
from remanence.knowledge.facts.evidence import Evidence
from remanence.model.embedding import Fingerprint
from remanence.model.memory import HALF, Kind, MemoryRecord
from remanence.model.sleep import Deed, Night, Plan, Step
from remanence.ports.language_model import LanguageModel
from remanence.ports.store import Progress, Store
from remanence.sleep.distilling.deriving import CHANGE, MONTH, THEME, Deriving, Draft, Insertion
from remanence.sleep.distilling.occasions import occasions
from remanence.sleep.distilling.telling import told_of_month
from remanence.sleep.distilling.themes import LEAST, LEAST_DAYS, LEAST_SESSIONS, Theme, themes
from remanence.sleep.distilling.wording import reworded
from remanence.sleep.merging.members import DERIVED
from remanence.sleep.merging.reading import in_reach, read
from remanence.sleep.reflecting.changes import Changed, changes

MOST_A_MONTH = 3  # themes
MOST_A_NIGHT = 50  # reflections of a partition; the rest has its night to come
IMPORTANCE = 0.4


class Reflecting:
    """Plans reflections: one for each theme and month that is over, one for each change.

    What was reflected on is not told again; a month that turns out to hold more is told anew, and
    one that a distilled memory tells already is not told at all.
    """

    step = Step.REFLECT

    def __init__(
        self,
        store: Store,
        fingerprint: Callable[[], Fingerprint | None],
        insertion: Insertion,
        new_id: Callable[[], UUID],
        one_at_a_time: frozenset[str] = frozenset(),
        model: LanguageModel | None = None,
    ) -> None:
        self._store = store
        self._fingerprint = fingerprint
        self._deriving = Deriving(store, insertion, new_id)
        self._one_at_a_time = one_at_a_time
        self._model = model

    def plan(self, night: Night, progress: Progress | None = None) -> Plan:
        """What to write; the partitions of the reach one after another."""
        self._deriving.begin()
        partitions = self._store.partitions(night.reach)
        deeds: list[Deed] = []
        looked_at = 0
        for done, partition in enumerate(partitions):
            found, read_here = themes(self._store, partition, night.reach, self._fingerprint())
            looked_at += read_here
            drafts = chain(self._months(partition, found, night), self._changes(partition, night))
            made = (deed for draft in drafts for deed in self._deeds(draft, night))
            deeds += islice(made, MOST_A_NIGHT)
            if progress:
                progress(done + 1, len(partitions))
        return Plan(step=Step.REFLECT, deeds=tuple(deeds), looked_at=looked_at)

    def _deeds(self, draft: Draft, night: Night) -> Iterator[Deed]:
        former = self._deriving.former(Kind.REFLECTION, draft.sources, draft.labels)
        if not former.new:
            return
        if night.use_model and self._model is not None:
            draft = replace(draft, text=reworded(self._model, draft.text, draft.sources))
        yield self._deriving.deed(night, draft, former.standing)

    def _months(self, partition: int, found: Sequence[Theme], night: Night) -> Iterator[Draft]:
        told: Counter[tuple[str | None, str, float]] = Counter()
        for theme in found:
            by_month: dict[str, list[MemoryRecord]] = {}
            others = [record for _, record in read(self._store, partition, theme.left_out)]
            for _, record in read(self._store, partition, theme.keys):
                by_month.setdefault(f"{record.happened_at:%Y-%m}", []).append(record)
            for month, records in sorted(by_month.items()):
                place = (theme.speaker, month, theme.level)
                sources = sorted(records, key=lambda one: (one.happened_at, one.id))
                over = month < f"{night.now:%Y-%m}"
                if over and told[place] < MOST_A_MONTH and self._tells(sources):
                    when = occasions(self._store, sources).of_month(month)
                    rest = [one for key, some in by_month.items() if key != month for one in some]
                    text = told_of_month(theme, sources, [*others, *rest], when)
                    told[place] += bool(text)
                    yield from [_draft(text, sources, theme.word.lower(), month)] if text else []

    def _tells(self, sources: Sequence[MemoryRecord]) -> bool:
        return _recurs(sources) and not self._deriving.told(sources)

    def _changes(self, partition: int, night: Night) -> Iterator[Draft]:
        """Nothing of a single conversation: what it says of changes it may yet take back.

        Nor of what is trusted less than by half, which would lend its trust to the whole.
        """
        first = next(in_reach(self._store, partition, night.reach), None)
        if first is None or night.reach.session_id is not None:
            return
        owner = self._store.records(partition, [first])[first].user_id
        reach = replace(
            night.reach, user_id=owner, all_users=False, include_shared=False, min_trust=HALF
        )
        clock = FixedClock(night.now)
        evidence = Evidence(self._store, reach.tenant, clock, self._one_at_a_time)
        for change in changes(evidence.everything(reach, None), night.now, self._one_at_a_time):
            sources = self._sources(reach.tenant, change)
            if sources:
                month = f"{change.at:%Y-%m}"
                draft = _draft(change.text, sources, change.after.predicate, month)
                labels = {**draft.labels, CHANGE: change.mark}
                yield replace(draft, labels=labels, happened_at=change.at)

    def _sources(self, tenant: str, change: Changed) -> list[MemoryRecord]:
        """The memories that say so, if they are all there, of one agent, and not made here.

        None if what was or what is comes from no memory: nothing would take the reflection along
        once that is retracted.
        """
        if not change.before.sources or not change.after.sources:
            return []
        found = self._store.get(tenant, change.sources)
        agents = {one.agent_id for one in found}
        derived = any(one.origin in DERIVED for one in found)
        if len(found) < len(change.sources) or len(agents) != 1 or derived:
            return []
        return sorted(found, key=lambda one: (one.happened_at, one.id))


def _recurs(sources: Sequence[MemoryRecord]) -> bool:
    sessions = {one.session_id for one in sources}
    return (
        len(sources) >= LEAST
        and len({one.happened_at.date() for one in sources}) >= LEAST_DAYS
        and (sessions == {None} or len(sessions) >= LEAST_SESSIONS)
    )


def _draft(text: str, sources: Sequence[MemoryRecord], theme: str, month: str) -> Draft:
    return Draft(
        kind=Kind.REFLECTION,
        text=text,
        importance=IMPORTANCE,
        sources=sources,
        why=f"{len(sources)} memories of {month} and before",
        labels={THEME: theme, MONTH: month},
    )
