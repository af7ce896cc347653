"""The vector index on Qdrant, one node or a cluster."""

from remanence.index.qdrant.engine import QdrantEngine
from remanence.index.qdrant.index import QdrantIndex

__all__ = ["QdrantEngine", "QdrantIndex"]
