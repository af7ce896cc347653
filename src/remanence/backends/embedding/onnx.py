"""The bundled embedder: a BERT encoder on ONNX Runtime, one text at a time on the CPU."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from remanence.backends.embedding.manifest import (
    GRAPH,
    TOKENIZER,
    WORDS,
    Manifest,
    check_digests,
    check_sizes,
    read_manifest,
)
from remanence.backends.embedding.word_table import WordTable
from remanence.errors import EmbedderError, ModelInvalid
from remanence.language.words import is_stop_word, word_spans
from remanence.model import deadline
from remanence.model.deadline import unhurried
from remanence.model.embedding import Embedding, Fingerprint, FloatArray, QueryEmbedding, Span
from remanence.model.fork_safety import ForkSafeLock
from remanence.model.telemetry import hush

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer


_BETWEEN_APOSTROPHES = re.compile("[^'’]+")
# Where the tokenizer ends a word, whatever stands beside it; of white space, what it knows as such.
_BETWEEN_WORDS = re.compile(r"[ \t\n\r!-/:-@\[-`{-~]")
_STRETCH = 1_024
_LONGEST_CLITIC = 2  # "Ana's", "we'll"; but "O'Brien" keeps both parts

Device: TypeAlias = Literal["cpu", "cuda", "auto"]
_Result: TypeAlias = tuple[FloatArray, FloatArray]
_Ids: TypeAlias = NDArray[np.int64]

# Padding buys nothing on a CPU (16.3 ms for 82 tokens alone, 16.1 in a batch of 8) and texts that
# run alone get the same bits in any company; a GPU wants full batches.
CPU_BUDGET = 0
CUDA_BUDGET = 16_384
NICENESS = 10  # of what embeds many texts

_CPU, _CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
_NEEDS_CUDA = (
    "pip uninstall onnxruntime, then pip install 'onnxruntime-gpu[cuda,cudnn]'; "
    "or use device='cpu'."
)

_models: WeakValueDictionary[tuple[object, ...], _Model] = WeakValueDictionary()
_models_lock = ForkSafeLock()


def plan_batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Positions grouped by similar length, at most `budget` padded tokens a group, long first.

    A text longer than the budget runs alone, so a budget of 0 runs every text alone.
    """
    batches: list[list[int]] = []
    widest = 0
    for at in sorted(range(len(lengths)), key=lambda at: -lengths[at]):
        if batches and (len(batches[-1]) + 1) * widest <= budget:
            batches[-1].append(at)
        else:
            batches.append([at])
            widest = lengths[at]
    return batches


def content_tokens(text: str, spans: Sequence[Span]) -> list[int]:
    """Positions in `spans` of the content tokens; of every word when none carries content.

    Emoji and punctuation have none: the model knows them as one and the same token.
    """
    marks = _marks(text)
    found = [at for at, (start, end) in enumerate(spans) if start < end and marks[end - 1]]
    return found or [n for n, (a, b) in enumerate(spans) if any(map(str.isalnum, text[a:b]))]


def _stretches(text: str) -> Iterator[Span]:
    """A long text in stretches that have the same tokens by themselves."""
    start = 0
    while len(text) - start > _STRETCH:
        cut = _BETWEEN_WORDS.search(text, start + _STRETCH)
        if cut is None:
            break
        yield start, cut.end()
        start = cut.end()
    yield start, len(text)


def _marks(text: str) -> bytearray:
    marks = bytearray(len(text))
    for start, end in word_spans(text):
        word = text[start:end]
        if any(map(str.isalnum, word)) and not is_stop_word(word):
            for part in _BETWEEN_APOSTROPHES.finditer(word):
                if part.start() == 0 or len(part[0]) > _LONGEST_CLITIC:
                    marks[start + part.start() : start + part.end()] = b"\1" * len(part[0])
    return marks


class OnnxEmbedder:
    """Vectors and token codes from a model folder made by `remanence.backends.embedding.build`.

    `threads` is how many texts are embedded at a time (all cores when None). Files are opened on
    first use, once for all embedders of a process; a forked child opens its own session.
    """

    def __init__(self, folder: Path, *, device: Device = "cpu", threads: int | None = None) -> None:
        if device not in get_args(Device):
            raise EmbedderError(f"device={device!r} is none of {', '.join(get_args(Device))}.")
        self._folder = folder
        self._device = device
        self._threads = threads or os.cpu_count() or 1
        self._manifest = read_manifest(folder)
        check_sizes(folder, self._manifest)
        self._lock = threading.Lock()
        self._engine: _Engine | None = None
        self._closed = False

    @property
    def fingerprint(self) -> Fingerprint:
        """The model's, without opening it."""
        return self._manifest.fingerprint

    @property
    def max_tokens(self) -> int:
        """The model's, without opening it."""
        return self._manifest.max_tokens

    def spans(self, text: str) -> Sequence[Span]:
        """Of the whole text, past `max_tokens` too."""
        return self._open().encode(text).spans

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Bit for bit the same alone and in any batch, on one CPU."""
        engine = self._open()
        pieces = [self._piece(engine, text) for text in unhurried(texts, every=16)]
        batches = plan_batches([len(piece.ids) for piece in pieces], engine.budget)
        found: dict[int, Embedding] = {}
        asked = ([pieces[at] for at in batch] for batch in batches)
        made = engine.runs(asked) if len(batches) > 1 else map(engine.run_here, asked)
        for batch, results in zip(batches, made, strict=True):
            for at, (vector, tokens) in zip(batch, results, strict=True):
                found[at] = Embedding(vector, np.packbits(tokens > 0, axis=1))
        return [found[at] for at in range(len(pieces))]

    def _piece(self, engine: _Engine, text: str) -> _Piece:
        deadline.check()
        return engine.encode(text).cut(self.max_tokens)

    def embed_query(self, text: str) -> QueryEmbedding:
        """The same vector as `embed`, and the content tokens in float."""
        engine = self._open()
        piece = engine.encode(text).cut(self.max_tokens)
        [(vector, tokens)] = engine.run_here([piece])
        return QueryEmbedding(vector, tokens, tuple(piece.spans[at] for at in piece.content))

    def verify(self) -> None:
        """Read every byte of the model; `ModelInvalid` if one differs from what was built."""
        check_digests(self._folder, self._manifest)

    def close(self) -> None:
        """Drop the session; using the embedder again is an `EmbedderError`."""
        with self._lock:
            self._closed = True
            engine, self._engine = self._engine, None
        if engine and engine.pid == os.getpid():
            engine.pool.shutdown()

    def _open(self) -> _Engine:
        engine = self._engine
        if engine and engine.pid == os.getpid():
            return engine
        with self._lock:
            if self._closed:
                raise EmbedderError("The embedder is closed; make a new one.")
            if not self._engine or self._engine.pid != os.getpid():
                model = _shared_model(self._folder, self._manifest, self._device)
                self._engine = _open_engine(model, self._threads)
            return self._engine


@dataclass(frozen=True)
class _Piece:
    text: str
    ids: Sequence[int]
    spans: Sequence[Span]

    def cut(self, length: int) -> _Piece:
        return _Piece(self.text, self.ids[:length], self.spans[:length])

    @cached_property
    def content(self) -> list[int]:
        return content_tokens(self.text, self.spans)


@dataclass(frozen=True)
class _Model:
    """What was loaded of a model's files; nobody changes it, so embedders share it."""

    tokenizer: Tokenizer
    words: WordTable
    session: InferenceSession
    first: int  # the special token before a text
    last: int  # and after it


@dataclass(frozen=True, slots=True)
class _Engine:
    pid: int
    model: _Model
    pool: ThreadPoolExecutor
    asked: threading.Semaphore  # more questions at a time than cores would only slow each other
    budget: int
    threads: int

    def encode(self, text: str) -> _Piece:
        whole = text.encode("utf-8", "replace").decode()  # a lone surrogate becomes "?"
        tokenizer = self.model.tokenizer
        ids: list[int] = []
        spans: list[Span] = []
        for start, stop in unhurried(_stretches(whole), every=8):
            part = whole[start:stop]
            if len(part) <= _STRETCH:
                encoding = tokenizer.encode(part, add_special_tokens=False)
            else:  # the same, and others have the interpreter meanwhile
                [encoding] = tokenizer.encode_batch([part], add_special_tokens=False)
            ids += encoding.ids
            spans += [(start + first, start + last) for first, last in encoding.offsets]
        return _Piece(text, ids, spans)

    def run(self, pieces: Sequence[_Piece]) -> list[_Result]:
        """Each piece's vector and the vectors of its content tokens."""
        ids, mask = self._inputs(pieces)
        feed = {"words": self.model.words.vectors(ids), "attention_mask": mask}
        vectors, tokens = self.model.session.run(["vector", "tokens"], feed)
        if not np.isfinite(vectors).all():
            raise ModelInvalid("The model gave a vector that is not a number; build it again.")
        inner = tokens[:, 1:]
        return [(vectors[row], inner[row, piece.content]) for row, piece in enumerate(pieces)]

    def run_here(self, pieces: Sequence[_Piece]) -> list[_Result]:
        """The same, before all that waits in the pool."""
        with self.asked:
            return self.run(pieces)

    def runs(self, batches: Iterable[Sequence[_Piece]]) -> Iterator[list[_Result]]:
        """The results of each batch, in order.

        No more are with the pool than it has threads, so that another caller's few texts come
        between the thousands of this one.
        """
        under_way: deque[Future[list[_Result]]] = deque()
        try:
            for batch in batches:
                deadline.breathe()
                if len(under_way) >= self.threads:
                    yield under_way.popleft().result()
                under_way.append(self.pool.submit(self.run, batch))
            while under_way:
                yield under_way.popleft().result()
        finally:
            for one in under_way:
                one.cancel()

    def _inputs(self, pieces: Sequence[_Piece]) -> tuple[_Ids, _Ids]:
        widest = max(len(piece.ids) for piece in pieces) + 2
        ids = np.zeros((len(pieces), widest), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, piece in enumerate(pieces):
            filled = len(piece.ids) + 2
            ids[row, :filled] = [self.model.first, *piece.ids, self.model.last]
            mask[row, :filled] = 1
        return ids, mask


def _step_back() -> None:
    """Let other threads go first: a question and a short text are embedded in their own."""
    if sys.platform == "linux":  # elsewhere a priority is the whole process's
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


def _open_engine(model: _Model, threads: int) -> _Engine:
    on_cpu = model.session.get_providers()[0] == _CPU
    return _Engine(
        pid=os.getpid(),
        model=model,
        pool=ThreadPoolExecutor(
            threads if on_cpu else 1, thread_name_prefix="embed", initializer=_step_back
        ),
        asked=threading.Semaphore(threads),
        budget=CPU_BUDGET if on_cpu else CUDA_BUDGET,
        threads=threads if on_cpu else 1,
    )


def _shared_model(folder: Path, manifest: Manifest, device: Device) -> _Model:
    """The model that an embedder of this process has open, or else read and checked anew."""
    digests = tuple(sorted((name, file.sha256) for name, file in manifest.files.items()))
    key = os.getpid(), folder.resolve(), digests, device
    with _models_lock:
        model = _models.get(key)
        if model is None:
            check_digests(folder, manifest)
            model = _models[key] = _open_model(folder, device)
        return model


def _open_model(folder: Path, device: Device) -> _Model:
    tokenizer = _open_tokenizer(folder / TOKENIZER)
    session = _open_session(folder / GRAPH, device)
    first, last = tokenizer.encode("").ids
    words = WordTable(folder / WORDS)
    return _Model(tokenizer=tokenizer, words=words, session=session, first=first, last=last)


def _open_tokenizer(path: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises bare Exception
        raise ModelInvalid(f"{path} cannot be read as a tokenizer: {error}") from error


def _open_session(path: Path, device: Device) -> InferenceSession:
    hush()
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # Windows asks no variable
    options = onnxruntime.SessionOptions()
    # Texts run side by side instead: 2 threads in one text are 1.8 times as fast and spin.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    providers = _providers(device, onnxruntime.get_available_providers())
    if len(providers) > 1:
        onnxruntime.preload_dlls()  # CUDA's own libraries may be pip packages too
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=providers)
    except Exception as error:  # onnxruntime's errors have no root of their own
        raise ModelInvalid(f"{path} cannot be loaded: {error}") from error
    if device == "cuda" and session.get_providers()[0] != _CUDA:
        raise EmbedderError(f"CUDA's libraries cannot be loaded. {_NEEDS_CUDA}")
    return session


def _providers(device: Device, available: Sequence[str]) -> list[str | tuple[str, dict[str, str]]]:
    if device == "cuda" and _CUDA not in available:
        raise EmbedderError(f"ONNX Runtime has no CUDA here. {_NEEDS_CUDA}")
    if device == "cpu" or _CUDA not in available:
        return [_CPU]
    return [(_CUDA, {"use_tf32": "0"}), _CPU]  # with TF32 a vector depends on its batch
