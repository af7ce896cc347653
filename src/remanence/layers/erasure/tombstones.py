"""Receipts in a file beside the database: what was erased stays known when the database is lost."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from remanence.errors import InvalidInput, StoreError
from remanence.layers.erasure.receipts import receipt_of, told_of
from remanence.model.erasure import Erasure
from remanence.system.files import BINARY, read_at
from remanence.system.locks import wait_alone

SUFFIX = ".erasures"


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
        told = json.loads(content) if content.lstrip().startswith("[") else _each(content)
    except ValueError as error:
        raise InvalidInput(f"{path} is not JSON ({error}); give receipts as exported.") from error
    return [receipt_of(one) for one in told]


def _each(content: str) -> list[Any]:
    return [json.loads(line) for line in content.splitlines() if line.strip()]


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
