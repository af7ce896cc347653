"""Summaries without a model: the clauses that carry names, dates, numbers, choices and tastes."""

from __future__ import annotations

from collections.abc import Sequence

from remanence.language.summary.runs import Candidate, candidates, choose, is_machine
from remanence.language.summary.turns import Said, Summary, Voice, cleaned, voices
from remanence.language.words import word_spans

__all__ = ["Said", "Summary", "summarise"]


def summarise(turns: Sequence[Said], characters: int) -> Summary:
    """What matters of the turns in at most `characters`, one line a speaker, in order of time.

    Turns of several days get a line with the date before each day. The text is empty only where
    nothing is said or not a word fits. For a summary of summaries, give their texts as turns
    without a speaker.

    >>> talk = [Said("Ana", "Hey! I moved to Lisbon in March."), Said("Tom", "Wow, that's great!")]
    >>> summarise(talk, 100)
    Summary(text='Ana: moved to Lisbon in March.', chosen=(0,))
    """
    heard = list(voices(turns))
    found = list(candidates(heard))
    days = len({voice.day for voice in heard}) > 1
    picked = choose(found, characters, days)
    if not picked:
        return _least(heard, found, characters)
    return Summary(_written(picked, days), tuple(sorted({one.place for one in picked})))


def _written(picked: Sequence[Candidate], days: bool) -> str:
    by_day: dict[str, dict[str, list[str]]] = {}
    for one in sorted(picked, key=lambda one: one.day is not None):
        day = one.day.isoformat() if days and one.day else ""
        by_day.setdefault(day, {}).setdefault(one.speaker, []).append(one.text)
    lines: list[str] = []
    for day, speakers in by_day.items():
        lines += [day] if day else []
        ordered = sorted(speakers.items(), key=lambda line: is_machine(line[0]))
        lines += [_line(speaker, said) for speaker, said in ordered]
    return "\n".join(lines)


def _line(speaker: str, said: Sequence[str]) -> str:
    line = "; ".join(said)
    line = f"{speaker}: {line}" if speaker else line
    if line.endswith(("?", "？", "؟")):
        return line
    return f"{line}。" if "\u3040" <= line[-1] <= "\u9fff" else f"{line}."


def _least(heard: Sequence[Voice], found: Sequence[Candidate], characters: int) -> Summary:
    """The best or the longest thing said, cut between words: nothing fits, or nothing matters."""
    best = max(found, key=lambda one: one.worth(least=0), default=None)
    if best and best.worth(least=0):
        return _cut(best.place, best.speaker, best.text, characters)
    longest = max(heard, key=lambda voice: len(voice.text), default=None)
    if longest is None:
        return Summary("", ())
    text = " ".join(cleaned(longest.text).split())
    return _cut(longest.place, longest.speaker, text, characters)


def _cut(place: int, speaker: str, text: str, characters: int) -> Summary:
    label = f"{speaker}: " if speaker else ""
    room = characters - len(label)
    if len(text) > room:
        ends = [min(end, room - 1) for _, end in word_spans(text[: max(room, 0)])]
        text = f"{text[: ends[-2] if len(ends) > 1 else ends[0]]}…" if ends else ""
    return Summary(label + text, (place,)) if text else Summary("", ())
