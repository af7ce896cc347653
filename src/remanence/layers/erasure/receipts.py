"""Receipts of erasures: as documents, as plain values, signed and checked."""

from __future__ import annotations

import builtins
import hmac
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from remanence.errors import InvalidInput, NotFound
from remanence.model.accept import id_of, moment_of
from remanence.model.document import Address, Discard, Document, Put, Shelf, Shelving
from remanence.model.erasure import Asked, By, Erasure, Stage
from remanence.model.query import check_limit, check_offset
from remanence.model.scope import Reach
from remanence.ports.store import Store

# Whose documents they are: those of no agent are receipts.
BEGUN = "begun"
IDS = "ids"
CHUNK = 20_000  # ids in one document


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
        shelved = self._store.shelved(
            Reach(tenant=self._tenant), Shelf.ERASURE, agents=[None], limit=limit, offset=offset
        )
        return [*cut_off, *(_whole(self._store, self._tenant, one) for one in shelved)]

    def get(self, id: str) -> Erasure:
        """The receipt with this id; `NotFound` if there is none here."""
        wanted = id_of(id)
        for agent in (None, BEGUN):
            found = self._store.documents(self._tenant, [_address(wanted, agent)])
            if found:
                return _whole(self._store, self._tenant, found[0])
        raise NotFound(f"There is no receipt {wanted} here; `erasures.list()` has those there are.")

    def verify(self, receipt: Erasure | Mapping[str, Any]) -> bool:
        """Whether this store, or one that it was restored from, gave exactly this receipt."""
        try:
            told = receipt if isinstance(receipt, Erasure) else receipt_of(receipt)
        except InvalidInput:
            return False
        return told.tenant == self._tenant and is_signed(self._store, told)


def begun(store: Store, tenant: str) -> list[Erasure]:
    """The tenant's erasures that were begun here and not completed, the latest first.

    One that this store has not signed came from elsewhere, and nothing is erased for it.
    """
    found = store.walk_shelf(Reach(tenant=tenant), Shelf.ERASURE, agents=[BEGUN])
    return sorted(_own(store, tenant, list(found)), key=lambda one: one.at, reverse=True)


def every(store: Store, tenant: str) -> Iterator[Erasure]:
    """Every receipt of the tenant that the store has signed, completed or not."""
    yield from begun(store, tenant)
    for one in store.walk_shelf(Reach(tenant=tenant), Shelf.ERASURE, agents=[None]):
        yield from _own(store, tenant, [one])


def is_known(store: Store, receipt: Erasure) -> bool:
    """Whether the store knows of that erasure, completed or not."""
    places = [_address(receipt.id), _address(receipt.id, BEGUN)]
    found = store.documents(receipt.tenant, places)
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
    return replace(receipt, signature=store.sign(_canonical(receipt)).hex())


def is_signed(store: Store, receipt: Erasure) -> bool:
    """Whether its signature is the store's."""
    wanted = store.sign(_canonical(receipt)).hex()
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
            asked=Asked(**asked | {"by": By(asked["by"]), "filters": names}),
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
    rest = store.documents(tenant, [_address(f"{receipt.id}.{n}", IDS) for n in more])
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
