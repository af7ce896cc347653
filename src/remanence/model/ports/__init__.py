"""The seams of the product: what a store, an index, an embedder and a cache must be able to do."""

from remanence.model.ports.cache import Cache
from remanence.model.ports.embedder import Embedder
from remanence.model.ports.store import Store
from remanence.model.ports.vector_index import VectorIndex

__all__ = ["Cache", "Embedder", "Store", "VectorIndex"]
