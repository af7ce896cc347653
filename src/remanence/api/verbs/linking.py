"""The verbs that link memories, and learn from use."""

from __future__ import annotations

from typing import Annotated

from remanence.api import answers
from remanence.api.bounds import QUERY, SHARE, TEXT
from remanence.api.parameters import Id, Limit
from remanence.api.verb import F, Group, Holds, Layer, Says, Scoping, verb
from remanence.model.hit import Hit
from remanence.model.memory import Association, Related

A = Annotated[str, Says("the id of the memory the link starts at", bounds=TEXT)]
B = Annotated[str, Says("the id of the memory it leads to", bounds=TEXT)]
AssociateType = Annotated[str, Says("what kind of link it is", "-t", bounds=TEXT, argument=False)]
Strength = Annotated[float, Says("how strong it is, 0 to 1", bounds=SHARE)]
LinkType = Annotated[str | None, Says("only links of this type", "-t", bounds=TEXT, argument=False)]
Direction = Annotated[str, Says("out, in or both", bounds={"enum": ["out", "in", "both"]})]
HitOrId = Annotated[Hit | str, Says("the memory's id", wire=str, name="id")]
Useful = Annotated[bool, Says("it helped, or it did not")]
FeedbackQuery = Annotated[str | None, Says("the question it was returned for", bounds=QUERY)]


class Linking(Layer[F]):
    """The verbs that link memories, and learn from use."""

    group = Group.LINK

    @verb("POST /v1/associations", writes=True, scope=Scoping.BY_ID, holds=Holds.WRITTEN)
    def associate(
        self, a: A, b: B, type: AssociateType = "related_to", *, strength: Strength = 1.0
    ) -> Association:
        """Link one memory to another, or give that link a new strength."""

    @verb("DELETE /v1/associations", writes=True, scope=Scoping.BY_ID, answer=answers.Count)
    def dissociate(self, a: A, b: B, type: LinkType = None) -> int:
        """Remove links between two memories."""

    @verb("GET /v1/memories/{id}/related", scope=Scoping.BY_ID, answer=answers.Neighbours)
    def related(
        self,
        id: Id,
        *,
        type: LinkType = None,
        direction: Direction = "both",
        limit: Limit = 100,
    ) -> list[Related]:
        """Show the active memories linked with one, strongest first.

        Memories that served one prompt together are linked as `used_together`: each time makes
        the link stronger, and it fades by itself.
        """

    @verb(
        "POST /v1/memories/{id}/feedback",
        writes=True,
        scope=Scoping.BY_ID,
        answer=answers.FeedbackGiven,
    )
    def feedback(self, hit_or_id: HitOrId, *, useful: Useful, query: FeedbackQuery = None) -> None:
        """Say whether a memory helped; it is kept for learning."""
