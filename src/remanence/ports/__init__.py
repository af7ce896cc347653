"""The seams of the product: what a store, an index and an embedder must be able to do."""

from remanence.ports.embedder import Embedder
from remanence.ports.store import Store
from remanence.ports.vector_index import VectorIndex

__all__ = ["Embedder", "Store", "VectorIndex"]
