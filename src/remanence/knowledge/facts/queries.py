"""Asking for facts: what is known of somebody, in order of time, at a moment, in conflict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Unpack

from remanence.knowledge.arguments import (
    Believed,
    KnowledgeQuery,
    fact_id,
    moment_or_none,
    moments_of,
    name_of,
    no_fact,
    predicate_name,
    reach_of,
    standing_of,
    value_of,
)
from remanence.knowledge.belief import holding, newest
from remanence.knowledge.facts.evidence import FactEvidence
from remanence.model import validation
from remanence.model.clock import Clock
from remanence.model.knowledge import Claim, Fact, Standing, folded_name
from remanence.model.ports.store import Store
from remanence.model.query import check_limit, check_offset
from remanence.model.scope import Reach

_BELIEVED = (Standing.HOLDS, Standing.ENDED, Standing.DISPUTED)
_EVER = datetime.min.replace(tzinfo=UTC)


class FactQueries:
    """The questions. `as_of` asks what was true then, `known_at` by what was known then.

    With `known_at` alone, what was held true at that time. `user_id` is whose facts; `agent_id`
    and `session_id` narrow who said so; `include_shared` adds what belongs to no user. With
    `min_trust` (left out, the setting), what the less trusted say is as if it were not there.
    """

    def __init__(
        self,
        store: Store,
        tenant: str,
        clock: Clock,
        one_at_a_time: frozenset[str] = frozenset(),
        min_trust: float = 0.0,
    ) -> None:
        self._min_trust = min_trust
        self._store = store
        self._tenant = tenant
        self._clock = clock
        self._one_at_a_time = one_at_a_time
        self._evidence = FactEvidence(store, tenant, clock, one_at_a_time)

    @property
    def evidence(self) -> FactEvidence:
        """The claims that facts are made of."""
        return self._evidence

    def get(self, id: str, *, known_at: datetime | None = None) -> Fact:
        """The fact that a claim of this id belongs to; `NotFound` if it is not here."""
        return self._fact(self._claim(id), moment_or_none("known_at", known_at))

    def about(
        self,
        entity: str,
        *,
        predicate: str | None = None,
        standing: str | None = None,
        history: bool = False,
        limit: int = 100,
        **asked: Unpack[KnowledgeQuery],
    ) -> list[Fact]:
        """What is known of somebody or something: facts with it as subject, then as object.

        What holds comes, newest first; with `history`, also what ended, is doubted or was taken
        back; with a `standing`, what has that, at any time unless `as_of` is given. What two are
        to each other is told from the side asked for. Of a name that nothing goes by, nothing is
        known; an entity's id serves as its name.
        """
        check_limit(limit)
        wanted, rank = _predicate(predicate), standing_of(standing)
        reach = self._reach(asked)
        when, then = moments_of(asked)
        anything = validation.truth_of("history", history) or rank is not None
        known = self._evidence.of_name(reach, name_of("entity", entity), then, wanted)
        shown = self._in_time(known.facts, when, then, anything)
        chosen = [one for one in shown if wanted in (None, one.predicate)]
        chosen = [one for one in chosen if rank in (None, one.standing)]
        return sorted(newest(chosen), key=lambda one: one.subject_id != known.id)[:limit]

    def timeline(
        self, entity: str, predicate: str | None = None, **asked: Unpack[Believed]
    ) -> list[Fact]:
        """Somebody's or something's facts in order of time: all that was believed, not what is
        doubted or was taken back."""
        wanted = _predicate(predicate)
        reach = self._reach(asked)
        then, whom = moment_or_none("known_at", asked.get("known_at")), name_of("entity", entity)
        known = self._evidence.of_name(reach, whom, then, wanted, objects=False)
        told = [one for one in known.facts if one.standing in _BELIEVED]
        return sorted(
            (one for one in told if one.subject_id == known.id and wanted in (None, one.predicate)),
            key=_oldest,
        )

    def find(
        self,
        *,
        predicate: str | None = None,
        object: str | None = None,
        kind: str | None = None,
        standing: str | None = None,
        limit: int = 100,
        offset: int = 0,
        **asked: Unpack[KnowledgeQuery],
    ) -> list[Fact]:
        """Facts of a scope that satisfy the conditions, the newest first.

        What holds comes, or what has the `standing` asked for, at any time unless `as_of` is
        given. All facts of the scope are worked out: ask `about` where the subject is known.
        """
        check_limit(limit)
        check_offset(offset)
        wanted, rank = _predicate(predicate), standing_of(standing)
        sort = validation.label_of("kind", kind)
        value = None if object is None else value_of(object)
        when, then = moments_of(asked)
        reach = self._reach(asked)
        found = self._evidence.everything(reach, then, wanted)
        facts = self._in_time(found, when, then, rank is not None)
        meant = frozenset() if value is None else self._evidence.ids_of(reach, value, then)
        called = None if value is None else folded_name(value)
        chosen = [
            one
            for one in facts
            if wanted in (None, one.predicate)
            and rank in (None, one.standing)
            and sort in (None, one.kind)
            and (called is None or one.object_id in meant or folded_name(one.object) == called)
        ]
        return newest(chosen)[offset : offset + limit]

    def conflicts(self, **asked: Unpack[Believed]) -> list[tuple[Fact, ...]]:
        """Facts that say otherwise of the same thing at the same time, and stand equal.

        What is over by now is not among them.
        """
        then = moment_or_none("known_at", asked.get("known_at"))
        now = then or self._clock.now()
        reach = self._reach(asked)
        found = self._evidence.everything(reach, then)
        disputed = {
            one.id: one
            for one in found
            if one.standing is Standing.DISPUTED and (one.valid_to is None or now < one.valid_to)
        }
        groups = [sorted(group, key=_oldest) for group in _together(disputed) if len(group) > 1]
        return [tuple(group) for group in sorted(groups, key=lambda group: _oldest(group[0]))]

    # -- inside

    def _in_time(
        self,
        facts: Sequence[Fact],
        as_of: datetime | None,
        known_at: datetime | None,
        anything: bool,
    ) -> list[Fact]:
        """What held then; with `anything`, also what is not believed, of that time or any."""
        if not anything:
            moment = as_of or known_at or self._clock.now()
            return holding(facts, moment, self._one_at_a_time)
        return [one for one in facts if as_of is None or _covers(one, as_of)]

    def _fact(self, claim: Claim, known_at: datetime | None = None) -> Fact:
        """The fact that the claim belongs to, told from its subject's side."""
        known = self._evidence.of_claim(claim, known_at)
        for fact in known.facts:
            if claim.id in fact.claims and fact.subject_id == known.id:
                return fact
        raise no_fact(claim.id)

    def _claim(self, id: str) -> Claim:
        found = self._evidence.claims([fact_id(id)])
        if not found:
            raise no_fact(id)
        return found[0]

    def _reach(self, asked: Believed) -> Reach:
        return reach_of(self._tenant, asked, self._min_trust)


def _predicate(value: str | None) -> str | None:
    return None if value is None else predicate_name(value)


def _covers(fact: Fact, moment: datetime) -> bool:
    """Whether it is said of that moment, believed or not."""
    begun = fact.valid_from is None or fact.valid_from <= moment
    return begun and (fact.valid_to is None or moment < fact.valid_to)


def _together(disputed: Mapping[str, Fact]) -> Iterator[list[Fact]]:
    """Facts joined by rivalry, group by group."""
    left = dict(disputed)
    while left:
        group = [left.pop(next(iter(left)))]
        for fact in group:
            group += [left.pop(id) for id in fact.rivals if id in left]
        yield group


def _oldest(fact: Fact) -> tuple[datetime, datetime, str]:
    return fact.valid_from or _EVER, fact.recorded_at, fact.id
