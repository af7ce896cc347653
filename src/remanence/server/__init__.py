"""The memory as a server: REST, MCP, mem0's and OpenAI's dialects, behind one door."""
