"""Receipts of erasures: as documents, as plain values, signed and checked, in a file."""

from __future__ import annotations

import builtins
import hmac
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from remanence.errors import InvalidInput, NotFound, StoreError
from remanence.model.document import Address, Discard, Document, Put, Shelf, Shelving
from remanence.model.erasure import By, Erasure, ErasureRequest, Stage
from remanence.model.ports.store import Store
from remanence.model.query import check_limit, check_offset
from remanence.model.scope import Reach
from remanence.model.system.files import BINARY, read_at
from remanence.model.system.locks import wait_alone
from remanence.model.validation import id_of, moment_of

# Whose documents they are: those of no agent are receipts.
BEGUN = "begun"
IDS = "ids"
CHUNK = 20_000  # ids in one document

SUFFIX = ".erasures"


class Erasures:
    """The receipts of a tenant's erasures: listed, read, verified."""

    def __init__(self, store: Store, tenant: str) -> None:
        self._store = store
        self._tenant = tenant

    def list(self, *, limit: int = 100, offset: int = 0) -> builtins.list[Erasure]:
        """Receipts, the latest first; those of erasures that were cut off come before all."""
        check_limit(limit)
        check_offset(offset)
        cut_off = [] if offset else begun(self._store, self._tenant)
        shelved = self._store.documents.shelved(
            Reach(tenant=self._tenant), Shelf.ERASURE, agents=[None], limit=limit, offset=offset
        )
        return [*cut_off, *(_whole(self._store, self._tenant, one) for one in shelved)]

    def get(self, id: str) -> Erasure:
        """The receipt with this id; `NotFound` if there is none here."""
        wanted = id_of(id)
        for agent in (None, BEGUN):
            found = self._store.documents.get(self._tenant, [_address(wanted, agent)])
            if found:
                return _whole(self._store, self._tenant, found[0])
        raise NotFound(f"There is no receipt {wanted} here; `erasures.list()` has those there are.")

    def verify(self, receipt: Erasure | Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> bool:
        """Whether this store, or one that it was restored from, gave exactly this receipt.

        Several are what `rem erasures get ID --json` writes, with or without its envelope.
        """
        if isinstance(receipt, Erasure | Mapping):
            return self._is_own(receipt)
        shown = [one["data"] if one.keys() == {"ok", "data"} else one for one in receipt]
        if not shown:
            raise InvalidInput("There is no receipt: pass what `rem erasures get ID --json` wrote.")
        return all(map(self._is_own, shown))

    def _is_own(self, receipt: Erasure | Mapping[str, Any]) -> bool:
        try:
            told = receipt if isinstance(receipt, Erasure) else receipt_of(receipt)
        except InvalidInput:
            return False
        return told.tenant == self._tenant and is_signed(self._store, told)


def begun(store: Store, tenant: str) -> list[Erasure]:
    """The tenant's erasures that were begun here and not completed, the latest first.

    One that this store has not signed came from elsewhere, and nothing is erased for it.
    """
    found = store.documents.walk_shelf(Reach(tenant=tenant), Shelf.ERASURE, agents=[BEGUN])
    return sorted(_own(store, tenant, list(found)), key=lambda one: one.at, reverse=True)


def every(store: Store, tenant: str) -> Iterator[Erasure]:
    """Every receipt of the tenant that the store has signed, completed or not."""
    yield from begun(store, tenant)
    for one in store.documents.walk_shelf(Reach(tenant=tenant), Shelf.ERASURE, agents=[None]):
        yield from _own(store, tenant, [one])


def is_known(store: Store, receipt: Erasure) -> bool:
    """Whether the store knows of that erasure, completed or not."""
    places = [_address(receipt.id), _address(receipt.id, BEGUN)]
    found = store.documents.get(receipt.tenant, places)
    return bool(_own(store, receipt.tenant, found))


def shelving(receipt: Erasure) -> list[Shelving]:
    """The documents of a receipt, or of an erasure that is under way; then its beginning goes."""
    ids = [receipt.ids[at : at + CHUNK] for at in range(0, len(receipt.ids), CHUNK)]
    head = told_of(receipt) | {"ids": ids[0] if ids else (), "more": len(ids[1:])}
    begins = _address(receipt.id, BEGUN)
    done = receipt.status is Stage.COMPLETED
    return [
        *([Discard(address=begins)] if done else []),
        Put(address=_address(receipt.id) if done else begins, value=head, at=receipt.at),
        *(
            Put(address=_address(f"{receipt.id}.{number}", IDS), value={"ids": some}, at=receipt.at)
            for number, some in enumerate(ids[1:], start=1)
        ),
    ]


def signed(store: Store, receipt: Erasure) -> Erasure:
    """The receipt with the store's signature."""
    return replace(receipt, signature=store.upkeep.sign(_canonical(receipt)).hex())


def is_signed(store: Store, receipt: Erasure) -> bool:
    """Whether its signature is the store's."""
    wanted = store.upkeep.sign(_canonical(receipt)).hex()
    return receipt.signature is not None and hmac.compare_digest(
        wanted.encode(), receipt.signature.encode()
    )


def told_of(receipt: Erasure) -> dict[str, Any]:
    """A receipt as plain values, for a document or a file."""
    told = asdict(receipt)
    told["asked"]["by"] = receipt.asked.by.value
    return told | {"at": receipt.at.isoformat(), "status": receipt.status.value}


def receipt_of(told: Mapping[str, Any]) -> Erasure:
    """The receipt of such values, or `InvalidInput`."""
    try:
        values = {name: value for name, value in told.items() if name != "more"}
        asked = dict(values.pop("asked"))
        names = tuple(map(_text, asked.pop("filters", ())))
        return Erasure(
            asked=ErasureRequest(**asked | {"by": By(asked["by"]), "filters": names}),
            at=moment_of("at", values.pop("at")),
            status=Stage(values.pop("status")),
            ids=tuple(map(_text, values.pop("ids"))),
            remains=tuple(map(_text, values.pop("remains"))),
            counts={_text(name): _count(n) for name, n in values.pop("counts").items()},
            **{name: _text_or_none(value) for name, value in values.items()},  # type: ignore[arg-type]
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(
            "That is no receipt of an erasure; give one as it was exported."
        ) from error


def _own(store: Store, tenant: str, documents: Sequence[Document]) -> list[Erasure]:
    told = (_whole(store, tenant, one) for one in documents)
    return [one for one in told if one.tenant == tenant and is_signed(store, one)]


def _whole(store: Store, tenant: str, document: Document) -> Erasure:
    receipt = receipt_of(document.value)
    more = range(1, int(document.value.get("more", 0)) + 1)
    rest = store.documents.get(tenant, [_address(f"{receipt.id}.{n}", IDS) for n in more])
    ids: Sequence[str] = [id for one in rest for id in one.value["ids"]]
    return replace(receipt, ids=(*receipt.ids, *ids))


def _address(name: str, agent: str | None = None) -> Address:
    return Address(shelf=Shelf.ERASURE, name=name, agent_id=agent)


def _canonical(receipt: Erasure) -> bytes:
    told = told_of(replace(receipt, signature=None))
    return json.dumps(told, sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode()


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _text_or_none(value: object) -> str | None:
    return None if value is None else _text(value)


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(value)
    return value


class Tombstones:
    """A line for every erasure, of all tenants; only the owner may read the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, receipt: Erasure) -> None:
        """Write a receipt, for good."""
        line = json.dumps(told_of(receipt), ensure_ascii=False).encode() + b"\n"
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY, 0o600)
            try:
                wait_alone(file)
                _write(file, line)
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise StoreError(
                f"{self.path} cannot be written ({error}); make room or check its rights, "
                "then erase again."
            ) from error

    def read(self) -> list[Erasure]:
        """Every receipt once, the latest of each id; a line that was cut off is passed over."""
        return list({receipt.id: receipt for receipt in self._lines()}.values())

    def last(self) -> Erasure | None:
        """The receipt that was written last."""
        lines = self._content().splitlines()
        return next((one for one in map(_parsed, reversed(lines)) if one is not None), None)

    def _lines(self) -> Iterator[Erasure]:
        parsed = map(_parsed, self._content().splitlines())
        return (one for one in parsed if one is not None)

    def _content(self) -> bytes:
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise StoreError(f"{self.path} cannot be read ({error}); check its rights.") from error


def read_receipts(path: Path) -> list[Erasure]:
    """Receipts that were exported: a JSON list, or a receipt on each line."""
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} holds no receipts ({error}); check the path.") from error
    try:
        lines = [line for line in content.splitlines() if line.strip()]
        listed = content.lstrip().startswith("[")
        told = json.loads(content) if listed else [json.loads(line) for line in lines]
    except ValueError as error:
        raise InvalidInput(f"{path} is not JSON ({error}); give receipts as exported.") from error
    return [receipt_of(one) for one in told]


def _parsed(line: bytes) -> Erasure | None:
    try:
        return receipt_of(json.loads(line))
    except ValueError:
        return None


def _write(file: int, line: bytes) -> None:
    size = os.fstat(file).st_size
    if size and read_at(file, 1, size - 1) != b"\n":
        line = b"\n" + line
    while line:
        line = line[os.write(file, line) :]
