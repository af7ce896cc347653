"""The memory as MCP tools, resources and prompts, over HTTP and over standard input and output."""

from remanence.server.mcp.mounting import mount_mcp

__all__ = ["mount_mcp"]
