"""JSON values out of a stream, one at a time: a large array is never held whole."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import Any, NoReturn

from remanence.errors import InvalidInput
from remanence.transfer.chat.files import Readable

CHUNK = 1 << 20
MAX_VALUE = 64 << 20  # characters; the longest conversation known to anybody is a tenth of it
ESCAPE = 6  # characters of the longest
NEAR = 16  # a literal or an escape that the end of a chunk cut in two is no longer than that

_SPACE = " \t\r\n"
_WORDS = ("true", "false", "null", "-")


class Values:
    """The items of a JSON array, or JSON values one after the other, from a stream of UTF-8.

    `InvalidInput` says where the stream is not JSON; what came before it has been given.
    """

    def __init__(self, file: Readable) -> None:
        self._file = file
        self._bytes = codecs.getincrementaldecoder("utf-8-sig")()
        self._json = json.JSONDecoder(parse_constant=_refused)
        self._held = ""
        self._at = 0
        self._before = 0  # characters let go of
        self._read = 0
        self._ended = False
        self._given = False

    def __iter__(self) -> Iterator[Any]:
        first = self._next()
        if not first:
            raise InvalidInput("The file is empty; there is nothing to import.")
        if first != "[":
            while self._next():
                yield self._value()
            return
        self._at += 1
        yield from self._items()
        if self._next():
            raise self._no_json("something follows the end of the list")

    @property
    def read(self) -> int:
        """About how many bytes the values given so far took."""
        seen = self._before + len(self._held)
        return self._read * (self._before + self._at) // seen if seen else 0

    def _items(self) -> Iterator[Any]:
        if self._next() != "]":
            yield self._value()
            while self._next() == ",":
                self._at += 1
                self._next()
                yield self._value()
        if not self._next():
            raise self._cut_off()
        if self._next() != "]":
            raise self._no_json("the list does not go on")
        self._at += 1

    def _next(self) -> str:
        """The next character that is no space, without taking it; none at the end."""
        while True:
            while self._at < len(self._held):
                if self._held[self._at] not in _SPACE:
                    return self._held[self._at]
                self._at += 1
            if not self._more():
                return ""

    def _value(self) -> Any:
        while True:
            try:
                value, end = self._json.raw_decode(self._held, self._at)
            except json.JSONDecodeError as error:
                if not (self._may_go_on(error) and self._more()):
                    raise self._broken(error) from None
            except (ValueError, RecursionError) as error:
                raise self._no_json(str(error)[:80]) from None
            else:
                length = end - self._at
                near = end > len(self._held) - NEAR and not isinstance(value, dict | list | str)
                if near and self._more():
                    continue  # a number may go on
                self._at += length
                self._given = True
                return value

    def _may_go_on(self, error: json.JSONDecodeError) -> bool:
        """Whether more of the file may mend it."""
        return error.msg.startswith("Unterminated string") or error.pos > len(self._held) - NEAR

    def _more(self) -> bool:
        """Read on, as much as is held, so that no value is read over too often."""
        if self._ended:
            return False
        self._let_go()
        if len(self._held) > MAX_VALUE:
            raise InvalidInput(
                f"A conversation takes more than {MAX_VALUE:,} characters (from character "
                f"{self._before:,}); split it, or take it out of the file."
            )
        raw = self._file.read(max(CHUNK, len(self._held)))
        self._ended = not raw
        self._read += len(raw)
        try:
            self._held += self._bytes.decode(raw, final=self._ended)
        except UnicodeDecodeError:
            raise (self._cut_off() if self._ended else self._no_json("it is not UTF-8")) from None
        return not self._ended

    def _let_go(self) -> None:
        self._before += self._at
        self._held, self._at = self._held[self._at :], 0

    def _broken(self, error: json.JSONDecodeError) -> InvalidInput:
        """What more of the file would mend was cut off, anything else is no JSON."""
        rest = error.doc[error.pos :].strip()
        in_string = error.msg.startswith("Unterminated")
        in_escape = error.msg.startswith("Invalid \\") and len(rest) < ESCAPE
        begun = any(word.startswith(rest) for word in _WORDS)
        cut = self._ended and (in_string or in_escape or begun)
        return self._cut_off() if cut else self._no_json(error.msg)

    def _cut_off(self) -> InvalidInput:
        return InvalidInput(
            f"The file ends early, in what begins at character {self._place:,}: it was cut off. "
            "Get the whole file and import it again; what came before is passed over then."
        )

    def _no_json(self, why: str) -> InvalidInput:
        if not self._given:
            start = self._held[self._at :][:20]
            return InvalidInput(
                f"The file is not JSON: it begins with {start!r} ({why}). Chats are read from the "
                "JSON or the .zip that a service exports, or from your own JSON."
            )
        return InvalidInput(
            f"The file is not JSON at or after character {self._place:,} ({why}); check the file. "
            "What came before stays here."
        )

    @property
    def _place(self) -> int:
        return self._before + self._at


def _refused(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number that JSON knows")
