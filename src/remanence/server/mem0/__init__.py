"""mem0's dialect: its unchanged client and command line work against this server."""

from remanence.server.mem0.routes import add_mem0

__all__ = ["add_mem0"]
