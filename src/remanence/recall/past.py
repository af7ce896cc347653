"""The past: a partition's memories as they stood at a moment, where recall would read them now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from remanence.errors import NotFound
from remanence.language.languages import index_terms
from remanence.language.traits import flags, said_days
from remanence.language.words import terms
from remanence.model.embedding import Fingerprint
from remanence.model.filter import Compare, Filter, satisfies
from remanence.model.memory import MemoryRecord, as_known
from remanence.model.ports.pieces import StoredPieces
from remanence.model.ports.store import Keys, Store, Trait
from remanence.recall.columns import changed
from remanence.recall.conditions import microseconds
from remanence.recall.postings import KnownPostings
from remanence.recall.views import View


@dataclass(frozen=True, slots=True, eq=False)
class _Then:
    """What changed in a partition since: the memories as they were, and those told otherwise."""

    records: dict[int, MemoryRecord]
    touched: Keys  # changed since, whether they were there then or not
    retold: Keys  # whose texts were others


class Past:
    """Answers what a search reads as of a moment; what was erased since is gone from it too.

    Memories whose text was another one then have no vectors: they are found by their words of
    then. Use counts, links and what the names of a question lead to are those of now.
    """

    def __init__(self, source: Store, moment: datetime) -> None:
        self._source = source
        self._moment = moment
        self._then: dict[int, _Then] = {}

    def view(self, partition: int, now: View) -> View:
        """The partition's columns as they were, from those of now."""
        then, columns = self._of(partition), now.columns
        later = columns.key[columns.created > microseconds(self._moment)]
        gone = np.union1d(then.touched, later)
        if not len(gone):
            return now
        columns = changed(columns, gone.tolist(), self.traits(partition), apart=True)
        return replace(now, columns=columns, postings=KnownPostings(columns, columns.nbytes))

    def traits(self, partition: int) -> Iterator[Trait]:
        """The traits that changed memories had."""
        then = self._of(partition)
        for trait in self._source.recall.traits(partition, list(then.records)):
            yield _trait_of(trait, then.records[trait.key], retold=trait.key in then.retold)

    def retold(self, partition: int) -> Keys:
        """The memories whose vectors are not those of their texts of then, ascending."""
        return self._of(partition).retold

    def keys(self, partition: int, where: Filter) -> Keys:
        """Keys of the memories that satisfied the filter, ascending."""
        then = self._of(partition)
        fitting = [key for key, record in then.records.items() if satisfies(record, where)]
        unchanged = np.setdiff1d(self._source.recall.keys(partition, where), then.touched)
        return np.union1d(unchanged, np.array(fitting, np.int64))

    def postings(self, partition: int, terms: Sequence[str], most: int) -> list[Keys | None]:
        """The keys whose texts of then hold each term."""
        found, then = self._source.recall.postings(partition, terms, most), self._of(partition)
        if not len(then.retold):
            return found
        told = self._told(then)
        return [
            None if keys is None else _retold(keys, then.retold, told.get(term, []))
            for term, keys in zip(terms, found, strict=True)
        ]

    def pieces(self, fingerprint: Fingerprint, partition: int, keys: Sequence[int]) -> StoredPieces:
        """The pieces of memories whose texts are the same today."""
        known = np.setdiff1d(np.array(keys, np.int64), self.retold(partition))
        return self._source.vectors.pieces(fingerprint, partition, known.tolist())

    def records(self, partition: int, keys: Sequence[int]) -> dict[int, MemoryRecord]:
        """The memories as they were; those that were not there yet are left out."""
        then = self._of(partition).records
        fresh = self._source.recall.records(partition, [key for key in keys if key not in then])
        found = {key: self._as_known(record) for key, record in fresh.items()}
        found |= {key: then[key] for key in keys if key in then}
        return {key: record for key, record in found.items() if record is not None}

    def _of(self, partition: int) -> _Then:
        if partition not in self._then:
            self._then[partition] = self._read(partition)
        return self._then[partition]

    def _read(self, partition: int) -> _Then:
        since = Compare("updated_at", "gt", self._moment, field=True)
        touched = self._source.recall.keys(partition, since)
        records, retold = {}, []
        for key, record in self._source.recall.records(partition, touched.tolist()).items():
            then = self._as_known(record)
            if then is not None:
                records[key] = then
                if then.text != record.text:
                    retold.append(key)
        return _Then(records, touched, np.array(sorted(retold), np.int64))

    def _as_known(self, record: MemoryRecord) -> MemoryRecord | None:
        if record.updated_at <= self._moment:
            return record
        if record.created_at <= self._moment:
            with suppress(NotFound):  # erased just now
                history = self._source.archive.history(record.tenant, record.id)
                return as_known(record, history, self._moment)
        return None

    def _told(self, then: _Then) -> dict[str, list[int]]:
        """The keys by the terms of their texts of then, once per occurrence."""
        told: dict[str, list[int]] = {}
        for key in then.retold.tolist():
            for term in index_terms(then.records[key].text):
                told.setdefault(term, []).append(key)
        return told


def _retold(keys: Keys, without: Keys, told: list[int]) -> Keys:
    kept = keys[~np.isin(keys, without)]
    return np.sort(np.concatenate([kept, np.array(told, np.int64)]))


def _trait_of(now: Trait, then: MemoryRecord, *, retold: bool) -> Trait:
    happened = microseconds(then.happened_at)
    trait = now._replace(
        speaker=then.speaker,
        role=then.role,
        kind=str(then.kind),
        state=str(then.state),
        happened=happened,
        importance=then.importance,
        trust=then.trust,
    )
    if not retold and happened == now.happened:
        return trait
    said_from, said_to = said_days(then.text, then.happened_at)
    return trait._replace(
        terms=len(terms(then.text)),
        characters=len(then.text),
        flags=flags(then.text),
        said_from=said_from,
        said_to=said_to,
    )
