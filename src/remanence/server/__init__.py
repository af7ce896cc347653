"""The memory as a server: REST, MCP, mem0's dialect and an OpenAI proxy, behind one check."""
