"""Entries: the single things that may go into a prompt, and how they are cut to a length."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from remanence.text.fences import disarmed

CUT = "…"
# A cut that leaves less than this says nothing.
SHORTEST = 16
_WORDS = 4
_AROUND = ".,;:!?…'\"()[]«»“”‘’。，、！？"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing with its place. `heading` is printed once above the entries that share it.

    `gist` is what makes two entries the same to a reader; entries in `along` make no sense
    without this one and are taken with it where there is room. A `mark` stands before all else,
    is never cut, and is of one line with the body, so that nothing in the body can end it.
    """

    id: str
    body: str
    mark: str = ""
    prefix: str = ""
    suffix: str = ""
    reason: str | Callable[[], str] = ""
    at: datetime | None = None
    source: str | None = None
    heading: str = ""
    place: tuple[Any, ...] = ()
    gist: str = ""
    memory: bool = False
    whole: bool = True
    along: tuple[Entry, ...] = ()
    chat: Mapping[str, Any] | None = None

    @property
    def text(self) -> str:
        """The entry as it is printed."""
        return self.mark + self.prefix + self.body + self.suffix

    @property
    def same_as(self) -> str:
        """The gist; what is marked says nothing of what is not."""
        return f"{self.mark}{self.gist}" if self.gist else ""

    @property
    def said(self) -> Mapping[str, Any] | None:
        """The entry as a chat message, if it is one."""
        if self.chat is None or not self.mark:
            return self.chat
        return {**self.chat, "content": f"{self.mark}{self.prefix}{self.chat['content']}"}

    @property
    def why(self) -> str:
        """Why it is in; told only of what is in, because telling takes time."""
        reason = self.reason if isinstance(self.reason, str) else self.reason()
        return reason if self.whole else f"{reason}, cut"

    def placed(self, place: tuple[Any, ...]) -> Entry:
        """The entry in a place."""
        return replace(self, place=place)

    def cut(self, characters: int) -> Entry | None:
        """The entry with a shorter body, ended between words; None if too little would be left."""
        if characters < SHORTEST:
            return None
        body = disarmed(shortened(self.body, characters))
        chat = self.chat
        if chat is not None and chat["content"] is not None:
            chat = {**chat, "content": shortened(chat["content"], characters)}
        return replace(self, body=body, chat=chat, whole=False, along=())


def shortened(text: str, characters: int) -> str:
    """The beginning of a text, ended between words where there are any."""
    if len(text) <= characters:
        return text
    kept = text[: max(characters - len(CUT), 0)]
    words = kept[: kept.rfind(" ")] if " " in kept[-80:] else kept
    return words.rstrip() + CUT


def flat(text: str) -> str:
    """A text on one line that cannot pass for one of our marks."""
    return disarmed(" ".join(text.split()))


def gist_of(text: str) -> str:
    """The words of a text without case and what is around them; none for a few, said by everyone.

    Signs and accents stay: 200 is not -200, and C is not C++.
    """
    words = [word for part in text.casefold().split() if (word := part.strip(_AROUND))]
    return " ".join(words) if len(words) >= _WORDS else ""
