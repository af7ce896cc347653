"""The summaries of a conversation at every level, kept in step with what was said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from remanence.errors import LanguageModelError
from remanence.layers.conversation.deriving import Deriving
from remanence.layers.conversation.gaps import gaps
from remanence.layers.conversation.making import (
    AT_ONCE,
    Summarise,
    digest_of,
    drafted,
    length_for,
    name_at,
    told,
    turns_of,
)
from remanence.layers.conversation.segments import Run
from remanence.layers.conversation.telling import MOST, telling
from remanence.layers.conversation.thread import Thread, level_in, told_from
from remanence.model.conversation import Level
from remanence.model.filter import Compare
from remanence.model.memory import MemoryRecord
from remanence.ports.language_model import LanguageModel
from remanence.ports.store import Store
from remanence.remember.lineage import made_of, sources_of
from remanence.remember.zones import Zones
from remanence.text.fences import low_trust
from remanence.text.tokens import count_tokens

ROLL_UP = 4  # so many new segments make a new summary of the conversation worth its while
MODEL = "model"  # in a summary's metadata: the model that wrote it
DECLINED = "declined"  # … and one whose text did not hold, which is not asked again


class Summaries:
    """Finds out which summaries are missing or out of date, and makes them."""

    def __init__(
        self,
        store: Store,
        deriving: Deriving,
        model: LanguageModel | None,
        extract: Summarise,
        zones: Zones,
    ) -> None:
        self._store = store
        self._zones = zones
        self._deriving = deriving
        self._model = model
        self._extract = extract

    def fill(
        self, thread: Thread, oldest: MemoryRecord, *, all_of_it: bool, most: int | None = None
    ) -> list[MemoryRecord]:
        """Summarise what stands before `oldest` and is in no segment; the segments written."""
        runs = islice(gaps(self._store, thread, oldest, all_of_it=all_of_it), most)
        written = [self._segment(thread, run) for run in runs]
        return [record for record in written if record is not None]

    def roll_up(self, thread: Thread) -> MemoryRecord | None:
        """Bring the summary of a conversation up to date, if enough segments are new."""
        current = self.whole(thread)
        if len(list(islice(beside(self._store, thread, current), ROLL_UP))) < ROLL_UP:
            return None
        segments = list(thread.summaries(Level.SEGMENT))[::-1]
        text = self._rolled(current, segments)
        draft = drafted(Level.CONVERSATION, segments, text, level_in(thread))
        if current is not None:
            return self._deriving.rewrite(current, draft.fields, draft.sources)
        session = thread.reach.session_id
        name = f"conversation:{digest_of(thread.reach.user_id, session)}"
        return self._deriving.write(draft, name_at(level_in(thread), name), session)

    def whole(self, thread: Thread) -> MemoryRecord | None:
        """The summary of a conversation, if it has one."""
        return next(thread.summaries(Level.CONVERSATION), None)

    def told(self, thread: Thread) -> str:
        """The rolling summary: that of the conversation and the segments beside it, in short.

        What is trusted by half comes first; what is trusted less is marked, and has what is left
        of the room.
        """
        texts: list[str] = []
        room = MOST
        for level in told_from(thread.levels()):
            there = thread.at(level)
            whole = self.whole(there)
            mark = low_trust(level)
            text = telling(whole, beside(self._store, there, whole), room, mark)
            texts += [text] if text else []
            room -= count_tokens(text)
        return "\n".join(texts)

    def refine(self, record: MemoryRecord, level: Level) -> MemoryRecord | None:
        """Have the model write a summary anew; None if it did so before, or could not.

        Nor if some of what it was made of rests in the archive: the model would not be told it.

        A model that does not answer may be asked again; one whose text did not hold is not.
        """
        told = record.metadata
        if self._model is None or MODEL in told or told.get(DECLINED) == self._model.name:
            return None
        from remanence.layers.conversation.abstractive import abstract

        sources = sources_of(self._store, record)
        turns = turns_of(self._local(sources))
        if not turns or len(sources) < made_of(record):
            return None
        most = length_for(level, turns)
        try:
            text = abstract(self._model, turns, record.text, most)
        except LanguageModelError:
            return None
        if text is None:
            declined = {**told, DECLINED: self._model.name}
            self._deriving.rewrite(record, {"metadata": declined})
            return None
        return self._deriving.rewrite(
            record, {"text": text, "metadata": {**told, MODEL: self._model.name}}
        )

    def _segment(self, thread: Thread, run: Sequence[MemoryRecord]) -> MemoryRecord | None:
        text, trust = told(Level.SEGMENT, self._local(run), self._extract), level_in(thread)
        draft = drafted(Level.SEGMENT, run, text, trust)
        name = name_at(trust, f"segment:{run[0].id}")
        return self._deriving.write(draft, name, run[0].session_id)

    def _rolled(self, current: MemoryRecord | None, segments: Sequence[MemoryRecord]) -> str:
        """The text of a conversation's summary; that of a very long one goes on from the last."""
        if current is None or len(segments) <= AT_ONCE:
            return told(Level.CONVERSATION, self._local(segments), self._extract)
        known = {source.id for source in sources_of(self._store, current)}
        new = [segment for segment in segments if segment.id not in known]
        return told(Level.CONVERSATION, self._local(new), self._extract, current.text)

    def _local(self, records: Sequence[MemoryRecord]) -> list[MemoryRecord]:
        return [self._zones.local(record) for record in records]


def coming(store: Store, thread: Thread, oldest: MemoryRecord) -> tuple[list[Run], bool]:
    """The segments that are still to be made before `oldest`, and if the whole is told anew."""
    runs = gaps(store, thread, oldest, all_of_it=True)
    whole = next(thread.summaries(Level.CONVERSATION), None)
    new = len(runs) + len(list(islice(beside(store, thread, whole), ROLL_UP)))
    return runs, new >= ROLL_UP


def beside(store: Store, thread: Thread, whole: MemoryRecord | None) -> Iterator[MemoryRecord]:
    """The segments that are not in the summary of the conversation, newest first."""
    if whole is None:
        return thread.summaries(Level.SEGMENT)
    after = Compare("happened_at", "gt", whole.happened_at, field=True)
    newer = list(thread.summaries(Level.SEGMENT, after))
    if thread.count_summaries(Level.SEGMENT) == made_of(whole) + len(newer):
        return iter(newer)
    known = {source.id for source in sources_of(store, whole)}
    return (s for s in thread.summaries(Level.SEGMENT) if s.id not in known)
