"""Which of the planned deeds still fit the memories as they are, and what doing them will leave."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from remanence.consolidation.run_log import RunPage
from remanence.model.memory import Association, MemoryRecord
from remanence.model.ports.store import Store
from remanence.model.scope import Reach
from remanence.model.sleep import Deed
from remanence.model.write import Action, Insert, Moved, Remove, Revise

_CHUNK = 10_000

Link = tuple[str, str, str]


class Since:
    """Which memories somebody else changed since a plan was begun."""

    def __init__(self, store: Store, reach: Reach) -> None:
        self._store = store
        self._tenant = reach.tenant
        self._seen = {one: store.recall.position(one) for one in store.recall.partitions(reach)}
        self._keys: set[int] = set()
        self._own: set[str] = set()

    def done(self, page: RunPage) -> None:
        """Take note of what this run changed itself."""
        self._own.update(one.id for one in page.given)

    def changed(self, ids: Iterable[str]) -> set[str]:
        """Those of these memories that changed."""
        wanted = set(ids) - self._own
        if wanted:
            self._follow()
        return {id for id in wanted if self._touched(id)} if self._keys else set()

    def _touched(self, id: str) -> bool:
        place = self._store.recall.key_of(self._tenant, id)
        return place is not None and place[1] in self._keys

    def _follow(self) -> None:
        for partition in self._seen:
            while found := self._store.recall.changes(partition, self._seen[partition], _CHUNK):
                self._keys.update(change.key for change in found)
                self._seen[partition] = found[-1].seq


def batches(deeds: Sequence[Deed], most: int) -> Iterator[list[Deed]]:
    """Deeds in their order, as many together as hold `most` actions, and one at least."""
    batch: list[Deed] = []
    size = 0
    for deed in deeds:
        weight = len(deed.actions) or 1
        if batch and size + weight > most:
            yield batch
            batch, size = [], 0
        batch.append(deed)
        size += weight
    if batch:
        yield batch


def concerned(deeds: Iterable[Deed]) -> list[str]:
    """Every memory that doing the deeds reads or writes, each once."""
    ids: dict[str, None] = {}
    for deed in deeds:
        ids |= dict.fromkeys(_id(action) for action in deed.actions)
        ids |= dict.fromkeys(deed.about) | dict.fromkeys(one.id for one in deed.moved)
        ids |= dict.fromkeys(id for link in deed.links for id in (link.source, link.target))
    return list(ids)


def stamped(actions: Iterable[Action], at: datetime) -> Iterator[Action]:
    """The actions as done at that moment, whenever they were planned."""
    for action in actions:
        if isinstance(action, Insert):
            record = replace(action.record, created_at=at, updated_at=at)
            yield replace(action, record=record)
        else:
            yield replace(action, at=at) if isinstance(action, Revise) else action


def unguarded(deed: Deed) -> set[str]:
    """Memories a deed rests on without naming the version they must have."""
    new = {action.record.id for action in deed.actions if isinstance(action, Insert)}
    named = {one.id for one in deed.actions if isinstance(one, Revise) and one.expected is not None}
    ends = {link.target for link in deed.links}
    return (set(deed.about) | ends) - new - named


class Fit:
    """What can be done together of these deeds; `overtaken` counts those that no longer can.

    `changed` memories and links that are `there` are known. `page` is number `number` of the run.
    """

    def __init__(
        self,
        deeds: Sequence[Deed],
        records: Mapping[str, MemoryRecord],
        changed: Container[str],
        there: Container[Link],
        number: int,
    ) -> None:
        self._versions = {id: record.version for id, record in records.items()}
        self._uses = {id: (record.uses, record.used_at) for id, record in records.items()}
        self._changed = changed
        self._there = there
        self._made: dict[Link, Association] = {}
        self._returned: list[Moved] = []
        self.deeds: list[Deed] = []
        self.actions: list[Action] = []
        self.moved: list[Moved] = []
        for deed in deeds:
            self._take(deed)
        self.overtaken = len(deeds) - len(self.deeds)
        self.links = list(self._made.values())
        self.page = _page(number, self.actions, list(self._made), self._returned[::-1])

    def _take(self, deed: Deed) -> None:
        actions = self._acted(deed)
        if actions is None:
            return
        self.deeds.append(deed)
        self.actions += actions
        self._link(deed)
        for one in deed.moved:
            if one.id in self._uses:
                self.moved.append(one)
                self._returned.append(self._move(one))

    def _acted(self, deed: Deed) -> list[Action] | None:
        """The deed's actions, each with the version it expects; None if one cannot be done."""
        if any(id in self._changed or id not in self._versions for id in unguarded(deed)):
            return None
        after: dict[str, int | None] = {}
        actions: list[Action] = []
        for action in deed.actions:
            id = _id(action)
            now = after.get(id) if id in after else self._versions.get(id)
            if isinstance(action, Insert):
                if now is not None:
                    return None
                after[id] = action.record.version
            elif now is None or (isinstance(action, Revise) and action.expected not in (None, now)):
                return None
            elif isinstance(action, Revise):
                action, after[id] = replace(action, expected=now), now + 1
            else:
                after[id] = None
            actions.append(action)
        if not self._reaches(deed, after):
            return None
        self._stand(deed, after)
        return actions

    def _reaches(self, deed: Deed, after: Mapping[str, int | None]) -> bool:
        """Whether every end of its links is there."""
        ends = (id for link in deed.links for id in (link.source, link.target))
        now = {id: self._versions.get(id) for id in ends}
        return None not in (now | {id: after[id] for id in now if id in after}).values()

    def _stand(self, deed: Deed, after: Mapping[str, int | None]) -> None:
        for id, version in after.items():
            if version is None:
                self._versions.pop(id, None)
                self._uses.pop(id, None)
            else:
                self._versions[id] = version
        for action in deed.actions:
            if isinstance(action, Insert):
                self._uses[action.record.id] = (action.record.uses, action.record.used_at)

    def _link(self, deed: Deed) -> None:
        for link in deed.links:
            named = (link.source, link.target, link.type)
            if named not in self._there:
                self._made.setdefault(named, link)

    def _move(self, one: Moved) -> Moved:
        """The move that takes this one back."""
        uses, last = self._uses[one.id]
        now = max(0, uses + one.uses)
        later = max((at for at in (last, one.used_at) if at is not None), default=None)
        self._uses[one.id] = (now, later)
        if later == last:
            return Moved(id=one.id, uses=uses - now)
        return Moved(id=one.id, uses=uses - now, used_at=last, instead_of=later)


def _page(
    number: int, actions: Sequence[Action], links: Sequence[Link], returned: Sequence[Moved]
) -> RunPage:
    return RunPage(
        number=number,
        inserted=tuple(
            (one.record.id, one.record.version) for one in actions if isinstance(one, Insert)
        ),
        revised=tuple(
            (one.id, one.expected + 1, one.verb)
            for one in actions
            if isinstance(one, Revise) and one.expected is not None
        ),
        removed=tuple(one.id for one in actions if isinstance(one, Remove)),
        links=tuple(links),
        returned=tuple(returned),
    )


def _id(action: Action) -> str:
    return action.record.id if isinstance(action, Insert) else action.id
