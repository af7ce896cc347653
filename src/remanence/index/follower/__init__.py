"""Vector indexes on other servers that follow the store: one mechanism, an engine for each."""

from remanence.index.follower.engine import Engine, EngineDown, Points
from remanence.index.follower.index import SMALL, FollowingIndex

__all__ = ["SMALL", "Engine", "EngineDown", "FollowingIndex", "Points"]
