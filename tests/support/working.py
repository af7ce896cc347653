"""What does the work of each layer of a memory, by the layer's name."""

from __future__ import annotations

from typing import get_type_hints

from remanence.api.service import MemoryService
from remanence.api.service.opened import layer

WORKING: dict[str, type] = {
    "": MemoryService,
    **{
        name: get_type_hints(found.make)["return"]
        for kind in MemoryService.__mro__
        for name, found in vars(kind).items()
        if isinstance(found, layer)
    },
}
