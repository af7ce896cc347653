"""The steps that distil and reflect: what keeps coming up, in all and in a month; what changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from itertools import chain, islice, pairwise
from uuid import UUID

from remanence.consolidation.merges.groups import DERIVED
from remanence.consolidation.steps import Beat, Planner, in_reach, planned, read
from remanence.consolidation.summaries.derivation import (
    CHANGE,
    MONTH,
    THEME,
    Insertion,
    ThemeDerivation,
    ThemeDraft,
    reworded,
)
from remanence.consolidation.summaries.statements import occasions, told
from remanence.consolidation.summaries.themes import Theme, recurs, themes
from remanence.knowledge.facts.evidence import FactEvidence
from remanence.model.clock import FixedClock
from remanence.model.embedding import Fingerprint
from remanence.model.knowledge import Fact, Standing, folded_name
from remanence.model.memory import HALF, Kind, MemoryRecord
from remanence.model.ports.language_model import LanguageModel
from remanence.model.ports.store import Store
from remanence.model.predicates import Holds, phrase, predicate_of
from remanence.model.progress import Progress
from remanence.model.sleep import Deed, Night, Plan, Step

MOST = 50  # written a night, step and partition; the rest has its night to come
MOST_A_MONTH = 3  # themes
LASTING = timedelta(days=14)  # what is taken back sooner was no change
CERTAIN = 0.9  # a fact that was said once, as far as rules read it, is not
_IMPORTANT, _IMPORTANT_THEN = 0.7, 0.4  # at most, and for what a month was about
_BELIEVED = (Standing.HOLDS, Standing.ENDED)
_EVER = datetime.min.replace(tzinfo=UTC)


@dataclass(eq=False)
class _Telling(Planner):
    """What both steps do: the themes of each partition are read, and told until that is enough."""

    store: Store
    fingerprint: Callable[[], Fingerprint | None]
    insertion: Insertion
    new_id: Callable[[], UUID]
    model: LanguageModel | None = None

    _deriving: ThemeDerivation = field(init=False)

    def plan(self, night: Night, progress: Progress | None = None) -> Plan:
        """What to write; the partitions of the reach one after another."""
        self._deriving = ThemeDerivation(self.store, self.insertion, self.new_id)

        def decide(partition: int, _: Beat) -> tuple[Iterable[Deed], int]:
            found, looked_at = themes(self.store, partition, night.reach, self.fingerprint())
            return islice(self._deeds(partition, found, night), MOST), looked_at

        return planned(self.step, self.store, night, progress, decide)

    def _deeds(self, partition: int, found: Sequence[Theme], night: Night) -> Iterator[Deed]:
        raise NotImplementedError

    def _written(self, night: Night, draft: ThemeDraft, replaced: Sequence[MemoryRecord]) -> Deed:
        if night.use_model and self.model is not None:
            draft = replace(draft, text=reworded(self.model, draft.text, draft.sources))
        return self._deriving.deed(night, draft, replaced)

    def _records(self, partition: int, keys: Iterable[int]) -> list[MemoryRecord]:
        return [record for _, record in read(self.store, partition, keys)]


class Distilling(_Telling):
    """Plans a semantic memory for each theme of somebody's memories and messages.

    A theme that has one already gets none; one that has grown gets a new one in its place; one
    whose memory was put aside by its owner, or undone, stays without until it has doubled.
    """

    step = Step.DISTIL

    def _deeds(self, partition: int, found: Sequence[Theme], night: Night) -> Iterator[Deed]:
        for theme in found:
            sources = _in_order(self._records(partition, theme.keys))
            former = self._deriving.former(Kind.SEMANTIC, sources, {})
            if former is None:
                continue
            others = self._records(partition, theme.left_out)
            text = told(theme, sources, others, occasions(self.store, sources))
            if text:
                draft = ThemeDraft(
                    kind=Kind.SEMANTIC,
                    text=text,
                    importance=min(_IMPORTANT, max(source.importance for source in sources)),
                    sources=sources,
                    why=f"came up {len(sources)} times",
                    labels={THEME: theme.word.lower()},
                )
                replaced = (*former, *self._deriving.months(sources))
                yield self._written(night, draft, replaced)


@dataclass(frozen=True, slots=True)
class ChangedState:
    """One thing that held of somebody and the one that held from `at` on."""

    before: Fact
    after: Fact

    @property
    def at(self) -> datetime:
        """When it changed, as far as is known; else when that was learnt."""
        return self.after.valid_from or self.before.valid_to or self.after.recorded_at

    @property
    def sources(self) -> tuple[str, ...]:
        """The memories that say so."""
        return tuple(dict.fromkeys((*self.before.sources, *self.after.sources)))

    @property
    def mark(self) -> str:
        """What tells this change from others, without a word of it."""
        said = [self.after.subject_id]
        for fact in (self.before, self.after):
            said += [fact.predicate, folded_name(fact.object)]
        return blake2b("\0".join(said).encode(), digest_size=8).hexdigest()

    @property
    def text(self) -> str:
        """Both, in one sentence."""
        before = phrase(self.before.subject, self.before.predicate, self.before.object)
        after = phrase(self.after.subject, self.after.predicate, self.after.object)
        when = f"Something changed for {self.after.subject} in {self.at:%B %Y}"
        return f"{when}: before, {before}; after, {after}."


def changes(
    facts: Iterable[Fact], now: datetime, one_at_a_time: frozenset[str]
) -> Iterator[ChangedState]:
    """Each certain fact that took the place of another and lasted, in order of time."""
    slots: dict[tuple[str, str], list[Fact]] = {}
    for fact in facts:
        known = predicate_of(fact.predicate, one_at_a_time)
        if fact.standing not in _BELIEVED:
            continue
        if known.holds is Holds.ONE:
            slots.setdefault((fact.subject_id, fact.predicate), []).append(fact)
        elif known.opposite:
            pair = min(fact.predicate, known.opposite)
            what = fact.object_id or folded_name(fact.object)
            slots.setdefault((fact.subject_id, f"{pair}\0{what}"), []).append(fact)
    found = [change for slot in slots.values() for change in _in_slot(slot, now)]
    yield from sorted(found, key=lambda change: (change.at, change.after.id))


def _in_slot(facts: Sequence[Fact], now: datetime) -> Iterator[ChangedState]:
    ordered = sorted(facts, key=lambda f: (f.valid_from or _EVER, f.recorded_at, f.id))
    ends = [*(_begun(fact) for fact in ordered[1:]), now]
    lasting = [f for f, end in zip(ordered, ends, strict=True) if end - _begun(f) >= LASTING]
    for before, after in pairwise(lasting):
        sure = min(before.confidence, after.confidence) >= CERTAIN
        if sure and before.standing is Standing.ENDED and _said(before) != _said(after):
            yield ChangedState(before, after)


def _begun(fact: Fact) -> datetime:
    return fact.valid_from or _EVER


def _said(fact: Fact) -> tuple[str, str]:
    return fact.predicate, folded_name(fact.object)


@dataclass(eq=False)
class Reflecting(_Telling):
    """Plans reflections: one for each theme and month that is over, one for each change.

    What was reflected on is not told again; a month that turns out to hold more is told anew, and
    one that a distilled memory tells already is not told at all.
    """

    step = Step.REFLECT

    one_at_a_time: frozenset[str] = frozenset()

    def _deeds(self, partition: int, found: Sequence[Theme], night: Night) -> Iterator[Deed]:
        for draft in chain(self._months(partition, found, night), self._changes(partition, night)):
            former = self._deriving.former(Kind.REFLECTION, draft.sources, draft.labels)
            if former is not None:
                yield self._written(night, draft, former)

    def _months(self, partition: int, found: Sequence[Theme], night: Night) -> Iterator[ThemeDraft]:
        written: Counter[tuple[str | None, str, float]] = Counter()
        for theme in found:
            by_month: dict[str, list[MemoryRecord]] = {}
            others = self._records(partition, theme.left_out)
            for record in self._records(partition, theme.keys):
                by_month.setdefault(f"{record.happened_at:%Y-%m}", []).append(record)
            for month, records in sorted(by_month.items()):
                place = (theme.speaker, month, theme.level)
                sources = _in_order(records)
                over = month < f"{night.now:%Y-%m}"
                if over and written[place] < MOST_A_MONTH and self._tells(sources):
                    when = occasions(self.store, sources).of_month(month)
                    rest = [one for key, some in by_month.items() if key != month for one in some]
                    text = told(theme, sources, [*others, *rest], when, month=True)
                    written[place] += bool(text)
                    yield from [_draft(text, sources, theme.word.lower(), month)] if text else []

    def _tells(self, sources: Sequence[MemoryRecord]) -> bool:
        days = [one.happened_at.date() for one in sources]
        sessions = [one.session_id for one in sources]
        return recurs(days, sessions) and not self._deriving.told(sources)

    def _changes(self, partition: int, night: Night) -> Iterator[ThemeDraft]:
        """Nothing of a single conversation: what it says of changes it may yet take back.

        Nor of what is trusted less than by half, which would lend its trust to the whole.
        """
        first = next(in_reach(self.store, partition, night.reach), None)
        if first is None or night.reach.session_id is not None:
            return
        owner = self.store.recall.records(partition, [first])[first].user_id
        reach = replace(
            night.reach, user_id=owner, all_users=False, include_shared=False, min_trust=HALF
        )
        clock = FixedClock(night.now)
        evidence = FactEvidence(self.store, reach.tenant, clock, self.one_at_a_time)
        for change in changes(evidence.everything(reach, None), night.now, self.one_at_a_time):
            sources = self._sources(reach.tenant, change)
            if sources:
                month = f"{change.at:%Y-%m}"
                draft = _draft(change.text, sources, change.after.predicate, month)
                labels = {**draft.labels, CHANGE: change.mark}
                yield replace(draft, labels=labels, happened_at=change.at)

    def _sources(self, tenant: str, change: ChangedState) -> list[MemoryRecord]:
        """The memories that say so, if they are all there, of one agent, and not made here.

        None if what was or what is comes from no memory: nothing would take the reflection along
        once that is retracted.
        """
        if not change.before.sources or not change.after.sources:
            return []
        found = self.store.archive.get(tenant, change.sources)
        agents = {one.agent_id for one in found}
        derived = any(one.origin in DERIVED for one in found)
        if len(found) < len(change.sources) or len(agents) != 1 or derived:
            return []
        return _in_order(found)


def _in_order(records: Iterable[MemoryRecord]) -> list[MemoryRecord]:
    return sorted(records, key=lambda one: (one.happened_at, one.id))


def _draft(text: str, sources: Sequence[MemoryRecord], theme: str, month: str) -> ThemeDraft:
    return ThemeDraft(
        kind=Kind.REFLECTION,
        text=text,
        importance=_IMPORTANT_THEN,
        sources=sources,
        why=f"{len(sources)} memories of {month} and before",
        labels={THEME: theme, MONTH: month},
    )
