"""Sleep: merge, summarise, forget, compress and learn while nobody asks; logged and undoable."""
