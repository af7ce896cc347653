"""Which memories say nothing that still holds, by what our facts know.

A memory is superseded when all that was read out of it was ended by what other memories say:
"I live in Lisbon", once "I moved to Berlin" is there. What tells of its own end, or of an event,
stays true; what says much more than the facts that ended stays too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from remanence.api.memory import Memory
from remanence.knowledge.facts.evidence import FactEvidence
from remanence.model.knowledge import Claim, Fact, FactKind, Standing
from remanence.model.memory import MemoryRecord
from remanence.model.query import ALL
from remanence.model.scope import Reach

# A text longer than so many times its facts says more than they do.
SAID_MORE = 3
OVER = frozenset({Standing.ENDED, Standing.DOUBTED, Standing.RETRACTED})
AT_ONCE = 500

Superseded = Mapping[str, str | None]
Followed = Mapping[str, frozenset[str]]
Slot = tuple[str | None, str, str]


def superseded_among(memory: Memory, records: Sequence[MemoryRecord]) -> Superseded:
    """Those of the records that are superseded, each with the memory that says what holds."""
    return standing_of(memory, records)[0]


def standing_of(memory: Memory, records: Sequence[MemoryRecord]) -> tuple[Superseded, Followed]:
    """Those that are superseded; and by id the memories that tell what holds in the place of
    something that one says."""
    claims = _claims(memory, [one.id for one in records])
    facts = _facts_of(
        memory.facts.service.evidence,
        (one for said in claims.values() for one in said if _may_end(one)),
    )
    return _superseded(records, claims, facts), _followed(claims, facts)


def superseded_in(memory: Memory, user_id: str | None) -> Superseded:
    """Every superseded memory of a user, or of everybody."""
    everybody = user_id is None
    reach = Reach(tenant=memory.tenant, user_id=user_id, all_users=everybody)
    facts = memory.facts.service.evidence.everything(reach, None)
    ids = list(dict.fromkeys(id for one in facts if one.standing in OVER for id in one.sources))
    if not ids:
        return {}
    claims = _claims(memory, ids)
    return _superseded(memory.parts.store.archive.get(memory.tenant, ids), claims, facts)


def _superseded(
    records: Iterable[MemoryRecord], claims: Mapping[str, list[Claim]], facts: Sequence[Fact]
) -> Superseded:
    by_claim = {id: fact for fact in facts for id in fact.claims}
    held = _held(facts)
    found: dict[str, str | None] = {}
    for record in records:
        said = claims.get(record.id, [])
        ended = [by_claim[one.id] for one in said if one.id in by_claim]
        if not said or len(ended) < len(said) or not all(map(_may_end, said)):
            continue
        if len(record.text) > SAID_MORE * sum(len(one.text) for one in said):
            continue
        if all(one.standing in OVER for one in ended):
            successors = [held.get((one.subject_id, one.predicate)) for one in ended]
            found[record.id] = next((id for id in successors if id and id != record.id), None)
    return found


def _followed(claims: Mapping[str, list[Claim]], facts: Sequence[Fact]) -> Followed:
    by_claim = {id: fact for fact in facts for id in fact.claims}
    held = _held(facts)
    found: dict[str, frozenset[str]] = {}
    for record, said in claims.items():
        ended = (by_claim[one.id] for one in said if one.id in by_claim and _may_end(one))
        over = [one for one in ended if one.standing in OVER]
        by = (held.get((one.subject_id, one.predicate)) for one in over)
        if later := frozenset(id for id in by if id and id != record):
            found[record] = later
    return found


def _held(facts: Iterable[Fact]) -> dict[tuple[str, str], str]:
    """The newest memory that says what holds, for whom and which predicate."""
    holding = [one for one in facts if one.standing is Standing.HOLDS and one.sources]
    holding.sort(key=lambda one: one.recorded_at)
    return {(one.subject_id, one.predicate): one.sources[-1] for one in holding}


def _may_end(claim: Claim) -> bool:
    """Whether others can end it: no event, no denial, and it does not tell its own end."""
    return claim.kind != FactKind.EVENT and not claim.denies and claim.ended is None


def _claims(memory: Memory, ids: Sequence[str]) -> dict[str, list[Claim]]:
    """What each memory says now."""
    everybody = Reach(tenant=memory.tenant, all_users=True)
    found: dict[str, list[Claim]] = defaultdict(list)
    for start in range(0, len(ids), AT_ONCE):
        some = ids[start : start + AT_ONCE]
        for claim in memory.parts.store.knowledge.claims(everybody, memories=some, limit=ALL):
            if claim.memory is not None and claim.retired_at is None and claim.rested_at is None:
                found[claim.memory].append(claim)
    return found


def _facts_of(evidence: FactEvidence, claims: Iterable[Claim]) -> list[Fact]:
    """The facts that claims have a part in, each subject and predicate looked at once."""
    slots: dict[Slot, Claim] = {}
    for claim in claims:
        slots.setdefault((claim.user_id, claim.subject, claim.predicate), claim)
    found = [fact for claim in slots.values() for fact in evidence.of_claim(claim, None).facts]
    return list({one.id: one for one in found}.values())
