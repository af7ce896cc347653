"""The rules of each layer of memory: pure decisions that the facade carries out."""
