"""The sentences of a text that are read: no code, no addresses, no words of another.

Another's are letters, mails and songs pasted in, and what follows "Ana wrote: I …".
"""

from __future__ import annotations

import re
from collections import Counter

from remanence.language.english.extraction.phrases import PERSON, UPPER

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
_WHO = (
    rf"(?:\b(?i:he|she|they|someone|somebody)|\b(?i:my|our|the|his|her)\s(?:[a-z-]+\s){{0,2}}[a-z-]+"
    rf"(?:\s{PERSON})?|\b(?!I\b){PERSON})"
)
_SPOKE = (
    r"(?:said|says|wrote|writes|texted|replied|answered|posted|tweeted|shouted|yelled|announced"
    r"|added|emailed|e-mailed|messaged|goes|went|told|tells|commented|whispered|exclaimed"
    r"|(?:is|was|were)\slike)"
)
_TO = rf"(?:\s(?:me|us|him|her|them|back|everyone|{PERSON}))?"
_FIRST = r"(?=\W{0,2}(?:I|We|My|Our|I'm|i|we|my|our|i'm)\b)"
_SAID_FIRST = re.compile(
    rf"(?<![Aa]s ){_WHO}\s(?:just\s|also\s|then\s)?{_SPOKE}{_TO}\s?(?P<mark>[:,])\s+{_FIRST}"
)
_SAID_LAST = re.compile(
    rf",\s(?:{_SPOKE}\s(?:{PERSON}|he|she|my\s[a-z]+)"
    rf"|(?:{PERSON}|he|she|my\s[a-z]+)\s{_SPOKE})\s*(?=[.!\n]|$)"
)
_OWN = re.compile(r"\b(?:I|[Mm]y|[Ww]e|[Oo]ur)\b")
_STOP = re.compile(r"[.!?\n]")
_SENTENCE_REST = re.compile(r"[^.!?\n]*[.!?]*")
_LINE_REST = re.compile(r"[^\n]*")
_HEADER = re.compile(
    r"^[ \t]{0,4}(?:from|to|subject|sent|date|cc|bcc|reply-to):[ \t]*\S",
    re.IGNORECASE | re.MULTILINE,
)
_PASTED = re.compile(
    r"^[ \t]{0,4}-{2,}\s?(?:original|forwarded) message|^on [^\n]{4,80} wrote:[ \t]*$"
    r"|(?:^|[.!?] )[ \t]{0,4}(?:the\s)?(?:song\s)?(?:lyrics|poem|song|verse"
    r"|chorus|letter|excerpt|transcript|passage|quote|quotation|diary entry)\b[^\n:]{0,40}:",
    re.IGNORECASE | re.MULTILINE,
)
_GREETING = re.compile(
    rf"^[ \t]{{0,4}}(?i:dear|hi|hello|hey)\s+[{UPPER}][^\n]{{0,40}}[,:]?[ \t]*$", re.M
)
_SIGNED = re.compile(
    r"^[ \t]{0,4}(?i:(?:with )?(?:(?:best|kind|warm|kindest|warmest|many) )?(?:regards|wishes|love"
    r"|best|cheers|sincerely|yours(?: (?:truly|sincerely|faithfully|ever))?|xoxo|hugs"
    rf"|many thanks|thanks|kisses)),?[ \t]*\n\s*(?P<name>{PERSON})\s*$",
    re.MULTILINE,
)


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


def without_others(text: str, speaker: str, refused: Counter[str]) -> str:
    """The text without what somebody else says in it as "I"; that is counted as reported."""
    if ":" in text or "\n" in text:
        text = _cut(text, _pasted_at(text, speaker), refused)
    if ":" not in text and "," not in text:
        return text
    return _without_said(_without_sayings(text, refused), refused)


def _pasted_at(text: str, speaker: str) -> int:
    """Where a mail, a letter or a song starts that goes on to the end; the end if there is none."""
    starts = [len(text)]
    headers = [found.start() for found in _HEADER.finditer(text)]
    if len(headers) > 1:
        starts.append(headers[0])
    if pasted := _PASTED.search(text):
        starts.append(pasted.start())
    signed = _SIGNED.search(text)
    if signed and signed["name"].split()[0].lower() not in speaker.lower().split():
        opened = _GREETING.search(text, 0, signed.start())
        starts.append(opened.start() if opened else 0)
    return min(starts)


def _cut(text: str, at: int, refused: Counter[str]) -> str:
    if at < len(text):
        refused["reported"] += 1
    return text[:at]


def _without_sayings(text: str, refused: Counter[str]) -> str:
    """Without what follows "Ana wrote: I …" in its line, or "Ana said, I …" in its sentence."""
    at, kept = 0, []
    while found := _SAID_FIRST.search(text, at):
        rest = _LINE_REST if found["mark"] == ":" else _SENTENCE_REST
        end = rest.match(text, found.end())
        kept.append(text[at : found.start("mark")] + ". ")
        at = end.end() if end else found.end()
        refused["reported"] += 1
    return "".join(kept) + text[at:]


def _without_said(text: str, refused: Counter[str]) -> str:
    """Without what stands before ", said Ana" in its sentence, from the first "I" or "my" on."""
    at, since, kept = 0, 0, []
    for found in _SAID_LAST.finditer(text):
        stops = [stop.end() for stop in _STOP.finditer(text, since, found.start())]
        own = _OWN.search(text, stops[-1] if stops else since, found.start())
        if own:
            kept.append(text[at : own.start()])
            at = found.end()
            refused["reported"] += 1
        since = found.end()
    return " ".join([*kept, text[at:]])
