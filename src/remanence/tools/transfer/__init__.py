"""Memories on the move: as a file of JSON lines, from one store into another, out of chats.

A file has memories with their history, associations, what is known, and documents; a copy has
vectors and feedback as well. Idempotency keys are in neither.
"""

from remanence.tools.transfer.chat import ChatImported, import_chat
from remanence.tools.transfer.exports import Exported, export_memory
from remanence.tools.transfer.graph_file import GraphImported, import_graph
from remanence.tools.transfer.imports import Imported, import_memory

__all__ = [
    "ChatImported",
    "Exported",
    "GraphImported",
    "Imported",
    "export_memory",
    "import_chat",
    "import_graph",
    "import_memory",
]
