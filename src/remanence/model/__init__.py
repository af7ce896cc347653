"""Frozen values that check themselves; what crosses a package boundary is one of them."""
