"""What a memory uses besides its store: vector indexes, caches, embedders, language models."""
