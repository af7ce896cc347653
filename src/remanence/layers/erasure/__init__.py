"""Erasure: all that tells of a memory goes, a signed receipt stays, no old copy brings it back."""
