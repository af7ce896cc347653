"""Undoing: gives back what a run changed, as far as nobody has changed it since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from remanence.errors import Conflict, NotFound
from remanence.model.memory import Revision, State
from remanence.model.write import Action, Revise
from remanence.sleep.holding import Desk, Held
from remanence.sleep.journal import Page

VERB = "undone"
ACTOR = "sleep"

_RACES = 5
_WITHDRAWN: Mapping[str, object] = {"state": State.ARCHIVED}

Given = Mapping[str, set[int]]


@dataclass
class Undoing:
    """Takes runs back, the last batch first, each in one transaction with the note that it is.

    Killed anywhere, it goes on where it stopped. What is counted: `restored` have the values they
    had before; `withdrawn` were made by the run and are archived; `left` were changed by somebody
    since and stay; `erased` cannot be given back. Where a run that was undone before had to leave
    a memory because of this one, its change is given back too.
    """

    desk: Desk
    run: str

    def take_back(self, held: Held) -> None:
        """Undo every batch of the run that is not undone yet."""
        pages = list(self.desk.journal.pages(held.account))
        if len(pages) < held.account.run.batches:
            raise NotFound(
                f"Part of the journal of the run {held.account.run.id} is gone, so it cannot be "
                "undone; change single memories back by their history."
            )
        given: dict[str, set[int]] = {}
        for page in pages:
            for one in page.given:
                given.setdefault(one.id, set()).add(one.version)
        for page in reversed(pages):
            if not page.undone:
                self._page(held, page, given)

    def _page(self, held: Held, page: Page, given: Given) -> None:
        marker = _reason(held.account.run.id)
        for _ in range(_RACES):
            actions, counts, left = self._actions(page, given, marker)
            unlinked = _unlinked(page, left)
            told = Counter(held.account.run.counts) + counts
            run = replace(held.account.run, counts=dict(told))
            done = replace(page, undone=True)
            try:
                held.write(
                    replace(held.account, run=run),
                    done,
                    actions,
                    moved=page.returned,
                    unlinked=unlinked,
                )
            except (Conflict, NotFound):
                held.refresh(heed=False)
                continue
            return
        raise Conflict("What is to be undone keeps changing; undo it again.")

    def _actions(
        self, page: Page, given: Given, marker: str
    ) -> tuple[list[Action], Counter[str], set[str]]:
        """What gives the batch back, what that comes to, and which memories are left alone."""
        actions: list[Action] = []
        counts: Counter[str] = Counter(erased=len(page.removed))
        left: set[str] = set()
        ahead: dict[str, int] = {}
        for id, version, verb in reversed(page.given):
            past = self._past(id)
            if not past or not _untouched(past, version, given[id], marker):
                counts["left"] += 1
                left.add(id)
                continue
            changes = self._before(past, id, version) if verb else dict(_WITHDRAWN)
            if changes and (verb or id in ahead or self._active(id)):
                expected = past[-1].version + ahead.get(id, 0)
                ahead[id] = ahead.get(id, 0) + 1
                actions.append(self._revise(id, changes, expected, marker))
            counts["restored" if verb else "withdrawn"] += 1
        return actions, +counts, left

    def _before(self, past: list[Revision], id: str, version: int) -> dict[str, object]:
        changes = _before(past, version)
        while (id, version := version - 1) in self._undone:
            withdrawn = self._undone[id, version] is None
            changes |= _WITHDRAWN if withdrawn else _before(past, version)
        return changes

    @cached_property
    def _undone(self) -> Mapping[tuple[str, int], str | None]:
        return self.desk.journal.undone(besides=self.run)

    def _active(self, id: str) -> bool:
        found = self.desk.store.get(self.desk.tenant, [id])
        return any(record.state == State.ACTIVE for record in found)

    def _revise(self, id: str, changes: Mapping[str, object], expected: int, marker: str) -> Revise:
        return Revise(
            id=id,
            changes=changes,
            verb=VERB,
            at=self.desk.clock.now(),
            actor=ACTOR,
            reason=marker,
            expected=expected,
        )

    def _past(self, id: str) -> list[Revision]:
        try:
            return self.desk.store.history(self.desk.tenant, id)
        except NotFound:
            return []


def _untouched(past: list[Revision], version: int, given: set[int], marker: str) -> bool:
    """Whether a memory is what the run made of it: others' changes since were all undone."""
    standing = 0
    for one in past:
        own = one.version in given or (one.verb == VERB and one.reason == marker)
        if one.version > version and not own:
            standing += -1 if one.verb == VERB else 1
    return standing == 0


def _unlinked(page: Page, left: set[str]) -> list[tuple[str, str, str]]:
    """Links of what the run made stay: erasing goes by them, whatever the state."""
    kept = left | {id for id, _ in page.inserted}
    return [link for link in page.links if link[0] not in kept]


def _before(past: list[Revision], version: int) -> dict[str, object]:
    return next(dict(one.before) for one in past if one.version == version)


def _reason(id: str) -> str:
    return f"run {id}"
