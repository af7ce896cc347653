"""Memories on the move: as a file of JSON lines, and from one store into another.

A file has memories, their history and associations; a copy has vectors and feedback as well.
Idempotency keys are in neither.
"""

from remanence.transfer.exporting import Exported, export_memory
from remanence.transfer.importing import Imported, import_memory

__all__ = ["Exported", "Imported", "export_memory", "import_memory"]
