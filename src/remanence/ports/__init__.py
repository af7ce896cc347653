"""The seams of the product: what a store, an index, an embedder and a cache must be able to do."""

from remanence.ports.cache import Cache
from remanence.ports.embedder import Embedder
from remanence.ports.store import Store
from remanence.ports.vector_index import VectorIndex

__all__ = ["Cache", "Embedder", "Store", "VectorIndex"]
