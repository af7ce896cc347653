"""The graph: entities, observations, relations and merges; asked, drawn and exported."""

from remanence.knowledge.graph.graph import Graph

__all__ = ["Graph"]
