"""Chat histories of elsewhere as conversations here: ChatGPT, Claude, and a plain JSON form."""

from remanence.transfer.chat.importing import import_chat
from remanence.transfer.chat.report import ChatImported
from remanence.transfer.chat.talks import Format

__all__ = ["ChatImported", "Format", "import_chat"]
