"""Merging: near-duplicates and paraphrases become one memory that stands for all of them."""
