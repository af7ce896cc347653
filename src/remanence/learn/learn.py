"""Learning from use: feedback is replayed, and an adapter trained, judged, used and rolled back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from remanence.clock import Clock
from remanence.errors import Conflict, InvalidInput
from remanence.learn.experiences import experiences_of, ranked, selected
from remanence.learn.replay import lessons_of, newest
from remanence.learn.school import School
from remanence.learn.training import Present, Taught, teach
from remanence.learn.versions import Head, Result, Versions
from remanence.model import accept
from remanence.model.learning import (
    AdapterVersion,
    Experience,
    LearnPolicy,
    LearnStatus,
    Trained,
)
from remanence.model.query import MAX_QUERY, check_limit
from remanence.model.scope import Reach, check_name
from remanence.ports.embedder import Embedder
from remanence.ports.store import Progress, Store
from remanence.recall.search import Recall

Noted = Callable[[str, str, datetime], None]


class Learn:
    """One tenant's learning. Everything is for the memories of one user, or of no user.

    Feedback belongs to the memory it is about, and so to that memory's user: it changes how that
    user's memories are ranked and nobody else's. Feedback on memories of no user changes how those
    are ranked, for all who may see them. `noted` is told of each memory that helped, with the
    question.
    """

    def __init__(
        self,
        store: Store,
        recall: Recall,
        embedder: Embedder,
        tenant: str,
        clock: Clock,
        policy: LearnPolicy | None = None,
        noted: Noted | None = None,
    ) -> None:
        self._store = store
        self._recall = recall
        self._embedder = embedder
        self._tenant = tenant
        self._clock = clock
        self._noted = noted
        self._versions = Versions(store, tenant)
        self.policy = policy or LearnPolicy()

    # -- see

    def status(self, user_id: str | None = None) -> LearnStatus:
        """How much there is to learn from, and what is in use."""
        reach, head = self._reach(user_id), self._versions.head(user_id)
        experiences = experiences_of(self._store, reach)
        versions = self._versions.listed(user_id)
        return LearnStatus(
            user_id=user_id,
            experiences=len(experiences),
            fresh=len(_since(experiences, head)),
            replayed=min(len(experiences), self.policy.replayed),
            active=next((one for one in versions if one.active), None),
            last=versions[0] if versions else None,
            versions=len(versions),
            trouble=self._recall.adapters.trouble(self._tenant, user_id),
        )

    def versions(self, user_id: str | None = None) -> list[AdapterVersion]:
        """Every version that is kept, rejected ones too, the newest first."""
        self._reach(user_id)
        return self._versions.listed(user_id)

    def replay(self, limit: int = 100, user_id: str | None = None) -> list[Experience]:
        """What a training with room for so many would look at, oldest first, with their ranks."""
        check_limit(limit)
        school, reach = self._school(user_id), self._reach(user_id)
        chosen = selected(school, experiences_of(self._store, reach), limit, self.policy.seed)
        return sorted(ranked(school, chosen), key=lambda one: (one.at, one.id))

    # -- do

    def outcome(
        self, query: str, *, useful: Iterable[str] = (), not_useful: Iterable[str] = ()
    ) -> int:
        """Say of an answer which memories it rests on and which misled it; how many were noted.

        `NotFound` if one of them is not here: nothing is noted then.
        """
        asked = accept.text_of("query", query, MAX_QUERY)
        good, bad = _ids("useful", useful), _ids("not_useful", not_useful)
        if both := set(good) & set(bad):
            raise InvalidInput(f"{sorted(both)[0]} is both useful and not useful; choose one.")
        known = {record.id for record in self._store.get(self._tenant, [*good, *bad])}
        if gone := [id for id in (*good, *bad) if id not in known]:
            raise accept.missing(gone[0])
        now = self._clock.now()
        for id, helped in [*((id, True) for id in good), *((id, False) for id in bad)]:
            self._store.note_feedback(self._tenant, id, useful=helped, query=asked, at=now)
            if helped and self._noted is not None:
                self._noted(id, asked, now)
        return len(good) + len(bad)

    def train(
        self,
        user_id: str | None = None,
        *,
        policy: LearnPolicy | None = None,
        progress: Progress | None = None,
    ) -> Trained:
        """Train an adapter on replayed feedback, and use it if it wins on feedback kept back.

        A rejected one is kept with its figures alone. `Conflict` if another training of the same
        user ended meanwhile.
        """
        self._reach(user_id)
        return self.trained(user_id, self._clock.now(), policy or self.policy, progress)

    def trained(
        self, user_id: str | None, at: datetime, policy: LearnPolicy, progress: Progress | None
    ) -> Trained:
        """The same for a given time, which the version bears."""
        school, head = self._school(user_id), self._versions.head(user_id)
        experiences = experiences_of(self._store, self._reach(user_id))
        chosen = selected(school, experiences, policy.replayed, policy.seed)
        taught = teach(
            school,
            lessons_of(chosen),
            policy,
            version=head.last + 1,
            present=self._present(user_id, school.partition),
            progress=progress,
        )
        number = None
        if taught.judged.questions:
            result = Result(taught, at, newest(experiences) or at, len(chosen))
            number = self._shelved(user_id, head, result)
        version = self._version(user_id, number)
        return Trained(
            accepted=version is not None and version.accepted,
            why=taught.why,
            judged=taught.judged,
            version=version,
        )

    def rollback(self, user_id: str | None = None) -> LearnStatus:
        """Use the version before again, or none; `NotFound` if none is in use."""
        self._reach(user_id)
        self._versions.roll_back(user_id, self._clock.now())
        self._recall.adapters.look_again(self._tenant, user_id)
        return self.status(user_id)

    def unlearn(
        self, ids: Iterable[str], users: Sequence[str | None] | None = None
    ) -> Mapping[str, int]:
        """Remove every version that learned from one of these memories; the one before is used.

        `users` are those whose memories they were, if that is known: then only theirs are read.
        """
        removed = self._versions.unlearn(_ids("ids", ids), self._clock.now(), users)
        for user_id in removed:
            self._recall.adapters.look_again(self._tenant, user_id)
        return {"adapters": sum(removed.values())}

    def trim(self) -> int:
        """Let go of feedback past the bound; how much."""
        return self._store.trim_feedback(self._tenant, self.policy.kept)

    # -- inside

    def _shelved(self, user_id: str | None, head: Head, result: Result) -> int:
        ranker, made_by = self._recall.ranker, self._embedder.fingerprint
        try:
            number = self._versions.shelve(user_id, head, result, ranker, made_by)
        except Conflict as error:
            raise Conflict(
                "Another training of the same memories ended just now; look at versions(), and "
                "train again if need be."
            ) from error
        self._recall.adapters.look_again(self._tenant, user_id)
        self._look_once_more(user_id, result.taught)
        return number

    def _look_once_more(self, user_id: str | None, taught: Taught) -> None:
        """What was erased while the training ran must not have been learned."""
        wanted = sorted(taught.learned_from)
        there = {record.id for record in self._store.get(self._tenant, wanted)} if wanted else set()
        if gone := [id for id in wanted if id not in there]:
            self.unlearn(gone, [user_id])

    def _version(self, user_id: str | None, number: int | None) -> AdapterVersion | None:
        found = [one for one in self._versions.listed(user_id) if one.number == number]
        return found[0] if found else None

    def _present(self, user_id: str | None, partition: int) -> Present | None:
        adapter = self._recall.adapters.of(self._reach(user_id)).adapters.get(partition)
        version = None if adapter is None else self._version(user_id, adapter.version)
        if adapter is None or version is None:
            return None
        return Present(adapter=adapter, at=version.at)

    def _school(self, user_id: str | None) -> School:
        self._reach(user_id)
        return School(self._store, self._recall, self._embedder, self._tenant, user_id)

    def _reach(self, user_id: str | None) -> Reach:
        check_name("user_id", user_id)
        return Reach(tenant=self._tenant, user_id=user_id)


def _since(experiences: Sequence[Experience], head: Head) -> list[Experience]:
    """Those that no training has seen yet."""
    to = head.trained_to
    return [one for one in experiences if to is None or one.at > to]


def _ids(what: str, values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(accept.id_of(value) for value in accept.several(what, values)))
