"""Vector indexes: followers of a store's change feed that can always be rebuilt from it."""
