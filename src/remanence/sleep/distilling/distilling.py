"""The step that distils: what keeps coming up becomes a semantic memory."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from uuid import UUID

from remanence.model.embedding import Fingerprint
from remanence.model.memory import Kind
from remanence.model.sleep import Deed, Night, Plan, Step
from remanence.ports.language_model import LanguageModel
from remanence.ports.store import Progress, Store
from remanence.sleep.distilling.deriving import THEME, Deriving, Draft, Insertion
from remanence.sleep.distilling.occasions import occasions
from remanence.sleep.distilling.telling import told
from remanence.sleep.distilling.themes import Theme, themes
from remanence.sleep.distilling.wording import reworded
from remanence.sleep.merging.reading import read

MOST_THEMES = 50  # written a night and partition; the rest has its night to come
_IMPORTANCE = 0.7  # at most


class Distilling:
    """Plans a semantic memory for each theme of somebody's memories and messages.

    A theme that has one already gets none; one that has grown gets a new one in its place; one
    whose memory was put aside by its owner, or undone, stays without until it has doubled.
    """

    step = Step.DISTIL

    def __init__(
        self,
        store: Store,
        fingerprint: Callable[[], Fingerprint | None],
        insertion: Insertion,
        new_id: Callable[[], UUID],
        model: LanguageModel | None = None,
    ) -> None:
        self._store = store
        self._fingerprint = fingerprint
        self._deriving = Deriving(store, insertion, new_id)
        self._model = model

    def plan(self, night: Night, progress: Progress | None = None) -> Plan:
        """What to write; the partitions of the reach one after another."""
        self._deriving.begin()
        partitions = self._store.partitions(night.reach)
        deeds: list[Deed] = []
        looked_at = 0
        for done, partition in enumerate(partitions):
            found, read_here = themes(self._store, partition, night.reach, self._fingerprint())
            looked_at += read_here
            made = (self._deed(partition, theme, night) for theme in found)
            deeds += islice((deed for deed in made if deed is not None), MOST_THEMES)
            if progress:
                progress(done + 1, len(partitions))
        return Plan(step=Step.DISTIL, deeds=tuple(deeds), looked_at=looked_at)

    def _deed(self, partition: int, theme: Theme, night: Night) -> Deed | None:
        found = (record for _, record in read(self._store, partition, theme.keys))
        sources = sorted(found, key=lambda one: (one.happened_at, one.id))
        former = self._deriving.former(Kind.SEMANTIC, sources, {})
        if not former.new:
            return None
        others = [record for _, record in read(self._store, partition, theme.left_out)]
        text = told(theme, sources, others, occasions(self._store, sources))
        if not text:
            return None
        if night.use_model and self._model is not None:
            text = reworded(self._model, text, sources)
        draft = Draft(
            kind=Kind.SEMANTIC,
            text=text,
            importance=min(_IMPORTANCE, max(source.importance for source in sources)),
            sources=sources,
            why=f"came up {len(sources)} times",
            labels={THEME: theme.word.lower()},
        )
        replaced = (*former.standing, *self._deriving.months(sources))
        return self._deriving.deed(night, draft, replaced)
