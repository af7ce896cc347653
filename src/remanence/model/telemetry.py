"""Silence: the libraries Remanence uses tell nobody that they are used."""

from __future__ import annotations

import os

# Libraries that tell their makers, or name what uses them when they fetch a file.
TALKATIVE = frozenset({"chromadb", "huggingface_hub", "onnxruntime", "peft", "transformers"})

_SWITCHES = {
    "ANONYMIZED_TELEMETRY": "False",  # Chroma
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_UPDATE_CHECK": "1",
    "ORT_DISABLE_TELEMETRY": "1",  # ONNX Runtime from 1.31 on
}


def hush() -> None:
    """Call it before one of `TALKATIVE` is imported: they look once, when they are loaded.

    ONNX Runtime 1.31 makes a device id, queues an event and looks up its maker's host while it is
    imported; its own call to end that comes too late.
    """
    os.environ.update(_SWITCHES)
