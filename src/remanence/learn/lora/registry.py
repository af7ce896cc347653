"""Which adapters there are: a document each, so that erasing a memory finds what learnt it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from remanence.errors import Conflict
from remanence.learn.lora.evaluating import Figures
from remanence.learn.lora.manifest import AdapterState, Manifest, withdraw
from remanence.model.document import Address, Document, Put, Shelf
from remanence.model.scope import Reach
from remanence.ports.store import Documents

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
    learnt: frozenset[str]
    memories: frozenset[str]
    facts: frozenset[str]
    figures: dict[str, Any] | None
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
        found = self._store.documents(self._tenant, [_address(folder, user_id)])
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
        manifest: Manifest,
        at: datetime,
        expected: int,
        figures: Figures | None = None,
    ) -> int:
        """Say how the folder's adapter stands; its new version, or `Conflict` if another said."""
        value = {
            "kind": KIND,
            "state": str(manifest.state),
            "folder": str(folder),
            "run": manifest.run,
            "base": manifest.base,
            "base_sha256": manifest.base_sha256,
            "learnt": sorted(manifest.learnt),
            "memories": sorted(manifest.memories),
            "facts": sorted(manifest.facts),
            "figures": None if figures is None else asdict(figures),
            "weights_deleted": False,
        }
        put = Put(address=_address(folder, user_id), value=value, at=at, expected=expected)
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
            deleted = withdraw(now.folder, now.run)
            with suppress(Conflict):
                self._store.put(self._tenant, [_unlearnt(now, at, deleted)])
                return
            now = self.at(adapter.folder, adapter.user_id)


def _unlearnt(adapter: TunedAdapter, at: datetime, deleted: bool) -> Put:
    value = {
        "kind": KIND,
        "state": str(AdapterState.UNLEARNT),
        "folder": str(adapter.folder),
        "run": adapter.run,
        "base": adapter.base,
        "base_sha256": adapter.base_sha256,
        "weights_deleted": deleted,
    }
    address = _address(adapter.folder, adapter.user_id)
    return Put(address=address, value=value, at=at, expected=adapter.version)


def _address(folder: Path, user_id: str | None) -> Address:
    name = f"{KIND}-{sha256(str(folder).encode()).hexdigest()[:16]}"
    return Address(shelf=Shelf.ADAPTER, name=name, user_id=user_id)


def _adapter(document: Document) -> TunedAdapter:
    told = document.value
    return TunedAdapter(
        name=document.address.name,
        state=AdapterState(told["state"]),
        folder=Path(told["folder"]),
        run=told["run"],
        base=told["base"],
        base_sha256=told["base_sha256"],
        learnt=frozenset(told.get("learnt", ())),
        memories=frozenset(told.get("memories", ())),
        facts=frozenset(told.get("facts", ())),
        figures=told.get("figures"),
        weights_deleted=bool(told["weights_deleted"]),
        user_id=document.address.user_id,
        updated_at=document.updated_at,
        version=document.version,
    )
