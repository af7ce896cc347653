"""What of a text is read: no code, addresses or quotations, and only so many sentences."""

from __future__ import annotations

import re
from collections import Counter

from remanence.knowledge.extract.another import without_others

MAX_SENTENCES = 40
MAX_SENTENCE = 600
MAX_TEXT = 12_000
# No rule sees more blanks in a row: patterns that may part them in two ways stay quick.
_GAP = re.compile(r"([^\S\n]{3})[^\S\n]+")
_FENCED = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_INLINE_CODE = re.compile(r"`[^`\n]{1,300}`")
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S{1,500}")
_QUOTED_LINE = re.compile(r"^[ \t]{0,8}>[^\n]*$", re.MULTILINE)
_QUOTED = re.compile(r"[\"“”«]([^\"“”»\n]{1,400})[\"“”»]")
_SPOKEN = re.compile(r"\b(?:i|i'm|i've|my|me|we|you|he|she)\b|[.!?,]\s", re.IGNORECASE)
_SAID = re.compile(
    r"\b(?:say|says|said|told|tells|ask|asks|asked|goes|shouted|wrote|replied|like|reads)[,:]?\s*$"
    r"|[:,]\s*$",
    re.IGNORECASE,
)
_END = re.compile(
    r"(?<=[a-z0-9)\]'\"%][.!?…])[\"'”’)]*\s+(?=[^a-z\s]|i\b|i'|my\b)"
    r"|(?<=[.!?…A-Z][!?…])\s+|(?<=\.\.)\s+(?=[^a-z\s.]|my\b)|(?<=\w\.)(?=[A-Z][a-z]+ )"
    r"|\s*\n[\s*•·-]*|(?<=[\u2600-\U0001faff])\s+"
)
_TITLE = 8  # more than the longest title
_TITLE_END = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof|St|vs|e\.g|i\.e|etc|Jr|Sr|No)\.$")


def sentences(text: str, refused: Counter[str], speaker: str = "") -> list[str]:
    """The sentences worth reading, in order; what was left out is counted.

    What others than the speaker say in it as "I" is left out.
    """
    text = _plain(text[: MAX_TEXT + 1], refused, speaker)
    found = _joined([part.strip() for part in _END.split(text[:MAX_TEXT])])
    short = [one for one in found if one and len(one) <= MAX_SENTENCE]
    left = len([one for one in found if one]) - len(short[:MAX_SENTENCES])
    if left or len(text) > MAX_TEXT:
        refused["too long"] += max(left, 1)
    return short[:MAX_SENTENCES]


def _plain(text: str, refused: Counter[str], speaker: str) -> str:
    text = text.replace("’", "'").replace("‘", "'").replace("\u00a0", " ")
    text = _GAP.sub(r"\1", text)
    if "`" in text or "~~~" in text:
        text = _counted(_INLINE_CODE, _counted(_FENCED, text, "code", refused), "code", refused)
    if "://" in text or "www." in text:
        text = _counted(_ADDRESS, text, "address", refused)
    if ">" in text:
        text = _counted(_QUOTED_LINE, text, "quoted", refused)
    return without_others(_unquoted(text, refused), speaker, refused)


def _counted(pattern: re.Pattern[str], text: str, reason: str, refused: Counter[str]) -> str:
    text, count = pattern.subn(" ", text)
    if count:
        refused[reason] += count
    return text


def _unquoted(text: str, refused: Counter[str]) -> str:
    if not any(mark in text for mark in '"“«'):
        return text

    def replace(match: re.Match[str]) -> str:
        inside = match[1]
        before = text[max(match.start() - 20, 0) : match.start()]
        if len(inside.split()) > 6 or _SPOKEN.search(inside) or _SAID.search(before):
            refused["quoted"] += 1
            return "…"
        return inside

    return _QUOTED.sub(replace, text)


def _joined(parts: list[str]) -> list[str]:
    """Sentences, with those put together again that a title's full stop had parted."""
    whole: list[str] = []
    for part in parts:
        if whole and _TITLE_END.search(whole[-1], max(len(whole[-1]) - _TITLE, 0)):
            whole[-1] = f"{whole[-1]} {part}"
        else:
            whole.append(part)
    return whole
