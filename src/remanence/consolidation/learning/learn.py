"""Learning from use: feedback is replayed, and an adapter trained, judged, used and rolled back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from remanence.consolidation.learning.school import (
    School,
    experiences_of,
    lessons_of,
    newest,
    ranked,
    selected,
)
from remanence.consolidation.learning.trainer import Head, Present, Taught, Versions, teach
from remanence.consolidation.steps import records_of
from remanence.errors import Conflict, InvalidInput
from remanence.model import validation
from remanence.model.clock import Clock
from remanence.model.learning import (
    AdapterVersion,
    Experience,
    LearnPolicy,
    LearnStatus,
    TrainingResult,
)
from remanence.model.ports.embedder import Embedder
from remanence.model.ports.store import Store
from remanence.model.progress import Progress
from remanence.model.query import MAX_QUERY, check_limit
from remanence.model.scope import Reach, check_name
from remanence.recall.search import Recall

Noted = Callable[[str, str, datetime], None]


@dataclass(eq=False)
class Learn:
    """One tenant's learning. Everything is for the memories of one user, or of no user.

    Feedback belongs to the memory it is about, and so to that memory's user: it changes how that
    user's memories are ranked and nobody else's. Feedback on memories of no user changes how those
    are ranked, for all who may see them. `noted` is told of each memory that helped, with the
    question.
    """

    store: Store
    recall: Recall
    embedder: Embedder
    tenant: str
    clock: Clock
    policy: LearnPolicy = field(default_factory=LearnPolicy)
    noted: Noted | None = None

    def __post_init__(self) -> None:
        self._versions = Versions(self.store.documents, self.tenant)

    # -- see

    def status(self, user_id: str | None = None) -> LearnStatus:
        """How much there is to learn from, and what is in use."""
        reach, head = self._reach(user_id), self._versions.head(user_id)
        experiences = experiences_of(self.store, reach)
        versions = self._versions.listed(user_id)
        return LearnStatus(
            user_id=user_id,
            experiences=len(experiences),
            fresh=len(_since(experiences, head)),
            replayed=min(len(experiences), self.policy.replayed),
            active=next((one for one in versions if one.active), None),
            last=versions[0] if versions else None,
            versions=len(versions),
            trouble=self.recall.adapters.trouble(self.tenant, user_id),
        )

    def versions(self, user_id: str | None = None) -> list[AdapterVersion]:
        """Every version that is kept, rejected ones too, the newest first."""
        self._reach(user_id)
        return self._versions.listed(user_id)

    def replay(self, limit: int = 100, user_id: str | None = None) -> list[Experience]:
        """What a training with room for so many would look at, oldest first, with their ranks."""
        check_limit(limit)
        school, reach = self._school(user_id), self._reach(user_id)
        chosen = selected(school, experiences_of(self.store, reach), limit, self.policy.seed)
        return sorted(ranked(school, chosen), key=lambda one: (one.at, one.id))

    # -- do

    def outcome(
        self, query: str, *, useful: Iterable[str] = (), not_useful: Iterable[str] = ()
    ) -> int:
        """Say of an answer which memories it rests on and which misled it; how many were noted.

        `NotFound` if one of them is not here: nothing is noted then.
        """
        asked = validation.text_of("query", query, MAX_QUERY)
        good, bad = _ids("useful", useful), _ids("not_useful", not_useful)
        if both := set(good) & set(bad):
            raise InvalidInput(f"{sorted(both)[0]} is both useful and not useful; choose one.")
        known = {record.id for record in self.store.archive.get(self.tenant, [*good, *bad])}
        if gone := [id for id in (*good, *bad) if id not in known]:
            raise validation.missing(gone[0])
        now = self.clock.now()
        for id, helped in [*((id, True) for id in good), *((id, False) for id in bad)]:
            self.store.archive.note_feedback(self.tenant, id, useful=helped, query=asked, at=now)
            if helped and self.noted is not None:
                self.noted(id, asked, now)
        return len(good) + len(bad)

    def train(
        self,
        user_id: str | None = None,
        *,
        policy: LearnPolicy | None = None,
        progress: Progress | None = None,
    ) -> TrainingResult:
        """Train an adapter on replayed feedback, and use it if it wins on feedback kept back.

        A rejected one is kept with its figures alone. `Conflict` if another training of the same
        user ended meanwhile.
        """
        self._reach(user_id)
        return self.trained(user_id, self.clock.now(), policy or self.policy, progress)

    def trained(
        self, user_id: str | None, at: datetime, policy: LearnPolicy, progress: Progress | None
    ) -> TrainingResult:
        """The same for a given time, which the version bears."""
        school, head = self._school(user_id), self._versions.head(user_id)
        experiences = experiences_of(self.store, self._reach(user_id))
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
            seen = replace(taught, trained_to=newest(experiences), experiences=len(chosen))
            number = self._shelved(user_id, head, seen, at)
        version = self._version(user_id, number)
        return TrainingResult(
            accepted=version is not None and version.accepted,
            why=taught.why,
            judged=taught.judged,
            version=version,
        )

    def rollback(self, user_id: str | None = None) -> LearnStatus:
        """Use the version before again, or none; `NotFound` if none is in use."""
        self._reach(user_id)
        self._versions.roll_back(user_id, self.clock.now())
        self.recall.adapters.look_again(self.tenant, user_id)
        return self.status(user_id)

    def unlearn(
        self, ids: Iterable[str], users: Sequence[str | None] | None = None
    ) -> Mapping[str, int]:
        """Remove every version that learned from one of these memories; the one before is used.

        `users` are those whose memories they were, if that is known: then only theirs are read.
        """
        removed = self._versions.unlearn(_ids("ids", ids), self.clock.now(), users)
        for user_id in removed:
            self.recall.adapters.look_again(self.tenant, user_id)
        return {"adapters": sum(removed.values())}

    def trim(self) -> int:
        """Let go of feedback past the bound; how much."""
        return self.store.archive.trim_feedback(self.tenant, self.policy.kept)

    # -- inside

    def _shelved(self, user_id: str | None, head: Head, taught: Taught, at: datetime) -> int:
        ranker, made_by = self.recall.ranker, self.embedder.fingerprint
        try:
            number = self._versions.shelve(user_id, head, taught, at, plain=ranker, by=made_by)
        except Conflict as error:
            raise Conflict(
                "Another training of the same memories ended just now; look at versions(), and "
                "train again if need be."
            ) from error
        self.recall.adapters.look_again(self.tenant, user_id)
        self._look_once_more(user_id, taught)
        return number

    def _look_once_more(self, user_id: str | None, taught: Taught) -> None:
        """What was erased while the training ran must not have been learned."""
        wanted = sorted(taught.learned_from)
        there = {record.id for record in records_of(self.store, self.tenant, wanted)}
        if gone := [id for id in wanted if id not in there]:
            self.unlearn(gone, [user_id])

    def _version(self, user_id: str | None, number: int | None) -> AdapterVersion | None:
        return next((one for one in self._versions.listed(user_id) if one.number == number), None)

    def _present(self, user_id: str | None, partition: int) -> Present | None:
        adapter = self.recall.adapters.of(self._reach(user_id)).adapters.get(partition)
        version = adapter and self._version(user_id, adapter.version)
        return Present(adapter=adapter, at=version.at) if adapter and version else None

    def _school(self, user_id: str | None) -> School:
        self._reach(user_id)
        return School(self.store, self.recall, self.embedder, self.tenant, user_id)

    def _reach(self, user_id: str | None) -> Reach:
        check_name("user_id", user_id)
        return Reach(tenant=self.tenant, user_id=user_id)


def _since(experiences: Sequence[Experience], head: Head) -> list[Experience]:
    """Those that no training has seen yet."""
    to = head.trained_to
    return [one for one in experiences if to is None or one.at > to]


def _ids(what: str, values: Iterable[str]) -> list[str]:
    return list(
        dict.fromkeys(validation.id_of(value) for value in validation.several(what, values))
    )
