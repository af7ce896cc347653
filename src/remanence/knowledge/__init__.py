"""Facts, entities and the graph: what memories say, and what it adds up to at any time."""
