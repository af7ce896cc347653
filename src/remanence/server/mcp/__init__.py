"""The memory as MCP tools, resources and prompts, over HTTP and over standard input and output."""
