"""Adapters: the folder of each with what it was made from, and the documents that name them."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import convert, json, to_builtins

from remanence.consolidation.learning.lora.files import CHECKPOINT, write_whole
from remanence.consolidation.learning.lora.models import BeforeAndAfter, LossScore
from remanence.errors import Conflict, NotFound
from remanence.model.document import Address, Document, Put, Shelf
from remanence.model.ports.store import Documents
from remanence.model.scope import Reach

MANIFEST = "remanence.json"
WEIGHTS = "adapter_model.safetensors"
CONFIG = "adapter_config.json"
SCRATCH = ".saving"
_SHOWN = ("learnt", "memories", "facts")
_IDS = ("new", "old", *_SHOWN)
DRAFTS = tuple(f".{name}.draft" for name in (MANIFEST, WEIGHTS, CONFIG, CHECKPOINT))


class AdapterState(StrEnum):
    """How an adapter stands. Only `ready` has weights to load."""

    TRAINING = "training"
    READY = "ready"
    UNLEARNT = "unlearnt"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterManifest:
    """What an adapter is: its run, its model, what it learnt from. It holds ids, never a text.

    `run` is a digest of everything that decides the result. `learnt` are all examples it was ever
    shown; they, `memories` and `facts` include those of the adapters it goes on from, for what
    they learnt is in it too.
    """

    run: str
    state: AdapterState
    base: str
    base_sha256: str
    recipe: Mapping[str, float]
    new: tuple[str, ...] = ()
    old: tuple[str, ...] = ()
    learnt: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    before: Mapping[str, LossScore | None] = field(default_factory=dict)
    after: Mapping[str, LossScore | None] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def figures(self) -> BeforeAndAfter:
        """How well it knows them, before and after."""
        new = self.before.get("new"), self.after.get("new")
        if new[0] is None or new[1] is None:
            raise NotFound("This adapter was never finished; train it again to have figures.")
        return BeforeAndAfter(
            new_before=new[0],
            new_after=new[1],
            old_before=self.before.get("old"),
            old_after=self.after.get("old"),
        )


def read_manifest(folder: Path) -> AdapterManifest | None:
    """What a folder says of itself; None if it says nothing that is ours."""
    with suppress(OSError, ValueError):
        return json.decode((folder / MANIFEST).read_bytes(), type=AdapterManifest)
    return None


def write_manifest(folder: Path, manifest: AdapterManifest) -> None:
    """Put it in place of what the folder said before."""
    write_whole(folder / MANIFEST, json.format(json.encode(manifest), indent=1))


def claim(folder: Path, run: str) -> AdapterManifest | None:
    """Make the folder this run's: what it said of the run before, None for a new one.

    What an unfinished run left is cleared away; `Conflict` if there is anything else.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = read_manifest(folder)
    if found is None:
        if {one.name for one in folder.iterdir()} - {*DRAFTS, CHECKPOINT, SCRATCH}:
            raise Conflict(f"{folder} holds something else; give an empty folder or a new one.")
        return None
    if found.state is AdapterState.READY and found.run != run:
        raise Conflict(f"{folder} holds another adapter; give an empty folder or a new one.")
    if found.run == run and found.state is not AdapterState.UNLEARNT:
        return found
    clear(folder)
    return None


def clear(folder: Path) -> None:
    """Remove the files that are ours, the manifest last."""
    _clear_weights(folder)
    (folder / MANIFEST).unlink(missing_ok=True)


def withdraw(folder: Path, run: str) -> bool:
    """Delete the weights of a run and all that was kept of its training; whether it was there.

    What is left says that it was unlearnt. A folder that is another run's by now stays as it is.
    """
    found = read_manifest(folder)
    if found is None or found.run != run:
        return False
    bare: dict[str, Any] = {**dict.fromkeys(_IDS, ()), "before": {}, "after": {}}
    write_manifest(folder, replace(found, state=AdapterState.UNLEARNT, **bare))
    _clear_weights(folder)
    return True


def _clear_weights(folder: Path) -> None:
    for name in (WEIGHTS, CHECKPOINT, CONFIG, *DRAFTS):
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / SCRATCH, ignore_errors=True)


KIND = "lora"


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedAdapter:
    """An adapter that was made here. `weights_deleted` says so of one that was unlearnt."""

    name: str
    state: AdapterState
    folder: Path
    run: str
    base: str
    base_sha256: str
    learnt: frozenset[str] = frozenset()
    memories: frozenset[str] = frozenset()
    facts: frozenset[str] = frozenset()
    figures: dict[str, Any] | None = None
    weights_deleted: bool
    user_id: str | None
    updated_at: datetime
    version: int


class Registry:
    """The adapters of one tenant, each known by its folder."""

    def __init__(self, store: Documents, tenant: str) -> None:
        self._store = store
        self._tenant = tenant

    def at(self, folder: Path, user_id: str | None) -> TunedAdapter | None:
        """The adapter of a folder, if it is known."""
        found = self._store.get(self._tenant, [_address(folder, user_id)])
        return _adapter(found[0]) if found else None

    def all(self, reach: Reach) -> Iterator[TunedAdapter]:
        """Adapters in reach, the one last changed first."""
        found = [
            one
            for one in self._store.walk_shelf(reach, Shelf.ADAPTER)
            if one.value.get("kind") == KIND
        ]
        found.sort(key=lambda one: one.updated_at, reverse=True)
        yield from map(_adapter, found)

    def note(
        self,
        folder: Path,
        user_id: str | None,
        manifest: AdapterManifest,
        at: datetime,
        expected: int,
        figures: BeforeAndAfter | None = None,
    ) -> int:
        """Say how the folder's adapter stands; its new version, or `Conflict` if another said."""
        ids = {name: sorted(getattr(manifest, name)) for name in _SHOWN}
        told = to_builtins(figures)
        put = _put(
            folder, user_id, at, expected, manifest, figures=told, weights_deleted=False, **ids
        )
        return self._store.put(self._tenant, [put])[0].version

    def unlearn(self, ids: Collection[str], at: datetime) -> int:
        """Delete the weights of every adapter that learnt from one of these; how many.

        A training that is under way finds out at its next step. Done again, it does no harm.
        """
        wanted, reach = frozenset(ids), Reach(tenant=self._tenant, all_users=True)
        learnt = [one for one in self.all(reach) if wanted & (one.memories | one.facts)]
        for one in learnt:
            self._withdraw(one, at)
        return len(learnt)

    def _withdraw(self, adapter: TunedAdapter, at: datetime) -> None:
        now: TunedAdapter | None = adapter
        while now is not None and now.state is not AdapterState.UNLEARNT:
            bare = replace(now, state=AdapterState.UNLEARNT)
            deleted = withdraw(now.folder, now.run)
            put = _put(now.folder, now.user_id, at, now.version, bare, weights_deleted=deleted)
            with suppress(Conflict):
                self._store.put(self._tenant, [put])
                return
            now = self.at(adapter.folder, adapter.user_id)


def _put(
    folder: Path,
    user_id: str | None,
    at: datetime,
    expected: int,
    told: AdapterManifest | TunedAdapter,
    **more: Any,
) -> Put:
    what = {name: str(getattr(told, name)) for name in ("state", "run", "base", "base_sha256")}
    value = {"kind": KIND, "folder": str(folder), **what, **more}
    return Put(address=_address(folder, user_id), value=value, at=at, expected=expected)


def _address(folder: Path, user_id: str | None) -> Address:
    name = f"{KIND}-{sha256(str(folder).encode()).hexdigest()[:16]}"
    return Address(shelf=Shelf.ADAPTER, name=name, user_id=user_id)


def _adapter(document: Document) -> TunedAdapter:
    own = {"name": document.address.name, "user_id": document.address.user_id}
    stands = {"updated_at": document.updated_at, "version": document.version}
    return convert(
        {**document.value, **own, **stands}, TunedAdapter, dec_hook=lambda kind, value: kind(value)
    )
