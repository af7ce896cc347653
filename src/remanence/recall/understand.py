"""What a question asks for: its terms, the time it speaks of, the people it names, its manner."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from operator import itemgetter

from remanence.recall.columns import Lexicon, plain_words
from remanence.recall.manner import in_first_person, wants_several
from remanence.text import cues, dates
from remanence.text.names import Said
from remanence.text.words import is_stop_word, query_terms, terms, word_spans

# A text with more terms is a pasted one: those at its beginning and at its end are asked for.
MOST_TERMS = 256


@dataclass(frozen=True, eq=False)
class Question:
    """A question as recall sees it; reading it costs no I/O."""

    text: str
    now: datetime

    @cached_property
    def terms(self) -> list[str]:
        """Distinct content terms, in order, without the words that say when ("last May")."""
        found = query_terms(self._without_time) if self.times else query_terms(self.text)
        if len(found) <= MOST_TERMS:
            return found
        return found[: MOST_TERMS // 2] + found[-MOST_TERMS // 2 :]

    @cached_property
    def times(self) -> list[dates.Mention]:
        """Where the question speaks of a time."""
        if not dates.has_time(self.text):
            return []
        return dates.time_ranges(self.text, self.now)

    @property
    def period(self) -> dates.TimeRange | None:
        """The span of time the question speaks of, the shortest if there are several."""
        return min((m.range for m in self.times), key=lambda r: r.end - r.start, default=None)

    @property
    def _without_time(self) -> str:
        letters = list(self.text)
        for mention in self.times:
            start, end = mention.span
            letters[start:end] = " " * (end - start)
        left = "".join(letters)
        return left if query_terms(left) else self.text

    @cached_property
    def recency_cue(self) -> str | None:
        """ "latest", "earliest" or None."""
        return dates.recency_cue(self.text)

    @cached_property
    def wants_time(self) -> bool:
        """Whether the answer is a time."""
        return dates.asks_when(self.text)

    @cached_property
    def wants_number(self) -> bool:
        """Whether the answer is likely a number or a date."""
        return self.wants_time or cues.asks_how_many(self.text)

    @cached_property
    def wants_several(self) -> bool:
        """Whether the answer is likely a list or a count."""
        return wants_several(self.text)

    @cached_property
    def wants_name(self) -> bool:
        """Whether the answer is likely a name."""
        return cues.asks_who(self.text) or cues.asks_where(self.text)

    @cached_property
    def about_assistant(self) -> bool:
        """Whether it asks what the assistant said."""
        return cues.asks_about_assistant(self.text)

    def people(self, speakers: Lexicon) -> list[int]:
        """Which of these speakers the question names."""
        shared = speakers.sharing(plain_words(self.text))
        return [n for n in shared if self._said.mentions(speakers.names[n])]

    @cached_property
    def _said(self) -> Said:
        return Said(self.text)

    def in_voice_of(self, names: Iterable[str]) -> Question:
        """The same question as these people would put it; what they said was said by "I"."""
        told = [self._called(plain_words(name)) for name in names]
        text = in_first_person(self.text, told)
        return self if text == self.text else Question(text, self.now)

    def _called(self, name: Sequence[str]) -> Sequence[str]:
        """A name's words from the one on that the text says, titles before it left out."""
        return next((name[n:] for n, word in enumerate(name) if self._said.mentions(word)), ())

    def worth(self, span: tuple[int, int], idf: Mapping[str, float], least: float) -> float:
        """What a token is worth that stands there: the idf of its word, 0 if it says when."""
        start, end = span
        if any(m.span[0] <= start and end <= m.span[1] for m in self.times):
            return 0.0
        place = bisect_right(self.words, start, key=itemgetter(0)) - 1
        if place < 0 or end > self.words[place][1]:
            return least
        return max((idf.get(term, least) for term in self.words[place][2]), default=least)

    @cached_property
    def words(self) -> list[tuple[int, int, tuple[str, ...]]]:
        """Each content word: where it stands and its index terms."""
        return [
            (start, end, tuple(terms(self.text[start:end])))
            for start, end in word_spans(self.text)
            if not is_stop_word(self.text[start:end])
        ]
