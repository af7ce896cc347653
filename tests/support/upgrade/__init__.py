"""Stores written by released versions: what is put into them, and what they answer ever after."""
