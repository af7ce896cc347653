"""A memory as a file of JSON lines: written and read as a stream, nothing lost on the way."""

from remanence.transfer.exporting import Exported, export_memory
from remanence.transfer.importing import Imported, import_memory

__all__ = ["Exported", "Imported", "export_memory", "import_memory"]
