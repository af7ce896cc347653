"""Frozen values that check themselves; everything that crosses a package boundary is one of them."""
