"""What a question asks for: its terms, time, people and manner, and the ways it is put."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from operator import itemgetter

from remanence.errors import EmbedderError
from remanence.language import cues
from remanence.language.english import dates
from remanence.language.languages import query_terms, readings
from remanence.language.names import SearchedText
from remanence.language.words import fold, is_stop_word, terms, word_spans
from remanence.model.embedding import QueryEmbedding
from remanence.model.hit import Understanding
from remanence.model.ports.embedder import Embedder
from remanence.recall.columns import Lexicon, plain_words

_AUXILIARY = "has|have|had|did|does|do|is|are|was|were|will|would|can|could|should|might"
_WHAT = re.compile(r"\b(?:what|which)\b", re.IGNORECASE)
_DOES = re.compile(rf"\b(?:{_AUXILIARY})\b", re.IGNORECASE)
_KIND_OF = re.compile(r"\b(?:kind|type|sort)s? of\b", re.IGNORECASE)
_KINDS_OF = re.compile(r"\b(?:kinds|types|sorts) of\b", re.IGNORECASE)
_AFTER_THE_NOUN = re.compile(r"\b(?:of|in|for|from|to|with|about|at|on)\b", re.IGNORECASE)
_PLURAL = re.compile(r"[^\W\d_]{2,}(?<![siu'’])s|people|children|men|women", re.IGNORECASE)
_WHAT_ARE = re.compile(r"\b(?:what|which|who)(?: all)? (?:are|were)\b", re.IGNORECASE)
_WHO = re.compile(r"\b(?:what|which|where|who|whom)\b", re.IGNORECASE)
_HAS = re.compile(r"\b(?:has|have) \w", re.IGNORECASE)
_NOT_SO_FAR = re.compile(r"\b(?:do|does|did|to|will|would|can|could|should|might)\b", re.IGNORECASE)
_COUNTED = re.compile(r"\bhow (?:many|often)\b|\bboth\b|\bin common\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_OWN = re.compile(r"['’]s?(?![^\W_])")
_BETWEEN = re.compile(r"\.? ")

_USER = re.compile(
    r"\bthe user(?P<own>['’]s)?\b"
    r"(?! (?:interfaces?|experience|stor(?:y|ies)|manual|guide|groups?|input|id|base|names?|data"
    r"|agents?|accounts?|tables?|feedback|flows?|models?|services?|settings|profiles?|journey"
    r"|research)\b)",
    re.IGNORECASE,
)
_SELF = re.compile(r"\b(?:I|my|mine|myself|me)\b|\bi(?:'m|'ve|'d|'ll)?\b(?!\.)")
# What a question about a time alone is made of: what happened, what we did, what went on.
_ANYTHING = frozenset(
    [
        "happen",
        "go",
        "occur",
        "event",
        "thing",
        "do",
        "take",
        "place",
        "tell",
        "talk",
        "say",
        "news",
    ]
)

# A text with more terms is a pasted one: those at its beginning and at its end are asked for.
MOST_TERMS = 256


def wants_several(text: str) -> bool:
    """Whether the answer is likely a list or a count, its parts said at different times (English).

    >>> wants_several("What books has Ana read?"), wants_several("What book is on the desk?")
    (True, False)
    """
    if _COUNTED.search(text) or _WHAT_ARE.search(text) or _asks_for_plural(text):
        return True
    so_far = _between(_WHO, _HAS, text)
    return so_far is not None and _NOT_SO_FAR.search(so_far) is None


def _asks_for_plural(text: str) -> bool:
    """What books, which of the books, what kinds of books."""
    asked = _between(_WHAT, _DOES, text)
    if asked is None:
        return False
    noun = _AFTER_THE_NOUN.split(_KIND_OF.sub("", asked))[0].split()
    return _KINDS_OF.search(asked) is not None or (
        bool(noun) and _PLURAL.fullmatch(noun[-1]) is not None
    )


def _between(first: re.Pattern[str], last: re.Pattern[str], text: str) -> str | None:
    """What stands between the two in the first line that has both; each line is read once."""
    for line in text.split("\n"):
        start = first.search(line)
        end = last.search(line, start.end()) if start else None
        if start and end:
            return line[start.end() : end.start()]
    return None


def in_first_person(text: str, people: Iterable[Sequence[str]]) -> str:
    """The question as these people would put it themselves, since what they said says "I".

    Each is given by the folded words of their name, the first name first. The text comes back as
    it is if nothing would be left to ask about.

    >>> in_first_person("Where does Ana's dog sleep?", [["ana"]])
    'Where does my dog sleep?'
    """
    names = {name[0]: frozenset(name[1:]) for name in people if name}
    words = list(_WORD.finditer(text))
    said: list[str] = []
    done = 0
    for number, word in enumerate(words):
        rest = names.get(fold(word[0]))
        if rest is None or word.start() < done or not _is_name(word[0]):
            continue
        end = _end_of_name(text, words, number, rest)
        own = _OWN.match(text, end)
        said += [text[done : word.start()], "my" if own else "I"]
        done = own.end() if own else end
    asked = "".join([*said, text[done:]])
    return asked if any(not is_stop_word(word) for word in _WORD.findall(asked)) else text


def _is_name(word: str) -> bool:
    return word[0].isupper() or not is_stop_word(word)


def _end_of_name(
    text: str, words: Sequence[re.Match[str]], number: int, rest: frozenset[str]
) -> int:
    """Where a name ends that begins with that one of these words."""
    end = words[number].end()
    for at in range(number + 1, len(words)):
        word = words[at]
        if fold(word[0]) not in rest or not _BETWEEN.fullmatch(text, end, word.start()):
            break
        end = word.end()
    return end


def as_user(text: str) -> str:
    """The text with "the user" as the user would say it.

    >>> as_user("Where does the user's sister live?")
    'Where does my sister live?'
    """
    return _USER.sub(lambda found: "my" if found["own"] else "I", text)


@dataclass(frozen=True, eq=False)
class Question:
    """A question as recall sees it; reading it costs no I/O."""

    text: str
    now: datetime

    @classmethod
    def of(cls, text: str, now: datetime) -> Question:
        """A question as it was put; whoever asks of "the user" asks of who else says "I"."""
        return cls(as_user(text), now)

    @cached_property
    def of_user(self) -> bool:
        """Whether it is about whoever the memories belong to."""
        return not self.about_assistant and _SELF.search(self.text) is not None

    @cached_property
    def of_time_alone(self) -> bool:
        """Whether it asks for nothing but what happened at a time."""
        return bool(self.times) and set(query_terms(self._without_time)) <= _ANYTHING

    @property
    def terms(self) -> list[str]:
        """Distinct content terms, in order, without the words that say when ("last May")."""
        return list(self.readings)

    @cached_property
    def readings(self) -> dict[str, tuple[str, ...]]:
        """The terms, each with all that it is looked up as."""
        found = readings(self._without_time) if self.times else {}
        found = found or readings(self.text)
        if len(found) <= MOST_TERMS:
            return found
        asked = list(found.items())
        return dict(asked[: MOST_TERMS // 2] + asked[-MOST_TERMS // 2 :])

    @cached_property
    def times(self) -> list[dates.TimeMention]:
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
        return "".join(letters)

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

    def people(self, speakers: Lexicon, user: str | None = None) -> list[int]:
        """Which of these speakers the question names; "I" is the user, where one is called so."""
        shared = speakers.sharing(plain_words(self.text))
        named = [n for n in shared if self._said.mentions(speakers.names[n])]
        if user and self.of_user:
            own = plain_words(user)
            named += [n for n in speakers.sharing(own) if plain_words(speakers.names[n]) == own]
        return sorted(set(named))

    @cached_property
    def _said(self) -> SearchedText:
        return SearchedText(self.text)

    def understood(self, people: Iterable[str]) -> Understanding:
        """How it was taken, with these people named."""
        period = self.period
        return Understanding(
            terms=tuple(self.terms),
            people=tuple(people),
            since=period.start if period else None,
            until=period.end if period else None,
        )

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


class Wordings:
    """Embeds a question's wordings; after a failure there are no vectors in this search."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._made: dict[str, QueryEmbedding] = {}
        self.lost: tuple[str, ...] = ()

    def embedded(self, text: str) -> QueryEmbedding | None:
        """The wording's embedding; None if it cannot be made, and `lost` says why."""
        if self.lost:
            return None
        if text not in self._made:
            try:
                self._made[text] = self._embedder.embed_query(text)
            except EmbedderError as error:
                self.lost = (f"vectors: {error}",)
                return None
        return self._made[text]
