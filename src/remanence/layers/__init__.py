"""Blocks, conversations, sessions, working memory, snapshots; and how to erase from all of them.

What a verb promises to whoever calls it is said once, where it is declared: in `api.verbs`.
"""
