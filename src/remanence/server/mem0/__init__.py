"""mem0's dialect: its unchanged client and command line work against this server."""
