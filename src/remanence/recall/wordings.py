"""The ways a question is put to the partitions of a search, each embedded once."""

from __future__ import annotations

from remanence.errors import EmbedderError
from remanence.model.embedding import QueryEmbedding
from remanence.ports.embedder import Embedder


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
