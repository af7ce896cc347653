"""Where a long text is cut: passages by model tokens, and inside them pieces by words."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from remanence.errors import InvalidInput
from remanence.language.words import word_spans
from remanence.model.deadline import unhurried

Span = tuple[int, int]

_SLACK = 0.15
_SENTENCE_ENDS = frozenset(".!?…。！？।؟")
_CLOSERS = "\"')]}”’»」』）"


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters `start` to `end` of the text, inside the passage with that number."""

    passage: int
    start: int
    end: int


def pieces(
    text: str,
    spans: Sequence[Span],
    *,
    words: int = 80,
    overlap: int = 20,
    max_tokens: int = 126,
    passage_size: int = 512,
    passage_overlap: int = 50,
) -> list[Piece]:
    """The pieces of all passages, in order: at most `words` words and `max_tokens` tokens each.

    `spans` are the character spans of the model's tokens, in order. Passages have at most
    `passage_size` tokens, each repeating about the last `passage_overlap` of the one before. Every
    character is in some piece; a cut falls at the end of a paragraph, sentence or word where one is
    near. A piece of fewer words (long words, many tokens) repeats proportionally less than
    `overlap`.
    """
    _check(words, overlap)
    _check(max_tokens, 0)
    _check(passage_size, passage_overlap)
    units = _Units.of(text, spans)
    limits = _Limits(tokens=max_tokens, words=words, overlap=overlap)
    found = _passages(units, passage_size, passage_overlap)
    return [
        Piece(number, start, end)
        for number, (low, high, inside) in enumerate(unhurried(found, every=4))
        for start, end, _ in _spread(units, low, high, list(_windows(units, inside, limits)))
    ]


@dataclass(frozen=True, slots=True)
class _Limits:
    """How long a window may be; `overlap` counts words where words are limited, else tokens."""

    tokens: int
    overlap: int
    words: int | None = None


@dataclass(frozen=True, slots=True)
class _Units:
    """Tokens as cutting sees them: those that share a start (bytes of one emoji) are one unit.

    `tokens[i]` and `words[i]` count what the units up to and including `i` hold.
    """

    text: str
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    words: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, text: str, spans: Sequence[Span]) -> _Units:
        units = cls(text)
        for count, (start, end) in enumerate(unhurried(spans, every=2_000), 1):
            if units.starts and start <= units.starts[-1]:
                units.tokens[-1] = count
                units.ends[-1] = max(end, units.ends[-1])
            else:
                units.starts.append(start)
                units.ends.append(end)
                units.tokens.append(count)
        units.words.extend(_words_so_far(text, units.ends))
        return units


def _words_so_far(text: str, ends: Sequence[int]) -> Iterator[int]:
    starts = [start for start, _ in word_spans(text)]
    count = 0
    for end in unhurried(ends, every=2_000):
        while count < len(starts) and starts[count] < end:
            count += 1
        yield count


def _check(size: int, overlap: int) -> None:
    if size < 1 or not 0 <= overlap < size:
        raise InvalidInput(
            f"size {size} with overlap {overlap}: give a size of at least 1 and a smaller overlap."
        )


def _passages(units: _Units, size: int, overlap: int) -> Iterator[tuple[int, int, Span]]:
    limits = _Limits(tokens=size, overlap=overlap)
    found = list(_windows(units, (0, len(units.starts)), limits))
    return _spread(units, 0, len(units.text), found)


def _spread(
    units: _Units, low: int, high: int, windows: Sequence[Span]
) -> Iterator[tuple[int, int, Span]]:
    """Windows of units as characters: what lies between units goes to the window before it."""
    last = len(windows) - 1
    for number, (first, end) in enumerate(windows):
        start = units.starts[first] if number else low
        yield start, (high if number == last else units.starts[end]), (first, end)


def _windows(units: _Units, inside: Span, limits: _Limits) -> Iterator[Span]:
    first, last = inside
    if first == last:
        yield inside
        return
    end = first
    while end < last:
        if end > first:
            first = _next_start(units, (first, end), last, limits)
        furthest = _reach(units, first, last, limits)
        end = furthest if furthest == last else _better_end(units, first, furthest, end)
        yield first, end


def _reach(units: _Units, first: int, last: int, limits: _Limits) -> int:
    end = _furthest(units.tokens, first, last, limits.tokens)
    if limits.words is not None:
        end = min(end, _furthest(units.words, first, last, limits.words))
    return end


def _furthest(counts: Sequence[int], first: int, last: int, most: int) -> int:
    return max(bisect_right(counts, _before(counts, first) + most, first, last), first + 1)


def _before(counts: Sequence[int], index: int) -> int:
    return counts[index - 1] if index else 0


def _better_end(units: _Units, first: int, end: int, done: int) -> int:
    """Where a paragraph, sentence or word ends shortly before `end` and after what is done."""
    nearest = range(end, max(end - int((end - first) * _SLACK), first, done), -1)
    for is_good in (_ends_paragraph, _ends_sentence):
        for candidate in nearest:
            if is_good(units, candidate):
                return candidate
    word = units.words[end]
    whole = bisect_left(units.words, word, first, end) if word == units.words[end - 1] else end
    return whole if whole > max(first, done) else end


def _ends_paragraph(units: _Units, end: int) -> bool:
    return units.text.count("\n", units.ends[end - 1], units.starts[end]) > 1


def _ends_sentence(units: _Units, end: int) -> bool:
    low, high = units.starts[end - 1], units.starts[end]
    if "\n" in units.text[units.ends[end - 1] : high]:
        return True
    written = units.text[max(low - 1, 0) : high].rstrip().rstrip(_CLOSERS)
    return written[-1:] in _SENTENCE_ENDS and (not written.endswith(".") or _gap(units, end))


def _gap(units: _Units, end: int) -> bool:
    return units.text[units.starts[end] - 1].isspace() or units.text[units.starts[end]].isspace()


def _next_start(units: _Units, window: Span, last: int, limits: _Limits) -> int:
    """Back by the overlap, but only so far that the next window reaches past this one."""
    first, end = window
    if limits.words is None:
        counts, back = units.tokens, limits.overlap
    else:
        held = units.words[end - 1] - _before(units.words, first)
        counts, back = units.words, min(limits.overlap, held * limits.overlap // limits.words)
    start = bisect_right(counts, counts[end - 1] - back, first + 1, end)
    while start < end and _reach(units, start, last, limits) <= end:
        start += 1
    return start
