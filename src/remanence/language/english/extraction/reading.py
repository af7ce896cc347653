"""Reading a text: whom and what it names, and what it says of them; no model needed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from remanence.language.english.extraction.areas import TELLING, by_the_way, ruled
from remanence.language.english.extraction.areas.being import dated_value
from remanence.language.english.extraction.clauses import DROPPED, WHO, Clause, clauses
from remanence.language.english.extraction.consequences import corrected, following, takes_back
from remanence.language.english.extraction.gate import expanded, is_task, refusal, unfolded
from remanence.language.english.extraction.name_types import (
    is_first_name,
    typed_names,
    with_types,
)
from remanence.language.english.extraction.rule import ClauseScene, Dated, RuleFinding, dated, loose
from remanence.language.english.extraction.sentences import MAX_TEXT, sentences
from remanence.language.english.extraction.statement import (
    NamedEntity,
    NameFinder,
    Reading,
    Statement,
)
from remanence.language.english.extraction.subjects import People, subject_at
from remanence.language.english.extraction.times import Times, blanked, times_of
from remanence.language.english.extraction.verb_group import Tense, VerbGroup
from remanence.language.english.extraction.worth import is_kept
from remanence.model import deadline
from remanence.model.knowledge import EntityType, Timespan
from remanence.model.predicates import Holds, predicate_of

_SURE = 0.8
_HEDGED = 0.8
_HEARSAY = 0.6  # trust in what somebody else than the speaker is said to have said
_TAKEN_UP = frozenset(["works at", "works as", "studies at", "studies", "lives in"])
_I_START = re.compile(
    r"(?:and |so )?i(?:'m| am|'ll| will)? (?:start|begin|starting)\b", re.IGNORECASE
)
# Characters from which a text tells more of others than of those who talk; of a name that nothing
# else makes a person's, as in "Linguistic studies", much fewer.
_DOCUMENT, _SHORT = 1_500, 300
_CAPITAL = re.compile(r"(?!I\b)[A-Z]")
_ALSO = re.compile(r"\balso\b", re.IGNORECASE)
_BESIDE = re.compile(r"\b(?:as well|on the side|too)\b", re.IGNORECASE)


def read(
    text: str,
    *,
    speaker: NamedEntity,
    at: datetime,
    recent: Sequence[NamedEntity] = (),
    find_names: NameFinder | None = None,
    relations: bool = True,
    all: bool = False,
) -> Reading:
    """What a message or a note says. First person is the speaker; times are resolved from `at`.

    `recent` are those spoken of before, the last one last. Without `relations` only names; with
    `all` also what is not worth keeping.
    """
    text = text[: MAX_TEXT + 1]
    found = list(find_names(text)) if find_names else typed_names(text, speaker, recent)
    if not relations:
        return Reading(names=tuple(dict.fromkeys(found)))
    reader = _Reader(text, speaker, at, recent, found)
    statements = reader.statements()
    if not all:
        kept = [one for one in statements if is_kept(one, text, speaker)]
        reader.refused["not worth keeping"] += len(statements) - len(kept)
        statements = kept
    said = [one.object for one in statements if one.object and one.value[:1].isupper()]
    said += [one.subject for one in statements if one.subject != speaker]
    return Reading(
        statements=tuple(statements),
        implied=tuple(reader.implied(statements)),
        names=with_types(found, said),
        refused=dict(+reader.refused),
    )


class _Reader:
    """The reading of one text, sentence by sentence."""

    def __init__(
        self,
        text: str,
        speaker: NamedEntity,
        at: datetime,
        recent: Sequence[NamedEntity],
        found: Sequence[NamedEntity],
    ) -> None:
        self.refused: Counter[str] = Counter()
        self._text, self._at, self._recent = text, at, recent
        self._persons = [one for one in found if one.type == EntityType.PERSON]
        other = (EntityType.PLACE, EntityType.ORGANISATION, EntityType.TOPIC)
        things = frozenset(one.text.lower() for one in found if one.type in other)
        self._people = People(speaker, recent, things)
        self._lower = _CAPITAL.search(text) is None
        self._aside: list[Statement] = []

    def statements(self) -> list[Statement]:
        """The statements of the text, each once, without those that it takes back itself."""
        found: dict[tuple[str, str, str], Statement] = {}
        for one in self._christened(self._all()):
            key = (one.subject.text, one.predicate, one.value.lower())
            if key not in found or not (found[key].began or found[key].ended):
                found.pop(key, None)
                found[key] = one
        return corrected(list(found.values()), self.refused)

    def implied(self, said: Sequence[Statement]) -> list[Statement]:
        """What follows from the statements of the text."""
        return [*self._aside, *following(said, self._people, self._at)]

    def _all(self) -> list[Statement]:
        kept: list[list[Statement]] = []
        for sentence in sentences(self._text, self.refused, self._people.speaker.text):
            deadline.breathe()
            if is_task(sentence):
                self.refused["task"] += 1
                break
            back = takes_back(sentence)
            if back and kept and kept.pop():
                self.refused["joke"] += 1
            if kept and (start := self._start(sentence)):
                kept[-1] = [_from(one, start) for one in kept[-1]]
            kept.append(list(self._sentence(sentence[back:])) if sentence[back:] else [])
        return [one for said in kept for one in said]

    def _start(self, sentence: str) -> Timespan | None:
        """When what was told before begins: "I got the job at Acme! I start on 1 April."."""
        found = _I_START.match(sentence)
        return times_of(sentence[found.end() :], self._at, "future")[0].point if found else None

    def _christened(self, said: Iterable[Statement]) -> Iterator[Statement]:
        """The statements about somebody by their name, if the text told it only afterwards."""
        names = {kinsman.called(): name for kinsman, name in self._people.christened}
        for one in said:
            yield replace(one, subject=names.get(one.subject, one.subject))

    def _sentence(self, sentence: str) -> Iterator[Statement]:
        if reason := refusal(sentence):
            self.refused[reason] += 1
            self._name(sentence)
            return
        for plain in unfolded(expanded(sentence)):
            for clause in clauses(plain):
                if clause.refusal:
                    self.refused[clause.refusal] += 1
                else:
                    yield from self._clause(clause, plain, sentence)
                self._name(clause.text)

    def _name(self, text: str) -> None:
        """Remember who was named in this stretch, in its order."""
        here = [one for one in self._persons if one.text in text]
        for one in sorted(here, key=lambda one: text.find(one.text)):
            if not any(other.text.startswith(f"{one.text} ") for other in here):
                self._people.mention(one)

    def _clause(self, clause: Clause, plain: str, sentence: str) -> Iterator[Statement]:
        group = clause.group
        source = self._source(clause)
        sure = clause.sure * (_HEDGED if group and group.hedged else 1.0)
        who = self._who(clause)
        for one in by_the_way(clause, plain, self._people, self._lower):
            if one.subject is not None:
                when = loose(one, self._at)
                for made in self._made(one, one.subject, when, sure, sentence):
                    yield _as_told(made, clause, source)
        if group is None or clause.subject is None:
            return
        if who:
            for made in self._ruled(clause, group, who, sure, sentence):
                yield _as_told(made, clause, source)
        elif group.verb in TELLING:
            self.refused["no subject"] += 1

    def _source(self, clause: Clause) -> NamedEntity | None:
        """Who is said to say so, if they are anybody known: "my friend Bea" is Bea."""
        subject = subject_at(clause.source) if clause.source else None
        who = self._people.resolve(subject) if subject else ()
        return who[0] if who else None

    def _who(self, clause: Clause) -> tuple[NamedEntity, ...]:
        if clause.connector == DROPPED:
            return (self._people.speaker,)
        if clause.connector == WHO:
            return tuple(self._people.named[-1:])
        return self._people.resolve(clause.subject) if clause.subject else ()

    def _is_somebody(self, one: NamedEntity) -> bool:
        """Whether a subject is known to be a person, and one of this talk, not of a document."""
        if one == self._people.speaker or "'s " in one.text or self._people.is_kin(one.text):
            return True
        named = one in self._persons or one in self._recent or is_first_name(one.text)
        known = named or one.text in self._people.pets
        return len(self._text) < (_DOCUMENT if known else _SHORT)

    def _ruled(
        self,
        clause: Clause,
        group: VerbGroup,
        who: tuple[NamedEntity, ...],
        sure: float,
        sentence: str,
    ) -> Iterator[Statement]:
        times, rest = self._times(clause, group)
        scene = ClauseScene(
            clause, group, who, rest, self._people, sentence, self._lower,
            timed=times != Times(), coming=times.coming(self._at), times=times,
        )  # fmt: skip
        for one in ruled(scene):
            when = dated(one, group, times, self._at, clause)
            if reason := when.refusal or _beside(one, clause, when):
                self.refused[reason] += 1
            for subject in (one.subject,) if one.subject else filter(self._is_somebody, who):
                made = self._made(one, subject, when, sure, sentence)
                if one.implied or (reason and when.ended):
                    self._aside.extend(made)
                elif not reason:
                    yield from made

    def _times(self, clause: Clause, group: VerbGroup) -> tuple[Times, str]:
        head = clause.lead + clause.head
        rest, offset = clause.rest, len(head) + 1
        ahead = group.tense in (Tense.FUTURE, Tense.PRESENT)
        text = f"{head},{rest}"
        times, spans = times_of(text, self._at, "future" if ahead else "past")
        inner = [(start - offset, end - offset) for start, end in spans if start >= offset]
        return times, blanked(rest, inner)

    def _made(
        self, one: RuleFinding, subject: NamedEntity, when: Dated, sure: float, sentence: str
    ) -> Iterable[Statement]:
        known = predicate_of(one.predicate)
        value = dated_value(one.value) if one.predicate == "born on" else one.value.rstrip(" .")
        if (
            (one.value and not value)
            or subject.text == value
            or (subject.type == EntityType.THING and "'s " in subject.text)
        ):
            return
        if one.predicate == "has pet":
            self._people.pets.add(value)
        yield Statement(
            subject=subject,
            predicate=one.predicate,
            value=value,
            sentence=sentence,
            object=NamedEntity(value, known.object) if known.object and value else None,
            kind=known.kind,
            confidence=round(_SURE * one.sure * sure, 2),
            began=when.began,
            ended=when.ended,
            rule=one.rule,
        )


def _from(one: Statement, start: Timespan) -> Statement:
    """What was just taken up, with the day of its start."""
    taken_up = one.predicate in _TAKEN_UP and not (one.began or one.ended)
    return replace(one, began=start) if taken_up else one


def _as_told(made: Statement, clause: Clause, source: NamedEntity | None) -> Statement:
    """Less trusted if somebody else said so; what they say of themselves they know."""
    known = source is not None and source.text in (made.subject.text, made.value)
    heard = clause.source and not known
    return replace(made, trust=_HEARSAY) if heard else made


def _beside(one: RuleFinding, clause: Clause, when: Dated) -> str:
    """Why a second job says nothing of the first: "I also work at Globex"."""
    single = predicate_of(one.predicate).holds is Holds.ONE and when.ended is None
    subject, group = clause.subject, clause.group
    if not single or subject is None or group is None or not one.predicate.startswith("works"):
        return ""
    also = _ALSO.search(clause.text, subject.end, group.end) or _BESIDE.search(clause.rest)
    return "beside another" if also else ""
