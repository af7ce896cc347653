"""The memory as its callers have it: every verb, in this process, awaited, or on a server."""
