"""Caches: in this process, or in a Redis or Valkey server."""
