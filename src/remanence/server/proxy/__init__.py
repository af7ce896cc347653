"""OpenAI's chat API with a memory: requests go to one upstream, memories into the system message.

The upstream is the one that the settings name, never one that a request names.
"""
