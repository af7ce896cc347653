"""Frozen values that check themselves, and the ports that a backend implements."""
