"""A memory as a file of JSON lines, written and read as a stream.

Memories, their history and their associations are in it; feedback and idempotency keys are not.
"""

from remanence.transfer.exporting import Exported, export_memory
from remanence.transfer.importing import Imported, import_memory

__all__ = ["Exported", "Imported", "export_memory", "import_memory"]
