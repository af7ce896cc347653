"""Who may do what: callers, keys, tokens, limits, and the record of what was done."""
