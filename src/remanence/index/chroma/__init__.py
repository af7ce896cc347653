"""The vector index on Chroma, in a folder or on a server."""

from remanence.index.chroma.engine import ChromaEngine
from remanence.index.chroma.index import ChromaIndex

__all__ = ["ChromaEngine", "ChromaIndex"]
