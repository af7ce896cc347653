"""The language model that is taught: found on this machine, told by its digest, loaded."""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remanence.errors import ConfigError, InvalidInput, LanguageModelError, NotFound
from remanence.silence import hush

if TYPE_CHECKING:
    from collections.abc import Iterator

LIBRARIES = ("torch", "transformers", "peft", "safetensors")
GGUF = ".gguf"
_WEIGHTS = ("*.safetensors", "*.bin")


def require_libraries() -> None:
    """Refuse, with the command that helps, where the `train` extra is not installed."""
    hush()
    for name in LIBRARIES:
        try:
            import_module(name)
        except ImportError as error:
            raise ConfigError(
                f"Training a LoRA needs an extra: run `pip install 'remanence[train]'` ({error})."
            ) from error


def library_versions() -> dict[str, str]:
    """The versions a result depends on."""
    return {name: version(name) for name in LIBRARIES}


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseModel:
    """Where a model's files are: a GGUF file, or a folder as transformers saves it."""

    path: Path
    sha256: str

    @property
    def source(self) -> dict[str, Any]:
        """The arguments that tell transformers which files to read."""
        if self.path.suffix == GGUF:
            folder = str(self.path.parent)
            return {"pretrained_model_name_or_path": folder, "gguf_file": self.path.name}
        return {"pretrained_model_name_or_path": str(self.path)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A model with its tokenizer, on its device."""

    model: Any
    tokenizer: Any
    device: str


def find_model(given: object) -> BaseModel:
    """The model by its path, or by its name if it was downloaded before; else `NotFound`.

    Nothing is downloaded.
    """
    if not isinstance(given, str | os.PathLike) or not str(given) or "\0" in str(given):
        raise InvalidInput(f"base must be a path or a model's name, not {str(given)[:40]!r}.")
    path = Path(given).expanduser().absolute()
    if not path.exists():
        path = _downloaded(str(given))
    return BaseModel(path=path, sha256=_digest(path))


def load_model(base: BaseModel, device: str) -> Loaded:
    """Read weights and tokenizer; `LanguageModelError` if that is no chat model."""
    hush()
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    chosen = choose_device(device)
    exact = chosen == "cpu" or not torch.cuda.is_bf16_supported()
    dtype = torch.float32 if exact else torch.bfloat16
    try:
        tokenizer = AutoTokenizer.from_pretrained(**base.source, local_files_only=True)
        model = AutoModelForCausalLM.from_pretrained(
            **base.source, local_files_only=True, dtype=dtype
        )
    except Exception as error:  # readers of damaged files raise whatever they trip over
        raise LanguageModelError(
            f"{base.path} cannot be read as a causal language model; give a GGUF file or a folder "
            f"with config.json, tokenizer and weights ({error})."
        ) from error
    if tokenizer.chat_template is None or tokenizer.eos_token_id is None:
        raise LanguageModelError(
            f"{base.path} has no chat template; take an instruction-tuned model."
        )
    return Loaded(model=model.to(chosen), tokenizer=tokenizer, device=chosen)


def choose_device(given: str) -> str:
    """The device by name; "auto" is CUDA where there is one."""
    import torch

    if given == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        kind = torch.device(given).type
    except (RuntimeError, TypeError):
        kind = ""
    if kind not in ("cpu", "cuda"):
        raise InvalidInput(f"device must be auto, cpu, cuda or cuda:N; got {str(given)[:40]!r}.")
    if kind == "cuda" and not torch.cuda.is_available():
        raise InvalidInput("This machine has no CUDA device that torch can use; take device='cpu'.")
    return given


def _downloaded(name: str) -> Path:
    hush()
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (HFValidationError, LocalEntryNotFoundError, OSError) as error:
        raise NotFound(
            f"There is no model at {name[:200]!r}; give the path of a GGUF file or of a model's "
            "folder, or download it first."
        ) from error


def _digest(path: Path) -> str:
    """SHA-256 over the weights, file after file in order of name."""
    total = sha256()
    for file in _files(path):
        with file.open("rb") as opened:
            while block := opened.read(1 << 20):
                total.update(block)
    return total.hexdigest()


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    found = next((files for one in _WEIGHTS if (files := sorted(path.glob(one)))), None)
    if found is None:
        raise NotFound(f"{path} holds no model weights; give a GGUF file or a model's folder.")
    yield from found
