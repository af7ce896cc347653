"""The knowledge of an import: held until a batch is full, then added to what is known."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeVar

from remanence.model.knowledge import Claim, Entity, Mention
from remanence.model.scope import Reach
from remanence.ports.store import Knowledge
from remanence.transfer.knowledge import MANY, know_all
from remanence.transfer.knowledge_lines import claim_of, entity_of, mention_of
from remanence.transfer.reading import NumberedLine

T = TypeVar("T", Entity, Claim)

BATCH = 500
BATCH_BYTES = 16 * 1024 * 1024


class Knowing:
    """Adds knowledge; what is known already stays as it is.

    What was found in a memory comes only where that memory is as the file has it: `apart` are
    those that are not.
    """

    def __init__(
        self, store: Knowledge, tenant: str, max_text: int, apart: Collection[str]
    ) -> None:
        self._store = store
        self._reach = Reach(tenant=tenant, all_users=True)
        self._max_text = max_text
        self._apart = apart
        self._entities: list[Entity] = []
        self._claims: list[Claim] = []
        self._mentions: list[Mention] = []
        self._held_bytes = 0
        self.entities = self.claims = self.known = self.dangling = 0

    def hold_entity(self, line: NumberedLine) -> None:
        """An entity's line."""
        self._entities.append(entity_of(line.content, self._max_text))
        self._held(line)

    def hold_claim(self, line: NumberedLine) -> None:
        """A claim's line."""
        claim = claim_of(line.content, self._max_text)
        if claim.memory in self._apart:
            self.known += 1
        else:
            self._claims.append(claim)
            self._held(line)

    def hold_mention(self, line: NumberedLine) -> None:
        """The line of a mention."""
        mention = mention_of(line.content)
        if mention.memory not in self._apart:
            self._mentions.append(mention)
            self._held(line)

    def _held(self, line: NumberedLine) -> None:
        self._held_bytes += line.size
        count = len(self._entities) + len(self._claims) + len(self._mentions)
        if count >= BATCH or self._held_bytes >= BATCH_BYTES:
            self.write()

    def write(self) -> None:
        """Add what is held."""
        told, said, spoken = self._entities, self._claims, self._mentions
        self._entities, self._claims, self._mentions, self._held_bytes = [], [], [], 0
        new = _distinct(told, self._store.entities(self._reach, _ids(told), limit=MANY))
        fresh = _distinct(said, self._store.claims(self._reach, ids=_ids(said), limit=MANY))
        lost, silent = know_all(self._store, self._reach.tenant, told, fresh, spoken)
        self.entities += len(new)
        self.claims += len(fresh) - lost
        self.dangling += lost + silent
        self.known += len(told) - len(new) + len(said) - len(fresh)


def _ids(some: Sequence[Entity] | Sequence[Claim]) -> list[str]:
    return [one.id for one in some]


def _distinct(given: Sequence[T], here: Sequence[T]) -> list[T]:
    """Those that are not here, each once."""
    known = {(one.user_id, one.id) for one in here}
    new = {(one.user_id, one.id): one for one in given}
    return [one for key, one in new.items() if key not in known]
