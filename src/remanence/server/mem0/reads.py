"""What mem0's calls read: one memory, pages of them, and searches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from remanence.api.memory import Memory
from remanence.errors import InvalidInput
from remanence.knowledge.facts.evidence import FactEvidence
from remanence.model.hit import Hit
from remanence.model.knowledge import Claim, Fact, FactKind, Standing
from remanence.model.memory import MemoryRecord, State
from remanence.model.query import ALL, MAX_LIMIT, MAX_QUERY
from remanence.model.scope import Reach
from remanence.model.validation import missing, text_of
from remanence.server.mem0 import dialect
from remanence.server.mem0.dialect import IDENTITIES, OWN, Body, Mem0Desk
from remanence.server.mem0.filters import AskedParts, UserPart, asked_of

# A text longer than so many times its facts says more than they do.
SAID_MORE = 3
OVER = frozenset({Standing.ENDED, Standing.DOUBTED, Standing.RETRACTED})
AT_ONCE = 500

Superseded = Mapping[str, str | None]
Followed = Mapping[str, frozenset[str]]
Slot = tuple[str | None, str, str]


def standing_of(memory: Memory, records: Sequence[MemoryRecord]) -> tuple[Superseded, Followed]:
    """Those that are superseded; and by id the memories that tell what holds in the place of
    something that one says."""
    claims = _claims(memory, [one.id for one in records])
    facts = _facts_of(
        memory.facts.service.evidence,
        (one for said in claims.values() for one in said if _may_end(one)),
    )
    return _superseded_of(records, claims, facts), _followed(claims, facts)


def superseded_in(memory: Memory, user_id: str | None) -> Superseded:
    """Every superseded memory of a user, or of everybody."""
    everybody = user_id is None
    reach = Reach(tenant=memory.tenant, user_id=user_id, all_users=everybody)
    facts = memory.facts.service.evidence.everything(reach, None)
    ids = list(dict.fromkeys(id for one in facts if one.standing in OVER for id in one.sources))
    if not ids:
        return {}
    claims = _claims(memory, ids)
    return _superseded_of(memory.parts.store.archive.get(memory.tenant, ids), claims, facts)


def _superseded_of(
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


def question_in(body: Body, *more: dict[str, Any]) -> AskedParts:
    """The filters of a body, and the conditions that may stand beside them."""
    beside = {name: body[name] for name in IDENTITIES if body.get(name) is not None}
    if body.get("categories"):
        beside["categories"] = {"in": dialect.listed("categories", body["categories"])}
    if body.get("metadata"):
        beside["metadata"] = body["metadata"]
    return asked_of(body.get("filters"), beside, *more)


def flag(body: Body, name: str, usual: bool) -> bool:
    """A switch of a body."""
    given = dialect.truth_of(name, body.get(name))
    return usual if given is None else given


def marked(shown: dialect.Told, over: Superseded) -> dialect.Told:
    """A memory, with what takes its place if nothing of it holds any more."""
    id = shown["id"]
    return shown | {"superseded": True, "superseded_by": over[id]} if id in over else shown


def only(results: list[dialect.Told], fields: object) -> list[dialect.Told]:
    """The results with the fields that are wanted, if some are named; the id is always there."""
    if not fields:
        return results
    wanted = ["id", *dialect.listed("fields", fields)]
    if not all(isinstance(name, str) for name in wanted):
        raise InvalidInput("fields must be a list of names.")
    names = frozenset(wanted)
    return [{name: one[name] for name in one if name in names} for one in results]


def one(desk: Mem0Desk, id: str) -> dialect.Told:
    """A memory by its id; what is archived or in quarantine is not there for mem0."""
    record = desk.do("get", id=id)
    if record.state is not State.ACTIVE:
        raise missing(id)
    return marked(dialect.memory_of(record), standing_of(desk.reading(), [record])[0])


def history(desk: Mem0Desk, id: str) -> list[dialect.Told]:
    """Every change of a memory."""
    record = desk.do("get", id=id)
    return dialect.history_of(record, desk.do("history", id=id).revisions)


PAGE = 100
DEEPEST = 100_000  # pages
EXPIRY = f"{OWN}.expiration_date"


def page(desk: Mem0Desk, body: Body, number: object, size: object, url: str = "") -> dict[str, Any]:
    """A page. What no longer holds is neither shown nor counted, unless `latest_only: false`."""
    at = dialect.number_of("page", number, 1, DEEPEST)
    length = dialect.number_of("page_size", size, PAGE)
    asked = question_in(body, _dated(body))
    if not flag(body, "show_expired", False):
        asked = _unexpired(asked, desk.clock.now().date().isoformat())
    over = _superseded(desk, asked)
    hidden = _among(desk, asked, over) if flag(body, "latest_only", True) else set()
    count = _count(desk, asked) - len(hidden)
    records = _slice(desk, asked, hidden, (at - 1) * length, length)
    results = [marked(dialect.memory_of(one), over) for one in records]
    return {
        "count": count,
        "next": f"{url}?page={at + 1}&page_size={length}" if at * length < count else None,
        "previous": f"{url}?page={at - 1}&page_size={length}" if at > 1 else None,
        "results": only(results, body.get("fields")),
    }


def _dated(body: Body) -> dict[str, Any]:
    """The days between which it is to have happened."""
    given = {"gte": body.get("start_date"), "lte": body.get("end_date")}
    bounds = {name: value for name, value in given.items() if value is not None}
    return {"created_at": bounds} if bounds else {}


def _unexpired(asked: AskedParts, today: str) -> AskedParts:
    lasting = {"or": [{EXPIRY: {"exists": False}}, {EXPIRY: {"gte": today}}]}
    narrowed = [
        replace(part, filters={"and": [part.filters, lasting]} if part.filters else lasting)
        for part in asked.parts
    ]
    split = len(asked.users)
    return AskedParts(tuple(narrowed[:split]), None if asked.everybody is None else narrowed[-1])


def _superseded(desk: Mem0Desk, asked: AskedParts) -> dict[str, str | None]:
    """All that is superseded in the rooms that are asked, whatever the filters say."""
    memory = desk.reading()
    users = [None] if asked.everybody else [part.user_id for part in asked.users]
    return {id: by for user in users for id, by in superseded_in(memory, user).items()}


def _among(desk: Mem0Desk, asked: AskedParts, over: dict[str, str | None]) -> set[str]:
    """Those of the superseded that the filters would show."""
    memory, found = desk.reading(), set()
    records = memory.parts.store.archive.get(memory.tenant, list(over))
    if records:
        moments = {"field.happened_at": {"in": sorted({one.happened_at for one in records})}}
        for part in asked.parts:
            filters = {"and": [part.filters, moments]} if part.filters else moments
            found |= {one.id for one in _records(desk, replace(part, filters=filters), MAX_LIMIT)}
    return found & over.keys()


def _count(desk: Mem0Desk, asked: AskedParts) -> int:
    """How many memories there are in all parts; what everybody is asked, the users are too."""
    count: int = sum(desk.do("count", **part.sight()).count for part in asked.parts)
    if asked.everybody is not None:
        for part in asked.users:
            both = replace(asked.everybody, user_id=part.user_id)
            count -= desk.do("count", **both.sight()).count
    return count


def _slice(
    desk: Mem0Desk, asked: AskedParts, hidden: set[str], start: int, length: int
) -> list[MemoryRecord]:
    parts = asked.parts
    if len(parts) == 1 and not hidden:
        return list(desk.do("find", limit=length, offset=start, **parts[0].sight()).memories)
    most = start + length + len(hidden)
    found = {one.id: one for part in parts for one in _records(desk, part, most)}
    shown = [one for one in found.values() if one.id not in hidden]
    shown.sort(key=lambda one: (one.happened_at, one.id), reverse=True)
    return shown[start : start + length]


def _records(desk: Mem0Desk, part: UserPart, most: int) -> Iterator[MemoryRecord]:
    """The newest memories of a part."""
    for offset in range(0, most, MAX_LIMIT):
        limit = min(MAX_LIMIT, most - offset)
        found = desk.do("find", limit=limit, offset=offset, **part.sight()).memories
        yield from found
        if len(found) < limit:
            return


TOP_K, THRESHOLD = 10, 0.1
ANSWERS = 0.35  # what scores less mostly speaks of something else
NEARLY = 4.0
SPARE = 10  # asked for beyond what is wanted, in the place of what is not shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Mem0Search:
    """A search as mem0 asks for it."""

    query: str
    asked: AskedParts
    wanted: int
    least: float
    now: datetime | None
    latest: bool
    expired: bool


def searched(desk: Mem0Desk, body: Body) -> dict[str, Any]:
    """The memories that answer. What no longer holds comes only with `latest_only: false`, last.

    Where something in a memory has ended, the one that tells what holds instead comes before it.
    """
    search = _search_in(body)
    hits, over, followed = _shown(desk, search)
    hits.sort(key=lambda hit: hit.memory.id in over)
    results = [
        marked(dialect.hit_of(hit), over) | {"score": score}
        for hit, score in newest_first(hits, followed)[: search.wanted]
    ]
    return {"results": only(results, body.get("fields"))}


def newest_first(hits: Sequence[Hit], followed: Followed) -> list[tuple[Hit, float]]:
    """The hits with their scores: what follows on another goes before it, with its score.

    Only what answers by itself does: to "Where do I work?" a new home is none.
    """
    placed: list[tuple[Hit, float]] = []
    for hit in hits:
        score = dialect.score_of(hit)
        after = (
            place
            for place, (other, _) in enumerate(placed)
            if hit.memory.id in followed.get(other.memory.id, ()) and _near(hit, other)
        )
        place = next(after, None) if score >= ANSWERS else None
        if place is None:
            placed.append((hit, score))
        else:
            placed.insert(place, (hit, placed[place][1]))
    return placed


def _near(hit: Hit, other: Hit) -> bool:
    """Whether a hit answers nearly as well as the other; scores are log-odds."""
    return other.score - hit.score <= NEARLY


def _search_in(body: Body) -> Mem0Search:
    at = body.get("reference_date")
    return Mem0Search(
        query=text_of("query", body.get("query"), MAX_QUERY),
        asked=question_in(body),
        wanted=dialect.number_of("top_k", body.get("top_k", body.get("limit")), TOP_K),
        least=dialect.share_of("threshold", body.get("threshold"), THRESHOLD),
        now=None if at is None else dialect.moment_of("reference_date", at),
        latest=flag(body, "latest_only", True),
        expired=flag(body, "show_expired", False),
    )


def _shown(desk: Mem0Desk, search: Mem0Search) -> tuple[list[Hit], Superseded, Followed]:
    """As many as are wanted if there are so many: where some are hidden, more are asked for."""
    limit, today = min(search.wanted + SPARE, MAX_LIMIT), desk.clock.now().date()
    while True:
        found = [
            desk.do("search", query=search.query, limit=limit, now=search.now, **part.sight()).hits
            for part in search.asked.parts
        ]
        hits = _best(found, search.least)
        over, followed = standing_of(desk.reading(), [hit.memory for hit in hits])
        shown = [
            hit
            for hit in hits
            if (search.expired or not dialect.is_over(hit.memory, today))
            and not (search.latest and hit.memory.id in over)
        ]
        exhausted = all(
            len(one) < limit or dialect.score_of(one[-1]) < search.least for one in found
        )
        if len(shown) >= search.wanted or exhausted or limit == MAX_LIMIT:
            return shown, over, followed
        limit = min(limit * 4, MAX_LIMIT)


def _best(found: Iterable[Sequence[Hit]], least: float) -> list[Hit]:
    """The hits of all parts, best first, each once."""
    hits = sorted((hit for part in found for hit in part), key=lambda hit: -hit.score)
    once = {hit.memory.id: hit for hit in reversed(hits)}
    return [hit for hit in hits if once[hit.memory.id] is hit and dialect.score_of(hit) >= least]
