"""What changed in somebody's circumstances: what ended, and what came instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from itertools import pairwise

from remanence.model.knowledge import Fact, Standing, folded_name
from remanence.model.predicates import Holds, phrase, predicate_of

_BELIEVED = (Standing.HOLDS, Standing.ENDED)
LASTING = timedelta(days=14)  # what is taken back sooner was no change
_EVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Changed:
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
) -> Iterator[Changed]:
    """Each fact that took the place of another and lasted, in order of time."""
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


def _in_slot(facts: Sequence[Fact], now: datetime) -> Iterator[Changed]:
    ordered = sorted(facts, key=lambda f: (f.valid_from or _EVER, f.recorded_at, f.id))
    ends = [*(_begun(fact) for fact in ordered[1:]), now]
    lasting = [f for f, end in zip(ordered, ends, strict=True) if end - _begun(f) >= LASTING]
    for before, after in pairwise(lasting):
        if before.standing is Standing.ENDED and _said(before) != _said(after):
            yield Changed(before, after)


def _begun(fact: Fact) -> datetime:
    return fact.valid_from or _EVER


def _said(fact: Fact) -> tuple[str, str]:
    return fact.predicate, folded_name(fact.object)
