"""The verbs of facts: stated, confirmed, corrected, retracted, and asked for at any time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Unpack

from remanence.api import answers
from remanence.api.answers import listed, wrapped
from remanence.api.parameters import (
    KEYS,
    LABEL,
    TEXT,
    Actor,
    AllUsers,
    AsOf,
    Confidence,
    KnownAt,
    Limit,
    Offset,
    Reason,
    ScopeArguments,
    SeenArguments,
    SourceMemory,
    Trust,
    ValidFrom,
    ValidTo,
    choice,
)
from remanence.api.verb import F, Group, Holds, Layer, Says, Scoping, verb
from remanence.language.english.extraction.statement import NamedEntity, Reading, Statement
from remanence.model.knowledge import Fact, Standing
from remanence.model.progress import Progress

Text = Annotated[str | None, Says("the same in plain words", bounds=TEXT)]
AddKind = Annotated[str | None, Says("fact, preference, context, plan, event or your own word")]
ObservedAt = Annotated[datetime | None, Says("when it was seen to be so; now when left out")]
SubjectType = Annotated[str | None, Says("person, place, organisation, thing, event or topic")]
ObjectType = Annotated[str | None, Says("the same for the object, if it is more than a value")]
AddMetadata = Annotated[
    Mapping[str, Any] | None, Says("anything else about it", "-m", flag="--meta", bounds=KEYS)
]
AboutEntity = Annotated[str, Says("a name", bounds=TEXT)]
AboutPredicate = Annotated[str | None, Says("only this predicate", bounds=TEXT, argument=True)]
AboutStanding = Annotated[
    str | None, Says("only holds, ended, disputed, doubted or retracted", bounds=choice(Standing))
]
Predicate = Annotated[str | None, Says("only this predicate", bounds=TEXT)]
Id = Annotated[str, Says("the fact's id")]
CorrectObject = Annotated[str | None, Says("the right name or value", bounds=TEXT, argument=True)]
Erase = Annotated[bool, Says("remove it for good, if callers stated it")]
ExtractModel = Annotated[bool, Says("by the language model, if one is configured")]

FactList = listed("FactList", "Several facts.", facts=Fact)
Conflicts = listed(
    "Conflicts", "Facts that contradict each other, group by group.", conflicts=tuple[Fact, ...]
)
RefusedCounts = wrapped(
    "RefusedCounts",
    "How often something was refused, by reason.",
    Holds.FIGURES,
    reasons=Mapping[str, int],
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction(answers.Wrapped):
    """What a text says, whom and what it names, and how often something was refused and why."""

    statements: tuple[Statement, ...]
    names: tuple[NamedEntity, ...]
    refused: Mapping[str, int]

    def taken(self) -> Reading:
        return Reading(statements=self.statements, names=self.names, refused=self.refused)


class FactsKnown(SeenArguments, total=False):
    """Whose facts are looked at, and by what was known when."""

    known_at: KnownAt


class Facts(Layer[F], layer="facts", group=Group.FACTS):
    """Facts of one tenant: what memories say and callers state, and what it adds up to."""

    @verb(
        "POST /v1/facts",
        example={
            "subject": "Ana",
            "predicate": "works at",
            "object": "the bakery",
            "user_id": "alice",
            "valid_from": "2026-05-04",
        },
    )
    def add(
        self,
        subject: Annotated[str, Says("who or what it is about", bounds=TEXT)],
        predicate: Annotated[str, Says("such as lives in, works at, likes, sister", bounds=TEXT)],
        object: Annotated[str, Says("a name or a value", bounds=TEXT)],
        *,
        text: Text = None,
        kind: AddKind = None,
        confidence: Confidence = 1.0,
        trust: Trust = 1.0,
        valid_from: ValidFrom = None,
        valid_to: ValidTo = None,
        observed_at: ObservedAt = None,
        subject_type: SubjectType = None,
        object_type: ObjectType = None,
        source: SourceMemory = None,
        actor: Actor = None,
        metadata: AddMetadata = None,
        **where: Unpack[ScopeArguments],
    ) -> Fact:
        """State a fact.

        Said again, it is the same fact with more evidence.

        `valid_from` and `valid_to` are moments or dates as exact as they are known ("2024-03").
        With a `source`, the claim is erased with that memory; a purge finds it by its `actor`,
        which is kept in its metadata. `trust` decides between claims that
        exclude each other: the less trusted never ends the more trusted.
        """

    @verb("GET /v1/facts/about", answer=FactList)
    def about(
        self,
        entity: AboutEntity,
        *,
        predicate: AboutPredicate = None,
        as_of: AsOf = None,
        standing: AboutStanding = None,
        history: Annotated[bool, Says("also what ended, was retracted or is doubted")] = False,
        limit: Limit = 100,
        **where: Unpack[FactsKnown],
    ) -> list[Fact]:
        """Show what is known of somebody or something.

        What is known of somebody or something: facts with it as subject, then as object.

        What holds comes, newest first; with `history`, also what ended, is doubted or was taken
        back; with a `standing`, what has that, at any time unless `as_of` is given. What two are
        to each other is told from the side asked for. Of a name that nothing goes by, nothing is
        known; an entity's id serves as its name.
        """

    @verb("GET /v1/facts/timeline", answer=FactList)
    def timeline(
        self, entity: AboutEntity, predicate: Predicate = None, **where: Unpack[FactsKnown]
    ) -> list[Fact]:
        """Show facts in order of time, past ones too.

        Somebody's or something's facts in order of time: all that was believed, not what is
        doubted or was taken back.
        """

    @verb("GET /v1/facts", answer=FactList, command="list")
    def find(
        self,
        *,
        predicate: Predicate = None,
        object: Annotated[str | None, Says("only with this object", bounds=TEXT)] = None,
        kind: Annotated[str | None, Says("only of this kind")] = None,
        standing: AboutStanding = None,
        as_of: AsOf = None,
        limit: Limit = 100,
        offset: Offset = 0,
        **where: Unpack[FactsKnown],
    ) -> list[Fact]:
        """List facts.

        Facts of a scope that satisfy the conditions, the newest first.

        What holds comes, or what has the `standing` asked for, at any time unless `as_of` is
        given. All facts of the scope are worked out: ask `about` where the subject is known.
        """

    @verb("GET /v1/facts/by-id/{id}")
    def get(self, id: Id, *, known_at: KnownAt = None) -> Fact:
        """Show a fact.

        The fact that a claim of this id belongs to; `NotFound` if it is not here.
        """

    @verb("POST /v1/facts/by-id/{id}/confirm")
    def confirm(self, id: Id, *, confidence: Confidence = 0.9, source: SourceMemory = None) -> Fact:
        """Say that a fact is so: the evidence adds up, the trust in it stays.

        What holds is said to hold now, which settles a dispute; what ended, that it was so then.
        A fact that was taken back is believed again.
        """

    @verb("POST /v1/facts/by-id/{id}/correct")
    def correct(
        self,
        id: Id,
        *,
        object: CorrectObject = None,
        valid_from: ValidFrom = None,
        valid_to: ValidTo = None,
        text: Text = None,
        reason: Reason = None,
    ) -> Fact:
        """Say what is right instead; the wrong one is taken back, what is left out stays."""

    @verb("POST /v1/facts/by-id/{id}/retract", destructive=True)
    def retract(self, id: Id, *, reason: Reason = None, erase: Erase = False) -> Fact:
        """Take a fact back: it is believed no more, and the past still knows that it was.

        With `erase`, what callers stated, whenever it was true, is removed for good; what a memory
        says goes only with the memory, so that is `InvalidInput` which names the memories. A fact
        that is stated again later is believed again.
        """

    @verb("GET /v1/facts/conflicts", answer=Conflicts)
    def conflicts(self, **where: Unpack[FactsKnown]) -> list[tuple[Fact, ...]]:
        """Show facts that contradict each other.

        Facts that say otherwise of the same thing at the same time, and stand equal.

        What is over by now is not among them.
        """

    @verb(
        "POST /v1/facts/extract",
        writes=False,
        scope=Scoping.TENANT,
        answer=Extraction,
        example={"text": "My sister Marta lives in Porto.", "speaker": "Ana"},
    )
    def extract(
        self,
        text: Annotated[str, Says("the text", bounds=TEXT, piped=True)],
        *,
        speaker: Annotated[str | None, Says("who says I in it", bounds=LABEL)] = None,
        at: Annotated[datetime | None, Says("when it was said")] = None,
        model: ExtractModel = False,
    ) -> Reading:
        """Show what a text says and what of it would be refused, and keep nothing."""

    @verb("POST /v1/facts/learn")
    def learn(
        self,
        *,
        all_users: AllUsers = False,
        model: ExtractModel = False,
        progress: Progress | None = None,
        **where: Unpack[ScopeArguments],
    ) -> int:
        """Read memories anew, such as those stored before facts were.

        What was found in them before is replaced; what callers stated stays. Stop it at any time:
        what was read is read. With `model`, by the language model of the settings.
        """

    @verb("GET /v1/facts/refused", scope=Scoping.TENANT, answer=RefusedCounts)
    def refused(self) -> dict[str, int]:
        """Count what did not become a fact, and why, since the memory was opened."""
