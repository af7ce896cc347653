"""Identity: which entities are one, by what was said and, for people, by their names."""

from remanence.knowledge.identity.grouping import bare_name, groups, verdicts_of
from remanence.knowledge.identity.resolving import Identity, Resolved

__all__ = ["Identity", "Resolved", "bare_name", "groups", "verdicts_of"]
