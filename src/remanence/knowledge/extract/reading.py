"""Reading a text: whom and what it names, and what it says of them; no model needed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from remanence.knowledge.extract.apposition import unfolded
from remanence.knowledge.extract.clauses import DROPPED, WHO, Clause, clauses
from remanence.knowledge.extract.cleaning import MAX_TEXT, sentences
from remanence.knowledge.extract.contractions import expanded
from remanence.knowledge.extract.dating import Dated, dated, loose
from remanence.knowledge.extract.gate import is_task, refusal
from remanence.knowledge.extract.name_types import typed_names, with_types
from remanence.knowledge.extract.rule import Found, Scene
from remanence.knowledge.extract.rules import TELLING, by_the_way, ruled
from remanence.knowledge.extract.statement import Named, NameFinder, Reading, Statement
from remanence.knowledge.extract.subjects import People
from remanence.knowledge.extract.times import Times, blanked, times_of
from remanence.knowledge.extract.verb_group import Tense, VerbGroup
from remanence.model.knowledge import EntityType
from remanence.model.predicates import predicate_of

_SURE = 0.8
_HEDGED = 0.8
_CAPITAL = re.compile(r"(?!I\b)[A-Z]")
_PRONOUNS = frozenset(["he", "she"])


def read(
    text: str,
    *,
    speaker: Named,
    at: datetime,
    recent: Sequence[Named] = (),
    find_names: NameFinder | None = None,
    relations: bool = True,
) -> Reading:
    """What a message or a note says. First person is the speaker; times are resolved from `at`.

    `recent` are those spoken of before, the last one last. Without `relations` only names.
    """
    text = text[: MAX_TEXT + 1]
    found = list(find_names(text)) if find_names else typed_names(text, speaker, recent)
    if not relations:
        return Reading(names=tuple(dict.fromkeys(found)))
    reader = _Reader(text, speaker, at, recent, found)
    statements = reader.statements()
    said = [one.object for one in statements if one.object and one.value[:1].isupper()]
    said += [one.subject for one in statements if one.subject != speaker]
    return Reading(
        statements=tuple(statements),
        names=with_types(found, said),
        refused=dict(reader.refused),
    )


class _Reader:
    """The reading of one text, sentence by sentence."""

    def __init__(
        self,
        text: str,
        speaker: Named,
        at: datetime,
        recent: Sequence[Named],
        found: Sequence[Named],
    ) -> None:
        self.refused: Counter[str] = Counter()
        self._text, self._at = text, at
        self._persons = [one for one in found if one.type == EntityType.PERSON]
        other = (EntityType.PLACE, EntityType.ORGANISATION, EntityType.TOPIC)
        things = frozenset(one.text.lower() for one in found if one.type in other)
        self._people = People(speaker, recent, things)
        self._lower = _CAPITAL.search(text) is None

    def statements(self) -> list[Statement]:
        """The statements of the text, each once."""
        found: dict[tuple[str, str, str], Statement] = {}
        for sentence in sentences(self._text, self.refused):
            if is_task(sentence):
                self.refused["task"] += 1
                break
            for one in self._sentence(sentence):
                key = (one.subject.text, one.predicate, one.value.lower())
                if key not in found or not (found[key].began or found[key].ended):
                    found[key] = one
        return list(found.values())

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
        if clause.source[:1].isupper() and clause.source.lower() not in _PRONOUNS:
            self._people.mention(Named(clause.source, EntityType.PERSON))
        sure = clause.sure * (_HEDGED if group and group.hedged else 1.0)
        who = self._who(clause)
        for one in by_the_way(clause, plain, self._people, self._lower):
            if one.subject is not None:
                yield from self._made(one, one.subject, loose(one, self._at), sure, sentence)
        if group is None or clause.subject is None:
            return
        if who:
            yield from self._ruled(clause, group, who, sure, sentence)
        elif group.verb in TELLING:
            self.refused["no subject"] += 1

    def _who(self, clause: Clause) -> tuple[Named, ...]:
        if clause.connector == DROPPED:
            return (self._people.speaker,)
        if clause.connector == WHO:
            return tuple(self._people.named[-1:])
        return self._people.resolve(clause.subject) if clause.subject else ()

    def _ruled(
        self,
        clause: Clause,
        group: VerbGroup,
        who: tuple[Named, ...],
        sure: float,
        sentence: str,
    ) -> Iterator[Statement]:
        times, rest = self._times(clause, group)
        scene = Scene(
            clause, group, who, rest, self._people, sentence, self._lower,
            timed=times != Times(), coming=times.coming(self._at),
        )  # fmt: skip
        for one in ruled(scene):
            when = dated(one, group, times, self._at, clause)
            if when.refusal:
                self.refused[when.refusal] += 1
                continue
            for subject in (one.subject,) if one.subject else who:
                yield from self._made(one, subject, when, sure, sentence)

    def _times(self, clause: Clause, group: VerbGroup) -> tuple[Times, str]:
        head = clause.lead + clause.head
        rest, offset = clause.rest, len(head) + 1
        ahead = group.tense in (Tense.FUTURE, Tense.PRESENT)
        text = f"{head},{rest}"
        times, spans = times_of(text, self._at, "future" if ahead else "past")
        inner = [(start - offset, end - offset) for start, end in spans if start >= offset]
        return times, blanked(rest, inner)

    def _made(
        self, one: Found, subject: Named, when: Dated, sure: float, sentence: str
    ) -> Iterable[Statement]:
        known = predicate_of(one.predicate)
        if subject.text == one.value or (
            subject.type == EntityType.THING and "'s " in subject.text
        ):
            return
        yield Statement(
            subject=subject,
            predicate=one.predicate,
            value=one.value,
            sentence=sentence,
            object=Named(one.value, known.object) if known.object and one.value else None,
            kind=known.kind,
            confidence=round(_SURE * one.sure * sure, 2),
            began=when.began,
            ended=when.ended,
        )
