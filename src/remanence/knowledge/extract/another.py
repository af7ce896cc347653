"""What of a text are another's words: letters, mails and songs pasted in, "Ana wrote: I …"."""

from __future__ import annotations

import re
from collections import Counter

from remanence.knowledge.extract.phrases import PERSON, UPPER

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
