"""Embedders: the bundled model on ONNX Runtime, any OpenAI-compatible endpoint, and a cache."""
