"""The verbs that look after a store: figures, vectors, checks, copies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from remanence.model.stats import Stats
from remanence.operations.operation import Answer, Group, Operation, Scoping, for_long, given
from remanence.operations.responses import Copied, Count, Examination, Freed

if TYPE_CHECKING:
    from remanence.memory import Memory
    from remanence.ports.store import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """No arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doctor:
    """Whether to mend what is found."""

    repair: bool = given("mend what can be mended", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """Where the copy goes."""

    target: Path = given("the file to write", ..., positional=True)
    overwrite: bool = given("replace a file that is there already", False)


def _stats(memory: Memory, request: Nothing) -> Stats:
    return memory.stats()


def _reembed(memory: Memory, request: Nothing, progress: Progress | None) -> Count:
    return Count(count=memory.reembed(progress))


def _reindex(memory: Memory, request: Nothing, progress: Progress | None) -> Count:
    return Count(count=memory.reindex(progress))


def _compact(memory: Memory, request: Nothing) -> Freed:
    return Freed(bytes=memory.compact())


def _doctor(memory: Memory, request: Doctor) -> Examination:
    findings = memory.doctor(repair=request.repair)
    healthy = all(each.problems <= each.repaired for each in findings)
    return Examination(healthy=healthy, findings=tuple(findings))


def _backup(memory: Memory, request: Backup, progress: Progress | None) -> Copied:
    path = memory.backup(request.target, progress, overwrite=request.overwrite)
    return Copied(path=path, bytes=path.stat().st_size)


CARING = (
    Operation(
        name="stats",
        summary="Show counts, growth and sizes.",
        group=Group.CARE,
        request=Nothing,
        response=Stats,
        run=_stats,
        writes=False,
        scope=Scoping.TENANT,
        answers=Answer.FIGURES,
    ),
    Operation(
        name="doctor",
        summary="Check the store against itself.",
        group=Group.CARE,
        request=Doctor,
        response=Examination,
        run=_doctor,
        writes=True,
        scope=Scoping.STORE,
        listing="findings",
        answers=Answer.FIGURES,
        lasts=for_long,
    ),
    Operation(
        name="reembed",
        summary="Give every memory vectors of the present embedder.",
        group=Group.CARE,
        request=Nothing,
        response=Count,
        run=_reembed,
        writes=True,
        scope=Scoping.TENANT,
        reports=True,
        answers=Answer.FIGURES,
    ),
    Operation(
        name="reindex",
        summary="Make the vector index anew from the store.",
        group=Group.CARE,
        request=Nothing,
        response=Count,
        run=_reindex,
        writes=True,
        scope=Scoping.STORE,
        reports=True,
        answers=Answer.FIGURES,
    ),
    Operation(
        name="compact",
        summary="Rewrite the store, so that no byte of what was erased stays in it.",
        group=Group.CARE,
        request=Nothing,
        response=Freed,
        run=_compact,
        writes=True,
        scope=Scoping.STORE,
        answers=Answer.FIGURES,
        lasts=for_long,
    ),
    Operation(
        name="backup",
        summary="Copy the whole store into one file while it is in use.",
        group=Group.CARE,
        request=Backup,
        response=Copied,
        run=_backup,
        writes=False,
        scope=Scoping.STORE,
        reports=True,
        answers=Answer.FIGURES,
    ),
)
