"""What only the tests and the benchmarks of this house need; no wheel holds it."""
