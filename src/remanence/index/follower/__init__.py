"""Vector indexes on other servers that follow the store: one mechanism, an engine for each."""

from remanence.index.follower.engine import Engine, EngineDown, Points
from remanence.index.follower.index import FollowingIndex

__all__ = ["Engine", "EngineDown", "FollowingIndex", "Points"]
