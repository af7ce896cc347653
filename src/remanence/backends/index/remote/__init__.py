"""Vector indexes on other servers that follow the store: one mechanism, an engine for each."""

from remanence.backends.index.remote.engine import Engine, EngineDown, Points
from remanence.backends.index.remote.index import SMALL, FollowingIndex

__all__ = ["SMALL", "Engine", "EngineDown", "FollowingIndex", "Points"]
