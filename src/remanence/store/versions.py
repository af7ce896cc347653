"""What is told of a store that a newer version wrote: both versions, and the two ways out."""

from __future__ import annotations

from remanence.errors import StoreVersion
from remanence.version import __version__


def too_new(what: str, schema: object, known: int) -> StoreVersion:
    """The error for a store or a backup whose schema this version does not know."""
    return StoreVersion(
        f"{what} has schema {schema}, and Remanence {__version__} knows {known}: it was written by "
        "a newer version. Nothing was changed; upgrade Remanence, or restore the backup that was "
        "made before the upgrade."
    )
