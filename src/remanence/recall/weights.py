"""Placeholder until the first training."""

TABLE: dict[str, tuple[float, float, float]] = {
    "vector": (0.3, 0.1, 1.0),
    "tokens": (0.4, 0.1, 1.5),
    "words": (0.2, 0.2, 1.0),
}
BASE = 0.0
