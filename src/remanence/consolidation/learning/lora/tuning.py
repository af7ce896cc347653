"""A memory's own language model: what it knows as examples, taught, listed and unlearnt."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from os import PathLike
from pathlib import Path

from remanence.consolidation.learning.lora.examples import (
    TrainingExample,
    distinct,
    from_facts,
    from_feedback,
    from_memories,
    write_chat,
)
from remanence.consolidation.learning.lora.exclusions import outdated
from remanence.consolidation.learning.lora.files import check_free, folder_of
from remanence.consolidation.learning.lora.jobs import (
    Finetuned,
    TrainingRecipe,
    TuningJob,
    perform,
    plan,
    steps_for,
)
from remanence.consolidation.learning.lora.manifest import (
    AdapterState,
    Registry,
    TunedAdapter,
    claim,
    clear,
    read_manifest,
)
from remanence.consolidation.learning.lora.models import find_model, require_libraries
from remanence.consolidation.steps import records_of
from remanence.errors import Conflict, InvalidInput
from remanence.knowledge.facts.queries import FactQueries
from remanence.language.english.extraction.name_types import is_first_name
from remanence.model import validation
from remanence.model.clock import Clock
from remanence.model.filter import ACTIVE
from remanence.model.knowledge import EntityType, Fact
from remanence.model.memory import MemoryRecord
from remanence.model.ports.store import Store
from remanence.model.progress import Progress
from remanence.model.query import ALL, MAX_LIMIT, check_limit
from remanence.model.scope import Reach

PARTS = ("facts", "feedback", "memories")
_YEAR = timedelta(days=365)  # by then everybody is a year older


class Tuning:
    """Fine-tuning for one tenant. An adapter is taught one user's memories, or nobody's: never
    several users', for what it says could not be kept apart."""

    def __init__(self, store: Store, tenant: str, facts: FactQueries, clock: Clock) -> None:
        self._store = store
        self._tenant = tenant
        self._facts = facts
        self._clock = clock
        self._registry = Registry(store.documents, tenant)

    def examples(
        self, *, user_id: str | None = None, parts: Sequence[str] = PARTS, limit: int = 1000
    ) -> list[TrainingExample]:
        """What can be taught: facts that hold, questions with the memory that helped, memories.

        Only what is active, trusted and still so, and nothing that looks like a secret. Facts
        come before feedback and memories, memories newest first; a question is asked once.
        """
        check_limit(limit)
        return self._examples(user_id, parts)[:limit]

    def export_chat(
        self,
        path: str | PathLike[str],
        *,
        user_id: str | None = None,
        parts: Sequence[str] = PARTS,
        overwrite: bool = False,
    ) -> int:
        """Write all examples as JSON lines of chats, for any trainer; how many there are.

        The file is its owner's alone. One that is there is kept (`InvalidInput`) unless
        `overwrite`.
        """
        file, replaces = folder_of("path", path), validation.truth_of("overwrite", overwrite)
        check_free(file, overwrite=replaces)
        return write_chat(file, self._examples(user_id, parts), overwrite=replaces)

    def finetune(
        self,
        out: str | PathLike[str],
        *,
        base: str | PathLike[str],
        user_id: str | None = None,
        parts: Sequence[str] = PARTS,
        limit: int = 500,
        rank: int = 8,
        steps: int | None = None,
        replay: float = 0.5,
        seed: int = 0,
        device: str = "auto",
        resume: bool = True,
        progress: Progress | None = None,
    ) -> Finetuned:
        """Teach a language model what it was not taught yet, going on from the last adapter.

        What earlier adapters of the same user and model were shown is replayed. At most `limit`
        new examples are taken, and as many old ones. A memory that is erased meanwhile ends the
        training with `Conflict`, and nothing of it is left.
        """
        require_libraries()
        check_limit(limit)
        folder = folder_of("out", out)
        last = self._last(user_id, find_model(base).sha256, folder)
        new, old = self._split(user_id, parts, last, limit, seed)
        taken = steps_for(len(new), len(old), replay) if steps is None else steps
        recipe = TrainingRecipe(steps=taken, rank=rank, replay=replay, seed=seed)
        previous = None if last is None else last.folder
        job = plan(new, old, base, folder, recipe, previous)
        return self._perform(job, user_id, device, validation.truth_of("resume", resume), progress)

    def adapters(self, user_id: str | None = None) -> list[TunedAdapter]:
        """The adapters made for a user, the one last changed first."""
        return list(self._registry.all(Reach(tenant=self._tenant, user_id=user_id)))

    def unlearn(self, ids: Sequence[str]) -> dict[str, int]:
        """Delete the weights of every adapter that learnt from one of these memories or claims.

        Its folder and its document then say that it was unlearnt; how many, by "loras".
        """
        return {"loras": self._registry.unlearn(ids, self._clock.now())}

    # -- inside

    def _examples(self, user_id: str | None, parts: Sequence[str]) -> list[TrainingExample]:
        wanted = _parts(parts)
        made: list[TrainingExample] = []
        if "facts" in wanted:
            made += self._of_facts(user_id)
        if wanted == {"facts"}:
            return distinct(made)
        memories = {one.id: one for one in self._still_so(user_id)}
        if "feedback" in wanted:
            said = (one for one in self._store.archive.feedback(self._tenant) if one.id in memories)
            made += from_feedback(said, memories)
        if "memories" in wanted:
            made += reversed(from_memories(memories.values()))
        return distinct(made)

    def _perform(
        self,
        job: TuningJob,
        user_id: str | None,
        device: str,
        resume: bool,
        progress: Progress | None,
    ) -> Finetuned:
        """Register, train, register: whoever erases a memory meanwhile finds the adapter."""
        claim(job.folder, job.manifest.run)
        known = self._registry.at(job.folder, user_id)
        expected = 0 if known is None else known.version
        version = self._registry.note(
            job.folder, user_id, job.manifest, self._clock.now(), expected
        )

        def watched(done: int, total: int) -> None:
            self._check(job, user_id, version)
            if progress is not None:
                progress(done, total)

        try:
            self._check_sources(job)
            made = perform(job, device, resume, watched)
            self._registry.note(
                job.folder, user_id, made.manifest, self._clock.now(), version, made.figures
            )
        except Conflict:
            self._clean_up(job.folder, user_id)
            raise
        return made

    def _clean_up(self, folder: Path, user_id: str | None) -> None:
        """Leave nothing of what was unlearnt; what another training has by now is not ours."""
        known = self._registry.at(folder, user_id)
        if known is None or known.state is AdapterState.UNLEARNT:
            clear(folder)

    def _check(self, job: TuningJob, user_id: str | None, version: int) -> None:
        known = self._registry.at(job.folder, user_id)
        if known is None or known.version != version:
            raise _overtaken()

    def _check_sources(self, job: TuningJob) -> None:
        """What was erased between reading and registering was not told of this adapter."""
        ids = job.manifest.memories
        if len(self._records(ids)) < len(ids):
            raise _overtaken()

    def _split(
        self,
        user_id: str | None,
        parts: Sequence[str],
        last: TunedAdapter | None,
        limit: int,
        seed: int,
    ) -> tuple[tuple[TrainingExample, ...], tuple[TrainingExample, ...]]:
        learnt = frozenset[str]() if last is None else last.learnt
        every = self._examples(user_id, parts)
        new = [one for one in every if one.id not in learnt][:limit]
        old = [one for one in every if one.id in learnt]
        if not new:
            raise InvalidInput(
                "There is nothing new to learn: add memories, facts or feedback first."
            )
        if len(old) > limit:
            old = random.Random(seed).sample(old, limit)
        return tuple(new), tuple(old)

    def _last(self, user_id: str | None, base_sha256: str, out: Path) -> TunedAdapter | None:
        """The newest adapter of this model that is still whole in its folder."""
        for one in self.adapters(user_id):
            if one.state is AdapterState.READY and one.base_sha256 == base_sha256:
                found = None if one.folder == out else read_manifest(one.folder)
                if found and (found.state, found.run) == (AdapterState.READY, one.run):
                    return one
        return None

    def _of_facts(self, user_id: str | None) -> list[TrainingExample]:
        found = self._facts.find(limit=MAX_LIMIT, user_id=user_id)
        since = self._clock.now() - _YEAR
        told = ((one, one.valid_from or one.recorded_at) for one in found)
        facts = [one for one, at in told if one.predicate != "age" or at > since]
        sources = self._records([id for one in facts for id in one.sources])
        return from_facts(facts, {one.id: one for one in sources}, self._people(user_id, facts))

    def _people(self, user_id: str | None, facts: Sequence[Fact]) -> frozenset[str]:
        """Those known as people by their first name, or by more than an age."""
        others = [one for one in facts if one.predicate != "age"]
        known = {id for one in others for id in (one.subject_id, one.object_id)}
        found = self._store.knowledge.entities(
            Reach(tenant=self._tenant, user_id=user_id), limit=ALL
        )
        return frozenset(
            one.id
            for one in found
            if one.type == EntityType.PERSON
            and (one.id in known or is_first_name(one.name.split()[0]))
        )

    def _still_so(self, user_id: str | None) -> Iterator[MemoryRecord]:
        """The active memories, without those that the claims in them make untrue by now."""
        reach = Reach(tenant=self._tenant, user_id=user_id)
        claims = self._store.knowledge.claims(reach, limit=ALL)
        past = outdated(claims, self._facts.evidence.everything(reach, None))
        return (one for one in self._memories(user_id) if one.id not in past)

    def _memories(self, user_id: str | None) -> Iterator[MemoryRecord]:
        found = list(self._store.archive.walk(Reach(tenant=self._tenant, user_id=user_id), ACTIVE))
        yield from sorted(found, key=lambda one: one.happened_at)

    def _records(self, ids: Iterable[str]) -> list[MemoryRecord]:
        return list(records_of(self._store, self._tenant, ids))


def _overtaken() -> Conflict:
    return Conflict(
        "A memory that was being learnt is erased, or another training has this folder; nothing "
        "of this one is left. Start it again."
    )


def _parts(parts: Sequence[str]) -> frozenset[str]:
    wanted = frozenset(validation.several("parts", parts))
    if not wanted or wanted - frozenset(PARTS):
        raise InvalidInput(f"parts are some of {', '.join(PARTS)}; got {str(parts)[:80]!r}.")
    return wanted
