"""The language model that is taught: found, loaded, and asked how well it knows its examples."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remanence.consolidation.learning.lora.examples import TrainingExample
from remanence.errors import ConfigError, InvalidInput, LanguageModelError, NotFound
from remanence.model.telemetry import hush

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


IGNORED = -100  # torch's cross entropy leaves labels of this value out

BATCH = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """The tokens of an example; the last `answer` of them, its end included, are the answer."""

    tokens: tuple[int, ...]
    answer: int


def encode(example: TrainingExample, tokenizer: Any, max_tokens: int) -> Encoded:
    """The tokens as the model will see them in use: default system prompt and all."""
    prompt = tokenizer.apply_chat_template(
        example.messages[:-1], tokenize=False, add_generation_prompt=True
    )
    asked = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    told = tokenizer(example.answer, add_special_tokens=False)["input_ids"]
    room = max(1, max_tokens - len(asked) - 1)
    answer = [*told[:room], tokenizer.eos_token_id]
    return Encoded(tokens=(*asked, *answer), answer=len(answer))


def stack(encoded: Sequence[Encoded], pad: int, device: str) -> tuple[dict[str, Any], Any]:
    """Model inputs and labels, padded on the left, so that all answers end together.

    The labels are of the positions that `logits_to_keep` leaves, one token ahead.
    """
    import torch

    longest = max(len(one.tokens) for one in encoded)
    most = max(one.answer for one in encoded)
    padded = [(longest - len(one.tokens), one.tokens) for one in encoded]
    rows = [[pad] * n + list(tokens) for n, tokens in padded]
    mask = [[0] * n + [1] * len(tokens) for n, tokens in padded]
    places = [[0] * n + list(range(len(tokens))) for n, tokens in padded]
    labels = [
        [IGNORED] * (most - one.answer) + list(one.tokens[len(one.tokens) - one.answer :])
        for one in encoded
    ]
    inputs = {
        "input_ids": torch.tensor(rows, device=device),
        "attention_mask": torch.tensor(mask, device=device),
        "position_ids": torch.tensor(places, device=device),
        "logits_to_keep": most + 1,
    }
    return inputs, torch.tensor(labels, device=device)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossScore:
    """`loss` is the mean over examples of the mean over their answers' tokens.

    `recalled` counts the examples whose answer the model gives word for word when it always takes
    the likeliest token.
    """

    examples: int
    loss: float
    recalled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeAndAfter:
    """What was known before and after, of the new examples and of the old, if there were any."""

    new_before: LossScore
    new_after: LossScore
    old_before: LossScore | None
    old_after: LossScore | None

    @property
    def new_change(self) -> float:
        """How the loss on new examples changed: -0.5 is a fall by half."""
        return _change(self.new_before, self.new_after)

    @property
    def old_change(self) -> float | None:
        """How the loss on old examples changed: 0.1 is a rise by a tenth."""
        if self.old_before is None or self.old_after is None:
            return None
        return _change(self.old_before, self.old_after)


def score(loaded: Loaded, encoded: Sequence[Encoded]) -> LossScore:
    """Measure a model, as it is, on some examples."""
    import torch

    loaded.model.eval()
    loss, recalled = 0.0, 0
    with torch.no_grad():
        for start in range(0, len(encoded), BATCH):
            losses, right = _look(loaded, encoded[start : start + BATCH])
            loss += float(losses.sum())
            recalled += int(right.sum())
    return LossScore(examples=len(encoded), loss=loss / len(encoded), recalled=recalled)


def answer_losses(logits: Any, labels: Any) -> Any:
    """The mean loss of each example's answer."""
    from torch.nn.functional import cross_entropy

    ahead = logits[:, :-1].float().transpose(1, 2)
    each = cross_entropy(ahead, labels, ignore_index=IGNORED, reduction="none")
    return each.sum(1) / (labels != IGNORED).sum(1)


def _look(loaded: Loaded, encoded: Sequence[Encoded]) -> tuple[Any, Any]:
    """Losses, and whether each answer is what greedy decoding would give.

    It is exactly when every token of it is the likeliest after those before it, so one pass over
    the answers tells, without generating.
    """
    inputs, labels = stack(encoded, loaded.tokenizer.eos_token_id, loaded.device)
    logits = loaded.model(**inputs).logits
    likeliest = logits[:, :-1].argmax(-1)
    right = ((likeliest == labels) | (labels == IGNORED)).all(1)
    return answer_losses(logits, labels), right


def _change(before: LossScore, after: LossScore) -> float:
    return after.loss / max(before.loss, 1e-9) - 1
