"""Forgetting: how memories fade, what leaves recall, what is foreseen, what is erased later."""
