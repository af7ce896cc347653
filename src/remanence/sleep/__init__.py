"""Maintenance while nobody asks: consolidate, forget, compress, learn, on a schedule."""
