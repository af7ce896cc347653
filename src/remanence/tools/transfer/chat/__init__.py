"""Chat histories of elsewhere as conversations here: ChatGPT, Claude, and a plain JSON form."""

from remanence.tools.transfer.chat.imports import import_chat
from remanence.tools.transfer.chat.talks import ChatImported, Format

__all__ = ["ChatImported", "Format", "import_chat"]
