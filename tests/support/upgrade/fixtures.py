"""The files of a fixture: packed when a version writes them, unpacked whenever they are opened."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any

import zstandard

from remanence.api.memory import Memory
from remanence.model.clock import FixedClock
from support.upgrade.calls import Call, differences

DATABASE = "memory.db"
BESIDE = ("", ".erasures", ".index")  # what lies beside a database, by the end of its name
KEY = "the key of the fixture, of no secret"
LEVEL = 19
WAITING = "answer.pending"  # whoever has another encoder makes all vectors anew


def pack_database(folder: Path, name: str) -> None:
    """Keep the database of the working directory, with what lies beside it."""
    for end in BESIDE:
        if (source := Path(f"{DATABASE}{end}")).exists():
            pack(source, folder / f"{name}{end}.zst")


def pack(source: Path, target: Path) -> None:
    """Compress a file."""
    target.write_bytes(zstandard.ZstdCompressor(level=LEVEL).compress(source.read_bytes()))


def content(packed: Path) -> bytes:
    """What a compressed file holds."""
    return zstandard.ZstdDecompressor().decompress(packed.read_bytes())


def unpack_database(folder: Path, into: Path, name: str = "sqlite") -> Path:
    """The database, with what lay beside it, as it was left."""
    for end in BESIDE:
        packed = folder / f"{name}{end}.zst"
        if packed.exists():
            (into / f"{DATABASE}{end}").write_bytes(content(packed))
    return into / DATABASE


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a version said of a store when it had written it."""

    at: datetime
    settings: Mapping[str, Any]
    notes: Mapping[str, Any]
    searches: tuple[Mapping[str, Any], ...]
    calls: tuple[tuple[Call, Any], ...]

    @classmethod
    def read(cls, packed: Path) -> Manifest:
        """The manifest of a packed file."""
        told = json.loads(content(packed))
        return cls(
            datetime.fromisoformat(told["at"]),
            told["settings"],
            told["notes"],
            tuple(told["searches"]),
            tuple((_call(one), one["answer"]) for one in told["calls"]),
        )

    @contextmanager
    def opened(self, database: str | Path, **settings: Any) -> Iterator[Memory]:
        """The store at the moment at which it was left."""
        with Memory(database, clock=FixedClock(self.at), **{**self.settings, **settings}) as memory:
            yield memory

    def lost(self, memory: Memory, *, tenant: str | None = None) -> list[str]:
        """What is not as it was, of all or, with a tenant, of what an export of it carries."""
        return [
            f"{call.tenant}: {call.verb}({dict(call.arguments)}): {one}"
            for call, answer in self.calls
            if tenant is None or (call.exported and call.tenant == tenant)
            for one in differences(answer, call.answer(memory))
            if not (call.verb == "stats" and one.startswith(WAITING))
        ]

    def missed(self, memory: Memory, *, tenant: str | None = None) -> list[str]:
        """Searches that do not find what they must, with the vectors of today's encoder."""
        for name in {one["tenant"] for one in self.searches}:
            memory.for_tenant(name).reembed()
        return [
            f"{one['arguments']['query']!r} does not find {one['id']}"
            for one in self.searches
            if tenant in (None, one["tenant"]) and not _finds(memory, one)
        ]


def _finds(memory: Memory, search: Mapping[str, Any]) -> bool:
    hits = memory.for_tenant(search["tenant"]).search(**search["arguments"], limit=3)
    return search["id"] in [hit.memory.id for hit in hits[: search["within"]]]


def _call(told: Mapping[str, Any]) -> Call:
    values = {one.name: told[one.name] for one in fields(Call)}
    return Call(**values | {"keep": tuple(values["keep"])})
